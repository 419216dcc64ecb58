//! [`History`]: the results of one article, server by server. Pure.

use bergamot_types::ServerId;

use crate::trouble::Trouble;

/// One thing that happened, or the reason why nothing did.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Encounter {
    /// It does not have the article.
    Missing,
    /// It was not asked, for a mirror of it does not have the article.
    MirrorLacks,
    /// So many of its copies were no good.
    Damaged(u8),
    /// So many connections broke on the article.
    Broke(u8),
    /// So many connections were refused, for no known reason, when they asked for it.
    Refused(u8),
    /// It was not asked, for it keeps nothing that long.
    TooOld,
    /// It was not asked, and nothing waits for it as long as it is in this trouble.
    Excused(Trouble),
    /// It was not asked, for its allowance is used up.
    UsedUp,
}

/// All of it, server by server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct History(Vec<(ServerId, Encounter)>);

impl History {
    pub fn iter(&self) -> impl Iterator<Item = (ServerId, Encounter)> + '_ {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(ServerId, Encounter)> for History {
    fn from_iter<T: IntoIterator<Item = (ServerId, Encounter)>>(encounters: T) -> Self {
        Self(encounters.into_iter().collect())
    }
}
