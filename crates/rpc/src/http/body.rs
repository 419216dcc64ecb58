//! Request bodies within a shared memory budget ([`BodyBudget`], [`BodyReader`]) and response bodies ([`Answer`]).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::call::service::{LARGEST, LARGEST_USUAL};
use crate::codec::chunked_reply::{Aborted, ChunkedReply};
use crate::codec::nzb_methods::{NzbMethods, names_an_nzb_method};
use crate::codec::shape::{Excess, Shape};
use crate::event_hub::{Content, Delivery, Watcher};
use crate::http::body_pace::BodyPace;
use crate::shutdown::ShutdownSignal;
use crate::socket::connection_limit::Slot;

/// Memory for requests that are being read, of all clients together.
#[derive(Clone, Debug)]
pub(crate) struct BodyBudget {
    pieces: Arc<Semaphore>,
    piece: usize, // in bytes; what is smaller is not counted
}

/// A request in memory, and the room it takes.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// Memory is taken as it is filled. What may become large has a mapping of its own, which goes back to
    /// the system as soon as it is freed: glibc keeps what is smaller for later, once for each thread.
    fn reserve(&mut self, length: usize) {
        let length = if length > LARGE_FROM { length.max(OWN_MAPPING) } else { length };
        self.bytes.reserve_exact(length.saturating_sub(self.bytes.len()));
    }

    /// Its bytes go on in the room of another budget.
    pub(crate) fn leave_room(&mut self) {
        self._room = None;
    }
}

#[derive(Debug, Error)]
pub(crate) enum BodyError {
    #[error("the connection broke")]
    Broken,
    #[error("the memory for requests is in use; try again")]
    NoRoom,
    #[error("more than {0} bytes")]
    TooLarge(usize),
    #[error("the body arrived too slowly")]
    TooSlow,
    #[error(transparent)]
    Shape(#[from] Excess),
}

/// The body of a request while it is read from its connection.
pub(crate) struct BodyReader<'a> {
    body: Incoming,
    pace: BodyPace,
    slot: &'a Slot,
}

impl<'a> BodyReader<'a> {
    pub(crate) fn new(body: Incoming, slot: &'a Slot) -> Self {
        Self { body, pace: BodyPace::new(Instant::now()), slot }
    }

    fn claimed(&self) -> u64 {
        self.body.size_hint().lower()
    }

    /// The next piece; none at the end.
    async fn next(&mut self) -> Result<Option<Frame<Bytes>>, BodyError> {
        let frame = timeout_at(self.pace.deadline(), self.body.frame()).await;
        let Some(frame) = frame.map_err(|_| BodyError::TooSlow)? else { return Ok(None) };
        let frame = frame.map_err(|_| BodyError::Broken)?;
        let length = frame.data_ref().map_or(0, Bytes::len);
        if self.pace.on_data(Instant::now(), length) {
            self.slot.on_progress();
        }
        Ok(Some(frame))
    }
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self::of(BUDGET, MEBIBYTE)
    }
}

impl BodyBudget {
    fn of(bytes: usize, piece: usize) -> Self {
        Self { pieces: Arc::new(Semaphore::new(bytes / piece)), piece }
    }

    /// For requests whose key may follow the NZB in the form: not authenticated yet. They share a small budget,
    /// so that they take no memory from authenticated requests.
    pub(crate) fn for_unauthenticated() -> Self {
        Self::of(UNAUTHENTICATED_BYTES, SMALL_PIECE)
    }

    /// Reads until there are so many bytes or the body has ended.
    pub(crate) async fn read_up_to(
        &self,
        held: &mut Held,
        body: &mut BodyReader<'_>,
        enough: usize,
        limit: usize,
    ) -> Result<(), BodyError> {
        if body.claimed() > limit as u64 {
            return Err(BodyError::TooLarge(limit));
        }
        while held.bytes.len() < enough && self.read_on(held, body, limit).await? {}
        Ok(())
    }

    /// The next piece; false when there is none.
    async fn read_on(
        &self,
        held: &mut Held,
        body: &mut BodyReader<'_>,
        limit: usize,
    ) -> Result<bool, BodyError> {
        let Some(frame) = body.next().await? else { return Ok(false) };
        let Some(data) = frame.data_ref() else { return Ok(true) };
        let length = held.bytes.len() + data.len();
        if length > limit {
            return Err(BodyError::TooLarge(limit));
        }
        self.make_room(held, length)?;
        held.bytes.extend_from_slice(data);
        Ok(true)
    }

