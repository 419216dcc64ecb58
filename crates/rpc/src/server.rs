//! [`Server`]: the listeners; it owns one task for each, which spawns one task for each connection.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bergamot_api::Control;
use bytes::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::call::counts::Counts;
use crate::call::service::Service;
use crate::event_hub::Hub;
use crate::http::body::{BodyBudget, RequestBudgets};
use crate::http::framing::Framed;
use crate::http::handler::{Connection, Http, LARGEST_HEADERS, Peer, ambiguous};
use crate::http::login_throttle::LoginThrottle;
use crate::settings::Settings;
use crate::shutdown::ShutdownSignal;
use crate::socket::admission::Rules;
use crate::socket::connection_limit::{ConnectionLimit, Slot};
use crate::socket::idle_timeout::IdleTimeout;
use crate::socket::line_session::Session;
use crate::socket::reserved_fds::{BorrowedFd, ReservedFds};
use crate::socket::unix_socket::Socket;

/// Listens until it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    socket: Option<PathBuf>,
    stop: watch::Sender<bool>,
    listeners: Vec<JoinHandle<()>>,
}

/// Sockets that are open already, instead of those in the settings.
#[derive(Debug, Default)]
pub struct InheritedSockets {
    pub control: Option<std::os::unix::net::UnixListener>,
    pub http: Vec<std::net::TcpListener>,
}

/// Why the server cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("another daemon listens at {}", .0.display())]
    InUse(PathBuf),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("{} exists and is not a socket; remove it or set control.socket", .0.display())]
    NotASocket(PathBuf),
    #[error(
        "{address} can be reached from other machines, but no password is set; add a user with a password, or listen on 127.0.0.1"
    )]
    NoPassword { address: SocketAddr },
    #[error("the path {} has more than {limit} bytes", .path.display())]
    PathTooLong { path: PathBuf, limit: usize },
    #[error("cannot create the socket {}: {source}", .path.display())]
    Socket { path: PathBuf, source: io::Error },
}

impl Server {
    /// Must be called within a runtime.
    pub async fn start<C: Control>(
        settings: Settings,
        control: Arc<C>,
        hub: Hub,
    ) -> Result<Self, StartError> {
        Self::start_with(settings, InheritedSockets::default(), control, hub).await
    }

    /// The same with sockets that were opened by the service manager.
    pub async fn start_with<C: Control>(
        settings: Settings,
        inherited: InheritedSockets,
        control: Arc<C>,
        hub: Hub,
    ) -> Result<Self, StartError> {
        let (socket_path, group) = (settings.socket.clone(), settings.socket_group);
        let mut tcp = Vec::new();
        let addresses = if inherited.http.is_empty() { &settings.listen[..] } else { &[] };
        for address in addresses {
            tcp.push(listen(*address, settings.has_password()).await?);
        }
        for listener in inherited.http {
            tcp.push(take_over(listener, settings.has_password())?);
        }
        let socket = match inherited.control {
            Some(listener) => Some(Socket::take_over(listener, group)?),
            None => socket_path.map(|path| Socket::bind(&path, group)).transpose()?,
        };
        let (stop, stopped) = ShutdownSignal::channel();
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let acceptor = Arc::new(Acceptor {
            http: Http {
                settings,
                service: Arc::new(Service { control, hub, counts: Counts::default() }),
                throttle: LoginThrottle::default(),
                bodies: RequestBudgets::default(),
                unauthenticated: BodyBudget::for_unauthenticated(),
                stopped,
            },
            over_tcp: ConnectionLimit::new(Rules::for_network(places_within(
                descriptors,
                MOST_OVER_TCP,
            ))),
            over_socket: ConnectionLimit::new(Rules::for_socket(places_within(
                descriptors,
                MOST_OVER_SOCKET,
            ))),
            reserved_fds: ReservedFds::new(RESERVED_FDS),
        });
        let addresses = tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let socket_path = socket.as_ref().map(|(socket, _)| socket.path().to_owned());
        let mut listeners: Vec<_> = tcp
            .into_iter()
            .map(|listener| tokio::spawn(acceptor.clone().serve_tcp(listener)))
            .collect();
        if let Some((socket, listener)) = socket {
            listeners.push(tokio::spawn(acceptor.serve_unix(socket, listener)));
        }
        Ok(Self { addresses, socket: socket_path, stop, listeners })
    }

