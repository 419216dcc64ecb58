//! [`Server`]: one configured news server and its TLS configuration, shared by its connections.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use crate::tls::{self, TlsSettings, TlsSetupError};

#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// For logs and errors.
    pub name: String,
    pub host: String,
    pub port: u16,
    pub encryption: Encryption,
    pub tls: TlsSettings,
    pub ip_version: IpVersion,
    /// Select a group before asking for an article.
    pub join_group: bool,
    pub limits: ConnectLimits,
    pub conversation: bergamot_nntp::Settings,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Encryption {
    None,
    StartTls,
    /// From the first byte.
    Tls,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum IpVersion {
    #[default]
    Auto,
    V4,
    V6,
}

/// What comes before the conversation; its own limits are in `bergamot_nntp::Limits`.
#[derive(Clone, Copy, Debug)]
pub struct ConnectLimits {
    pub connect: Duration,
    pub handshake: Duration,
}

impl Default for ConnectLimits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(15), handshake: Duration::from_secs(15) }
    }
}

/// A server ready to be connected to: its TLS configuration is built once and shared, so sessions
/// are resumed from one connection to the next.
#[derive(Debug)]
pub struct Server {
    settings: ServerSettings,
    tls: Option<Arc<ClientConfig>>,
    public_only: bool,
}

impl Server {
    pub fn new(mut settings: ServerSettings) -> Result<Self, TlsSetupError> {
        settings.conversation.start_tls = settings.encryption == Encryption::StartTls;
        let tls = match settings.encryption {
            Encryption::None => None,
            Encryption::StartTls | Encryption::Tls => Some(tls::client_config(&settings.tls)?),
        };
        Ok(Self { settings, tls, public_only: false })
    }

    /// The same server, restricted to public addresses: for hosts named by a client that must not probe
    /// private networks.
    pub fn in_public(self) -> Self {
        Self { public_only: true, ..self }
    }

    pub(crate) fn is_public_only(&self) -> bool {
        self.public_only
    }

    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    pub(crate) fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.tls.as_ref()
    }

    /// The host as a name to look up or to verify: without the brackets of an IPv6 literal and
    /// without the dot that ends a full name.
    pub(crate) fn host(&self) -> &str {
        let host = self.settings.host.trim();
        let literal = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        literal.unwrap_or(host).trim_end_matches('.')
    }
}
