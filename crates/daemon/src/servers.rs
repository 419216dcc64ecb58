//! [`Servers`]: the servers as they are configured now, and the numbers of all there ever were. Part of `Network`.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use bergamot_net::{Server, ServerSettings};
use bergamot_types::ServerId;

/// A server is known by its name: when the configuration is read again it keeps its number, wherever
/// it stands in the file, and has it again should it come back; what was used of its quota is known by
/// that. Programs see its place in the file instead, from 1.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    list: Vec<(ServerId, Arc<Server>)>,  // in the order of the file
    numbers: BTreeMap<String, ServerId>, // of all there ever were, by their names in small letters
}

impl Servers {
    pub(crate) fn get(&self, id: ServerId) -> Option<&Arc<Server>> {
        self.list.iter().find(|(known, _)| *known == id).map(|(_, server)| server)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ServerId, &Arc<Server>)> {
        self.list.iter().map(|(id, server)| (*id, server))
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<ServerId> {
        let is_it = |server: &Server| server.settings().name.eq_ignore_ascii_case(name);
        self.list.iter().find(|(_, server)| is_it(server)).map(|(id, _)| *id)
    }

    /// Its place in the file.
    pub(crate) fn place(&self, id: ServerId) -> Option<u16> {
        let at = self.list.iter().position(|(known, _)| *known == id)?;
        u16::try_from(at + 1).ok()
    }

    pub(crate) fn at_place(&self, place: u16) -> Option<ServerId> {
        self.list.get(usize::from(place).checked_sub(1)?).map(|(id, _)| *id)
    }

    /// Their names by their numbers; none where a number is not in use.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (id, server) in self.iter() {
            let at = usize::from(id.0);
            names.resize(names.len().max(at), String::new());
            names[at - 1] = server.settings().name.clone();
        }
        names
    }

    /// Takes these instead; the numbers they have now.
    pub(crate) fn replace(
        &mut self,
        settings: Vec<ServerSettings>,
    ) -> anyhow::Result<Vec<ServerId>> {
        let mut list = Vec::new();
        for settings in settings {
            let id = self.number(&settings.name)?;
            let name = settings.name.clone();
            let server = Server::new(settings).with_context(|| format!("server {name}"))?;
            list.push((id, Arc::new(server)));
        }
        self.list = list;
        Ok(self.list.iter().map(|(id, _)| *id).collect())
    }

    fn number(&mut self, name: &str) -> anyhow::Result<ServerId> {
        let next = u16::try_from(self.numbers.len() + 1).context("there were too many servers")?;
        Ok(*self.numbers.entry(name.to_ascii_lowercase()).or_insert(ServerId(next)))
    }
}

#[cfg(test)]
mod tests {
    use bergamot_net::{ConnectLimits, Encryption, IpVersion, TlsSettings};

    use super::*;

    #[test]
    fn a_server_has_its_number_again_when_it_comes_back() {
        let mut servers = Servers::default();
        let mut numbers = |names: &[&str]| {
            let named = |name: &&str| ServerSettings {
                name: (*name).to_owned(),
                host: "news.x".to_owned(),
                port: 119,
                encryption: Encryption::None,
                tls: TlsSettings::default(),
                ip_version: IpVersion::default(),
                join_group: false,
                limits: ConnectLimits::default(),
                conversation: bergamot_nntp::Settings::default(),
            };
            let numbers = servers.replace(names.iter().map(named).collect()).unwrap();
            numbers.iter().map(|id| id.0).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&["a", "B"]), [1, 2]);
        assert_eq!(numbers(&["c", "b"]), [3, 2], "wherever it stands");
        assert_eq!(numbers(&["a"]), [1]);
        assert_eq!(numbers(&["b", "a", "c"]), [2, 1, 3]);
    }
}
