//! What works and should still be known.

use std::path::PathBuf;

use thiserror::Error;

#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Warning {
    #[error(
        "{} holds a password and has mode {mode:04o}, so other users can read or change it; \
         chmod 640 keeps them out",
        .path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{name} is set, but means nothing; did you mean {meant}?")]
    MistakenVariable { name: String, meant: String },
    #[error("server {server}: {key} has no effect, for {reason}")]
    NoEffect { server: String, key: &'static str, reason: &'static str },
    #[error("server {server}: there is a username but no password")]
    NoPassword { server: String },
    #[error("no server is active, so nothing can be downloaded")]
    NothingActive,
    #[error("server {server}: the login is sent without encryption, for anyone on the way to read")]
    PlainLogin { server: String },
    #[error(
        "server {server}: CERTIFICATE VERIFICATION IS OFF, so anyone on the way can pose as the \
         server and read the login"
    )]
    Unverified { server: String },
    #[error("TZ is {name}, which is no time zone that is known; days are counted in UTC")]
    UnknownTimeZone { name: String },
    #[error("{name} is set, but no feed goes by that name")]
    UnusedFeedVariable { name: String },
    #[error("{name} is set, but no server goes by that name")]
    UnusedVariable { name: String },
}
