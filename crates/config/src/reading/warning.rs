//! [`Warning`]: what is valid in a configuration but probably a mistake.

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
    #[error("{name} is set, but is no key; did you mean {meant}?")]
    MistakenVariable { name: String, meant: String },
    #[error("server {server}: {key} has no effect, because {reason}")]
    NoEffect { server: String, key: &'static str, reason: &'static str },
    #[error("server {server}: there is a username but no password")]
    NoPassword { server: String },
    #[error("no server is active, so nothing can be downloaded")]
    NothingActive,
    #[error(
        "server {server}: the login is sent without encryption and can be read on the network; set \
             encryption = \"tls\""
    )]
    PlainLogin { server: String },
    #[error(
        "server {server}: CERTIFICATE VERIFICATION IS OFF, so an attacker on the network can pose as the \
         server and read the login"
    )]
    Unverified { server: String },
    #[error("TZ is {name}, which is no known time zone; schedules and quotas use UTC")]
    UnknownTimeZone { name: String },
    #[error("{name} is set, but there is no feed of that name")]
    UnusedFeedVariable { name: String },
    #[error("{name} is set, but there is no server of that name")]
    UnusedVariable { name: String },
}
