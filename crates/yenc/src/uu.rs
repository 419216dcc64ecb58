//! UU: rows of a length character and groups of four characters for three bytes.
//!
//! There is no CRC and no place in the file, so a row is taken by its own length and nothing else:
//! what a row has too much is ignored (some encoders add a check character), what it has too
//! little counts as zeros (gateways strip blanks at line ends).

/// `begin 644 name`: the name, if the line is one.
pub(crate) fn begin(line: &[u8]) -> Option<String> {
    let rest = line.strip_prefix(b"begin ")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let name = rest[digits..].strip_prefix(b" ")?.trim_ascii();
    ((1..=LONGEST_MODE).contains(&digits) && !name.is_empty())
        .then(|| String::from_utf8_lossy(name).into_owned())
}

/// Whether a line can only be a full row: later parts of a post have no `begin` to go by.
pub(crate) fn is_full_row(line: &[u8]) -> bool {
    line.first() == Some(&b'M')
        && (FULL_ROW..=FULL_ROW + 1).contains(&line.len())
        && line.iter().all(|&byte| is_code(byte))
}

/// What one line of the body means.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Row {
    /// The length character is none.
    Bad(char),
    Bytes(usize),
    /// A row of no bytes, or an empty line.
    Empty,
    End,
}

/// Decodes a row to the start of `out`.
pub(crate) fn row(line: &[u8], out: &mut [u8; LONGEST_ROW]) -> Row {
    let Some((&first, codes)) = line.split_first() else { return Row::Empty };
    if line.trim_ascii_end() == b"end" {
        return Row::End;
    }
    if !is_code(first) {
        return Row::Bad(first as char);
    }
    let length = usize::from(bits(first));
    for (group, room) in out.chunks_exact_mut(3).take(length.div_ceil(3)).enumerate() {
        let code = |n: usize| u32::from(codes.get(group * 4 + n).map_or(0, |&code| bits(code)));
        let joined = code(0) << 18 | code(1) << 12 | code(2) << 6 | code(3);
        room.copy_from_slice(&joined.to_be_bytes()[1..]);
    }
    if length == 0 { Row::Empty } else { Row::Bytes(length) }
}

fn is_code(byte: u8) -> bool {
    (b' '..=b'`').contains(&byte)
}

/// Blank and backtick both mean zero.
fn bits(code: u8) -> u8 {
    code.wrapping_sub(b' ') & 0x3f
}

/// 63 bytes are the most a length character can say.
pub(crate) const LONGEST_ROW: usize = 63;
/// `M` and the characters for 45 bytes.
const FULL_ROW: usize = 61;
const LONGEST_MODE: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_decoded_by_their_length() {
        let mut out = [0; LONGEST_ROW];
        for (line, expected) in [
            (&b"#0V%T"[..], Row::Bytes(3)),
            (b"#0V%T with more behind", Row::Bytes(3)),
            (b"`", Row::Empty),
            (b" ", Row::Empty),
            (b"", Row::Empty),
            (b"end", Row::End),
            (b"end  ", Row::End),
            (b"x0V%T", Row::Bad('x')),
        ] {
            assert_eq!(row(line, &mut out), expected, "{:?}", line.escape_ascii().to_string());
        }
        assert_eq!(&out[..3], b"Cat");
        assert_eq!((row(b"$0V$", &mut out), &out[..4]), (Row::Bytes(4), &b"Ca\0\0"[..]));
        assert_eq!(row(b"_", &mut out), Row::Bytes(63));
        assert_eq!(out, [0; 63]);
    }

    #[test]
    fn begin_lines_have_a_mode_and_a_name() {
        assert_eq!(begin(b"begin 644 a b.bin ").as_deref(), Some("a b.bin"));
        assert_eq!(begin(b"begin 9999 ../x").as_deref(), Some("../x"));
        for line in [
            &b"begin reading here"[..],
            b"begin 644",
            b"begin 644 ",
            b"begin 644444 x",
            b"beginning",
        ] {
            assert_eq!(begin(line), None);
        }
    }
}
