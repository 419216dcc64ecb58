//! [`Site`]: a running web server.

use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::answer::Answer;
use crate::request::Request;

type Script = dyn Fn(&Request) -> Answer + Send + Sync;

/// A web server on a free port of 127.0.0.1. Dropping it ends it.
pub struct Site {
    address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
}

struct Shared {
    script: Mutex<Arc<Script>>,
    requests: Mutex<Vec<Request>>,
    is_over: Mutex<bool>,
    tls: Option<Arc<ServerConfig>>,
}

impl Site {
    pub fn start(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> io::Result<Self> {
        Self::start_with(None, script)
    }

    pub fn start_with_tls(
        config: Arc<ServerConfig>,
        script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_with(Some(config), script)
    }

    fn start_with(
        tls: Option<Arc<ServerConfig>>,
        script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let shared = Arc::new(Shared {
            script: Mutex::new(Arc::new(script)),
            requests: Mutex::default(),
            is_over: Mutex::default(),
            tls,
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || serving.listen(&listener));
        Ok(Self { address, scheme, shared })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `path` begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// All that was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// From now on requests are answered otherwise.
    pub fn turn_to(&self, script: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
        *lock(&self.shared.script) = Arc::new(script);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        *lock(&self.shared.is_over) = true;
        // The listener waits for a connection: here is one.
        let _ = TcpStream::connect(self.address);
    }
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Shared {
    fn listen(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if *lock(&self.is_over) {
                return;
            }
            let Ok(stream) = stream else { continue };
            let serving = Arc::clone(&self);
            thread::spawn(move || serving.serve(stream));
        }
    }

    /// A client that goes away in the middle is no fault of the server.
    fn serve(&self, socket: TcpStream) {
        let _ = match &self.tls {
            None => self.answer(&mut &socket),
            Some(config) => self.answer_secured(&socket, Arc::clone(config)),
        };
        let _ = finish(&socket);
    }

    fn answer_secured(&self, socket: &TcpStream, config: Arc<ServerConfig>) -> io::Result<()> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, socket);
        self.answer(&mut stream)?;
        stream.conn.send_close_notify();
        stream.flush()
    }

    /// Reads one request and answers it.
    fn answer(&self, stream: &mut (impl Read + Write)) -> io::Result<()> {
        let Some(request) = Request::read_from(&mut BufReader::new(&mut *stream))? else {
            return Ok(());
        };
        let script = Arc::clone(&lock(&self.script));
        let answer = script(&request);
        lock(&self.requests).push(request);
        if answer.is_silent() {
            let _ = stream.read(&mut [0]);
        }
        answer.write_to(stream)
    }
}

/// Lets the client read all of it: a socket that is closed while something unread lies in it tells
/// the other side to forget what was sent.
fn finish(mut socket: &TcpStream) -> io::Result<()> {
    socket.shutdown(Shutdown::Write)?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    while socket.read(&mut [0; 256])? > 0 {}
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
