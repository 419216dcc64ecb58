//! [`Lines`]: a body sink that splits a listing into lines.

use crate::body::{BodySink, BodyStep};
use crate::request::RequestId;

/// A [`BodySink`] that hands on what came line by line, without line ends and stuffed dots.
///
/// It holds one line at a time, and skips what is longer than any line that means something.
#[derive(Debug)]
pub struct Lines<F> {
    line: Vec<u8>,
    overlong: bool,
    skipped: u64,
    each: F,
}

impl<F: FnMut(&[u8])> Lines<F> {
    pub fn new(each: F) -> Self {
        Self { line: Vec::new(), overlong: false, skipped: 0, each }
    }

    /// How many lines were too long.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes one piece of a line; whether it was the end of the list.
    fn take(&mut self, piece: &[u8]) -> bool {
        let room = LONGEST - self.line.len();
        self.overlong |= piece.len() > room;
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
        if !piece.ends_with(b"\n") {
            return false;
        }
        let is_whole = !std::mem::take(&mut self.overlong);
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let ended = is_whole && line == b".";
        if is_whole && !ended {
            (self.each)(line.strip_prefix(b".").unwrap_or(line));
        }
        self.skipped += u64::from(!is_whole);
        self.line.clear();
        ended
    }
}

impl<F: FnMut(&[u8])> BodySink for Lines<F> {
    fn begin(&mut self, _: RequestId) {
        self.line.clear();
        self.overlong = false;
    }

    fn body(&mut self, bytes: &[u8]) -> BodyStep {
        let mut consumed = 0;
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            consumed += piece.len();
            if self.take(piece) {
                return BodyStep { consumed, written: consumed, ended: true };
            }
        }
        BodyStep { consumed, written: consumed, ended: false }
    }
}

/// Overviews have some hundred bytes; the references of a long thread make a few thousand.
const LONGEST: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], chunk: usize) -> (Vec<String>, u64, usize) {
        let mut found = Vec::new();
        let mut sink = Lines::new(|line: &[u8]| found.push(String::from_utf8_lossy(line).into()));
        let mut consumed = 0;
        for piece in input.chunks(chunk) {
            let step = sink.body(piece);
            consumed += step.consumed;
            if step.ended {
                break;
            }
        }
        let skipped = sink.skipped();
        (found, skipped, consumed)
    }

    #[test]
    fn lines_lose_their_ends_and_dots_however_they_are_cut() {
        let input = b"one\r\n..two\n\r\n...\r\n.\r\n200 next";
        for chunk in 1..input.len() {
            let (found, skipped, consumed) = lines(input, chunk);
            assert_eq!(found, ["one", ".two", "", ".."]);
            assert_eq!((skipped, consumed), (0, input.len() - "200 next".len()));
        }
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_no_other_line() {
        let endless = vec![b'x'; LONGEST * 3];
        let input = [b"a\r\n", &endless[..], b"\r\nb\r\n.\r\n"].concat();
        for chunk in [1, 1000, input.len()] {
            let (found, skipped, _) = lines(&input, chunk);
            assert_eq!((found, skipped), (vec!["a".to_owned(), "b".to_owned()], 1));
        }
    }
}