    /// Small requests are not counted; there are as many of them as connections, at most.
    fn make_room(&self, held: &mut Held, length: usize) -> Result<(), BodyError> {
        let wanted = length / self.piece;
        let got = held._room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if wanted <= got {
            return Ok(());
        }
        // In steps, so that a vector that doubles stays within what it has.
        let step = u32::try_from((wanted - got).max(got)).map_err(|_| BodyError::NoRoom)?;
        let more =
            self.pieces.clone().try_acquire_many_owned(step).map_err(|_| BodyError::NoRoom)?;
        match &mut held._room {
            Some(room) => room.merge(more),
            None => held._room = Some(more),
        }
        Ok(())
    }
}

/// Memory for the requests of authenticated clients, by what they bring.
#[derive(Clone, Debug)]
pub(crate) struct RequestBudgets {
    usual: BodyBudget,
    /// For one request at a time that is large and names no method that takes an NZB.
    large: BodyBudget,
    with_nzb: BodyBudget,
}

impl Default for RequestBudgets {
    fn default() -> Self {
        Self {
            usual: BodyBudget::of(USUAL_TOGETHER, SMALL_PIECE),
            large: BodyBudget::of(LARGEST_USUAL, SMALL_PIECE),
            with_nzb: BodyBudget::default(),
        }
    }
}

impl RequestBudgets {
    /// Only a request that begins like one with an NZB may be larger than usual.
    pub(crate) async fn read(
        &self,
        mut body: BodyReader<'_>,
        mut shape: Shape,
    ) -> Result<Held, BodyError> {
        let claimed = body.claimed();
        if claimed > LARGEST as u64 {
            return Err(BodyError::TooLarge(LARGEST));
        }
        let (mut held, mut kind) = (Held::default(), Kind::Usual);
        held.reserve(claimed as usize);
        let (mut seen, mut methods) = (0, NzbMethods::default());
        while self.of(kind).read_on(&mut held, &mut body, LARGEST).await? {
            check_length(&held.bytes, claimed)?;
            shape.handle_input(&held.bytes[seen..])?;
            seen = held.bytes.len();
            let now = kind_of(seen, claimed, methods.look(&held.bytes));
            if now != kind {
                kind = now;
                held.leave_room();
                if kind == Kind::Large {
                    // All at once: two that grow side by side would both be refused in the end.
                    self.large.make_room(&mut held, LARGEST_USUAL)?;
                    held.reserve(LARGEST_USUAL);
                }
            }
        }
        Ok(held)
    }

    fn of(&self, kind: Kind) -> &BodyBudget {
        match kind {
            Kind::Usual => &self.usual,
            Kind::Large => &self.large,
            Kind::WithNzb => &self.with_nzb,
        }
    }

