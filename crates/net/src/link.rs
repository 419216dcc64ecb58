//! A socket, plain or encrypted.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

#[derive(Debug)]
pub(crate) enum Link {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Link {
    /// Sends from `out` what can be sent and reads what has come, waiting for neither more than for
    /// the other: a server that stops reading until we read cannot lock us up.
    pub(crate) fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
        input: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        while !out.is_empty() {
            let Poll::Ready(sent) = self.poll_write(context, out) else { break };
            out.drain(..sent?);
        }
        if let Poll::Ready(Err(error)) = self.poll_flush(context) {
            return Poll::Ready(Err(error));
        }
        if input.is_empty() {
            return Poll::Pending; // whoever brings credit wakes us
        }
        let mut buffer = ReadBuf::new(input);
        ready!(self.poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Says goodbye on the TLS layer, if there is one.
    pub(crate) async fn close(mut self) {
        // The peer may be gone already; then nobody is there to be told.
        let _ = match &mut self {
            Self::Plain(socket) => socket.shutdown().await,
            Self::Tls(stream) => stream.shutdown().await,
        };
    }

    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }
}
