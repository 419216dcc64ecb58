//! [`Endpoint`]: the address of a daemon, and [`Endpoints`]: the addresses to try in order.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bergamot_config::control_socket as socket;
use bergamot_config::{Config, Control, Socket};
use bergamot_rpc::{Client, ClientError};
use bergamot_types::Secret;
use thiserror::Error;

use crate::failure::Failure;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Endpoint {
    Socket(PathBuf),
    Http { host: String, login: Option<(String, Secret)> },
}

#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(crate) enum InvalidPlace {
    #[error("write a path, unix:PATH, tcp://HOST:PORT or http://USER:PASSWORD@HOST:PORT")]
    Unknown,
    #[error(
        "the daemon does not support https; use the Unix socket, an SSH tunnel or a reverse proxy"
    )]
    Tls,
}

impl FromStr for Endpoint {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return socket_at(path);
        }
        match text.split_once("://") {
            Some(("tcp" | "http", rest)) => http(rest),
            Some(("https", _)) => Err(InvalidPlace::Tls),
            Some(_) => Err(InvalidPlace::Unknown),
            None => socket_at(text),
        }
    }
}

fn socket_at(path: &str) -> Result<Endpoint, InvalidPlace> {
    match path.is_empty() {
        true => Err(InvalidPlace::Unknown),
        false => Ok(Endpoint::Socket(path.into())),
    }
}

fn http(text: &str) -> Result<Endpoint, InvalidPlace> {
    let text = text.split('/').next().unwrap_or_default();
    let (login, host) = match text.rsplit_once('@') {
        Some((login, host)) => (Some(login), host),
        None => (None, text),
    };
    let login = login.map(|login| {
        let (name, password) = login.split_once(':').unwrap_or((login, ""));
        (percent_decoded(name), Secret::new(percent_decoded(password)))
    });
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match host {
        "" => Err(InvalidPlace::Unknown),
        _ if has_port => Ok(Endpoint::Http { host: host.to_owned(), login }),
        _ => Ok(Endpoint::Http { host: format!("{host}:{USUAL_PORT}"), login }),
    }
}

/// Passwords hold signs that addresses may not.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| {
            let code = std::str::from_utf8(code).ok()?;
            u8::from_str_radix(code, 16).ok()
        });
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Without the password.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Http { host, .. } => write!(f, "tcp://{host}"),
        }
    }
}

impl Endpoint {
    pub(crate) fn connect(&self) -> Result<Client, ClientError> {
        match self {
            Self::Socket(path) => Client::connect_socket(path),
            Self::Http { host, login } => Ok(Client::over_tcp(host.clone(), login.clone())),
        }
    }
}

/// Where a daemon may be, the likeliest first.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    all: Vec<Endpoint>,
    /// The address of its port. Any process may listen there and would receive the password, so it is used
    /// for requests without a login only.
    port: Option<String>,
}

impl From<Endpoint> for Endpoints {
    fn from(place: Endpoint) -> Self {
        Self { all: vec![place], port: None }
    }
}

impl Endpoints {
    /// Without an option: the addresses of a configuration, or the usual ones.
    pub(crate) fn usual(
        environment: impl Fn(&str) -> Option<String>,
        config: Option<&Config>,
    ) -> Self {
        let Some(config) = config else {
            return Self { all: sockets(environment, None), port: None };
        };
        let port = own_address(&config.control).map(|address| address.to_string());
        let all = match &config.control.socket {
            Socket::At(path) => vec![Endpoint::Socket(path.clone())],
            Socket::Usual => sockets(environment, Some(&config.directories.state)),
            Socket::None => {
                return Self { all: by_address(&config.control).into_iter().collect(), port: None };
            }
        };
        Self { all, port }
    }

    /// The port as well, for a request without a login. Not every volume supports sockets.
    pub(crate) fn and_port_without_login(mut self) -> Self {
        let port = self.port.take().map(|host| Endpoint::Http { host, login: None });
        self.all.extend(port);
        self
    }