    /// Where HTTP is spoken, with the ports the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Accepts no more connections; responses being sent have one second to finish.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        for listener in self.listeners.drain(..) {
            let _ = listener.await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for listener in &self.listeners {
            listener.abort();
        }
    }
}

/// Where file descriptors are few, each listener takes an eighth of them at most.
fn places_within(descriptors: u64, most: usize) -> usize {
    usize::try_from(descriptors / 8).unwrap_or(most).clamp(LEAST_PLACES, most)
}

async fn listen(address: SocketAddr, has_password: bool) -> Result<TcpListener, StartError> {
    if !address.ip().to_canonical().is_loopback() && !has_password {
        return Err(StartError::NoPassword { address });
    }
    TcpListener::bind(address).await.map_err(|source| StartError::Listen { address, source })
}

fn take_over(
    listener: std::net::TcpListener,
    has_password: bool,
) -> Result<TcpListener, StartError> {
    let address = listener.local_addr().unwrap_or_else(|_| ([0, 0, 0, 0], 0).into());
    if !address.ip().to_canonical().is_loopback() && !has_password {
        return Err(StartError::NoPassword { address });
    }
    let failed = |source| StartError::Listen { address, source };
    listener.set_nonblocking(true).map_err(failed)?;
    TcpListener::from_std(listener).map_err(failed)
}

/// What all connections share.
struct Acceptor<C> {
    http: Http<C>,
    over_tcp: Arc<ConnectionLimit>,
    over_socket: Arc<ConnectionLimit>,
    reserved_fds: Arc<ReservedFds>,
}

