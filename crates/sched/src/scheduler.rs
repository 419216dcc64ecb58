//! [`Scheduler`]: the turns and shares of all servers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bergamot_types::{Patience, ServerId};

use crate::server::{Server, Transfer};

/// Weighted fair queuing: each server has a tag, the time by which it would be done with all it was
/// ever given if it worked at its estimated rate. The one with the lowest tag is next.
///
/// Servers of which nothing is known are taken for as fast as the fastest, or nobody would find out.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    servers: BTreeMap<ServerId, Server>,
    /// The tag of whoever was served last: nobody has a claim on time before that.
    passed: u64,
}

impl Scheduler {
    pub fn new(servers: impl IntoIterator<Item = ServerId>) -> Self {
        let servers = servers.into_iter().map(|id| (id, Server::default())).collect();
        Self { servers, passed: 0 }
    }

    /// The server is gone.
    pub fn forget(&mut self, server: ServerId) {
        self.servers.remove(&server);
    }

    /// An article came, or as much of it as did before its connection broke.
    pub fn on_transfer(&mut self, now: Instant, server: ServerId, transfer: &Transfer) {
        self.server_mut(server).on_transfer(now, transfer);
    }

    /// An article that was asked for where nothing else was due began to come.
    pub fn on_first_byte(&mut self, now: Instant, server: ServerId, waited: Duration) {
        self.server_mut(server).on_first_byte(now, waited);
    }

    pub fn on_answer(&mut self, now: Instant, server: ServerId, bytes: u64, has_it: bool) {
        self.server_mut(server).on_answer(now, bytes, has_it);
    }

    /// Something that was asked ahead was answered as it should be.
    pub fn on_pipelined(&mut self, server: ServerId) {
        self.server_mut(server).pipelining.on_answered();
    }

    /// A conversation ended badly while something was asked ahead.
    pub fn on_pipeline_broken(&mut self, now: Instant, server: ServerId) {
        self.server_mut(server).pipelining.on_bad_end(now);
    }

    pub fn is_known(&self, server: ServerId) -> bool {
        self.rate(server).is_some()
    }

    /// The best rate of any server.
    pub fn fastest(&self) -> f64 {
        self.servers.values().filter_map(Server::rate).fold(1.0, f64::max)
    }

    /// Bytes in a second on one connection.
    pub fn rate(&self, server: ServerId) -> Option<f64> {
        self.servers.get(&server)?.rate()
    }

    /// The same for a connection of which `received` bytes have come of what has been due for `age`.
    /// An average cannot see silence, so it is the lesser of the average and of what did come. What
    /// may come in the time that is usual before a first byte is not held against it.
    pub fn rate_now(&self, server: ServerId, received: u64, age: Duration) -> Option<f64> {
        let server = self.servers.get(&server)?;
        let usual = server.rate()?;
        let grace = (LEAST_GRACE + 2 * server.first_byte()).as_secs_f64();
        let age = age.as_secs_f64().max(grace);
        Some(usual.min((received as f64 + usual * grace) / age))
    }

    pub fn first_byte(&self, server: ServerId) -> Duration {
        self.servers.get(&server).map_or(Duration::ZERO, Server::first_byte)
    }

    pub fn depth(&self, now: Instant, server: ServerId) -> usize {
        self.servers.get(&server).map_or(1, |server| server.depth(now))
    }

    pub fn patience(&self, server: ServerId, tries: u32) -> Patience {
        self.servers
            .get(&server)
            .map_or_else(|| Server::default().patience(tries), |server| server.patience(tries))
    }

    /// Whose turn it is among several: the lowest first.
    pub fn turn(&self, server: ServerId) -> u64 {
        self.servers.get(&server).map_or(self.passed, |known| known.tag.max(self.passed))
    }

    /// The server is given so many bytes to fetch over so many connections.
    pub fn on_given(&mut self, now: Instant, server: ServerId, bytes: u64, connections: usize) {
        let fastest = self.fastest();
        let start = self.turn(server);
        let known = self.server_mut(server);
        let rate = known.rate().unwrap_or(fastest) * known.success() * connections.max(1) as f64;
        let takes = bytes as f64 / rate.max(1.0) * 1e9;
        known.given = Some(now);
        known.tag = start.saturating_add(takes as u64);
        self.passed = start;
    }

    /// Whether it was given nothing for so long that what is known of it may be out of date.
    pub fn is_forgotten(&self, now: Instant, server: ServerId) -> bool {
        let given = self.servers.get(&server).and_then(|known| known.given);
        given.is_some_and(|given| now.saturating_duration_since(given) >= FORGOTTEN)
    }

    fn server_mut(&mut self, server: ServerId) -> &mut Server {
        self.servers.entry(server).or_default()
    }
}

