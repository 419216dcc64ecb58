//! [`Server`]: one `[[server]]` of the file, and the reader of these tables.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use bergamot_net::{Encryption, IpVersion, TlsSettings, TlsSetupError};
use bergamot_types::{ByteRate, ServerId, Shown};

use crate::reading::credentials::Credentials;
use crate::reading::environment::{Environment, Variables};
use crate::reading::fields::Fields;
use crate::reading::file;
use crate::reading::warning::Warning;
use crate::tables::transfer::limits::Limits;
use crate::tables::transfer::quota::ServerQuota;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Server {
    pub name: String,
    pub active: bool,
    pub address: Address,
    pub login: Option<bergamot_nntp::Login>,
    /// Servers with the same account share its connections.
    pub account: Option<String>,
    pub security: Security,
    pub role: Role,
    pub quota: ServerQuota,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub ip_version: IpVersion,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Security {
    pub encryption: Encryption,
    pub cert_verification: bool,
    /// The only suites to offer; empty offers all.
    pub ciphers: Vec<String>,
    /// What the CA file holds.
    pub extra_roots: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Role {
    pub connections: u16,
    /// 0 is no limit of its own.
    pub rate: ByteRate,
    /// Days; 0 is for ever.
    pub retention: u32,
    pub level: u32,
    pub optional: bool,
    pub group: u32,
    pub join_group: bool,
}

impl Server {
    /// `account` is the same number for all servers of one account.
    pub(crate) fn engine_settings(
        &self,
        id: ServerId,
        account: Option<u16>,
    ) -> bergamot_engine::ServerSettings {
        bergamot_engine::ServerSettings {
            id,
            active: self.active,
            level: self.role.level,
            group: self.role.group,
            optional: self.role.optional,
            connections: usize::from(self.role.connections),
            reserved: 0,
            account,
            retention: self.role.retention,
        }
    }

    pub(crate) fn net_settings(&self, limits: &Limits) -> bergamot_net::ServerSettings {
        let encryption = self.security.encryption;
        bergamot_net::ServerSettings {
            name: self.name.clone(),
            host: self.address.host.clone(),
            port: self.address.port,
            encryption,
            tls: self.security.tls_settings(),
            ip_version: self.address.ip_version,
            join_group: self.role.join_group,
            limits: limits.connecting(),
            conversation: bergamot_nntp::Settings {
                login: self.login.clone(),
                start_tls: encryption == Encryption::StartTls,
                compress: false,
                limits: limits.conversing(),
            },
        }
    }

    fn warn(&self, warnings: &mut Vec<Warning>) {
        let Security { encryption, cert_verification, ciphers, extra_roots } = &self.security;
        let is_plain = *encryption == Encryption::None;
        let mut no_effect = |key, reason| {
            warnings.push(Warning::NoEffect { server: self.name.clone(), key, reason });
        };
        if is_plain && !ciphers.is_empty() {
            no_effect("cipher", "there is no encryption");
        }
        if is_plain && extra_roots.is_some() {
            no_effect("ca_file", "there is no encryption");
        } else if !cert_verification && extra_roots.is_some() {
            no_effect("ca_file", "certificates are not verified");
        }
        if !is_plain && !cert_verification {
            warnings.push(Warning::Unverified { server: self.name.clone() });
        }
        if is_plain && self.login.is_some() {
            warnings.push(Warning::PlainLogin { server: self.name.clone() });
        }
    }
}

impl Security {
    fn tls_settings(&self) -> TlsSettings {
        TlsSettings {
            verify: self.cert_verification,
            extra_roots: self.extra_roots.clone(),
            ciphers: self.ciphers.clone(),
        }
    }
}

/// Reads the tables one after another, for names are unique among them.
#[derive(Debug)]
pub(crate) struct Servers<'a> {
    base: &'a Path,
    environment: &'a Environment,
    limits: Limits,
    servers: Vec<Server>,
    variables: BTreeMap<String, String>, // and the server that each is for
    warnings: Vec<Warning>,
}

impl<'a> Servers<'a> {
    pub(crate) fn new(base: &'a Path, environment: &'a Environment, limits: Limits) -> Self {
        Self {
            base,
            environment,
            limits,
            servers: Vec::new(),
            variables: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn read(&mut self, mut fields: Fields<'_, '_>) {
        let name = self.read_name(&mut fields);
        let security = read_security(&mut fields, self.base);
        let address = read_address(&mut fields, security.encryption);
        let active = fields.flag("active");
        let login = self.read_login(&mut fields, &name, active);
        let account = read_account(&mut fields);
        let role = read_role(&mut fields);
        let quota = ServerQuota::read(&mut fields);
        let server = Server { name, active, address, login, account, security, role, quota };
        check_tls(&mut fields, server.net_settings(&self.limits));
        if server.active {
            server.warn(&mut self.warnings);
        }
        self.servers.push(server);
    }

    pub(crate) fn finish(mut self) -> (Vec<Server>, Vec<Warning>) {
        let unused = self.environment.names().filter(|name| !self.variables.contains_key(*name));
        let unused = unused.map(|name| Warning::UnusedVariable { name: Shown(name).to_string() });
        self.warnings.extend(unused);
        if !self.servers.iter().any(|server| server.active) {
            self.warnings.insert(0, Warning::NothingActive);
        }
        (self.servers, self.warnings)
    }

    fn read_name(&mut self, fields: &mut Fields<'_, '_>) -> String {
        let Some(name) = fields.text("name") else { return String::new() };
        let is_known = |server: &Server| server.name.to_lowercase() == name.to_lowercase();
        if !is_label(&name) || name.chars().count() > LONGEST_NAME {
            fields.unfit("name", format!("found \"{}\"", Shown(&name)));
        } else if self.servers.iter().any(is_known) {
            fields.unfit("name", format!("there is another \"{}\"", Shown(&name)));
        }
        name
    }

    fn read_login(
        &mut self,
        fields: &mut Fields<'_, '_>,
        name: &str,
        active: bool,
    ) -> Option<bergamot_nntp::Login> {
        let variables = Variables::of(name);
        for (variable, key) in variables.with_keys() {
            let other = self.variables.insert(variable.to_owned(), name.to_owned());
            if let Some(other) = other.filter(|_| self.environment.value(variable).is_some()) {
                let (one, two) = (Shown(&other), Shown(name));
                let reason = format!("both \"{one}\" and \"{two}\" have that variable; rename one");
                fields.unfit_variable(variable, key, reason);
            }
        }
        let found = Credentials::read(fields, &variables, self.environment, self.base);
        if active && found.lack_password() {
            self.warnings.push(Warning::NoPassword { server: name.to_owned() });
        }
        found.into_login(fields)
    }
}

fn read_address(fields: &mut Fields<'_, '_>, encryption: Encryption) -> Address {
    let host = fields.text("host");
    if let Some(host) = host.as_deref().filter(|host| !is_host(host)) {
        fields.unfit("host", format!("found \"{}\"", Shown(host)));
    }
    let usual = if encryption == Encryption::Tls { 563 } else { 119 };
    Address {
        host: host.unwrap_or_default(),
        port: fields.number_if_any("port").unwrap_or(usual),
        ip_version: fields.choice(
            "ip_version",
            &[("auto", IpVersion::Auto), ("ipv4", IpVersion::V4), ("ipv6", IpVersion::V6)],
        ),
    }
}

fn read_security(fields: &mut Fields<'_, '_>, base: &Path) -> Security {
    let encryption = fields.choice(
        "encryption",
        &[("tls", Encryption::Tls), ("starttls", Encryption::StartTls), ("none", Encryption::None)],
    );
    let cipher = fields.text("cipher").unwrap_or_default();
    let ciphers = cipher.split([':', ',']).map(str::trim).filter(|name| !name.is_empty());
    Security {
        encryption,
        cert_verification: fields.flag("cert_verification"),
        ciphers: ciphers.map(str::to_owned).collect(),
        extra_roots: read_roots(fields, base),
    }
}

fn read_roots(fields: &mut Fields<'_, '_>, base: &Path) -> Option<Vec<u8>> {
    let path = fields.path("ca_file", base)?;
    let roots = file::read(&path, LARGEST_CA_FILE);
    roots
        .map_err(|error| {
            fields.unfit("ca_file", format!("{} cannot be read: {error}", path.display()));
        })
        .ok()
}

/// Checks ciphers and certificates even where they have no effect, so that a later change of `encryption`
/// does not reveal an error.
fn check_tls(fields: &mut Fields<'_, '_>, mut settings: bergamot_net::ServerSettings) {
    settings.encryption = Encryption::Tls;
    settings.tls.verify = true;
    let Err(error) = bergamot_net::Server::new(settings) else { return };
    match &error {
        TlsSetupError::BadRoot(_) | TlsSetupError::NoRoots => fields.unfit("ca_file", error),
        TlsSetupError::UnknownCipher { name, known } => {
            let reason = format!("there is no cipher {}; known are {known}", Shown(name));
            fields.unfit("cipher", reason);
        }
        TlsSetupError::UselessCiphers(_) => fields.unfit("cipher", error),
    }
}

fn read_account(fields: &mut Fields<'_, '_>) -> Option<String> {
    let account = fields.text("account")?;
    if !is_label(&account) {
        fields.unfit("account", format!("found \"{}\"", Shown(&account)));
    }
    Some(account)
}

fn read_role(fields: &mut Fields<'_, '_>) -> Role {
    Role {
        connections: fields.number("connections"),
        rate: ByteRate(fields.size("rate").0),
        retention: fields.number("retention"),
        level: fields.number("level"),
        optional: fields.flag("optional"),
        group: fields.number("group"),
        join_group: fields.flag("join_group"),
    }
}

pub(crate) fn is_label(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_control)
}

fn is_host(text: &str) -> bool {
    if let Some(literal) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return literal.parse::<Ipv6Addr>().is_ok();
    }
    // Underscores are not allowed in host names, and found in those of private networks.
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_name = name.len() <= LONGEST_HOST
        && name.split('.').all(|label| !label.is_empty() && label.chars().all(letter));
    is_name || text.parse::<IpAddr>().is_ok()
}

/// In characters, as the catalogue says.
const LONGEST_NAME: usize = 64;
/// RFC 1035, section 2.3.4, without the dots around it.
const LONGEST_HOST: usize = 253;
/// Several times the bundle of all public authorities.
const LARGEST_CA_FILE: u64 = 2 << 20;

#[cfg(test)]
mod tests {
    use bergamot_types::ByteCount;

    use super::*;
    use crate::trial::{config, problems, server};

    #[test]
    fn all_fields_are_read() {
        let lines = "
            active = false
            port = 8563
            username = 'ann'
            password = 'hunter2'
            encryption = 'starttls'
            cipher = 'TLS13_AES_256_GCM_SHA384:tls13_aes_128_gcm_sha256, '
            cert_verification = false
            connections = 500
            rate = '2 MiB'
            quota_daily = '5 GB'
            quota_monthly = '100 GB'
            quota_reset_day = 15
            quota_total = '1 TB'
            account = 'acme'
            retention = 4000
            level = 99
            optional = true
            group = 3
            join_group = true
            ip_version = 'ipv6'
        ";
        let config = config(&server(lines));
        let login = bergamot_nntp::Login::new("ann", bergamot_types::Secret::new("hunter2"));
        assert_eq!(
            config.servers,
            [Server {
                name: "a".to_owned(),
                active: false,
                address: Address { host: "b".to_owned(), port: 8563, ip_version: IpVersion::V6 },
                login: login.ok(),
                account: Some("acme".to_owned()),
                security: Security {
                    encryption: Encryption::StartTls,
                    cert_verification: false,
                    ciphers: vec![
                        "TLS13_AES_256_GCM_SHA384".to_owned(),
                        "tls13_aes_128_gcm_sha256".to_owned()
                    ],
                    extra_roots: None,
                },
                role: Role {
                    connections: 500,
                    rate: ByteRate(2 << 20),
                    retention: 4000,
                    level: 99,
                    optional: true,
                    group: 3,
                    join_group: true,
                },
                quota: ServerQuota {
                    daily: ByteCount(5_000_000_000),
                    monthly: ByteCount(100_000_000_000),
                    total: ByteCount(1_000_000_000_000),
                    reset_day: Some(15),
                },
            }]
        );
        let [(_, net)] = config.server_settings().try_into().expect("one server");
        assert_eq!(
            (net.port, net.encryption, net.ip_version),
            (8563, Encryption::StartTls, IpVersion::V6)
        );
        assert!(net.join_group && net.conversation.start_tls && !net.tls.verify);
        assert_eq!(net.tls.ciphers.len(), 2);
        assert!(!format!("{config:?} {net:?}").contains("hunter"));
    }

    #[test]
    fn the_port_follows_the_encryption() {
        for (lines, port) in [
            ("", 563),
            ("encryption = 'tls'", 563),
            ("encryption = 'starttls'", 119),
            ("encryption = 'none'", 119),
            ("encryption = 'none'\nport = 8119", 8119),
        ] {
            assert_eq!(config(&server(lines)).servers[0].address.port, port, "{lines}");
        }
    }

    #[test]
    fn what_a_server_needs_is_asked_for() {
        assert_eq!(
            problems("\n[[server]]\n"),
            [
                "line 2, column 1: server.name: missing; expected a name of at most 64 characters \
                 that no other server has",
                "line 2, column 1: server.host: missing; expected a host name or an IP address, \
                 without a port",
            ]
        );
    }

    #[test]
    fn a_name_is_there_once() {
        let text = "[[server]]\nname = 'News'\nhost = 'b'\n[[server]]\nname = 'news'\nhost = 'c'";
        assert_eq!(
            problems(text),
            ["line 5, column 8: server.name: expected a name of at most 64 characters that no \
              other server has, but there is another \"news\""]
        );
        for name in [" ", "a\\nb", &"x".repeat(65)] {
            let told = problems(&format!("[[server]]\nname = \"{name}\"\nhost = 'b'"));
            assert!(
                told[0].starts_with("line 2, column 8: server.name: expected a name"),
                "{told:?}"
            );
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address() {
        for host in
            ["news.example.com", "news.example.com.", "my_nas", "192.0.2.1", "2001:db8::1", "[::1]"]
        {
            config(&format!("[[server]]\nname = 'a'\nhost = '{host}'"));
        }
        for (host, shown) in [
            ("", ""),
            (" ", " "),
            ("news.example.com:563", "news.example.com:563"),
            ("nntps://news.example.com", "nntps://news.example.com"),
            ("news example", "news example"),
            ("a\\nb", "a\\u{a}b"),
            ("a..b", "a..b"),
            ("[::1", "[::1"),
            ("bücher.example", "bücher.example"),
        ] {
            assert_eq!(
                problems(&format!("[[server]]\nname = 'a'\nhost = \"{host}\"")),
                [format!(
                    "line 3, column 8: server.host: expected a host name or an IP address, without \
                     a port, but found \"{shown}\""
                )]
            );
        }
    }

    #[test]
    fn numbers_and_words_are_checked() {
        let lines = "connections = 0\nport = 65536\nencryption = \"ssl\"\nip_version = 4\n\
                     retention = \"8 years\"\nlevel = -1\ngroup = 100\naccount = \"\"";
        assert_eq!(
            problems(&server(lines)),
            [
                "line 4, column 15: server.connections: expected a whole number from 1 to 500, \
                 found 0",
                "line 5, column 8: server.port: expected a whole number from 1 to 65535, found 65536",
                "line 6, column 14: server.encryption: expected \"tls\", \"starttls\" or \"none\", \
                 found \"ssl\"",
                "line 7, column 14: server.ip_version: expected \"auto\", \"ipv4\" or \"ipv6\", \
                 found 4",
                "line 8, column 13: server.retention: expected a number of days, like 3000 or \
                 \"3000 days\", found \"8 years\"",
                "line 9, column 9: server.level: expected a whole number from 0 to 99, found -1",
                "line 10, column 9: server.group: expected a whole number from 0 to 99, found 100",
                "line 11, column 11: server.account: expected a name in one line, but found \"\"",
            ]
        );
        let told = problems(&server("connections = 501"));
        assert!(told[0].ends_with("expected a whole number from 1 to 500, found 501"));
    }

    #[test]
    fn an_unknown_cipher_lists_the_known_ones() {
        assert_eq!(
            problems(&server("cipher = \"TLS13_AES_128_GCM_SHA256:ROT13\"")),
            [format!(
                "line 4, column 10: server.cipher: expected names of cipher suites with : or , \
                 between them, but there is no cipher ROT13; known are {}",
                bergamot_net::cipher_names().join(", ")
            )]
        );
    }

    #[test]
    fn a_ca_file_has_to_hold_certificates() {
        assert_eq!(
            problems(&server("ca_file = \"none.pem\"")),
            [
                "line 4, column 11: server.ca_file: expected the path of a file with certificates in \
              PEM, but /srv/none.pem cannot be read: No such file or directory (os error 2)"
            ]
        );
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        std::fs::write(&path, "hello").unwrap();
        for more in ["", "encryption = \"none\"\ncert_verification = false"] {
            assert_eq!(
                problems(&server(&format!("ca_file = \"{}\"\n{more}", path.display()))),
                [
                    "line 4, column 11: server.ca_file: expected the path of a file with certificates \
                  in PEM, but the CA file holds no certificate"
                ]
            );
        }
    }

    #[test]
    fn what_is_unsafe_or_idle_is_warned_of() {
        let warnings = |lines: &str| -> Vec<String> {
            config(&server(lines)).warnings.iter().map(Warning::to_string).collect()
        };
        assert_eq!(
            warnings("cert_verification = false"),
            [
                "server a: CERTIFICATE VERIFICATION IS OFF, so an attacker on the network can pose as the \
              server and read the login"
            ]
        );
        assert_eq!(
            warnings("encryption = 'none'\nusername = 'ann'\npassword = 'hunter2'"),
            ["server a: the login is sent without encryption and can be read on the network; set \
              encryption = \"tls\""]
        );
        assert_eq!(
            warnings("encryption = 'none'\ncipher = 'TLS13_AES_128_GCM_SHA256'"),
            ["server a: cipher has no effect, because there is no encryption"]
        );
        assert_eq!(
            warnings("active = false\ncert_verification = false"),
            ["no server is active, so nothing can be downloaded"]
        );
        assert_eq!(warnings("encryption = 'none'\ncert_verification = false"), [""; 0]);
    }
}
