//! [`ChunkedReply`]: a response that is written in chunks while it is sent, in the task of its connection.
//!
//! The writer waits while two chunks are queued, so a response of any length takes little memory, and a slow client delays
//! only its own response.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bergamot_api::Refusal;
use bytes::Bytes;
use thiserror::Error;
use tokio::sync::mpsc;

use crate::codec::reply::Reply;

/// Where an answer is written to.
pub(crate) struct ChunkWriter {
    buffer: Vec<u8>,
    pieces: mpsc::Sender<Bytes>,
}

/// The chunks as the connection sends them.
pub(crate) struct ChunkedReply<'a> {
    writing: Option<Writing<'a>>,
    pieces: mpsc::Receiver<Bytes>,
    cut: Option<Aborted>,
}

type Writing<'a> = Pin<Box<dyn Future<Output = Result<(), Aborted>> + Send + 'a>>;

/// An answer ended before its end. What is out already cannot be taken back, so it must not look whole.
#[derive(Debug, Error)]
pub(crate) enum Aborted {
    #[error("the client closed the connection")]
    Left,
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The first chunk: it decides whether the length is announced.
pub(crate) enum Beginning<'a> {
    Long(Bytes, ChunkedReply<'a>),
    Nothing,
    Whole(Bytes),
}

impl ChunkWriter {
    pub(crate) fn write(&mut self, text: &[u8]) {
        self.buffer.extend_from_slice(text);
    }

    /// All of a reply, as it is made.
    pub(crate) async fn put(&mut self, reply: Reply) -> Result<(), Aborted> {
        let Reply { mut text, rest, tail } = reply;
        if self.buffer.is_empty() {
            self.buffer = text;
        } else {
            self.buffer.append(&mut text);
        }
        if let Some(mut rest) = rest {
            while rest.write_on(&mut self.buffer).await? {
                self.let_out().await?;
            }
        }
        self.buffer.extend_from_slice(&tail);
        Ok(())
    }

    /// Waits for the reader if there is much.
    pub(crate) async fn let_out(&mut self) -> Result<(), Aborted> {
        if self.buffer.len() < LARGEST_PIECE {
            return Ok(());
        }
        self.send().await
    }

    async fn send(&mut self) -> Result<(), Aborted> {
        let piece = std::mem::take(&mut self.buffer);
        self.pieces.send(piece.into()).await.map_err(|_| Aborted::Left)
    }
}

impl<'a> ChunkedReply<'a> {
    /// Of what the function writes.
    pub(crate) fn of<F>(write: impl FnOnce(ChunkWriter) -> F) -> Self
    where
        F: Future<Output = Result<ChunkWriter, Aborted>> + Send + 'a,
    {
        let (sender, pieces) = mpsc::channel(1);
        let written = write(ChunkWriter { buffer: Vec::new(), pieces: sender });
        let writing = async {
            let mut chunks = written.await?;
            if chunks.buffer.is_empty() { Ok(()) } else { chunks.send().await }
        };
        Self { writing: Some(Box::pin(writing)), pieces, cut: None }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Aborted>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    pub(crate) async fn beginning(mut self) -> Result<Beginning<'a>, Aborted> {
        let first = self.next().await.transpose()?;
        Ok(match (first, &self.writing) {
            (None, _) => Beginning::Nothing,
            (Some(first), None) if self.cut.is_none() => Beginning::Whole(first),
            (Some(first), _) => Beginning::Long(first, self),
        })
    }

    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Aborted>>> {
        if let Some(writing) = &mut self.writing
            && let Poll::Ready(written) = writing.as_mut().poll(context)
        {
            self.writing = None; // and with it the last sender
            self.cut = written.err();
        }
        match ready!(self.pieces.poll_recv(context)) {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => Poll::Ready(self.cut.take().map(Err)),
        }
    }
}

/// Responses that fit one chunk announce their length. A client holds three chunks at most: one being
/// sent, one on its way and one being written.
const LARGEST_PIECE: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::long_list::{LongList, NoMore, Source};
    use crate::codec::reply::Format;

    /// Numbers, and an end that may come early.
    struct Numbers {
        next: u64,
        end: u64,
        breaks: bool,
    }

    impl Source<u64> for Numbers {
        async fn more(&mut self) -> Result<Option<Vec<u64>>, Refusal> {
            if self.next == self.end {
                return if self.breaks { Err(Refusal::Stopping) } else { Ok(None) };
            }
            self.next += 1;
            Ok(Some(vec![self.next]))
        }
    }

    fn pieces(end: u64, breaks: bool) -> ChunkedReply<'static> {
        let numbers = Numbers { next: 0, end, breaks };
        let reply = LongList::reply(Format::Json, vec![0], numbers, Format::append);
        ChunkedReply::of(|mut chunks| async move {
            chunks.put(reply.between(b"{", b"}")).await?;
            Ok(chunks)
        })
    }

    #[tokio::test]
    async fn a_short_answer_is_whole_and_a_long_one_comes_in_pieces() {
        let Ok(Beginning::Whole(text)) = pieces(3, false).beginning().await else { panic!() };
        assert_eq!(text, "{[0,1,2,3]}");
        let Ok(Beginning::Long(first, mut more)) = pieces(100_000, false).beginning().await else {
            panic!()
        };
        let mut text = first.to_vec();
        while let Some(piece) = more.next().await {
            let piece = piece.unwrap();
            assert!(piece.len() < 2 * LARGEST_PIECE);
            text.extend_from_slice(&piece);
        }
        let numbers: Vec<_> = (0..=100_000).map(|number| number.to_string()).collect();
        assert_eq!(String::from_utf8(text).unwrap(), format!("{{[{}]}}", numbers.join(",")));
        let silent = ChunkedReply::of(|chunks| async { Ok(chunks) }).beginning().await;
        assert!(matches!(silent, Ok(Beginning::Nothing)));
    }

    #[tokio::test]
    async fn the_writer_waits_for_the_reader() {
        let mut pieces = pieces(1_000_000, false);
        pieces.next().await.unwrap().unwrap();
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut writing = pieces.writing.take().unwrap();
        for _ in 0..1000 {
            assert!(writing.as_mut().poll(&mut context).is_pending());
        }
        assert_eq!(pieces.pieces.len(), 1);
    }

    #[tokio::test]
    async fn what_breaks_off_does_not_look_whole() {
        assert!(pieces(3, true).beginning().await.is_err());
        let Ok(Beginning::Long(_, mut more)) = pieces(100_000, true).beginning().await else {
            panic!()
        };
        let last = loop {
            match more.next().await {
                Some(Ok(_)) => {}
                other => break other,
            }
        };
        assert!(matches!(last, Some(Err(Aborted::Refused(Refusal::Stopping)))));
    }

    #[test]
    fn lists_have_the_brackets_of_their_format() {
        let reply = LongList::reply(Format::Xml, vec![1u8], NoMore, Format::append);
        assert!(reply.text.starts_with(b"<value><array>"));
        assert!(reply.tail.ends_with(b"</array></value>"));
    }
}
