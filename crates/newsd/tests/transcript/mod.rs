//! Conversations written down, in the notation of RFC 3977.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(dead_code, reason = "each test file uses some of it")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_newsd::{Faults, Manners, Output, Posted, Session, Site};
use bergamot_types::MessageId;

/// Plays a transcript twice, line by line and byte by byte, against a fresh site each time.
///
/// `[C]` is what the reader sends and `[S]` what it then gets; `wait: 5s` lets time pass,
/// `close`, `cut` and `tls` are what the server does next, `silent` says that it does nothing.
pub(crate) fn converse(site: impl Fn() -> Arc<Site>, transcript: &str) -> Arc<Site> {
    play(site(), transcript, usize::MAX);
    let site = site();
    play(Arc::clone(&site), transcript, 1);
    site
}

fn play(site: Arc<Site>, transcript: &str, chunk: usize) {
    let mut reader = Reader::new(site);
    for line in transcript.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(text) = line.strip_prefix("[C]").map(str::trim_start) {
            assert_eq!(reader.unread(), "", "said before {line:?}");
            reader.send_in(&format!("{text}\r\n"), chunk);
        } else if let Some(text) = line.strip_prefix("[S]").map(str::trim_start) {
            assert_eq!(reader.line().as_deref(), Some(text));
        } else if let Some(time) = line.strip_prefix("wait: ") {
            let seconds = time.strip_suffix('s').and_then(|time| time.parse().ok());
            reader.now += Duration::from_secs_f64(seconds.expect("seconds, as 0.5s"));
        } else {
            let expected = match line {
                "close" => Some(Output::Close),
                "cut" => Some(Output::Cut),
                "silent" => None,
                "tls" => Some(Output::StartTls),
                _ => panic!("no line of a transcript: {line:?}"),
            };
            assert_eq!(reader.action(), expected);
        }
    }
    assert_eq!(reader.unread(), "", "said at the end");
}

/// The other half of a conversation.
pub(crate) struct Reader {
    pub(crate) session: Session,
    pub(crate) now: Instant,
    received: Vec<u8>,
    action: Option<Output>,
}

impl Reader {
    pub(crate) fn new(site: Arc<Site>) -> Self {
        let now = Instant::now();
        Self { session: Session::new(now, site), now, received: Vec::new(), action: None }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.send_in(text, usize::MAX);
    }

    fn send_in(&mut self, text: &str, chunk: usize) {
        for piece in text.as_bytes().chunks(chunk) {
            self.session.handle_input(self.now, piece);
        }
    }

    /// All that is sent by now; of what never ends, a megabyte.
    pub(crate) fn receive(&mut self) -> Vec<u8> {
        self.drain();
        std::mem::take(&mut self.received)
    }

    /// What the server does behind what it sent.
    pub(crate) fn action(&mut self) -> Option<Output> {
        self.drain();
        assert_eq!(self.unread(), "");
        let action = self.action.take();
        if action == Some(Output::StartTls) {
            self.session.handle_tls();
        }
        action
    }

    fn drain(&mut self) {
        while self.action.is_none() && self.received.len() < 1 << 20 {
            match self.session.poll_output(self.now) {
                Some(Output::Send(bytes)) => self.received.extend_from_slice(&bytes),
                other => {
                    self.action = other;
                    return;
                }
            }
        }
    }

    fn line(&mut self) -> Option<String> {
        self.drain();
        let end = self.received.windows(2).position(|pair| pair == b"\r\n")?;
        let rest = self.received.split_off(end + 2);
        let line = std::mem::replace(&mut self.received, rest);
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    fn unread(&self) -> String {
        self.received.escape_ascii().to_string()
    }
}

/// A site with the articles `a@x` and `b@x`.
pub(crate) fn site(manners: Manners, faults: Faults) -> Arc<Site> {
    let mut posted = Posted::new();
    posted.insert(&id("a@x"), b"first\n.dotted\n");
    posted.insert(&id("b@x"), b"other\n");
    Site::new(Arc::new(posted), manners, faults)
}

pub(crate) fn id(text: &str) -> MessageId {
    MessageId::parse(text).unwrap()
}