    /// The first address that accepts a connection.
    pub(crate) fn reach(&self) -> Result<(Client, Endpoint), Failure> {
        let mut tried = Vec::new();
        for place in &self.all {
            match place.connect() {
                Ok(client) => return Ok((client, place.clone())),
                Err(ClientError::Unreachable { source, .. }) if is_absence(&source) => {
                    tried.push(format!("{place} ({})", spoken(&source)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::Unreachable(self.advice(&tried)))
    }

    fn advice(&self, tried: &[String]) -> String {
        let tried = tried.join(", ");
        match &self.port {
            _ if tried.is_empty() => {
                "There is no usual path for its socket on this machine; give its address with --host or \
                 --config."
                    .to_owned()
            }
            None => format!("Tried: {tried}. Is it running? Its address can be given with --host."),
            Some(port) => format!(
                "Tried: {tried}. Is it running? If it has no socket, use --host or BERGAMOT_HOST with \
                 http://USER:PASSWORD@{port}; the process that listens there receives the password."
            ),
        }
    }
}

fn sockets(environment: impl Fn(&str) -> Option<String>, state: Option<&Path>) -> Vec<Endpoint> {
    socket::usual(environment, state).into_iter().map(Endpoint::Socket).collect()
}

fn by_address(control: &Control) -> Option<Endpoint> {
    let name = control.full.username.as_ref().map_or("", Secret::reveal);
    let login = control.full.password.clone().map(|password| (name.to_owned(), password));
    Some(Endpoint::Http { host: own_address(control)?.to_string(), login })
}

/// Its port, as it is seen from here.
fn own_address(control: &Control) -> Option<SocketAddr> {
    let mut address = control.address.filter(|address| address.port() != 0)?;
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    Some(address)
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn spoken(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such socket",
        _ => "no process listens there",
    }
}

/// NZBGet's, and so ours.
const USUAL_PORT: u16 = 6789;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_in_every_spelling() {
        let socket = |path: &str| Ok(Endpoint::Socket(path.into()));
        let http = |host: &str, login: Option<(&str, &str)>| {
            let login = login.map(|(name, password)| (name.to_owned(), Secret::new(password)));
            Ok(Endpoint::Http { host: host.to_owned(), login })
        };
        for (text, place) in [
            ("/run/b.sock", socket("/run/b.sock")),
            ("unix:/run/b.sock", socket("/run/b.sock")),
            ("unix:///run/b.sock", socket("/run/b.sock")),
            ("b.sock", socket("b.sock")),
            ("tcp://nas:1234", http("nas:1234", None)),
            ("http://nas", http("nas:6789", None)),
            ("http://[::1]:7/", http("[::1]:7", None)),
            ("http://ann:a%40b%3a@nas:7/x", http("nas:7", Some(("ann", "a@b:")))),
            ("http://ann:50%@nas:7", http("nas:7", Some(("ann", "50%")))),
            ("https://nas", Err(InvalidPlace::Tls)),
            ("gopher://nas", Err(InvalidPlace::Unknown)),
            ("tcp://", Err(InvalidPlace::Unknown)),
            ("", Err(InvalidPlace::Unknown)),
        ] {
            assert_eq!(text.parse::<Endpoint>(), place, "{text}");
        }
    }

    #[test]
    fn a_place_is_shown_without_its_password() {
        let place: Endpoint = "http://ann:hush@nas:7".parse().unwrap();
        assert_eq!(place.to_string(), "tcp://nas:7");
        assert!(!format!("{place:?}").contains("hush"));
    }

    #[test]
    fn who_is_not_there_is_told_with_all_that_was_tried() {
        let all = ["/nowhere/a.sock", "/nowhere/b.sock"].map(|path| Endpoint::Socket(path.into()));
        let places = |all: &[Endpoint]| Endpoints { all: all.to_vec(), port: None };
        let failure = places(&all).reach().unwrap_err();
        let text = failure.to_string();
        assert!(
            text.contains("/nowhere/a.sock (there is no such socket), /nowhere/b.sock"),
            "{text}"
        );
        assert!(places(&[]).reach().unwrap_err().to_string().contains("--host"));
    }
}
