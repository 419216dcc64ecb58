//! Single leases, by hand: who is next, for how much and when.

use std::time::{Duration, Instant};

use bergamot_limit::{Credit, Lease, Limiter, Settings};
use bergamot_types::{ByteCount, ByteRate, ServerId};

/// So slow that leases are smaller than what a link is first trusted with.
const SLOW: u64 = 16 << 10;
const FAST: u64 = 10_000_000;

struct Desk {
    limiter: Limiter<u32>,
    now: Instant,
}

impl Desk {
    /// Connections from 0 on, all to the first server.
    fn new(rate: u64, connections: u32) -> Self {
        let now = Instant::now();
        let settings = Settings { rate: ByteRate(rate), ..Settings::default() };
        let mut limiter = Limiter::new(now, &settings);
        for connection in 0..connections {
            limiter.add(connection, ServerId(1));
        }
        Self { limiter, now }
    }

    fn ask(&mut self, connection: u32) {
        self.limiter.request(self.now, connection);
    }

    fn settle(&mut self, connection: u32, unspent: u64) {
        self.limiter.settle(self.now, connection, ByteCount(unspent));
    }

    fn set_global(&mut self, rate: u64) {
        self.limiter.set_global(self.now, Some(ByteRate(rate)));
    }

    fn set_server(&mut self, server: u16, rate: u64) {
        self.limiter.set_server(self.now, ServerId(server), Some(ByteRate(rate)));
    }

    /// Waits for the next lease as long as it takes.
    fn next(&mut self) -> (u32, u64) {
        loop {
            if let Some(Lease { connection, credit }) = self.limiter.poll_lease() {
                let Credit::Bytes { most, .. } = credit else { panic!("{connection} is free") };
                return (connection, most.0);
            }
            let timeout = self.limiter.poll_timeout().expect("somebody waits");
            assert!(timeout > self.now, "no lease though it is time");
            self.now = timeout;
            self.limiter.handle_timeout(timeout);
        }
    }

    /// Those that are free to read without counting, from now on.
    fn freed(&mut self) -> Vec<u32> {
        let leases = std::iter::from_fn(|| self.limiter.poll_lease());
        leases
            .map(|lease| {
                assert_eq!(lease.credit, Credit::Unlimited);
                lease.connection
            })
            .collect()
    }

    fn revoked(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.limiter.poll_revoked()).collect()
    }
}

#[test]
fn who_asks_first_is_served_first_among_equals() {
    let mut desk = Desk::new(SLOW, 3);
    [2, 0, 1].into_iter().for_each(|connection| desk.ask(connection));
    assert_eq!([desk.next().0, desk.next().0, desk.next().0], [2, 0, 1]);
}

#[test]
fn a_new_rate_leaves_the_queue_in_its_order() {
    let mut desk = Desk::new(SLOW, 3);
    [2, 0, 1].into_iter().for_each(|connection| desk.ask(connection));
    desk.set_global(SLOW / 2);
    assert_eq!([desk.next().0, desk.next().0, desk.next().0], [2, 0, 1]);
}

#[test]
fn a_limit_taken_away_frees_who_waits_at_no_other() {
    let mut desk = Desk::new(SLOW, 2);
    desk.limiter.add(2, ServerId(2));
    desk.set_server(2, SLOW);
    (0..3).for_each(|connection| desk.ask(connection));
    assert_eq!(desk.freed(), []);
    desk.set_global(0);
    assert_eq!(desk.freed(), [0, 1], "the third still waits for its server");
    desk.set_server(2, 0);
    assert_eq!(desk.freed(), [2]);
    assert_eq!(desk.limiter.poll_timeout(), None, "nobody waits");
}

#[test]
fn a_lower_rate_calls_back_what_it_would_never_have_leased() {
    let mut desk = Desk::new(FAST, 3);
    (0..2).for_each(|connection| desk.ask(connection));
    let leased = desk.next().1 + desk.next().1;
    assert!(leased > SLOW / 10, "more than a tenth of a second at the rate to come");
    desk.set_global(FAST / 2);
    assert_eq!(desk.revoked(), [], "it would have leased as much");
    desk.set_global(SLOW);
    assert_eq!(desk.revoked(), [0, 1], "and not the idle one");
}

#[test]
fn a_higher_rate_calls_nothing_back() {
    let mut desk = Desk::new(SLOW, 1);
    desk.ask(0);
    desk.next();
    desk.set_global(FAST);
    assert_eq!(desk.revoked(), []);
}

#[test]
fn the_first_limit_of_a_server_calls_back_from_its_connections_only() {
    let mut desk = Desk::new(0, 2);
    desk.limiter.add(2, ServerId(2));
    [0, 2].into_iter().for_each(|connection| desk.ask(connection));
    assert_eq!(desk.freed(), [0, 2]);
    desk.set_server(1, SLOW);
    assert_eq!(desk.revoked(), [0]);
}

