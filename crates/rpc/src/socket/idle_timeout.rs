//! [`IdleTimeout`]: a stream that fails when it is idle, or when written bytes are not accepted, for too long.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Ends with an error when nothing is read or written for too long, or what we write is not taken.
pub(crate) struct IdleTimeout<S> {
    stream: S,
    first: Bytes, // read already, to find out what is spoken
    idle_limit: Option<Duration>,
    idle: Pin<Box<Sleep>>,
    stalled: Pin<Box<Sleep>>,
    writing: bool,
}

impl<S> IdleTimeout<S> {
    pub(crate) fn new(stream: S, first: Bytes, idle_limit: Option<Duration>) -> Self {
        let idle = Box::pin(sleep(idle_limit.unwrap_or_default()));
        let stalled = Box::pin(sleep(WRITE_LIMIT));
        Self { stream, first, idle_limit, idle, stalled, writing: false }
    }

    fn on_progress(&mut self) {
        if let Some(limit) = self.idle_limit {
            self.idle.as_mut().reset(Instant::now() + limit);
        }
    }

    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.idle_limit.is_none() {
            return Poll::Pending;
        }
        ready!(self.idle.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_stalled<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if !self.writing {
            self.writing = true;
            self.stalled.as_mut().reset(Instant::now() + WRITE_LIMIT);
        }
        ready!(self.stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn on_written<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_pending() {
            return self.poll_stalled(context);
        }
        self.writing = false;
        self.on_progress();
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.has_remaining() {
            let length = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first.split_to(length));
            return Poll::Ready(Ok(()));
        }
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Pending => self.poll_idle(context),
            ready => {
                self.on_progress();
                ready
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.on_written(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.on_written(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A client that accepts no bytes for so long is gone or stalls on purpose.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
