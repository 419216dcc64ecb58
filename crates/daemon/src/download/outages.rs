//! [`Outages`]: the back-offs of servers that were logged, so that an outage of days does not fill the log.
//! Part of `Network`, in the main loop.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bergamot_engine::Trouble;
use bergamot_types::ServerId;

/// A server that is unreachable for days is tried every few seconds, and logged less often.
#[derive(Debug, Default)]
pub(crate) struct Outages(HashMap<ServerId, Logged>);

#[derive(Debug)]
struct Logged {
    trouble: Trouble,
    at: Instant,
    is_over: bool,
}

impl Outages {
    /// Whether it is worth telling that the server rests.
    pub(crate) fn rests(&mut self, now: Instant, server: ServerId, trouble: Trouble) -> bool {
        let is_news = self.0.get(&server).is_none_or(|told| {
            let pause = if told.is_over { BETWEEN_OUTAGES } else { DURING_ONE };
            told.trouble != trouble || now >= told.at + pause
        });
        if is_news {
            self.0.insert(server, Logged { trouble, at: now, is_over: false });
        }
        is_news
    }

    /// Whether the server requires a login and none is configured: then its greeting does not mean that it works.
    pub(crate) fn only_greets(&self, server: ServerId, has_login: bool) -> bool {
        let told = self.0.get(&server);
        !has_login && told.is_some_and(|told| told.trouble == Trouble::Login && !told.is_over)
    }

    /// Whether its rest was logged and its recovery was not.
    pub(crate) fn works(&mut self, server: ServerId) -> bool {
        let told = self.0.get_mut(&server);
        told.is_some_and(|told| !std::mem::replace(&mut told.is_over, true))
    }
}

/// Some servers greet every connection and drop it.
const BETWEEN_OUTAGES: Duration = Duration::from_secs(60);
const DURING_ONE: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_once_and_again_when_it_changes_or_lasts() {
        let (mut outages, start) = (Outages::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let (a, b) = (ServerId(1), ServerId(2));
        for (seconds, server, trouble, is_news) in [
            (0, a, Trouble::Unreachable, true),
            (8, a, Trouble::Unreachable, false),
            (8, b, Trouble::Unreachable, true),
            (16, a, Trouble::Login, true),
            (599, a, Trouble::Login, false),
            (616, a, Trouble::Login, true),
        ] {
            assert_eq!(outages.rests(after(seconds), server, trouble), is_news, "{seconds}");
        }
        assert!(outages.works(a) && !outages.works(a), "that is told once too");
    }

    #[test]
    fn a_greeting_is_no_login() {
        let (mut outages, now, a) = (Outages::default(), Instant::now(), ServerId(1));
        assert!(!outages.only_greets(a, false));
        outages.rests(now, a, Trouble::Login);
        assert!(outages.only_greets(a, false) && !outages.only_greets(a, true));
    }

    #[test]
    fn a_server_that_comes_and_goes_is_told_of_now_and_then() {
        let (mut outages, start, a) = (Outages::default(), Instant::now(), ServerId(1));
        let mut told = 0;
        for seconds in (0..600).step_by(8) {
            let now = start + Duration::from_secs(seconds);
            let rests = outages.rests(now, a, Trouble::Broken);
            assert_eq!(outages.works(a), rests, "what was told to begin is told to end");
            told += usize::from(rests);
        }
        assert!((5..=10).contains(&told), "{told}");
    }
}
