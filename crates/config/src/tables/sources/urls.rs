//! `[urls]`: [`Urls`], the private hosts from which NZBs may be fetched.

use std::net::Ipv6Addr;

use bergamot_types::{Shown, Url};

use crate::catalogue::{Fallback, Key, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static URLS: Table = Table {
    name: "urls",
    repeated: false,
    about: "NZBs that are added by URL.",
    keys: &[Key {
        name: "private_hosts",
        kind: Kind::Texts("a list of hosts, with or without a port"),
        default: Fallback::Is("[]"),
        about: "Hosts in private networks, such as a local Prowlarr, from which NZBs may be fetched; \"*\" \
                is any of them. All other hosts must have public addresses: otherwise a client that may only \
                add NZBs could send requests into the local network.",
    }],
};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Urls {
    /// From which NZBs may be fetched though they are in private networks; `*` is all of them.
    pub private_hosts: Vec<String>,
}

impl Urls {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        let mut private_hosts = Vec::new();
        for (at, host) in fields.texts("private_hosts") {
            match comparable(&host) {
                Some(host) => private_hosts.push(host),
                None => fields.unfit_at(at, "private_hosts", objection(&host)),
            }
        }
        Self { private_hosts }
    }
}

/// The host as addresses have it when they are read, with the port if there is one. None if no address
/// could ever have it.
fn comparable(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    if text == "*" || text.parse::<Ipv6Addr>().is_ok() {
        return Some(text);
    }
    if text.contains(['*', '?', '/', '@', '#']) {
        return None;
    }
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    // Compared as a number, so that 080 is refused and does not mean any port.
    let behind_host = text.rsplit_once(']').map_or(text.as_str(), |(_, behind)| behind);
    match behind_host.split_once(':').map(|(_, port)| port) {
        None => Some(url.host().to_owned()),
        Some("" | "0") => None,
        Some(_) => Some(format!("{}:{}", url.host(), url.port())),
    }
}

fn objection(host: &str) -> String {
    let shown = Shown(host);
    match host.contains(['*', '?', '/']) {
        true => {
            format!("\"{shown}\" matches no host: write the full name, or \"*\" for all hosts")
        }
        false => format!("\"{shown}\" is no host, with or without a port"),
    }
}

#[cfg(test)]
mod tests {
    use crate::trial::{config, problems};

    #[test]
    fn hosts_are_named_without_anything_around_them() {
        let read = config("[urls]\nprivate_hosts = ['prowlarr', '10.0.0.2:9696']");
        assert_eq!(read.urls.private_hosts, ["prowlarr", "10.0.0.2:9696"]);
        let read =
            config("[urls]\nprivate_hosts = ['*', ' NAS:80', '::1', '[fd00::2]', '[::1]:80']");
        assert_eq!(read.urls.private_hosts, ["*", "nas:80", "::1", "fd00::2", "::1:80"]);
        let read = config("[urls]\nprivate_hosts = ['nas:080', 'nas:00443', '[::1]:080']");
        assert_eq!(read.urls.private_hosts, ["nas:80", "nas:443", "::1:80"]);
        for (odd, why) in [
            ("http://prowlarr/", "matches no host"),
            ("192.168.0.0/16", "matches no host"),
            ("*.local", "matches no host"),
            ("10.0.0.*", "matches no host"),
            ("", "no host"),
            ("me@nas", "no host"),
            ("nas:99999", "no host"),
            ("nas:", "no host"),
            ("nas:0", "no host"),
            ("[::1]:", "no host"),
            ("two words", "no host"),
        ] {
            let found = problems(&format!("[urls]\nprivate_hosts = ['nas', '{odd}']"));
            assert!(found[0].contains("urls.private_hosts"), "{odd}: {found:?}");
            assert!(found[0].contains(why), "{odd}: {found:?}");
        }
    }
}
