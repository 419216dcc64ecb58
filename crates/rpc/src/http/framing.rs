//! [`Framed`]: a stream that detects requests with an ambiguous length, before hyper parses them.
//!
//! A request with both `Content-Length` and `Transfer-Encoding` may end at one byte for this server and at another for a
//! proxy in front of it, so that the bytes between pass for another request (request smuggling, RFC 9112, section 6.3).
//! hyper prefers one header and drops the other, so the request heads are scanned on their way to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Wraps the stream of one connection and scans its request heads.
pub(crate) struct Framed<S> {
    stream: S,
    heads: Heads,
    verdict: Arc<Verdict>,
}

/// Which request of a connection is the first that cannot be trusted; they count from 0.
#[derive(Debug)]
pub(crate) struct Verdict(AtomicUsize);

impl Verdict {
    pub(crate) fn is_doubtful(&self, request: usize) -> bool {
        request >= self.0.load(Ordering::Relaxed)
    }
}

impl<S> Framed<S> {
    pub(crate) fn new(stream: S) -> Self {
        let verdict = Arc::new(Verdict(AtomicUsize::new(usize::MAX)));
        Self { stream, heads: Heads::default(), verdict }
    }

    pub(crate) fn verdict(&self) -> Arc<Verdict> {
        self.verdict.clone()
    }
}

/// The bytes of a connection, cut into heads and bodies.
#[derive(Debug, Default)]
struct Heads {
    count: usize, // of heads that have ended
    state: State,
}

#[derive(Debug)]
enum State {
    Head(Head),
    Body {
        left: u64,
    },
    /// Behind a body in chunks, with which a connection ends, or something that is no request.
    Unknown,
}

#[derive(Debug, Default)]
struct Head {
    line: Vec<u8>, // its beginning
    is_begun: bool,
    length: Option<u64>,
    is_encoded: bool,
}

impl Default for State {
    fn default() -> Self {
        Self::Head(Head::default())
    }
}

impl Heads {
    /// The number of the request that has both, once there is one.
    fn handle_input(&mut self, mut bytes: &[u8]) -> Option<usize> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Unknown => return None,
                State::Body { left } => {
                    let taken = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= taken as u64;
                    bytes = &bytes[taken..];
                    if *left == 0 {
                        self.state = State::default();
                    }
                }
                State::Head(head) => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let line = &bytes[..end.unwrap_or(bytes.len())];
                    let room = LONGEST_LINE - head.line.len();
                    head.line.extend_from_slice(&line[..line.len().min(room)]);
                    let end = end?;
                    bytes = &bytes[end + 1..];
                    if head.on_line() {
                        let (length, is_encoded) = (head.length, head.is_encoded);
                        self.count += 1;
                        self.state = match (length, is_encoded) {
                            (Some(_), true) => return Some(self.count - 1),
                            (None, true) => State::Unknown,
                            (None | Some(0), false) => State::default(),
                            (Some(left), false) => State::Body { left },
                        };
                    }
                }
            }
        }
        None
    }
}

impl Head {
    /// Whether it was the last of them.
    fn on_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        if line.is_empty() {
            // Empty lines before a request are passed over (RFC 9112, section 2.2).
            return self.is_begun;
        }
        self.is_begun = true;
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_encoded = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            // What is no number is refused by the reader.
            let number =
                std::str::from_utf8(value.trim_ascii()).ok().and_then(|it| it.parse().ok());
            self.length = Some(number.unwrap_or(0));
        }
        false
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Framed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if let Some(request) = self.heads.handle_input(&buffer.filled()[before..]) {
            self.heads.state = State::Unknown;
            self.verdict.0.store(request, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Framed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Longer than the names and lengths that count.
const LONGEST_LINE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// In every cut the same.
    fn doubtful(text: &str) -> Option<usize> {
        let found = Heads::default().handle_input(text.as_bytes());
        for cut in 0..text.len() {
            let mut heads = Heads::default();
            let (one, other) = text.as_bytes().split_at(cut);
            let cut_in_two = heads.handle_input(one).or_else(|| heads.handle_input(other));
            assert_eq!(cut_in_two, found, "cut at {cut}");
        }
        found
    }

    const BOTH: &str = "POST / HTTP/1.1\r\ncontent-LENGTH: 4\r\nTransfer-encoding:chunked\r\n\r\n";

    #[test]
    fn a_request_with_both_is_found_in_any_order_and_place() {
        assert_eq!(doubtful(BOTH), Some(0));
        let other_order = "POST / HTTP/1.1\nTransfer-Encoding: chunked\nContent-Length: 4\n\n";
        assert_eq!(doubtful(other_order), Some(0));
        let good = "\r\nPOST / HTTP/1.1\r\nContent-Length: 5\r\nX: y\r\n\r\n\r\n\r\n.";
        assert_eq!(doubtful(good), None);
        assert_eq!(doubtful(&format!("{good}GET / HTTP/1.1\r\n\r\n{BOTH}")), Some(2));
        let in_body = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{BOTH}", BOTH.len());
        assert_eq!(doubtful(&in_body), None);
    }

    #[test]
    fn long_lines_are_not_kept() {
        let mut heads = Heads::default();
        let long = format!("GET /{} HTTP/1.1\r\n{}: 1", "a".repeat(5000), "b".repeat(5000));
        assert_eq!(heads.handle_input(long.as_bytes()), None);
        let State::Head(head) = &heads.state else { panic!("it is a head") };
        assert_eq!(head.line.len(), LONGEST_LINE);
    }
}
