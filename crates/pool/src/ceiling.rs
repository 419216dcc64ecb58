//! [`Ceiling`]: how many connections a server or an account allows, as far as it is known. Pure.

use std::time::{Duration, Instant};

use bergamot_types::ServerId;

use crate::settings::ServerSettings;

/// Who is counted together: the servers of one account, or a server by itself.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Holder {
    Account(u16),
    Server(ServerId),
}

impl Holder {
    pub(crate) fn of(settings: &ServerSettings) -> Self {
        settings.account.map_or(Self::Server(settings.id), Self::Account)
    }
}

/// What was configured, until the provider says that it is too much.
#[derive(Debug, Default)]
pub(crate) struct Ceiling {
    configured: usize,
    learned: Option<usize>,
    raise_at: Option<Instant>,
}

impl Ceiling {
    /// One more server is counted here: the largest number of all of them holds.
    pub(crate) fn admit(&mut self, connections: usize) {
        self.configured = self.configured.max(connections);
    }

    /// What was learned of as many connections still holds; of others it says nothing.
    pub(crate) fn inherit(&mut self, before: Self) {
        if before.configured == self.configured {
            *self = before;
        }
    }

    pub(crate) fn most(&self) -> usize {
        self.learned.unwrap_or(self.configured)
    }

    /// So many were open when one more was refused.
    pub(crate) fn lower(&mut self, now: Instant, to: usize) {
        self.learned = Some(to.min(self.configured));
        self.raise_at = Some(now + CEILING_PROBE);
    }

    /// Where nothing works, nothing was learned about how many would.
    pub(crate) fn forget(&mut self) {
        (self.learned, self.raise_at) = (None, None);
    }

    /// A ceiling that was learned is tried now and then with one connection more.
    pub(crate) fn on_time(&mut self, now: Instant) {
        if self.raise_at.is_none_or(|at| now < at) {
            return;
        }
        let raised = self.most() + 1;
        self.learned = (raised < self.configured).then_some(raised);
        self.raise_at = self.learned.map(|_| now + CEILING_PROBE);
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.raise_at
    }
}

/// How long a ceiling learned from "too many connections" is believed before one more is tried.
pub(crate) const CEILING_PROBE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learned_ceiling_rises_step_by_step_to_what_was_configured() {
        let (mut ceiling, start) = (Ceiling::default(), Instant::now());
        [3, 5, 4].into_iter().for_each(|connections| ceiling.admit(connections));
        assert_eq!((ceiling.most(), ceiling.next_deadline()), (5, None));
        ceiling.lower(start, 3);
        assert_eq!(ceiling.most(), 3);
        for (minute, most) in [(1, 4), (2, 5)] {
            ceiling.on_time(start + CEILING_PROBE * minute - Duration::from_secs(1));
            assert_eq!(ceiling.most(), most - 1);
            ceiling.on_time(start + CEILING_PROBE * minute);
            assert_eq!(ceiling.most(), most);
        }
        assert_eq!(ceiling.next_deadline(), None, "there is nothing left to try");
        ceiling.lower(start, 9);
        assert_eq!(ceiling.most(), 5, "never more than was configured");
    }

    #[test]
    fn what_was_learned_holds_as_long_as_the_same_is_configured() {
        for (configured, most) in [(5, 3), (6, 6), (4, 4)] {
            let [mut before, mut after] = [Ceiling::default(), Ceiling::default()];
            before.admit(5);
            before.lower(Instant::now(), 3);
            after.admit(configured);
            after.inherit(before);
            assert_eq!(after.most(), most);
        }
    }
}
