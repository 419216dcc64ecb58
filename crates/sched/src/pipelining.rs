//! [`Pipelining`]: whether and how deep requests to a server are pipelined.

use std::time::{Duration, Instant};

/// Some servers promise pipelining and lose count, or hang up. It shows in conversations that end
/// badly while something was asked ahead, and in none of what was asked ahead being answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pipelining {
    suspicion: u32,
    /// Nothing is asked ahead until then.
    avoided_until: Option<Instant>,
    avoided: u32, // how often in a row
}

impl Pipelining {
    /// Something that was asked ahead was answered as it should be.
    pub(crate) fn on_answered(&mut self) {
        *self = Self::default();
    }

    /// A conversation ended badly while something was asked ahead.
    pub(crate) fn on_bad_end(&mut self, now: Instant) {
        if self.is_avoided(now) {
            return; // what was asked before we knew
        }
        self.suspicion += 1;
        // It stays, so that one more bad end after that time is enough.
        if self.suspicion >= ENOUGH {
            let time = AVOIDED * (1 << self.avoided.min(LONGEST_DOUBLING));
            self.avoided_until = Some(now + time);
            self.avoided += 1;
        }
    }

    pub(crate) fn is_avoided(&self, now: Instant) -> bool {
        self.avoided_until.is_some_and(|until| now < until)
    }
}

/// A line that breaks now and then must not look like a server that loses count.
const ENOUGH: u32 = 3;

const AVOIDED: Duration = Duration::from_secs(60);

/// An hour, about.
const LONGEST_DOUBLING: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_loses_count_is_asked_one_by_one_for_a_while() {
        let (mut pipelining, now) = (Pipelining::default(), Instant::now());
        (0..2).for_each(|_| pipelining.on_bad_end(now));
        assert!(!pipelining.is_avoided(now));
        pipelining.on_bad_end(now);
        assert!(pipelining.is_avoided(now));
        assert!(pipelining.is_avoided(now + AVOIDED - Duration::from_millis(1)));
        let later = now + AVOIDED;
        assert!(!pipelining.is_avoided(later), "it is tried again");
        pipelining.on_bad_end(later);
        assert!(pipelining.is_avoided(later + AVOIDED), "and avoided for twice as long");
        assert!(!pipelining.is_avoided(later + 2 * AVOIDED));
        pipelining.on_answered();
        (0..2).for_each(|_| pipelining.on_bad_end(later));
        assert!(!pipelining.is_avoided(later));
    }

    #[test]
    fn what_was_asked_ahead_before_it_was_known_counts_once() {
        let (mut pipelining, now) = (Pipelining::default(), Instant::now());
        (0..20).for_each(|_| pipelining.on_bad_end(now));
        assert!(!pipelining.is_avoided(now + AVOIDED));
    }

    #[test]
    fn it_is_never_avoided_for_much_longer_than_an_hour() {
        let (mut pipelining, mut now) = (Pipelining::default(), Instant::now());
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            (0..ENOUGH).for_each(|_| pipelining.on_bad_end(now));
            let since = now;
            while pipelining.is_avoided(now) {
                now += AVOIDED;
            }
            longest = longest.max(now - since);
        }
        assert_eq!(longest, 64 * AVOIDED);
    }
}
