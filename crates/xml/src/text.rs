//! [`Text`]: a document converted to UTF-8.
//!
//! The XML reader behind this sees valid UTF-8 only, and buffers one tag or text at a time. Here
//! the bytes are counted for the limits on the whole file and on one such token, and the lines for
//! error messages.

use std::fmt;
use std::io::{self, BufRead, Cursor, Read};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// A source of UTF-8 for an XML reader, which calls [`Text::start_token`] before each token.
pub struct Text<'a> {
    source: Box<dyn BufRead + 'a>,
    decoder: Decoder,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    read: u64, // from the source
    size_limit: u64,
    token: u64, // consumed since the last token began
    token_limit: u64,
    lead: [u8; 2], // its first bytes
    line: u64,
    state: State,
    failure: Option<Failure>,
    invalid: bool,
    unknown_encoding: bool,
}

#[derive(PartialEq)]
enum State {
    Reading,
    Finished,
}

/// Why reading stopped, other than by the source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Failure {
    Size,
    /// In a tag, that is in an attribute.
    Tag,
    /// In text or a comment.
    Words,
}

impl<'a> Text<'a> {
    pub fn new(
        mut source: Box<dyn BufRead + 'a>,
        size_limit: u64,
        token_limit: u64,
    ) -> io::Result<Self> {
        let head = take_head(&mut source, SNIFFED)?;
        let sniffed = sniff(&head);
        Ok(Self {
            source: Box::new(Cursor::new(head).chain(source)),
            decoder: sniffed.unwrap_or(UTF_8).new_decoder(),
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
            read: 0,
            size_limit,
            token: 0,
            token_limit,
            lead: [0; 2],
            line: 1,
            state: State::Reading,
            failure: None,
            invalid: false,
            unknown_encoding: sniffed.is_none(),
        })
    }

    pub fn start_token(&mut self) {
        self.token = 0;
    }

    pub fn line(&self) -> u64 {
        self.line
    }

    /// Whether the XML reader has seen all there is, so that what it misses is missing.
    pub fn is_at_end(&self) -> bool {
        self.state == State::Finished && self.start == self.end
    }

    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    pub fn has_invalid_bytes(&self) -> bool {
        self.invalid
    }

    pub fn has_unknown_encoding(&self) -> bool {
        self.unknown_encoding
    }

    /// Reads to the end, because the limits cover the whole document.
    pub fn drain(&mut self) {
        loop {
            self.start_token();
            match self.fill_buf().map(<[u8]>::len) {
                Ok(0) | Err(_) => return,
                Ok(length) => self.consume(length),
            }
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        (self.start, self.end) = (0, 0);
        while self.end == 0 && self.state == State::Reading {
            let fresh = self.source.fill_buf()?;
            let last = fresh.is_empty();
            let (result, read, written, invalid) =
                self.decoder.decode_to_utf8(fresh, &mut self.buffer, last);
            self.source.consume(read);
            self.read += read as u64;
            self.end = written;
            self.invalid |= invalid;
            if self.read > self.size_limit {
                return Err(self.fail(Failure::Size));
            }
            if last && result == CoderResult::InputEmpty {
                self.state = State::Finished;
            }
        }
        Ok(())
    }

    fn fail(&mut self, failure: Failure) -> io::Error {
        (self.start, self.end, self.state) = (0, 0, State::Finished);
        self.failure = Some(failure);
        io::ErrorKind::FileTooLarge.into()
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text(line {})", self.line)
    }
}

impl Read for Text<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(out)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Text<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.token > self.token_limit {
            let is_tag = self.lead[0] == b'<' && !matches!(self.lead[1], b'!' | b'?');
            return Err(self.fail(if is_tag { Failure::Tag } else { Failure::Words }));
        }
        if self.start == self.end {
            self.refill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, length: usize) {
        let taken = &self.buffer[self.start..self.start + length];
        for (place, byte) in (self.token..2).zip(taken) {
            self.lead[place as usize] = *byte;
        }
        self.line += taken.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.token += length as u64;
        self.start += length;
    }
}

/// The first bytes, fewer only if the input ends before.
pub fn take_head(input: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(length);
    input.take(length as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The encoding by the first bytes; a byte order mark is left to the decoder, which trusts it above all.
/// `None` if an unknown encoding is declared.
fn sniff(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [b'<', 0, ..] => Some(UTF_16LE),
        [0, b'<', ..] => Some(UTF_16BE),
        _ => declared(head),
    }
}

fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let end = head.windows(2).position(|pair| pair == b"?>").unwrap_or(0);
    let declaration = &head[..end];
    let key = b"encoding";
    let Some(at) = declaration.windows(key.len()).position(|word| word == key) else {
        return Some(UTF_8);
    };
    let value = declaration[at + key.len()..].trim_ascii_start();
    let mut quoted = value.split(|byte| matches!(byte, b'"' | b'\''));
    let encoding = Encoding::for_label(quoted.nth(1)?)?;
    // The declaration was just read byte by byte, so two bytes a character it cannot have.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

/// An XML declaration is far shorter.
const SNIFFED: usize = 1024;
const BUFFER: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        let source = Box::new(Cursor::new(bytes.to_vec()));
        let mut out = String::new();
        Text::new(source, 1 << 20, 1 << 20).unwrap().read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn declared_and_marked_encodings_are_read() {
        let latin = b"<?xml version=\"1.0\" encoding='ISO-8859-1'?>\xe4\x80";
        assert!(text(latin).ends_with("?>ä€"), "read as windows-1252, as browsers do");
        assert_eq!(text(b"\xef\xbb\xbfab"), "ab");
        assert_eq!(text(b"\xff\xfea\0\xe4\0"), "aä");
        assert_eq!(text(b"\xfe\xff\0a\0\xe4"), "aä");
        assert_eq!(text(b"<\0a\0"), "<a");
        assert_eq!(text(b"a\xe4b"), "a\u{fffd}b");
        assert!(text(b"<?xml encoding=\"utf-16\"?>\xc3\xa4").ends_with('ä'));
    }

    #[test]
    fn long_input_survives_the_buffer_edges() {
        let long = "ä漢x".repeat(50_000);
        assert_eq!(text(long.as_bytes()), long);
    }
}
