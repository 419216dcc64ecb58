//! Name lookup, connect and TLS handshake for a news server.

use std::net::SocketAddr;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::error::ConnectError;
use crate::http::is_public;
use crate::server::{IpVersion, Server};
use crate::tls::certificate;
use crate::tls::tls_stream::TlsStream;

pub(crate) async fn dial(server: &Server) -> Result<TcpStream, ConnectError> {
    let limit = server.settings().limits.connect;
    let connecting = async {
        let addresses = addresses(server).await?;
        race(addresses).await
    };
    timeout(limit, connecting).await.unwrap_or_else(|_| Err(too_slow(server, "connecting", limit)))
}

pub(crate) async fn shake_hands(
    server: &Server,
    socket: TcpStream,
) -> Result<TlsStream, ConnectError> {
    let host = server.host().to_owned();
    let config = server.tls().expect("a server with encryption has a TLS configuration").clone();
    let name = ServerName::try_from(host.clone()).map_err(|error| ConnectError::Certificate {
        host: host.clone(),
        cause: error.to_string(),
    })?;
    let limit = server.settings().limits.handshake;
    match timeout(limit, TlsStream::shake_hands(config, name, socket)).await {
        Err(_) => Err(too_slow(server, "the TLS handshake", limit)),
        Ok(result) => result.map_err(|error| classify(server, error)),
    }
}

fn too_slow(server: &Server, what: &'static str, limit: Duration) -> ConnectError {
    let port = server.settings().port;
    ConnectError::TooSlow { host: server.host().to_owned(), port, what, limit }
}

fn classify(server: &Server, error: std::io::Error) -> ConnectError {
    let (host, port) = (server.host().to_owned(), server.settings().port);
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(cause)) => {
            ConnectError::Certificate { host, cause: certificate::described(cause) }
        }
        Some(rustls::Error::InvalidMessage(_)) => ConnectError::NotTls { host, port },
        _ => ConnectError::Tls { host, error },
    }
}

/// The host's addresses, the two families in turn.
async fn addresses(server: &Server) -> Result<Vec<SocketAddr>, ConnectError> {
    let host = server.host();
    let found = lookup_host((host, server.settings().port)).await;
    let found = found.map_err(|error| ConnectError::Resolve { host: host.to_owned(), error })?;
    let found: Vec<_> = found.collect();
    if server.is_public_only() && found.iter().any(|address| !is_public(address.ip())) {
        return Err(ConnectError::Private { host: host.to_owned() });
    }
    let (v6, v4): (Vec<_>, Vec<_>) = found.into_iter().partition(SocketAddr::is_ipv6);
    let (addresses, wanted) = match server.settings().ip_version {
        IpVersion::Auto => (in_turn(v6, v4), "usable"),
        IpVersion::V4 => (v4, "IPv4"),
        IpVersion::V6 => (v6, "IPv6"),
    };
    if addresses.is_empty() {
        return Err(ConnectError::NoAddress { host: host.to_owned(), wanted });
    }
    Ok(addresses)
}

pub(crate) fn in_turn(v6: Vec<SocketAddr>, v4: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let (mut v6, mut v4) = (v6.into_iter(), v4.into_iter());
    let mut mixed = Vec::new();
    loop {
        let pair = [v6.next(), v4.next()];
        if pair == [None, None] {
            mixed.truncate(MOST_ADDRESSES);
            return mixed;
        }
        mixed.extend(pair.into_iter().flatten());
    }
}

/// Happy eyeballs (RFC 8305): the next address is tried when the one before has failed or has had
/// its head start; the first to answer wins, the others are dropped.
pub(crate) async fn race(addresses: Vec<SocketAddr>) -> Result<TcpStream, ConnectError> {
    let mut waiting = addresses.into_iter();
    let mut racing = JoinSet::new();
    let mut failure = None;
    loop {
        let next = waiting.next();
        let more = next.is_some();
        if let Some(address) = next {
            racing.spawn(connect(address));
        }
        // The inner loop waits for one result; after a failure the next address is tried at once.
        loop {
            tokio::select! {
                Some(result) = racing.join_next() => match result {
                    Ok(Ok(socket)) => return Ok(socket),
                    Ok(Err(error)) => failure = Some(error),
                    Err(panic) => std::panic::resume_unwind(panic.into_panic()),
                },
                () = sleep(HEAD_START), if more => {}
                else => return Err(failure.expect("every runner has reported")),
            }
            if more {
                break;
            }
        }
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream, ConnectError> {
    let failed = |error| ConnectError::Connect { address, error };
    let socket = TcpStream::connect(address).await.map_err(failed)?;
    socket.set_nodelay(true).map_err(failed)?;
    Ok(socket)
}

const HEAD_START: Duration = Duration::from_millis(250);

/// Providers publish a handful; more only delay the error.
const MOST_ADDRESSES: usize = 16;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn families_take_turns_and_the_newer_begins() {
        let v6 = vec![address("[::1]:1"), address("[::2]:1")];
        let v4 = vec![address("1.1.1.1:1")];
        let mixed: Vec<_> = in_turn(v6, v4).iter().map(ToString::to_string).collect();
        assert_eq!(mixed, ["[::1]:1", "1.1.1.1:1", "[::2]:1"]);
    }

    #[tokio::test]
    async fn the_first_address_that_answers_wins() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let good = listener.local_addr().unwrap();
        let socket = race(vec![dead, good]).await.unwrap();
        assert_eq!(socket.peer_addr().unwrap(), good);
    }

    #[tokio::test]
    async fn when_all_fail_the_last_failure_is_told() {
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = race(vec![dead, dead]).await.unwrap_err();
        assert_eq!(error.code(), "net.connect");
    }
}
