//! [`Cable`]: the byte stream below TLS, which can be cut and corrupted.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::faults::fault::Fault;
use crate::session::site::Site;

/// A stream whose sender has a hand on it.
#[derive(Debug)]
pub(crate) struct Cable<S> {
    inner: S,
    hand: Arc<Hand>,
    site: Arc<Site>,
    untouched: usize, // bytes until one is spoilt
}

/// What the owner of a [`Cable`] keeps when TLS has swallowed the cable itself.
#[derive(Debug, Default)]
pub(crate) struct Hand {
    cut: AtomicBool,
    spoil: AtomicBool,
}

impl Hand {
    /// From now on what is sent goes nowhere, the goodbye of TLS included; closing still works.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    /// Turns one bit round, some way on.
    pub(crate) fn spoil(&self) {
        self.spoil.store(true, Ordering::Relaxed);
    }
}

impl<S> Cable<S> {
    pub(crate) fn new(inner: S, site: Arc<Site>) -> (Self, Arc<Hand>) {
        let hand = Arc::new(Hand::default());
        (Self { inner, hand: Arc::clone(&hand), site, untouched: UNTOUCHED }, hand)
    }
}

impl<S: AsyncWrite + Unpin> Cable<S> {
    fn poll_spoil(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let (first, spoilt) = match bytes {
            [first, ..] if self.untouched == 0 => (&[first ^ 1][..], true),
            _ => (&bytes[..bytes.len().min(self.untouched)], false),
        };
        let length = ready!(Pin::new(&mut self.inner).poll_write(context, first))?;
        if spoilt && length > 0 {
            self.hand.spoil.store(false, Ordering::Relaxed);
            self.site.tally.fire(Fault::RecordCorrupt);
        }
        self.untouched = self.untouched.saturating_sub(length);
        Poll::Ready(Ok(length))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Cable<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Cable<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.hand.cut.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(bytes.len()));
        }
        if self.hand.spoil.load(Ordering::Relaxed) {
            return self.poll_spoil(context, bytes);
        }
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.hand.cut.load(Ordering::Relaxed) || self.hand.spoil.load(Ordering::Relaxed) {
            let first = slices.iter().find(|slice| !slice.is_empty());
            return self.poll_write(context, first.map_or(&[], |slice| &**slice));
        }
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// More than a handshake and a login take, less than an article.
const UNTOUCHED: usize = 8 << 10;
