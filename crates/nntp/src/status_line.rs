//! [`StatusLine`]: collects an answer line that arrives in pieces.

/// Collects one line until its end, however the bytes are cut.
#[derive(Debug, Default)]
pub(crate) struct StatusLine {
    held: Vec<u8>,
    finished: bool,
}

/// Why bytes are no line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BadLine {
    /// A carriage return without a line feed behind it.
    LoneReturn,
    TooLong,
}

impl StatusLine {
    /// Takes bytes from the front of `input` up to and with a line end; the line without its end,
    /// once it is whole.
    ///
    /// A bare line feed ends a line too: some gateways lose the return.
    pub(crate) fn take(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, BadLine> {
        if self.finished {
            self.held.clear();
            self.finished = false;
        }
        let end = input.iter().position(|&byte| byte == b'\n');
        let (line, rest) = input.split_at(end.map_or(input.len(), |at| at + 1));
        *input = rest;
        let room = LONGEST - self.held.len();
        self.held.extend_from_slice(&line[..line.len().min(room)]);
        if line.len() > room {
            // A server that writes returns alone writes one endless line; that is what is wrong.
            self.without_lone_return(LONGEST - 1)?;
            return Err(BadLine::TooLong);
        }
        if end.is_none() {
            return self.without_lone_return(self.held.len().saturating_sub(1)).map(|()| None);
        }
        self.finished = true;
        let text = self.held.len() - 1;
        let text = if text > 0 && self.held[text - 1] == b'\r' { text - 1 } else { text };
        self.without_lone_return(text)?;
        Ok(Some(&self.held[..text]))
    }

    /// The last byte held may be a return whose line feed is still under way.
    fn without_lone_return(&self, upto: usize) -> Result<(), BadLine> {
        if self.held[..upto].contains(&b'\r') { Err(BadLine::LoneReturn) } else { Ok(()) }
    }
}

/// RFC 3977 gives answer lines 512 bytes; real servers write more, none writes this much.
const LONGEST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], chunk: usize) -> Result<Vec<Vec<u8>>, BadLine> {
        let mut line = StatusLine::default();
        let mut found = Vec::new();
        for mut piece in input.chunks(chunk) {
            while !piece.is_empty() {
                if let Some(text) = line.take(&mut piece)? {
                    found.push(text.to_vec());
                }
            }
        }
        Ok(found)
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let input = b"200 hello\r\n\r\n222\n.\r\n";
        let whole = lines(input, input.len()).unwrap();
        assert_eq!(whole, [&b"200 hello"[..], b"", b"222", b"."]);
        for chunk in 1..input.len() {
            assert_eq!(lines(input, chunk).unwrap(), whole);
        }
    }

    #[test]
    fn a_return_alone_ends_no_line() {
        let endless = b"222 0 <a@x>\r=ybegin\r".repeat(LONGEST);
        for chunk in [1, 2, 3, 5, 8, LONGEST, 64 << 10] {
            assert_eq!(lines(b"200 a\r200 b\r\n", chunk), Err(BadLine::LoneReturn));
            assert_eq!(lines(&endless, chunk), Err(BadLine::LoneReturn));
        }
    }

    #[test]
    fn a_line_is_bounded_whether_or_not_it_ends() {
        let longest = [vec![b'2'; LONGEST - 2], b"\r\n".to_vec()].concat();
        assert_eq!(lines(&longest, 100).unwrap().len(), 1);
        assert_eq!(lines(&[b"2", &longest[..]].concat(), 100), Err(BadLine::TooLong));
        assert_eq!(lines(&vec![b'2'; LONGEST + 1], 100), Err(BadLine::TooLong));
    }
}
