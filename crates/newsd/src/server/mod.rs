//! [`Server`]: a news server on the loopback; one tokio task per connection.

pub(crate) mod cable;
pub mod certs;
pub(crate) mod compressed;
pub(crate) mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tracing::debug;

use crate::faults::Faults;
use crate::faults::manners::Manners;
use crate::posts::articles::{Articles, Posted};
use crate::server::wire::serve;
use crate::session::site::Site;
use crate::session::tally::Tally;

/// All of a server's settings.
#[derive(Clone, Debug)]
pub struct Options {
    pub articles: Arc<dyn Articles>,
    pub manners: Manners,
    pub faults: Faults,
    pub security: Security,
    /// Port 0 takes any free one.
    pub address: SocketAddr,
}

/// Where TLS begins, if it does.
#[derive(Clone, Debug, Default)]
pub enum Security {
    #[default]
    Plain,
    StartTls(Arc<ServerConfig>),
    Tls(Arc<ServerConfig>),
}

/// A running server. Dropping it ends its connections too, without waiting for that.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    site: Arc<Site>,
    stop: oneshot::Sender<()>,
    listening: JoinHandle<()>,
}

impl Server {
    pub async fn start(options: Options) -> io::Result<Self> {
        let Options { articles, mut manners, faults, security, address } = options;
        manners.start_tls = matches!(security, Security::StartTls(_));
        let site = Site::new(articles, manners, faults);
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let listening = tokio::spawn(listen(listener, Arc::clone(&site), security, stopped));
        Ok(Self { address, site, stop, listening })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn tally(&self) -> &Tally {
        self.site.tally()
    }

    /// Ends all connections; when this returns none of the server's tasks is left.
    pub async fn stop(self) {
        drop(self.stop);
        let _ = self.listening.await;
    }
}

impl Options {
    /// A plain server on any free port of 127.0.0.1.
    pub fn new(articles: impl Articles + 'static) -> Self {
        Self { articles: Arc::new(articles), ..Self::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            articles: Arc::new(Posted::new()),
            manners: Manners::default(),
            faults: Faults::none(),
            security: Security::Plain,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
        }
    }
}

impl Security {
    pub(crate) fn config(&self) -> Option<&Arc<ServerConfig>> {
        match self {
            Security::Plain => None,
            Security::StartTls(config) | Security::Tls(config) => Some(config),
        }
    }
}

/// Accepts until `stopped`, which also resolves when the server is dropped.
async fn listen(
    listener: TcpListener,
    site: Arc<Site>,
    security: Security,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    debug!(%peer, "accepted");
                    let _ = stream.set_nodelay(true);
                    connections.spawn(serve(stream, Arc::clone(&site), security.clone()));
                }
                // Out of file descriptors: let some connections end first.
                Err(_) => tokio::task::yield_now().await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    connections.shutdown().await;
}
