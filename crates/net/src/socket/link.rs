//! [`Link`]: a connected socket, plain or with TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use crate::socket::read_buffer::with_read_buffer;
use crate::tls::tls_stream::{TlsStream, send};

#[derive(Debug)]
pub(crate) enum Link {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

impl Link {
    /// Sends from `out` and reads at most `most` bytes, whichever is possible first: so a server that stops
    /// reading until its own data is read causes no deadlock.
    ///
    /// What was read goes to `take`, decrypted; how many bytes the socket gave is returned, 0 at its
    /// end.
    pub(crate) fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
        most: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => send(socket, context, out)?,
            Self::Tls(secured) => secured.poll_send(context, out)?,
        }
        if most == 0 {
            return Poll::Pending; // new credit wakes the task
        }
        with_read_buffer(|scratch| match self {
            Self::Plain(socket) => {
                let room = scratch.len().min(most);
                let mut buffer = ReadBuf::new(&mut scratch[..room]);
                ready!(Pin::new(socket).poll_read(context, &mut buffer))?;
                take(buffer.filled());
                Poll::Ready(Ok(buffer.filled().len()))
            }
            Self::Tls(secured) => secured.poll_receive(context, scratch, most, take),
        })
    }

    /// Sends a TLS close_notify, if there is TLS.
    pub(crate) async fn close(mut self) {
        // The peer may be gone already; then the notice is lost.
        let _ = match &mut self {
            Self::Plain(socket) => socket.shutdown().await,
            Self::Tls(secured) => secured.close().await,
        };
    }
}
