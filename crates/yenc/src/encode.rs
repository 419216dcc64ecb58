//! Encodes articles, for the test server and the demo.

use std::io::Write;

/// One part of a file, to be posted as one article.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub name: &'a str,
    /// From 1.
    pub number: u32,
    /// 1 for a file in one article, which has no `=ypart`.
    pub total: u32,
    pub file_size: u64,
    /// Where `data` starts in the file, from 0.
    pub offset: u64,
    pub data: &'a [u8],
}

impl Part<'_> {
    /// Appends the body as the wire carries it: dot-stuffed, with the line that ends it.
    pub fn write_wire(&self, out: &mut Vec<u8>) {
        self.write_body(out);
        out.extend_from_slice(b".\r\n");
    }

    /// The same without the last line.
    pub fn write_body(&self, out: &mut Vec<u8>) {
        out.reserve(self.data.len() + self.data.len() / 16 + HEADERS_AND_NAME + self.name.len());
        self.write_head(out);
        write_lines(self.data, out);
        self.write_tail(out);
    }

    fn write_head(&self, out: &mut Vec<u8>) {
        let Self { name, number, total, file_size, offset, data } = self;
        let head = if *total == 1 {
            format!("=ybegin line={LINE} size={file_size} name={name}\r\n")
        } else {
            let (begin, end) = (offset + 1, offset + data.len() as u64);
            format!(
                "=ybegin part={number} total={total} line={LINE} size={file_size} name={name}\r\n\
                 =ypart begin={begin} end={end}\r\n"
            )
        };
        out.extend_from_slice(head.as_bytes());
    }

    fn write_tail(&self, out: &mut Vec<u8>) {
        let crc = crc32fast::hash(self.data);
        let size = self.data.len();
        let tail = match self.total {
            1 => format!("=yend size={size} crc32={crc:08x}\r\n"),
            _ => format!("=yend size={size} part={} pcrc32={crc:08x}\r\n", self.number),
        };
        out.extend_from_slice(tail.as_bytes());
    }
}

/// Appends `data` as UU rows, dot-stuffed; with `begin` if a name is given, with `end` if asked.
pub fn write_uu(name: Option<&str>, data: &[u8], end: bool, out: &mut Vec<u8>) {
    if let Some(name) = name {
        write!(out, "begin 644 {name}\r\n").expect("a Vec takes everything");
    }
    for row in data.chunks(UU_ROW) {
        let length = uu_code(row.len() as u32);
        out.extend((length == b'.').then_some(b'.'));
        out.push(length);
        for group in row.chunks(3) {
            let byte = |n: usize| u32::from(group.get(n).copied().unwrap_or(0));
            let joined = byte(0) << 16 | byte(1) << 8 | byte(2);
            out.extend([18, 12, 6, 0].map(|shift| uu_code(joined >> shift & 0x3f)));
        }
        out.extend_from_slice(b"\r\n");
    }
    if end {
        out.extend_from_slice(b"`\r\nend\r\n");
    }
}

fn uu_code(bits: u32) -> u8 {
    if bits == 0 { b'`' } else { b' ' + bits as u8 }
}

fn write_lines(mut data: &[u8], out: &mut Vec<u8>) {
    let mut line = [0; LONGEST_LINE];
    while !data.is_empty() {
        let (used, length) = encode_line(data, &mut line);
        out.extend((line[0] == b'.').then_some(b'.'));
        out.extend_from_slice(&line[..length]);
        data = &data[used..];
    }
}

/// Fills one line with its line end; gives the bytes taken and the length.
fn encode_line(data: &[u8], line: &mut [u8; LONGEST_LINE]) -> (usize, usize) {
    let (mut used, mut column) = (0, 0);
    while column < LINE {
        if let Some(block) = ordinary_block(&data[used..], LINE - column) {
            line[column..column + BLOCK].copy_from_slice(&block);
            used += BLOCK;
            column += BLOCK;
            continue;
        }
        let stop = (used + BLOCK).min(data.len());
        if used == stop {
            break;
        }
        while used < stop && column < LINE {
            column += encode_byte(data[used], &mut line[column..]);
            used += 1;
        }
    }
    line[column..column + 2].copy_from_slice(b"\r\n");
    (used, column + 2)
}

/// The next bytes encoded, if there are enough of them, they fit, and none needs an escape.
fn ordinary_block(data: &[u8], room: usize) -> Option<[u8; BLOCK]> {
    let block = data.first_chunk::<BLOCK>().filter(|_| room >= BLOCK)?;
    let shifted = block.map(|byte| byte.wrapping_add(42));
    let critical = shifted.iter().fold(false, |any, &byte| any | is_critical(byte));
    (!critical).then_some(shifted)
}

fn encode_byte(byte: u8, line: &mut [u8]) -> usize {
    let shifted = byte.wrapping_add(42);
    if is_critical(shifted) {
        line[..2].copy_from_slice(&[b'=', shifted.wrapping_add(64)]);
        return 2;
    }
    line[0] = shifted;
    1
}

fn is_critical(byte: u8) -> bool {
    (byte == 0) | (byte == b'\n') | (byte == b'\r') | (byte == b'=')
}

/// Characters a line has before it ends; an escape may make it one more.
const LINE: usize = 128;
const LONGEST_LINE: usize = LINE + 1 + 2;
const UU_ROW: usize = 45;
/// Vectors of this width find escapes in one comparison on every target.
const BLOCK: usize = 16;
const HEADERS_AND_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_part_is_written_as_the_standard_shows() {
        let mut wire = Vec::new();
        let data = [4, 0, 19]; // a dot, an ordinary byte and one that needs an escape
        Part { name: "a b.bin", number: 2, total: 3, file_size: 9, offset: 3, data: &data }
            .write_wire(&mut wire);
        assert_eq!(
            wire.escape_ascii().to_string(),
            "=ybegin part=2 total=3 line=128 size=9 name=a b.bin\\r\\n\
             =ypart begin=4 end=6\\r\\n..*=}\\r\\n=yend size=3 part=2 pcrc32=7cf63010\\r\\n.\\r\\n"
        );
    }

    #[test]
    fn lines_hold_128_characters_or_one_more() {
        let data: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let mut out = Vec::new();
        write_lines(&data, &mut out);
        let lines: Vec<_> = out.split(|&byte| byte == b'\n').collect();
        let full = &lines[..lines.len() - 2];
        assert!(full.iter().all(|line| (129..=131).contains(&line.len())), "with CR and stuffing");
    }
}
