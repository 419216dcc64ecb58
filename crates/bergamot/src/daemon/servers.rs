//! The servers, as they are configured now.

use std::sync::Arc;

use anyhow::Context;
use bergamot_net::{Server, ServerSettings};
use bergamot_types::ServerId;

/// A server is known by its name: when the configuration is read again it keeps its number, wherever
/// it stands in the file. Programs see its place in the file instead, from 1.
#[derive(Debug, Default)]
pub(super) struct Servers {
    list: Vec<(ServerId, Arc<Server>)>, // in the order of the file
    last: u16,
}

impl Servers {
    pub(super) fn get(&self, id: ServerId) -> Option<&Arc<Server>> {
        self.list.iter().find(|(known, _)| *known == id).map(|(_, server)| server)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ServerId, &Arc<Server>)> {
        self.list.iter().map(|(id, server)| (*id, server))
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn by_name(&self, name: &str) -> Option<ServerId> {
        let is_it = |server: &Server| server.settings().name.eq_ignore_ascii_case(name);
        self.list.iter().find(|(_, server)| is_it(server)).map(|(id, _)| *id)
    }

    /// Its place in the file.
    pub(super) fn place(&self, id: ServerId) -> Option<u16> {
        let at = self.list.iter().position(|(known, _)| *known == id)?;
        u16::try_from(at + 1).ok()
    }

    pub(super) fn at_place(&self, place: u16) -> Option<ServerId> {
        self.list.get(usize::from(place).checked_sub(1)?).map(|(id, _)| *id)
    }

    /// Takes these instead; the numbers they have now.
    pub(super) fn replace(
        &mut self,
        settings: Vec<ServerSettings>,
    ) -> anyhow::Result<Vec<ServerId>> {
        let mut list = Vec::new();
        for settings in settings {
            let id = self.by_name(&settings.name).unwrap_or_else(|| {
                self.last += 1;
                ServerId(self.last)
            });
            let name = settings.name.clone();
            let server = Server::new(settings).with_context(|| format!("server {name}"))?;
            list.push((id, Arc::new(server)));
        }
        self.list = list;
        Ok(self.list.iter().map(|(id, _)| *id).collect())
    }
}
