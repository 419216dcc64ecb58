//! The measured speed and latency of one server.

use std::time::{Duration, Instant};

use bergamot_types::{ByteRate, Patience};

use crate::average::Average;
use crate::pipelining::Pipelining;

/// One article as it came, measured by whoever asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub bytes: u64,
    /// For so long nothing but this article was due on its connection.
    pub due: Duration,
    /// From its first byte to its last, if it began.
    pub flow: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    /// Bytes in a second on one connection, waiting for them included.
    rate: Average,
    /// The same from the first byte of each article to its last.
    flow: Average,
    first_byte: Average,
    success: Average,
    article: Average, // bytes
    pub(crate) pipelining: Pipelining,
    pub(crate) tag: u64,
    pub(crate) given: Option<Instant>, // something to do, last
}

impl Server {
    pub(crate) fn on_transfer(&mut self, now: Instant, transfer: &Transfer) {
        let bytes = transfer.bytes as f64;
        self.rate.add(now, bytes, seconds(transfer.due));
        if let Some(flow) = transfer.flow {
            self.flow.add(now, bytes, seconds(flow.max(LEAST_FLOW)));
        }
    }

    /// An article was asked for where nothing else was due, and began after this time.
    pub(crate) fn on_first_byte(&mut self, now: Instant, waited: Duration) {
        self.first_byte.add(now, waited.as_secs_f64(), 1.0);
    }

    /// It answered; with the article or without.
    pub(crate) fn on_answer(&mut self, now: Instant, bytes: u64, has_it: bool) {
        self.success.add(now, f64::from(u8::from(has_it)), 1.0);
        if has_it {
            self.article.add(now, bytes as f64, 1.0);
        }
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate.value()
    }

    pub(crate) fn first_byte(&self) -> Duration {
        Duration::from_secs_f64(self.first_byte.value().unwrap_or(0.0))
    }

    /// What of its speed is of use.
    pub(crate) fn success(&self) -> f64 {
        self.success.value().unwrap_or(1.0).max(LEAST_SUCCESS)
    }

    /// How many articles a connection should have under way, so that the server always has a
    /// question to answer: those that fit the time between a question and its answer, and the one
    /// that is being answered.
    pub(crate) fn depth(&self, now: Instant) -> usize {
        if self.pipelining.is_avoided(now) {
            return 1;
        }
        let (Some(flow), Some(article)) = (self.flow.value(), self.article.value()) else {
            return 1;
        };
        let first_byte = self.first_byte.value().unwrap_or(0.0) * JITTER;
        let ahead = flow * first_byte / article.max(1.0);
        // Whatever the flow was: what takes longer to come than this is better left to others.
        let soon =
            self.rate.value().unwrap_or(0.0) * (first_byte + LONGEST_LINE) / article.max(1.0);
        1 + (ahead.min(soon).ceil() as usize).clamp(1, MOST_AHEAD)
    }

    /// Some servers fetch old articles from slow storage, so there is a good deal of patience even
    /// with quick ones; `tries` is how often it was too little for this article.
    pub(crate) fn patience(&self, tries: u32) -> Patience {
        let usual = self.first_byte.value().map_or(LONGEST_SILENCE, |usual| {
            LEAST_SILENCE + Duration::from_secs_f64((8.0 * usual).min(60.0))
        });
        let silence = usual.saturating_mul(1 << tries.min(4)).min(LONGEST_SILENCE);
        let pace = self.rate.value().unwrap_or(0.0) / SLOWEST;
        Patience { silence, pace: ByteRate(pace as u64) }
    }
}

/// What took no time at all took a moment: nothing is infinitely fast.
fn seconds(time: Duration) -> f64 {
    time.max(MOMENT).as_secs_f64()
}

/// Small articles come in one piece, and how fast they came nobody can tell.
const LEAST_FLOW: Duration = Duration::from_millis(1);

/// Seconds that a line may take to come, beside the time to its first byte.
const LONGEST_LINE: f64 = 1.0;

const MOMENT: Duration = Duration::from_micros(10);

