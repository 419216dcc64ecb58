//! [`Fetch`]: which article numbers of a group are read, given what is known.

use bergamot_types::{ArticleRange, GroupName, ServerId};
use thiserror::Error;

use crate::batch::Batch;
use crate::cache::Extent;
use crate::headers::Headers;

/// What is to be read of a group; carried out by the owner of a connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fetch {
    pub group: GroupName,
    /// What is kept of it.
    pub(crate) known: Option<Extent>,
    /// A request waits for older headers.
    pub(crate) older: bool,
    pub(crate) most: u64,
}

/// The ranges to read, once the server has told its numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Plan {
    server: ServerId,
    offered: ArticleRange,
    known: Option<Extent>, // what goes on counting
    pub newer: Option<ArticleRange>,
    pub older: Option<ArticleRange>,
}

/// Why a group could not be read; all waiting requests receive it.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Failure {
    /// More groups, or more clients of one, than are kept track of.
    #[error("too many are asking for newsgroups")]
    Crowded,
    #[error("no server that may be asked for headers is configured")]
    NoServer,
    #[error("no server has the group {0}")]
    NoSuchGroup(GroupName),
    /// A connection, and what went wrong with it.
    #[error("{server}: {cause}")]
    Server { server: Box<str>, cause: Box<str> },
}

impl Fetch {
    /// The server whose article numbers are known; it should be asked first.
    pub fn server(&self) -> Option<ServerId> {
        self.known.map(|known| known.server)
    }

    /// Only what is above the high-water mark is read. Numbers of another server, numbers that went
    /// back or all beyond those known, and a gap longer than one look begin the group anew, with its
    /// newest headers.
    pub fn plan(&self, server: ServerId, offered: ArticleRange) -> Plan {
        let known =
            self.known.filter(|known| known.server == server && self.goes_on(known, offered));
        let Some(extent) = known else {
            let newer = self.newest(offered);
            return Plan { server, offered, known: None, newer, older: None };
        };
        let above = ArticleRange { first: extent.read.last.saturating_add(1), last: offered.last };
        let below = extent.read.first;
        let older = ArticleRange {
            first: offered.first.max(below.saturating_sub(self.most)),
            last: below.saturating_sub(1),
        };
        Plan {
            server,
            offered,
            known,
            newer: Some(above).filter(|range| !range.is_empty()),
            older: Some(older).filter(|range| self.older && !range.is_empty()),
        }
    }

    fn goes_on(&self, known: &Extent, offered: ArticleRange) -> bool {
        let next = known.read.last.saturating_add(1);
        let news = offered.last.checked_sub(known.read.last);
        offered.first <= next && news.is_some_and(|news| news <= self.most)
    }

    fn newest(&self, offered: ArticleRange) -> Option<ArticleRange> {
        let first = offered.first.max(1).max(offered.last.saturating_sub(self.most - 1));
        Some(ArticleRange { first, last: offered.last }).filter(|range| !range.is_empty())
    }
}

impl Plan {
    /// What was read as planned. Of what is above the mark only numbers that came count as read: a
    /// server may count articles before it can list them.
    pub fn batch(self, newer: Headers, older: Headers) -> Batch {
        let Self { server, offered, known, .. } = self;
        let mark = known.map_or(offered.first.saturating_sub(1), |known| known.read.last);
        let last = newer.last().unwrap_or(mark);
        let planned = self.older.or(known.map(|known| known.read)).or(self.newer);
        let first = planned.map_or(offered.last.saturating_add(1), |range| range.first);
        let read = ArticleRange { first, last };
        let is_full = known.is_some_and(|known| known.is_full);
        let extent = Extent { server, offered, read, is_full };
        Batch { extent, anew: known.is_none(), newer, older }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::tests::headers;

    const SERVER: ServerId = ServerId(1);

    fn range(first: u64, last: u64) -> ArticleRange {
        ArticleRange { first, last }
    }

    fn fetch(known: Option<(u64, u64)>) -> Fetch {
        let known = known.map(|(first, last)| Extent {
            server: SERVER,
            offered: range(1, last),
            read: range(first, last),
            is_full: false,
        });
        Fetch { group: GroupName::parse("a.b").unwrap(), known, older: false, most: 100 }
    }

    fn newer(known: Option<(u64, u64)>, offered: ArticleRange) -> (bool, Option<ArticleRange>) {
        let plan = fetch(known).plan(SERVER, offered);
        (plan.known.is_none(), plan.newer)
    }

    #[test]
    fn a_group_is_first_read_from_its_newest() {
        assert_eq!(newer(None, range(1, 1000)), (true, Some(range(901, 1000))));
        assert_eq!(newer(None, range(950, 1000)), (true, Some(range(950, 1000))));
        assert_eq!(newer(None, range(0, 50)), (true, Some(range(1, 50))));
        for empty in [range(1, 0), range(0, 0), range(1001, 1000)] {
            assert_eq!(newer(None, empty), (true, None));
        }
        assert_eq!(newer(None, range(1, u64::MAX)).1, Some(range(u64::MAX - 99, u64::MAX)));
    }

    #[test]
    fn only_what_is_above_the_mark_is_read() {
        let known = Some((901, 1000));
        assert_eq!(newer(known, range(1, 1000)), (false, None));
        assert_eq!(newer(known, range(1, 1001)), (false, Some(range(1001, 1001))));
        assert_eq!(newer(known, range(990, 1100)), (false, Some(range(1001, 1100))));
    }

    #[test]
    fn numbers_that_went_back_or_are_anothers_begin_anew() {
        let known = Some((901, 1000));
        assert_eq!(newer(known, range(1, 999)), (true, Some(range(900, 999))));
        assert_eq!(newer(known, range(1, 0)), (true, None));
        assert_eq!(newer(known, range(1, 1101)), (true, Some(range(1002, 1101))), "a gap");
        assert_eq!(
            newer(known, range(1002, 1050)),
            (true, Some(range(1002, 1050))),
            "all are others"
        );
        assert_eq!(newer(known, range(1001, 1000)), (false, None), "all of them expired");
        let plan = fetch(known).plan(ServerId(2), range(1, 2000));
        assert_eq!((plan.known, plan.newer), (None, Some(range(1901, 2000))));
    }

    #[test]
    fn older_ones_are_read_where_they_are_asked_for() {
        let fetch = Fetch { older: true, ..fetch(Some((901, 1000))) };
        assert_eq!(fetch.plan(SERVER, range(1, 1000)).older, Some(range(801, 900)));
        assert_eq!(fetch.plan(SERVER, range(880, 1000)).older, Some(range(880, 900)));
        assert_eq!(fetch.plan(SERVER, range(901, 1000)).older, None);
        let batch = fetch.plan(SERVER, range(1, 1002)).batch(headers([1002]), headers([850]));
        assert_eq!((batch.anew, batch.extent.read), (false, range(801, 1002)));
    }

    #[test]
    fn what_did_not_come_is_asked_for_again() {
        let plan = fetch(Some((901, 1000))).plan(SERVER, range(1, 1010));
        assert_eq!(plan.batch(headers([1001, 1004]), Headers::default()).extent.read.last, 1004);
        assert_eq!(plan.batch(Headers::default(), Headers::default()).extent.read.last, 1000);
        let first = fetch(None).plan(SERVER, range(500, 1000));
        let read = first.batch(Headers::default(), Headers::default()).extent.read;
        assert_eq!(read, range(901, 499), "nothing, so far");
    }
}
