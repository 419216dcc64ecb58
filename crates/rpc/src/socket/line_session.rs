//! [`Session`]: JSON-RPC 2.0 over the Unix socket, one message per line in both directions; the task of its connection runs it.

use std::io;

use bergamot_api::Control;
use bergamot_types::Shown;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::access::Caller;
use crate::call::fault::Fault;
use crate::call::registry::{self, Entry, Method};
use crate::call::service::{CallContext, LARGEST, Params, Service};
use crate::codec::chunked_reply::ChunkedReply;
use crate::codec::json::{Json, Source};
use crate::codec::json_rpc::{Envelope, Message, Request};
use crate::codec::reply::{Format, Reply};
use crate::event_hub::{Delivery, Position, Watcher};
use crate::socket::connection_limit::Slot;

/// One connection. Requests are answered in their order; events come between the answers.
pub(crate) struct Session<'a, C> {
    pub(crate) service: &'a Service<C>,
    pub(crate) caller: &'a Caller,
    pub(crate) slot: &'a Slot,
    pub(crate) watcher: Option<Watcher>,
}

enum Next {
    End,
    Event(Delivery),
    Line(Vec<u8>),
    TooLong,
}

impl<C: Control> Session<'_, C> {
    /// Until the client closes its side and has all responses.
    pub(crate) async fn run(
        mut self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let mut lines = Lines::default();
        loop {
            let next = tokio::select! {
                line = lines.next(&mut reader) => line?,
                delivery = next_event(&mut self.watcher) => Next::Event(delivery),
            };
            match next {
                Next::End => break,
                Next::Event(delivery) => {
                    writer.write_all(&line_of(notification(&delivery))).await?;
                }
                Next::Line(line) => {
                    self.slot.on_call(); // never refused on the socket
                    let answered = self.answer(&line, &mut writer).await;
                    self.slot.on_answered();
                    answered?;
                }
                Next::TooLong => {
                    let fault = Fault::TooLarge { limit: LARGEST };
                    let answer = Envelope::unknown().around(Err(fault));
                    writer.write_all(&line_of(answer)).await?;
                }
            }
            writer.flush().await?;
            if lines.is_lost {
                break;
            }
        }
        writer.shutdown().await
    }

    async fn answer(
        &mut self,
        line: &[u8],
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let answer = match Message::parse(line) {
            Err(fault) => Envelope::unknown().around(Err(fault)),
            Ok(Message::Batch(batch)) => {
                let (service, asked) = (self.service, self.asked());
                let pieces = ChunkedReply::of(|mut chunks| async move {
                    service.answer_batch(&asked, batch, &mut chunks).await?;
                    Ok(chunks)
                });
                return write_line(pieces, writer).await;
            }
            Ok(Message::One(one)) => match self.answer_one(one).await {
                Some(answer) => answer,
                None => return Ok(()),
            },
        };
        let pieces = ChunkedReply::of(|mut chunks| async {
            chunks.put(answer).await?;
            Ok(chunks)
        });
        write_line(pieces, writer).await
    }

    async fn answer_one(&mut self, source: Source<'_>) -> Option<Reply> {
        let request = match Request::read(source) {
            Ok(request) => request,
            Err((fault, envelope)) => return Some(envelope.around(Err(fault))),
        };
        match registry::find(&request.method) {
            Ok(entry) if entry.method == Method::EventsSubscribe => {
                let envelope = request.envelope();
                Some(envelope.around(self.subscribe(entry, request.params)))
            }
            Ok(entry) if entry.method == Method::EventsUnsubscribe => {
                let envelope = request.envelope();
                Some(envelope.around(self.unsubscribe(request.params)))
            }
            _ => self.service.answer_request(&self.asked(), request, true).await,
        }
    }

    fn asked(&self) -> CallContext<'_> {
        CallContext { caller: self.caller, format: Format::Json, by_get: false }
    }

    fn subscribe(&mut self, entry: &Entry, params: Params<'_>) -> Result<Reply, Fault> {
        entry.permit(self.caller)?;
        let Subscription { since } = named(params.parse()?)?;
        self.watcher = Some(self.service.hub.watch(since.as_ref()));
        Ok(Format::Json.write(&self.service.hub.position()))
    }

    fn unsubscribe(&mut self, params: Params<'_>) -> Result<Reply, Fault> {
        let Nothing {} = named(params.parse()?)?;
        self.watcher = None;
        Ok(Format::Json.write(&()))
    }
}

fn named<'a, P: Deserialize<'a>>(params: Json<'a>) -> Result<P, Fault> {
    let params = if params == Json::Null { Json::Object(Vec::new()) } else { params };
    P::deserialize(params).map_err(|error| Fault::parameter(Shown(&error.to_string()).to_string()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subscription {
    since: Option<Position>,
}

#[derive(Serialize)]
struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: &'a Delivery,
}

fn notification(delivery: &Delivery) -> Reply {
    let notification = Notification { jsonrpc: "2.0", method: "events.event", params: delivery };
    Format::Json.write(&notification)
}

/// Of an answer that is there.
fn line_of(answer: Reply) -> Vec<u8> {
    answer.between(b"", b"\n").text
}

/// A response that cannot be completed closes the connection, so that it is not taken for complete.
async fn write_line(
    mut pieces: ChunkedReply<'_>,
    writer: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut is_begun = false;
    while let Some(piece) = pieces.next().await {
        writer.write_all(&piece.map_err(io::Error::other)?).await?;
        is_begun = true;
    }
    if is_begun { writer.write_all(b"\n").await } else { Ok(()) }
}

/// Never returns without a subscription.
async fn next_event(watcher: &mut Option<Watcher>) -> Delivery {
    match watcher {
        Some(watcher) => watcher.next().await,
        None => std::future::pending().await,
    }
}

/// Cuts what comes into lines. What it has read so far outlives a wait that is given up.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    looked_at: usize, // there is no line end before this
    at_end: bool,
    is_lost: bool, // in the middle of a line that is too long
}

impl Lines {
    async fn next(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Next> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Next::Line(line));
            }
            if self.at_end {
                let rest = std::mem::take(&mut self.buffer);
                self.looked_at = 0;
                return Ok(if rest.is_empty() { Next::End } else { Next::Line(rest) });
            }
            if self.buffer.len() > LARGEST {
                self.is_lost = true;
                return Ok(Next::TooLong);
            }
            self.buffer.reserve(READ_SIZE);
            self.at_end = reader.read_buf(&mut self.buffer).await? == 0;
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let new = &self.buffer[self.looked_at..];
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            self.looked_at = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.looked_at + end + 1);
        self.looked_at = 0;
        Some(std::mem::replace(&mut self.buffer, rest))
    }
}

const READ_SIZE: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_last_line_without_its_end_is_a_line() {
        let (mut lines, mut text) = (Lines::default(), &b"one\ntwo"[..]);
        let mut found = Vec::new();
        while let Next::Line(line) = lines.next(&mut text).await.unwrap() {
            found.push(line);
        }
        assert_eq!(found, [b"one\n".to_vec(), b"two".to_vec()]);
        assert!(matches!(lines.next(&mut text).await, Ok(Next::End)));
    }
}
