//! [`Settings`]: addresses, users and tokens of the server; owned by it and never changed while it runs.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use bergamot_types::Secret;

use crate::access::Access;
use crate::metrics::MetricsSettings;

#[derive(Clone, Debug)]
pub struct Settings {
    /// The Unix socket; none is no socket.
    pub socket: Option<PathBuf>,
    /// Whose members may use the socket, beside our own user and root.
    pub socket_group: Option<u32>,
    /// Where HTTP is spoken. Other machines are let in only with a password.
    pub listen: Vec<SocketAddr>,
    pub users: Vec<User>,
    /// For `Authorization: Bearer`.
    pub tokens: Vec<Token>,
    /// Host names that browsers may use for this machine, beside addresses, `localhost` and names
    /// without a dot.
    pub allowed_hosts: Vec<String>,
    /// Web pages and browser add-ons that may call from elsewhere.
    pub allowed_origins: Vec<String>,
    pub metrics: MetricsSettings,
}

#[derive(Clone, Debug)]
pub struct User {
    /// Empty is any name, as NZBGet has it.
    pub name: String,
    /// A user without one is off.
    pub password: Secret,
    pub access: Access,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub secret: Secret,
    pub access: Access,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            socket: None,
            socket_group: None,
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 6789))],
            users: Vec::new(),
            tokens: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            metrics: MetricsSettings::default(),
        }
    }
}

impl Settings {
    /// Whether any password or token is set.
    pub(crate) fn has_password(&self) -> bool {
        self.secrets().next().is_some()
    }

    /// Whether full control requires a secret. Secrets of lower levels do not restrict clients on this
    /// machine, or full control over HTTP would be impossible.
    pub(crate) fn guards_control(&self) -> bool {
        self.secrets().any(|access| access == Access::Control)
    }

    /// What each gives.
    fn secrets(&self) -> impl Iterator<Item = Access> {
        let users = self.users.iter().map(|user| (&user.password, user.access));
        let tokens = self.tokens.iter().map(|token| (&token.secret, token.access));
        users
            .chain(tokens)
            .filter(|(secret, _)| !secret.reveal().is_empty())
            .map(|(_, access)| access)
    }
}
