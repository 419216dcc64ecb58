//! [`ServiceManager`]: the socket on which the daemon reports its state to systemd (sd_notify(3)), and the listening
//! sockets that systemd passes (sd_listen_fds(3)). Owned by the main loop.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::time::{Duration, Instant};

use bergamot_rpc::InheritedSockets;
use rustix::net::AddressFamily;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use tracing::warn;

/// The socket of systemd. Without one, all of this does nothing.
#[derive(Debug, Default)]
pub(crate) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// Half of the watchdog timeout: systemd restarts the daemon without a notification for twice that long.
    interval: Option<Duration>,
    last_sign: Option<Instant>,
}

impl ServiceManager {
    /// From what the variables say.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<String>) -> Self {
        let address = variable("NOTIFY_SOCKET").and_then(|name| address_of(&name));
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        let is_for_us =
            variable("WATCHDOG_PID").is_none_or(|number| number.parse() == Ok(std::process::id()));
        let patience = variable("WATCHDOG_USEC").and_then(|number| number.parse().ok());
        let interval = patience
            .filter(|_| is_for_us && socket.is_some())
            .map(|patience| Duration::from_micros(patience) / 2);
        Self { socket, interval, last_sign: None }
    }

    pub(crate) fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={status}"));
    }

    pub(crate) fn reloading(&self) {
        self.send("RELOADING=1\nSTATUS=Reading the configuration again");
    }

    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=Stopping");
    }

    /// When it wants a sign of life.
    pub(crate) fn next_watchdog(&self) -> Option<Instant> {
        Some(self.last_sign? + self.interval?)
    }

    pub(crate) fn notify_watchdog_if_due(&mut self, now: Instant) {
        if self.interval.is_some() && self.next_watchdog().is_none_or(|due| now >= due) {
            self.send("WATCHDOG=1");
            self.last_sign = Some(now);
        }
    }

    fn send(&self, text: &str) {
        if let Some((socket, address)) = &self.socket {
            // Where systemd does not listen, nothing is lost.
            let _ = socket.send_to_addr(text.as_bytes(), address);
        }
    }
}

/// A path, or after `@` a name of its own.
fn address_of(name: &str) -> Option<SocketAddr> {
    match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(name).ok(),
    }
}

/// The listening sockets passed to this process: a Unix socket is `control`, all others are `http`.
pub(crate) fn inherited(variable: impl Fn(&str) -> Option<String>) -> InheritedSockets {
    let mut doors = InheritedSockets::default();
    if variable("LISTEN_PID").is_none_or(|number| number.parse() != Ok(std::process::id())) {
        return doors;
    }
    let count = variable("LISTEN_FDS").and_then(|number| number.parse().ok()).unwrap_or(0);
    for descriptor in FIRST_DESCRIPTOR..FIRST_DESCRIPTOR + count.clamp(0, MOST_DOORS) {
        if let Err(error) = take(descriptor, &mut doors) {
            warn!(descriptor, "a socket that was passed on cannot be used: {error}");
        }
    }
    doors
}

/// Duplicates the descriptor with pidfd_getfd(2): the result is owned without `unsafe`, and an invalid number is an
/// error.
fn take(descriptor: i32, doors: &mut InheritedSockets) -> std::io::Result<()> {
    let this = pidfd_open(getpid(), PidfdFlags::empty())?;
    let socket = pidfd_getfd(this, descriptor, PidfdGetfdFlags::empty())?;
    match rustix::net::sockopt::socket_domain(&socket)? {
        AddressFamily::UNIX => doors.control = Some(UnixListener::from(socket)),
        _ => doors.http.push(TcpListener::from(socket)),
    }
    Ok(())
}

/// SD_LISTEN_FDS_START.
const FIRST_DESCRIPTOR: i32 = 3;
/// One socket, and HTTP on a few addresses.
const MOST_DOORS: i32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_where_nobody_asks() {
        let mut supervisor = ServiceManager::find(|_| None);
        supervisor.ready("x");
        supervisor.notify_watchdog_if_due(Instant::now());
        assert_eq!(supervisor.next_watchdog(), None);
        assert!(inherited(|_| Some("1".to_owned())).http.is_empty(), "they are another's");
    }

    #[test]
    fn signs_of_life_come_twice_as_often_as_they_must() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let mut supervisor = ServiceManager::find(|name| match name {
            "NOTIFY_SOCKET" => path.to_str().map(str::to_owned),
            "WATCHDOG_USEC" => Some("60000000".to_owned()),
            _ => None,
        });
        let start = Instant::now();
        let mut told = |now| {
            supervisor.notify_watchdog_if_due(now);
            let mut text = [0; 64];
            socket.set_nonblocking(true).unwrap();
            socket.recv(&mut text).map(|length| text[..length].to_vec()).ok()
        };
        assert_eq!(told(start).as_deref(), Some(&b"WATCHDOG=1"[..]));
        assert_eq!(told(start + Duration::from_secs(29)), None);
        assert!(told(start + Duration::from_secs(30)).is_some());
    }
}