    /// Of a form with a file.
    pub(crate) fn with_nzb(&self) -> &BodyBudget {
        &self.with_nzb
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Usual,
    Large,
    WithNzb,
}

/// What the first bytes of a request show.
fn kind_of(received: usize, claimed: u64, names_nzb_method: bool) -> Kind {
    let is_announced = received >= METHOD_WITHIN && claimed > LARGE_FROM as u64;
    match names_nzb_method {
        true => Kind::WithNzb,
        false if is_announced || received > LARGE_FROM => Kind::Large,
        false => Kind::Usual,
    }
}

/// As soon as it is known: from the announced length, or from the bytes so far.
fn check_length(bytes: &[u8], claimed: u64) -> Result<(), BodyError> {
    let length = claimed.max(bytes.len() as u64);
    if length > LARGEST as u64 {
        return Err(BodyError::TooLarge(LARGEST));
    }
    let is_told = bytes.len() >= METHOD_WITHIN.min(length as usize);
    let beginning = &bytes[..bytes.len().min(METHOD_WITHIN)];
    if length > LARGEST_USUAL as u64 && is_told && !names_an_nzb_method(beginning) {
        return Err(BodyError::TooLarge(LARGEST_USUAL));
    }
    Ok(())
}

/// What we answer: all of it, or as much as there is by now.
pub(crate) enum Answer {
    Whole(Bytes),
    Long { first: Bytes, more: Box<ChunkedReply<'static>> },
    Events(Pin<Box<dyn Future<Output = Option<NextEvent>> + Send>>),
}

/// Text to send, and what is needed for the next.
pub(crate) struct NextEvent {
    text: Bytes,
    watcher: Watcher,
    stopped: ShutdownSignal,
}

impl Answer {
    /// A comment comes first: curl and some proxies keep even the head to themselves until there is
    /// something to read.
    pub(crate) fn events(watcher: Watcher, stopped: ShutdownSignal) -> Self {
        let first = NextEvent { text: Bytes::from_static(COMMENT), watcher, stopped };
        Self::Events(Box::pin(async { Some(first) }))
    }
}

/// None when the server stops.
async fn next_event(mut watcher: Watcher, mut stopped: ShutdownSignal) -> Option<NextEvent> {
    let next = tokio::select! {
        next = timeout(KEEP_ALIVE, watcher.next()) => next,
        () = stopped.wait() => return None,
    };
    let text = match next {
        Ok(delivery) => server_sent_event(&delivery).into(),
        Err(_) => Bytes::from_static(COMMENT),
    };
    Some(NextEvent { text, watcher, stopped })
}

/// The id is what the client sends back after a break, as `Last-Event-ID`.
fn server_sent_event(delivery: &Delivery) -> String {
    let kind = match delivery.content {
        Content::Event(_) => "event",
        Content::Gap { .. } => "gap",
    };
    let data = serde_json::to_string(delivery).expect("our own events can be written");
    format!("id: {}/{}\nevent: {kind}\ndata: {data}\n\n", delivery.boot, delivery.sequence)
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Long { first, more } if first.is_empty() => {
                more.poll_next(context).map_ok(Frame::data)
            }
            Self::Long { first, .. } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(first))))),
            Self::Events(next) => {
                let Some(ready) = ready!(next.as_mut().poll(context)) else {
                    *self = Self::Whole(Bytes::new());
                    return Poll::Ready(None);
                };
                *next = Box::pin(next_event(ready.watcher, ready.stopped));
                Poll::Ready(Some(Ok(Frame::data(ready.text))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Events(_) | Self::Long { .. } => SizeHint::default(),
        }
    }
}

/// One large NZB and some usual requests.
const BUDGET: usize = 256 * MEBIBYTE;
const MEBIBYTE: usize = 1 << 20;
const UNAUTHENTICATED_BYTES: usize = 16 * MEBIBYTE;
/// Four of the largest at once. With a large one, and with what is copied of their parameters, they stay
/// within 64 MiB.
const USUAL_TOGETHER: usize = 4 * LARGE_FROM;
const LARGE_FROM: usize = 2 * MEBIBYTE;
/// Beyond the largest threshold of glibc, 32 MiB (`DEFAULT_MMAP_THRESHOLD_MAX`).
const OWN_MAPPING: usize = LARGEST_USUAL + MEBIBYTE;
/// All connections together may bring 8 MiB of these.
const SMALL_PIECE: usize = 64 << 10;
/// The method is named within so many bytes of every request seen so far.
const METHOD_WITHIN: usize = 4096;
/// Clients ignore it (server-sent events, section 9.2.5).
const COMMENT: &[u8] = b":\n\n";
/// Keeps proxies from closing an idle connection, and detects clients that are gone.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_noticed_early() {
        let usual = LARGEST_USUAL as u64;
        let append = br#"{"method":"Append","params":["#.repeat(200);
        let status = br#"{"method":"status","params":["#.repeat(200);
        assert!(check_length(&status, usual).is_ok());
        assert!(check_length(&status, usual + 1).is_err());
        assert!(check_length(&status[..10], usual + 1).is_ok());
        assert!(check_length(&append, usual + 1).is_ok());
        assert!(check_length(&append, LARGEST as u64 + 1).is_err());
    }

    #[test]
    fn large_requests_and_those_with_nzbs_are_counted_apart() {
        let large = LARGE_FROM as u64 + 1;
        assert_eq!(kind_of(10, large, false), Kind::Usual, "it may still name an NZB");
        assert_eq!(kind_of(METHOD_WITHIN, large, false), Kind::Large);
        assert_eq!(kind_of(LARGE_FROM + 1, 0, false), Kind::Large, "of unknown length");
        assert_eq!(kind_of(LARGE_FROM, LARGE_FROM as u64, false), Kind::Usual);
        assert_eq!(kind_of(LARGE_FROM + 1, large, true), Kind::WithNzb);
    }
}
