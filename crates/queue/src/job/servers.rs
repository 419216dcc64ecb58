//! [`ServerCount`]: how many articles of a job a server delivered and how many it did not. Pure.

use std::collections::BTreeMap;

use bergamot_types::ServerId;

/// Counted once for each article and server, when it is clear what became of the article.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ServerCount {
    /// Articles that came from it, good.
    pub got: u32,
    /// Articles that it was asked for in vain.
    pub failed: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Servers(BTreeMap<ServerId, ServerCount>);

impl Servers {
    pub(crate) fn note_got(&mut self, server: ServerId) {
        self.0.entry(server).or_default().got += 1;
    }

    pub(crate) fn note_failed(&mut self, server: ServerId) {
        self.0.entry(server).or_default().failed += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ServerId, ServerCount)> + '_ {
        self.0.iter().map(|(server, count)| (*server, *count))
    }
}
