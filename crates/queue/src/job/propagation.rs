//! [`Propagation`]: how long a job of a recent post is held when articles are missing on every server.
//!
//! The articles of a post reach the servers of other providers minutes after it was made. A job that lacks
//! articles of such a post is not failed at once: it is held, asked for again a few times, and fails when the
//! hold is over. Pure: the date is an argument, and what has to survive a restart is a [`Held`] that the
//! caller keeps with the job.

use std::time::Duration;

use bergamot_types::UnixTime;

/// The settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Propagation {
    /// A post is recent as long as it is younger than this.
    pub age: Duration,
    /// The longest time between the first time the job would have failed and its failure.
    pub hold: Duration,
}

/// A job that was held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Held {
    /// When it would have failed for the first time, in seconds since 1970.
    pub since: i64,
    /// How often it was asked for again, or is about to be.
    pub asks: u32,
}

/// What becomes of a job that lacks articles everywhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HoldVerdict {
    /// Its post is not recent: it fails for another cause.
    Settled,
    /// It is asked for again after `pause`.
    Ask { held: Held, pause: Duration },
    /// It was held long enough and fails as [`Propagating`](crate::Cause::Propagating).
    Over,
}

impl Propagation {
    /// Whether a post is so recent that articles may still be on their way. Clocks of posters go wrong in
    /// both directions.
    pub fn is_recent(&self, newest_post: Option<UnixTime>, now: UnixTime) -> bool {
        newest_post.is_some_and(|posted| posted.0.abs_diff(now.0) < self.age.as_secs())
    }

    /// `held` is what the last call returned for this job. A job that was held once stays so, even if its
    /// post is not recent any more when it is asked for again.
    pub fn judge(
        &self,
        held: Option<Held>,
        newest_post: Option<UnixTime>,
        now: UnixTime,
    ) -> HoldVerdict {
        let held = match held {
            Some(held) => held,
            None if self.is_recent(newest_post, now) => Held { since: now.0, asks: 0 },
            None => return HoldVerdict::Settled,
        };
        // A clock that was set back ends the hold as well: it must not last longer than it may.
        let elapsed = Duration::from_secs(held.since.abs_diff(now.0));
        for asks in held.asks..HOLD_RETRIES.len() as u32 {
            let at = self.hold * HOLD_RETRIES[asks as usize] / HOLD_RETRIES[HOLD_RETRIES.len() - 1];
            if at > elapsed {
                return HoldVerdict::Ask {
                    held: Held { asks: asks + 1, ..held },
                    pause: at - elapsed,
                };
            }
        }
        HoldVerdict::Over
    }

    /// Until when the health of a job is not acted upon, because what is missing may still arrive. None if
    /// it is from the start.
    pub fn exempt_until(
        &self,
        held: Option<Held>,
        newest_post: Option<UnixTime>,
        now: UnixTime,
    ) -> Option<UnixTime> {
        if held.is_some() {
            return Some(UnixTime(i64::MAX));
        }
        let age = i64::try_from(self.age.as_secs()).unwrap_or(i64::MAX);
        let posted = newest_post.filter(|_| self.is_recent(newest_post, now))?;
        Some(UnixTime(posted.0.saturating_add(age)))
    }
}

/// When a held job is asked for again, in parts of the hold. Each wait is longer than the one before, as an
/// article that did not come soon is less and less likely to; the last ask is at the end of the hold.
const HOLD_RETRIES: [u32; 4] = [1, 3, 6, 10];

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Propagation =
        Propagation { age: Duration::from_secs(3600), hold: Duration::from_secs(600) };
    const NOW: i64 = 1_800_000_000;

    fn judge(held: Option<Held>, age: i64, now: i64) -> HoldVerdict {
        RULE.judge(held, Some(UnixTime(NOW - age)), UnixTime(now))
    }

    #[test]
    fn an_older_post_fails_at_once() {
        for age in [3600, 3601, 100_000, -3600] {
            assert_eq!(judge(None, age, NOW), HoldVerdict::Settled, "{age}");
        }
        assert_eq!(RULE.judge(None, None, UnixTime(NOW)), HoldVerdict::Settled);
    }

    #[test]
    fn a_recent_post_is_asked_for_again_and_fails_ten_minutes_after_the_first_time() {
        for age in [0, 1800, 3599, -60] {
            let (mut held, mut now, mut pauses) = (None, NOW, Vec::new());
            while let HoldVerdict::Ask { held: next, pause } = judge(held, age, now) {
                held = Some(next);
                now += pause.as_secs() as i64;
                pauses.push(pause.as_secs());
            }
            assert_eq!(pauses, [60, 120, 180, 240], "{age}");
            assert_eq!(judge(held, age, now), HoldVerdict::Over, "not the cause of an older post");
            assert_eq!(now - NOW, 600);
        }
    }

    #[test]
    fn time_that_the_asks_take_counts() {
        let HoldVerdict::Ask { held, .. } = judge(None, 0, NOW) else { panic!() };
        let HoldVerdict::Ask { held, pause } = judge(Some(held), 0, NOW + 170) else { panic!() };
        assert_eq!((held.asks, pause.as_secs()), (2, 10));
        let HoldVerdict::Ask { held, pause } = judge(Some(held), 0, NOW + 500) else { panic!() };
        assert_eq!((held.asks, pause.as_secs()), (4, 100));
        assert_eq!(
            judge(Some(held), 0, NOW + 501),
            HoldVerdict::Over,
            "it was asked for often enough"
        );
        let HoldVerdict::Ask { held, .. } = judge(None, 0, NOW) else { panic!() };
        assert_eq!(judge(Some(held), 0, NOW + 600), HoldVerdict::Over);
    }

    #[test]
    fn no_clock_and_no_restart_makes_the_hold_longer() {
        let HoldVerdict::Ask { held, .. } = judge(None, 0, NOW) else { panic!() };
        for now in [NOW - 600, 0, i64::MIN, i64::MAX] {
            assert_eq!(judge(Some(held), 0, now), HoldVerdict::Over, "{now}");
        }
        let mut held = None;
        let mut asks = 0;
        // Killed and started again and again, without any time passing.
        while let HoldVerdict::Ask { held: next, .. } = judge(held, 0, NOW) {
            held = Some(next);
            asks += 1;
        }
        assert_eq!(asks, 4);
    }

    #[test]
    fn no_hold_is_none() {
        let rule = Propagation { hold: Duration::ZERO, ..RULE };
        assert_eq!(rule.judge(None, Some(UnixTime(NOW)), UnixTime(NOW)), HoldVerdict::Over);
        let rule = Propagation { age: Duration::ZERO, ..RULE };
        assert_eq!(rule.judge(None, Some(UnixTime(NOW)), UnixTime(NOW)), HoldVerdict::Settled);
    }

    #[test]
    fn health_is_not_acted_upon_while_a_post_is_recent_or_its_job_held() {
        let until = |held, age| RULE.exempt_until(held, Some(UnixTime(NOW - age)), UnixTime(NOW));
        assert_eq!(until(None, 10), Some(UnixTime(NOW - 10 + 3600)));
        assert_eq!(until(None, 3600), None);
        assert_eq!(until(Some(Held { since: NOW, asks: 1 }), 9999), Some(UnixTime(i64::MAX)));
        assert_eq!(RULE.exempt_until(None, None, UnixTime(NOW)), None);
    }
}