/// So that a server that has nothing of this post still has a share of the next.
const LEAST_SUCCESS: f64 = 0.05;

/// Answers are late by so much now and then.
const JITTER: f64 = 1.25;

/// 10 Gbit/s over eight connections and a quarter of a second are 56 articles of 700 kB.
const MOST_AHEAD: usize = 127;

const LEAST_SILENCE: Duration = Duration::from_secs(5);
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// A body that comes at a fiftieth of the usual rate is as good as lost.
const SLOWEST: f64 = 50.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rate: u64, first_byte_ms: u64) -> Server {
        let (mut server, now) = (Server::default(), Instant::now());
        let flow = Duration::from_secs_f64(700_000.0 / rate as f64);
        let first_byte = Duration::from_millis(first_byte_ms);
        server.on_first_byte(now, first_byte);
        // Behind others, so that nothing was waited for.
        let transfer = Transfer { bytes: 700_000, due: flow, flow: Some(flow) };
        server.on_transfer(now, &transfer);
        server.on_answer(now, 700_000, true);
        server
    }

    #[test]
    fn depth_follows_rate_and_round_trip() {
        let now = Instant::now();
        assert_eq!(Server::default().depth(now), 1, "nothing is known");
        for (rate, first_byte_ms, depth) in [
            (100_000_000, 0, 2),
            (1_560_000, 5, 2),      // 100 Mbit/s over eight connections, near by
            (1_560_000, 250, 2),    // the same, far away
            (15_600_000, 50, 3),    // 1 Gbit/s
            (156_000_000, 5, 3),    // 10 Gbit/s
            (156_000_000, 250, 71), // 10 Gbit/s, far away
            (2_000_000_000, 1000, 128),
        ] {
            assert_eq!(measured(rate, first_byte_ms).depth(now), depth, "{rate} {first_byte_ms}");
        }
    }

    #[test]
    fn small_articles_that_come_at_once_are_not_asked_for_by_the_hundred() {
        let (mut server, now) = (Server::default(), Instant::now());
        server.on_first_byte(now, Duration::from_millis(10));
        let (due, flow) = (Duration::from_millis(15), Some(Duration::ZERO));
        server.on_transfer(now, &Transfer { bytes: 30_000, due, flow });
        server.on_answer(now, 30_000, true);
        assert_eq!(server.depth(now), 14, "a millisecond for each, with some for jitter");
        let slow = Transfer { bytes: 30_000, due: Duration::from_secs(1), flow };
        (0..50).for_each(|_| server.on_transfer(now, &slow));
        assert_eq!(server.depth(now), 3, "what comes within a second");
    }

    #[test]
    fn depth_is_one_where_asking_ahead_is_avoided() {
        let (mut server, now) = (measured(156_000_000, 250), Instant::now());
        (0..3).for_each(|_| server.pipelining.on_bad_end(now));
        assert_eq!(server.depth(now), 1);
    }

    #[test]
    fn patience_follows_what_is_usual() {
        let silence = |server: &Server, tries| server.patience(tries).silence.as_millis();
        assert_eq!(silence(&Server::default(), 0), 30_000);
        let quick = measured(1_000_000, 20);
        assert_eq!(silence(&quick, 0), 5_160);
        assert_eq!(silence(&quick, 1), 10_320);
        assert_eq!(silence(&quick, 9), 30_000);
        assert_eq!(silence(&measured(1_000_000, 9_000), 0), 30_000);
        let pace = quick.patience(0).pace.0;
        assert_eq!(pace, 20_000, "a fiftieth");
    }

    #[test]
    fn a_server_that_lacks_everything_keeps_a_little_weight() {
        let (mut server, now) = (Server::default(), Instant::now());
        assert_eq!(server.success(), 1.0);
        server.on_answer(now, 0, true);
        server.on_answer(now, 0, false);
        assert_eq!(server.success(), 0.5);
        (0..1000).for_each(|_| server.on_answer(now, 0, false));
        assert_eq!(server.success(), LEAST_SUCCESS);
    }
}
