//! NZBs that are given by their address.

use super::fields::Fields;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Urls {
    /// From which NZBs may be fetched though they are in private networks; `*` is all of them.
    pub(crate) private_hosts: Vec<String>,
}

impl Urls {
    pub(super) fn read(mut fields: Fields<'_, '_>) -> Self {
        let mut private_hosts = Vec::new();
        for (at, host) in fields.texts("private_hosts") {
            if host.trim().is_empty() || host.contains(['/', '@']) {
                fields.unfit_at(at, "private_hosts", "it is no host, with or without a port");
            }
            private_hosts.push(host);
        }
        Self { private_hosts }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{config, problems};

    #[test]
    fn hosts_are_named_without_anything_around_them() {
        let read = config("[urls]\nprivate_hosts = ['prowlarr', '10.0.0.2:9696']");
        assert_eq!(read.urls.private_hosts, ["prowlarr", "10.0.0.2:9696"]);
        let found = problems("[urls]\nprivate_hosts = ['http://prowlarr/']");
        assert!(found[0].contains("urls.private_hosts"), "{found:?}");
    }
}
