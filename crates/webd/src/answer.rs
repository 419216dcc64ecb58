//! [`Answer`]: the scripted answer to a request.

use std::fmt::Write as _;
use std::io::{self, Write};

/// Made like `Answer::new(200).header("ETag", "\"1\"").body(feed)`.
#[derive(Clone, Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    manner: Manner,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Manner {
    Chunked,
    /// The body goes on and on.
    Endless,
    Proper,
    /// The body alone is sent, as if it were all of the answer.
    Raw,
    /// The whole length is announced, and only so much is sent.
    Short(usize),
    /// Nothing is said until the other side has gone.
    Silent,
}

impl Answer {
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), manner: Manner::Proper }
    }

    pub fn redirect(status: u16, location: &str) -> Self {
        Self::new(status).header("Location", location)
    }

    /// These bytes and nothing else, whether or not they are HTTP.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { manner: Manner::Raw, ..Self::new(200).body(bytes) }
    }

    pub fn silence() -> Self {
        Self { manner: Manner::Silent, ..Self::new(200) }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = bytes.into();
        self
    }

    pub fn chunked(self) -> Self {
        Self { manner: Manner::Chunked, ..self }
    }

    /// The connection ends after so many bytes of the body.
    pub fn cut_after(self, length: usize) -> Self {
        Self { manner: Manner::Short(length), ..self }
    }

    /// The body is repeated until the other side has had enough.
    pub fn endless(self) -> Self {
        Self { manner: Manner::Endless, ..self }
    }

    /// Whether the connection is to be held without a word.
    pub(crate) fn is_silent(&self) -> bool {
        self.manner == Manner::Silent
    }

    pub(crate) fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        match self.manner {
            Manner::Raw => out.write_all(&self.body)?,
            Manner::Silent => {}
            Manner::Proper => {
                self.write_head(out, &format!("Content-Length: {}", self.body.len()))?;
                out.write_all(&self.body)?;
            }
            Manner::Short(length) => {
                self.write_head(out, &format!("Content-Length: {}", self.body.len()))?;
                out.write_all(&self.body[..length.min(self.body.len())])?;
            }
            Manner::Chunked => {
                self.write_head(out, "Transfer-Encoding: chunked")?;
                self.write_chunk(out)?;
                out.write_all(b"0\r\n\r\n")?;
            }
            Manner::Endless => {
                self.write_head(out, "Transfer-Encoding: chunked")?;
                loop {
                    self.write_chunk(out)?;
                }
            }
        }
        out.flush()
    }

    /// A 304 has no length: it has no body (RFC 9110, section 15.4.5).
    fn write_head(&self, out: &mut impl Write, framing: &str) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Scripted\r\nConnection: close\r\n", self.status);
        let framing = (self.status != 304).then_some(framing);
        let own = self.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        for line in framing.map(str::to_owned).into_iter().chain(own) {
            write!(head, "{line}\r\n").expect("a string takes everything");
        }
        head.push_str("\r\n");
        out.write_all(head.as_bytes())
    }

    fn write_chunk(&self, out: &mut impl Write) -> io::Result<()> {
        if self.body.is_empty() {
            return Ok(());
        }
        write!(out, "{:x}\r\n", self.body.len())?;
        out.write_all(&self.body)?;
        out.write_all(b"\r\n")
    }
}