#[test]
fn leases_grow_again_when_others_leave() {
    let of_all: fn(&mut Desk) = |desk| desk.set_global(SLOW);
    let of_server: fn(&mut Desk) = |desk| desk.set_server(1, SLOW);
    for limit in [of_all, of_server] {
        let mut alone = Desk::new(0, 1);
        limit(&mut alone);
        alone.ask(0);
        let (_, undivided) = alone.next();

        for served in [0, 4] {
            let mut desk = Desk::new(0, 5);
            limit(&mut desk);
            (0..5).for_each(|connection| desk.ask(connection));
            for connection in 0..served {
                let (next, bytes) = desk.next();
                assert_eq!(next, connection);
                assert!(bytes < undivided, "a part of what one alone gets");
            }
            (0..4).for_each(|connection| desk.limiter.remove(connection));
            assert_eq!(desk.next(), (4, undivided), "after {served} were served");
        }
    }
}

#[test]
fn a_lease_that_nobody_settles_is_spent_after_the_grace() {
    let mut desk = Desk::new(SLOW, 5);
    (0..5).for_each(|connection| desk.ask(connection));
    desk.next();
    let first = desk.now;
    (1..4).for_each(|_| assert!(desk.next().0 < 4));
    // They hold all that may be leased at a time, and each lease ends after 250 ms.
    let over = first + 2 * Duration::from_millis(250);
    assert_eq!(desk.limiter.poll_timeout(), Some(over));
    desk.limiter.handle_timeout(over - Duration::from_nanos(1));
    assert_eq!(desk.limiter.poll_lease(), None);
    desk.limiter.handle_timeout(over);
    assert_eq!(desk.limiter.poll_lease().map(|lease| lease.connection), Some(4));
}

#[test]
fn wake_ups_are_a_tick_apart_however_high_the_rate() {
    let mut desk = Desk::new(1_000 * FAST, 2);
    desk.ask(0);
    desk.next();
    desk.ask(1);
    assert_eq!(desk.limiter.poll_timeout(), Some(desk.now + Duration::from_millis(5)));
}

/// Both hold the same, the first then gives more of it back, and both wait for more.
fn next_after_spending(spent: [u64; 2], asking: [u32; 2]) -> u32 {
    let mut desk = Desk::new(SLOW, 2);
    for (connection, spent) in (0..).zip(spent) {
        desk.ask(connection);
        let (_, bytes) = desk.next();
        desk.settle(connection, bytes - spent);
    }
    asking.into_iter().for_each(|connection| desk.ask(connection));
    assert_eq!(desk.limiter.poll_lease(), None, "there is not enough for either");
    desk.next().0
}

#[test]
fn what_was_not_spent_is_not_held_against_anybody() {
    assert_eq!(next_after_spending([100, 300], [1, 0]), 0);
}

#[test]
fn who_spent_nothing_has_had_its_turn() {
    assert_eq!(next_after_spending([0, 400], [0, 1]), 1);
}

#[test]
fn a_little_of_a_large_lease_is_less_than_all_of_a_small_one() {
    let mut desk = Desk::new(SLOW, 2);
    desk.ask(0);
    let (_, large) = desk.next();
    desk.settle(0, large - 100);
    desk.set_global(SLOW / 2);
    desk.ask(1);
    let (_, small) = desk.next();
    assert!(100 < small && small < large);
    [1, 0].into_iter().for_each(|connection| desk.ask(connection));
    assert_eq!(desk.limiter.poll_lease(), None, "there is not enough for either");
    assert_eq!(desk.next().0, 0);
}

#[test]
fn a_slow_link_is_leased_what_it_spends_in_a_short_while() {
    let mut desk = Desk::new(FAST, 1);
    desk.ask(0);
    let (_, first) = desk.next();
    desk.now += Duration::from_millis(100);
    desk.ask(0);
    let (_, second) = desk.next();
    assert_eq!(second, first / 2, "what it spent in 50 ms");
    desk.now += Duration::from_millis(10);
    desk.ask(0);
    assert_eq!(desk.next().1, 2 * second, "a quick one gets twice as much");
}

#[test]
fn the_rate_that_holds_can_be_asked_for() {
    let mut desk = Desk::new(SLOW, 0);
    assert_eq!(desk.limiter.global(), Some(ByteRate(SLOW)));
    desk.set_global(FAST);
    assert_eq!(desk.limiter.global(), Some(ByteRate(FAST)));
    desk.set_global(0);
    assert_eq!(desk.limiter.global(), None, "0 is no limit");
}