/// As long as the averages take to forget half of what they know.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// Any line may pause for this long.
const LEAST_GRACE: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    const A: ServerId = ServerId(1);
    const B: ServerId = ServerId(2);

    fn came(scheduler: &mut Scheduler, now: Instant, server: ServerId, rate: u64) {
        let due = Duration::from_secs(1);
        let transfer = Transfer { bytes: rate, due, flow: Some(due) };
        scheduler.on_transfer(now, server, &transfer);
    }

    /// Gives `count` articles, each to whose turn it is.
    fn give(scheduler: &mut Scheduler, count: usize) -> [usize; 2] {
        let mut given = [0, 0];
        for _ in 0..count {
            let next = [A, B].into_iter().min_by_key(|&server| (scheduler.turn(server), server));
            let next = next.expect("there are two");
            scheduler.on_given(Instant::now(), next, 1000, 1);
            given[usize::from(next.0) - 1] += 1;
        }
        given
    }

    #[test]
    fn turns_come_in_proportion_to_rates() {
        let (mut scheduler, now) = (Scheduler::new([A, B]), Instant::now());
        came(&mut scheduler, now, A, 4_000_000);
        came(&mut scheduler, now, B, 1_000_000);
        assert_eq!(give(&mut scheduler, 500), [400, 100]);
    }

    #[test]
    fn more_connections_and_more_success_are_more_weight() {
        let (mut scheduler, now) = (Scheduler::new([A, B]), Instant::now());
        came(&mut scheduler, now, A, 1_000);
        came(&mut scheduler, now, B, 1_000);
        scheduler.on_answer(now, A, 0, true);
        scheduler.on_answer(now, A, 0, false);
        assert_eq!(give(&mut scheduler, 300), [100, 200]);
        let start = scheduler.turn(A);
        scheduler.on_given(Instant::now(), A, 1_000, 4);
        assert_eq!(scheduler.turn(A) - start, 500_000_000, "a byte in 2 ms, by four");
    }

    #[test]
    fn who_was_away_has_no_claim_on_that_time() {
        let (mut scheduler, now) = (Scheduler::new([A, B]), Instant::now());
        came(&mut scheduler, now, A, 1_000);
        came(&mut scheduler, now, B, 1_000);
        (0..1000).for_each(|_| scheduler.on_given(Instant::now(), A, 1_000, 1));
        let given = give(&mut scheduler, 100);
        assert!(given[0] >= 49, "{given:?}: equal shares from now on");
    }

    #[test]
    fn who_is_new_has_no_claim_on_the_time_before() {
        let (mut scheduler, now) = (Scheduler::new([A]), Instant::now());
        came(&mut scheduler, now, A, 1_000);
        (0..1000).for_each(|_| scheduler.on_given(now, A, 1_000, 1));
        let given = give(&mut scheduler, 100);
        assert!(given[0] >= 49, "{given:?}: equal shares from now on");
    }

    #[test]
    fn strangers_are_taken_for_as_fast_as_the_fastest() {
        let (mut scheduler, now) = (Scheduler::new([A, B]), Instant::now());
        assert!(!scheduler.is_known(A) && !scheduler.is_known(B));
        came(&mut scheduler, now, A, 4_000_000);
        assert!(scheduler.is_known(A) && !scheduler.is_known(B));
        assert_eq!(give(&mut scheduler, 100), [50, 50]);
    }

    #[test]
    fn a_server_that_is_gone_is_a_stranger_when_it_comes_back() {
        let (mut scheduler, now) = (Scheduler::new([A, B]), Instant::now());
        came(&mut scheduler, now, A, 4_000_000);
        came(&mut scheduler, now, B, 1_000_000);
        scheduler.forget(A);
        assert!(!scheduler.is_known(A) && scheduler.is_known(B));
        assert_eq!(scheduler.fastest(), 1_000_000.0);
    }

    #[test]
    fn a_server_is_asked_ahead_until_that_goes_wrong_and_again_once_it_works() {
        let (mut scheduler, now) = (Scheduler::new([A, B]), Instant::now());
        assert_eq!(scheduler.depth(now, A), 1, "nothing is known");
        came(&mut scheduler, now, A, 4_000_000);
        scheduler.on_first_byte(now, A, Duration::from_secs(1));
        scheduler.on_answer(now, A, 1_000_000, true);
        assert_eq!(scheduler.depth(now, A), 6, "five in the time before an answer, with jitter");
        (0..3).for_each(|_| scheduler.on_pipeline_broken(now, A));
        assert_eq!(scheduler.depth(now, A), 1);
        scheduler.on_pipelined(A);
        assert_eq!(scheduler.depth(now, A), 6);
        assert_eq!(scheduler.depth(now, B), 1, "of the other one nothing is known");
    }

    #[test]
    fn a_server_that_was_given_nothing_for_long_is_worth_a_look() {
        let (mut scheduler, now) = (Scheduler::new([A, B]), Instant::now());
        assert!(!scheduler.is_forgotten(now, A), "nobody was ever asked");
        scheduler.on_given(now, A, 1_000, 1);
        let almost = now + FORGOTTEN - Duration::from_millis(1);
        assert!(!scheduler.is_forgotten(almost, A));
        assert!(scheduler.is_forgotten(now + FORGOTTEN, A));
        assert!(!scheduler.is_forgotten(now + FORGOTTEN, B));
    }

    #[test]
    fn silence_is_seen_where_an_average_does_not_see_it() {
        let (mut scheduler, now) = (Scheduler::new([A]), Instant::now());
        let rate = |scheduler: &Scheduler, received, millis| {
            scheduler.rate_now(A, received, Duration::from_millis(millis)).map(f64::round)
        };
        assert_eq!(rate(&scheduler, 0, 0), None);
        came(&mut scheduler, now, A, 1_000_000);
        scheduler.on_first_byte(now, A, Duration::from_millis(125));
        assert_eq!(scheduler.first_byte(A), Duration::from_millis(125));
        assert_eq!(rate(&scheduler, 0, 0), Some(1_000_000.0));
        assert_eq!(rate(&scheduler, 0, 500), Some(1_000_000.0), "nothing unusual yet");
        assert_eq!(rate(&scheduler, 0, 5_000), Some(100_000.0));
        assert_eq!(rate(&scheduler, 5_000_000, 5_000), Some(1_000_000.0));
        assert_eq!(rate(&scheduler, 500_000, 5_000), Some(200_000.0));
        assert_eq!(rate(&scheduler, 9_000_000, 5_000), Some(1_000_000.0), "never more than usual");
    }
}
