//! [`Cache`]: the headers of all groups, within one memory budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use bergamot_types::{ArticleRange, ByteCount, GroupName, ServerId};

use crate::batch::Batch;
use crate::headers::Headers;

#[derive(Debug)]
pub(crate) struct Cache {
    budget: usize,
    groups: BTreeMap<GroupName, Cached>,
    uses: u64,
}

/// What is kept of one group.
#[derive(Debug)]
pub(crate) struct Cached {
    pub(crate) headers: Arc<Headers>,
    pub(crate) extent: Extent,
    used: u64, // counted up with each use of any group
}

/// How far the headers that are kept reach.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Extent {
    /// Numbers are this server's, and mean nothing to others.
    pub server: ServerId,
    /// What the server has.
    pub offered: ArticleRange,
    /// What was read of it; there may be less in it than numbers.
    pub read: ArticleRange,
    /// Older ones were read, and there was no room for them.
    pub is_full: bool,
}

impl Extent {
    /// Whether the server has what is older than all that was read, and we have room for it.
    pub fn has_older(&self) -> bool {
        // Where a group is empty, servers count from nought.
        self.offered.first.max(1) < self.read.first && !self.is_full
    }
}

impl Cache {
    pub(crate) fn new(budget: ByteCount) -> Self {
        Self { budget: budget.0 as usize, groups: BTreeMap::new(), uses: 0 }
    }

    /// Marks the group as used; whether it is cached.
    pub(crate) fn touch(&mut self, group: &GroupName) -> bool {
        self.uses += 1;
        let cached = self.groups.get_mut(group);
        cached.map(|cached| cached.used = self.uses).is_some()
    }

    pub(crate) fn cached(&self, group: &GroupName) -> Option<&Cached> {
        self.groups.get(group)
    }

    /// Takes in what was read; how many headers are new.
    pub(crate) fn merge(&mut self, group: &GroupName, batch: Batch) -> usize {
        self.uses += 1;
        let used = self.uses;
        let Batch { extent, anew, newer, older } = batch;
        let (count, has_older) = (newer.len() + older.len(), !older.is_empty());
        match self.groups.get_mut(group) {
            Some(cached) if !anew => cached.extend(used, extent, &newer, older),
            _ => {
                let mut headers = newer;
                headers.shrink();
                let cached = Cached { headers: Arc::new(headers), extent, used };
                self.groups.insert(group.clone(), cached);
            }
        }
        let is_short = self.make_room(group);
        if let Some(cached) = self.groups.get_mut(group) {
            cached.extent.is_full |= is_short && has_older;
        }
        count
    }

    pub(crate) fn cost(&self) -> usize {
        self.groups.iter().map(|(name, cached)| cost_of(name, cached)).sum()
    }

    /// The least recently used go first; what was just read goes last, and
    /// then its oldest headers; whether it came to that.
    fn make_room(&mut self, latest: &GroupName) -> bool {
        while self.cost() > self.budget {
            let others = self.groups.iter().filter(|(name, _)| *name != latest);
            match others.min_by_key(|(_, cached)| cached.used).map(|(name, _)| name.clone()) {
                Some(name) => drop(self.groups.remove(&name)),
                None => {
                    self.shorten(latest);
                    return true;
                }
            }
        }
        false
    }

    fn shorten(&mut self, group: &GroupName) {
        let Some(cached) = self.groups.get_mut(group) else { return };
        while cost_of(group, cached) > self.budget && !cached.headers.is_empty() {
            let half = cached.headers.len() / 2;
            Arc::make_mut(&mut cached.headers).keep_newest(half);
            let first = cached.headers.first().unwrap_or(cached.extent.read.last.saturating_add(1));
            cached.extent.read.first = first;
        }
    }
}

impl Cached {
    fn extend(&mut self, used: u64, extent: Extent, newer: &Headers, older: Headers) {
        if !older.is_empty() {
            let mut all = older;
            all.append(&self.headers);
            self.headers = Arc::new(all);
        }
        if !newer.is_empty() {
            Arc::make_mut(&mut self.headers).append(newer);
        }
        self.extent = extent;
        self.used = used;
    }
}

fn cost_of(name: &GroupName, cached: &Cached) -> usize {
    cached.headers.cost() + name.as_str().len() + size_of::<(GroupName, Cached)>()
}