impl<C: Control> Acceptor<C> {
    async fn serve_tcp(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        let mut stopped = self.http.stopped.clone();
        let mut borrowed = None;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                () = stopped.wait() => break,
            };
            let Some((stream, address)) = self.taken(accepted, &mut borrowed).await else {
                continue;
            };
            let borrowed = borrowed.take();
            // Without a free slot the connection is closed at once.
            let Some((slot, must_leave)) = self.over_tcp.admit(Some(address.ip())) else {
                continue;
            };
            let acceptor = self.clone();
            connections.spawn(async move {
                tokio::select! {
                    () = acceptor.serve_tcp_stream(stream, address, &slot) => {}
                    _ = must_leave => debug!(%address, "closed an idle connection: too many connections"),
                }
                drop(borrowed); // now that the stream is gone
            });
        }
        drop(listener);
        finish(connections).await;
    }

    async fn serve_unix(self: Arc<Self>, socket: Socket, listener: UnixListener) {
        let mut connections = JoinSet::new();
        let mut stopped = self.http.stopped.clone();
        let socket = Arc::new(socket);
        let mut borrowed = None;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                () = stopped.wait() => break,
            };
            let Some((stream, _)) = self.taken(accepted, &mut borrowed).await else { continue };
            let borrowed = borrowed.take();
            let Some((slot, must_leave)) = self.over_socket.admit(None) else { continue };
            let (acceptor, socket) = (self.clone(), socket.clone());
            connections.spawn(async move {
                tokio::select! {
                    () = acceptor.serve_unix_stream(stream, &socket, &slot) => {}
                    _ = must_leave => debug!("closed an idle connection of the control socket: too many connections"),
                }
                drop(borrowed);
            });
        }
        drop(listener);
        drop(socket);
        finish(connections).await;
    }

    /// Without descriptors `accept` fails at once, again and again; one of the spares lets it in the next
    /// time.
    async fn taken<T>(
        &self,
        accepted: io::Result<T>,
        borrowed: &mut Option<BorrowedFd>,
    ) -> Option<T> {
        let error = match accepted {
            Ok(accepted) => return Some(accepted),
            Err(error) => error,
        };
        *borrowed = borrowed.take().or_else(|| self.reserved_fds.make_room(&error));
        if borrowed.is_none() {
            debug!(%error, "accept failed");
            sleep(ACCEPT_RETRY_DELAY).await;
        }
        None
    }

    async fn serve_tcp_stream(&self, stream: TcpStream, address: SocketAddr, slot: &Slot) {
        let _ = stream.set_nodelay(true); // an answer a moment later is no reason to give up
        let stream = IdleTimeout::new(stream, Bytes::new(), Some(IDLE_LIMIT));
        self.serve_http(stream, Peer::Tcp(address), slot).await;
    }

    async fn serve_unix_stream(&self, mut stream: UnixStream, socket: &Socket, slot: &Slot) {
        let Some(caller) = socket.caller(&stream) else {
            warn!(
                "refused a connection to the control socket: its user is neither the daemon's, root nor in control.socket_group"
            );
            return;
        };
        let Ok(Ok(first)) = timeout(IDLE_LIMIT, first_bytes(&mut stream)).await else { return };
        if first.first().is_some_and(u8::is_ascii_uppercase) {
            let stream = IdleTimeout::new(stream, first, Some(IDLE_LIMIT));
            return self.serve_http(stream, Peer::Unix(caller), slot).await;
        }
        let stream = IdleTimeout::new(stream, first, None);
        let session = Session { service: &self.http.service, caller: &caller, slot, watcher: None };
        let mut stopped = self.http.stopped.clone();
        let ended = tokio::select! {
            ended = session.run(stream) => ended,
            () = stopped.wait() => Ok(()),
        };
        if let Err(error) = ended {
            debug!(%error, "session ended with an error");
        }
    }

    async fn serve_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        slot: &Slot,
    ) {
        let stream = Framed::new(stream);
        let (verdict, count) = (stream.verdict(), AtomicUsize::new(0));
        let connection = Connection { peer, slot };
        let service = service_fn(|request| {
            let (connection, verdict) = (&connection, &verdict);
            let number = count.fetch_add(1, Ordering::Relaxed);
            async move {
                let answer = match verdict.is_doubtful(number) {
                    true => ambiguous(),
                    false => self.http.answer(connection, request).await,
                };
                slot.on_answered();
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_LIMIT)
            .max_buf_size(LARGEST_HEADERS)
            .max_headers(MOST_HEADERS)
            .half_close(true)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut stopped = self.http.stopped.clone();
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stopped.wait() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "connection ended with an error");
        }
    }
}

/// The first bytes, without leading blanks: they distinguish lines of JSON from HTTP.
async fn first_bytes(stream: &mut UnixStream) -> io::Result<Bytes> {
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer).await?;
        let bytes = buffer[..length].trim_ascii_start();
        if length == 0 || !bytes.is_empty() {
            return Ok(Bytes::copy_from_slice(bytes));
        }
    }
}

/// Dropping the set ends what is left of it.
async fn finish(mut connections: JoinSet<()>) {
    let _ =
        timeout(SHUTDOWN_GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

/// Each connection costs a descriptor and some memory; few installations have more clients.
const MOST_OVER_TCP: usize = 128;
const LEAST_PLACES: usize = 8;
/// A limit of its own, so that local clients can connect whatever comes from the network.
const MOST_OVER_SOCKET: usize = 128;
/// Enough to find out what is wrong, and few beside the 64 that the smallest systems give.
const RESERVED_FDS: usize = 8;
const HEADER_LIMIT: Duration = Duration::from_secs(10);
const IDLE_LIMIT: Duration = Duration::from_secs(60);
const MOST_HEADERS: usize = 100;
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The daemon has three seconds for all of its end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
