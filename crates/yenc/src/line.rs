//! [`Line`]: one line of a body, collected over several reads.

/// Gathers a line up to its bound; what is longer is swallowed and only counted.
#[derive(Debug, Default)]
pub(crate) struct Line {
    text: Vec<u8>,
    length: u64, // of the whole line as it lies on the wire, without its LF
}

/// What a look at more bytes brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Progress {
    /// The line that ends the body.
    End,
    /// A whole line: read it with `text`, then `clear`.
    Line,
    /// The bytes end before the line does.
    More,
}

impl Line {
    /// Takes bytes up to and with the next LF; gives how many were taken.
    pub(crate) fn take(&mut self, raw: &[u8]) -> (usize, Progress) {
        let end = raw.iter().position(|&byte| byte == b'\n');
        let fresh = &raw[..end.unwrap_or(raw.len())];
        let room = LINE_LIMIT + SLACK - self.text.len();
        self.text.extend_from_slice(&fresh[..fresh.len().min(room)]);
        self.length += fresh.len() as u64;
        match end {
            None => (raw.len(), Progress::More),
            Some(end) if self.is_terminator() => (end + 1, Progress::End),
            Some(end) => (end + 1, Progress::Line),
        }
    }

    /// Starts the line with bytes that were taken elsewhere.
    pub(crate) fn start_with(&mut self, text: &[u8]) {
        self.clear();
        self.text.extend_from_slice(text);
        self.length = text.len() as u64;
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.length = 0;
    }

    /// The line without its line end and stuffing; cut at [`LINE_LIMIT`].
    pub(crate) fn text(&self) -> &[u8] {
        let text = self.text.strip_suffix(b"\r").unwrap_or(&self.text);
        let text = text.strip_prefix(b".").unwrap_or(text);
        &text[..text.len().min(LINE_LIMIT)]
    }

    /// Its bytes on the wire, with the line end.
    pub(crate) fn wire_length(&self) -> u64 {
        self.length + 1
    }

    pub(crate) fn is_overlong(&self) -> bool {
        self.length > self.text.len() as u64 || {
            let text = self.text.strip_suffix(b"\r").unwrap_or(&self.text);
            text.strip_prefix(b".").unwrap_or(text).len() > LINE_LIMIT
        }
    }

    fn is_terminator(&self) -> bool {
        self.length <= 2 && matches!(&self.text[..], b"." | b".\r")
    }
}

/// No control line has reason to be longer: name and numbers fit ten times over.
pub(crate) const LINE_LIMIT: usize = 4096;
/// Room for the stuffing dot and the CR, which do not count.
const SLACK: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_their_ends_and_stuffing() {
        for (raw, text) in
            [(&b"ab\r\n"[..], &b"ab"[..]), (b"ab\n", b"ab"), (b"..\n", b"."), (b"\r\n", b"")]
        {
            let mut line = Line::default();
            assert_eq!(line.take(raw), (raw.len(), Progress::Line));
            assert_eq!(line.text(), text);
        }
        assert_eq!(Line::default().take(b".\r\n200"), (3, Progress::End));
        assert_eq!(Line::default().take(b".\n"), (2, Progress::End));
    }

    #[test]
    fn long_lines_are_cut_and_said_to_be_long() {
        for (length, overlong) in
            [(LINE_LIMIT - 1, false), (LINE_LIMIT, false), (LINE_LIMIT + 1, true)]
        {
            let mut line = Line::default();
            let raw = [&b"."[..], &vec![b'x'; length], b"\r\n"].concat();
            assert_eq!(line.take(&raw).1, Progress::Line);
            assert_eq!((line.text().len(), line.is_overlong()), (length.min(LINE_LIMIT), overlong));
        }
        let mut line = Line::default();
        for _ in 0..1024 {
            line.take(&[b'x'; 1024]);
        }
        assert_eq!(line.take(b"\n").1, Progress::Line);
        assert!(line.text.capacity() <= 2 * LINE_LIMIT);
    }
}
