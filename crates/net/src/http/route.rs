//! Name lookup, address check, connect and TLS for one URL.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bergamot_types::{Scheme, Url};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::HttpError;
use super::reach::Reach;
use crate::error::ConnectError;
use crate::socket::dial::{in_turn, race};
use crate::tls::certificate;

pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Connects to `url`, where `reach` allows it on a way that began at `first`.
pub(super) async fn connect(
    url: &Url,
    first: &Url,
    reach: Reach,
    tls: &Arc<ClientConfig>,
) -> Result<Stream, HttpError> {
    let addresses = addresses(url, first, reach).await?;
    let failed = |error| HttpError::Connect { host: url.host().to_owned(), error };
    let socket = race(addresses).await.map_err(failed)?;
    match url.scheme() {
        Scheme::Http => Ok(Stream::Plain(socket)),
        Scheme::Https => shake_hands(url, socket, tls).await,
    }
}

/// Those addresses of the host that may be connected to.
async fn addresses(url: &Url, first: &Url, reach: Reach) -> Result<Vec<SocketAddr>, HttpError> {
    let host = url.host().to_owned();
    let found = match lookup_host((url.host(), url.port())).await {
        Ok(found) => found,
        Err(error) => {
            let error = ConnectError::Resolve { host: host.clone(), error };
            return Err(HttpError::Connect { host, error });
        }
    };
    let (allowed, refused): (Vec<_>, Vec<_>) =
        found.partition(|address| reach.allows(address.ip(), url, first));
    if allowed.is_empty() {
        return Err(match refused.first() {
            Some(address) => HttpError::Forbidden { host, address: address.ip() },
            None => {
                let error = ConnectError::NoAddress { host: host.clone(), wanted: "usable" };
                HttpError::Connect { host, error }
            }
        });
    }
    let (v6, v4): (Vec<_>, Vec<_>) = allowed.into_iter().partition(SocketAddr::is_ipv6);
    Ok(in_turn(v6, v4))
}

async fn shake_hands(
    url: &Url,
    socket: TcpStream,
    tls: &Arc<ClientConfig>,
) -> Result<Stream, HttpError> {
    let failed = |cause: &dyn ToString| HttpError::Tls {
        host: url.host().to_owned(),
        cause: cause.to_string(),
    };
    let name = ServerName::try_from(url.host().to_owned()).map_err(|error| failed(&error))?;
    let connector = TlsConnector::from(Arc::clone(tls));
    let stream = connector.connect(name, socket).await.map_err(|error| {
        let certificate = certificate::of_handshake(&error);
        certificate.map_or_else(|| failed(&error), |cause| failed(&cause))
    })?;
    Ok(Stream::Tls(Box::new(stream)))
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
