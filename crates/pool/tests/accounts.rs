//! Servers that share an account share what its provider allows.

mod provider;

use std::time::{Duration, Instant};

use bergamot_pool::{Attempt, Consequence, Pool, Trouble};
use bergamot_types::{ServerId, SplitMix};
use provider::{Provider, server, shared};

/// One that began after all others.
const LAST: Attempt = Attempt::alone(1, 1);

const A: ServerId = ServerId(1);
const B: ServerId = ServerId(2);
const PROBE: Duration = Duration::from_secs(60);

#[test]
fn a_refusal_on_one_server_lowers_the_ceiling_for_both() {
    let mut provider = Provider::new([shared(1, 8), shared(2, 8)], 5);
    provider.fill(A);
    assert_eq!((provider.connected(A), provider.refused), (5, 1), "all that the provider allows");
    assert_eq!(provider.pool.room(B), 0, "B has not asked, and knows");
    provider.close(A);
    assert_eq!((provider.pool.room(A), provider.pool.room(B)), (0, 1), "B has a place of its own");
    provider.fill(B);
    assert_eq!((provider.connected(A), provider.connected(B)), (4, 1));
    assert_eq!(provider.refused, 1, "it was learned from one refusal");
}

#[test]
fn a_server_without_any_connection_is_refused_without_being_in_trouble() {
    let mut provider = Provider::new([shared(1, 4), shared(2, 4)], 3);
    provider.fill(A);
    assert_eq!(provider.connected(A), 3, "the fourth place is for B");
    provider.fill(B);
    assert_eq!((provider.connected(B), provider.refused), (0, 1));
    assert!(!provider.pool.in_trouble(B), "A shows that the account works");
    assert_eq!((provider.pool.room(A), provider.pool.room(B)), (0, 0));
    provider.close(A);
    provider.fill(B);
    assert_eq!((provider.connected(A), provider.connected(B)), (2, 1));
}

#[test]
fn one_more_is_tried_after_a_while_whichever_server_asks_first() {
    for prober in [A, B] {
        let mut provider = Provider::new([shared(1, 8), shared(2, 8)], 4);
        provider.fill(A);
        provider.close(A);
        provider.fill(B);
        assert_eq!(provider.total(), 4);
        provider.wait(PROBE);
        let rooms = [A, B].map(|server| provider.pool.room(server));
        assert_eq!(rooms, [1, 1], "one more in all, wherever");
        provider.fill(prober);
        assert_eq!((provider.total(), provider.refused), (4, 2), "it is still too many");
        provider.allowed = 8;
        for total in 5..=8 {
            provider.wait(PROBE);
            provider.fill(prober);
            assert_eq!(provider.total(), total, "each minute one more");
        }
        assert_eq!((provider.refused, provider.pool.next_deadline()), (2, None));
    }
}

#[test]
fn nothing_is_learned_when_the_whole_account_is_refused() {
    let mut provider = Provider::new([shared(1, 8), shared(2, 8)], 0);
    provider.fill(A);
    assert!(provider.pool.in_trouble(A) && !provider.pool.in_trouble(B));
    provider.allowed = 8;
    provider.wait(Duration::from_secs(11));
    provider.fill(A);
    provider.fill(B);
    assert_eq!(provider.total(), 8, "the ghosts of an earlier run are gone");
}

#[test]
fn servers_of_their_own_are_not_concerned() {
    let mut provider = Provider::new([shared(1, 8), shared(2, 8), server(3, 8)], 2);
    provider.fill(A);
    provider.fill(ServerId(3));
    assert_eq!((provider.connected(A), provider.connected(ServerId(3))), (2, 8));
}

#[test]
fn an_account_of_one_connection_serves_both_in_turn() {
    let mut provider = Provider::new([shared(1, 1), shared(2, 1)], 1);
    provider.fill(A);
    assert_eq!((provider.connected(A), provider.pool.room(B)), (1, 0));
    provider.close(A);
    provider.fill(B);
    assert_eq!((provider.connected(B), provider.refused), (1, 0));
}

#[test]
fn an_unreadable_refusal_counts_as_too_many_where_others_work() {
    let mut provider = Provider::new([shared(1, 8), shared(2, 8)], 6);
    provider.words = Trouble::Refused;
    provider.fill(A);
    assert_eq!((provider.connected(A), provider.refused), (6, 1));
    assert_eq!((provider.pool.room(A), provider.pool.room(B)), (0, 0));
}

#[test]
fn what_came_of_a_refusal_says_how_many_are_left_in_all() {
    let now = Instant::now();
    let mut pool = Pool::new([shared(1, 8), shared(2, 8)], 1);
    for server in [A, A, B, B] {
        pool.on_opening(server);
    }
    let end = pool.on_ended(now, B, false, Trouble::TooManyConnections, LAST);
    assert_eq!(end, Consequence::LowerCeiling(3));
    let end = pool.on_ended(now, B, false, Trouble::TooManyConnections, LAST);
    assert_eq!(end, Consequence::LowerCeiling(2));
    assert_eq!(pool.next_deadline(), Some(now + PROBE));
}

#[test]
fn a_ceiling_that_was_learned_holds_whatever_is_opened_and_closed() {
    for seed in 0..200 {
        let mut chance = SplitMix::seeded(seed);
        let allowed = 2 + chance.up_to(5) as usize;
        let mut provider = Provider::new([shared(1, 8), shared(2, 8)], allowed);
        provider.fill(A);
        provider.fill(B);
        let learned = provider.refused;
        for _ in 0..100 {
            let server = ServerId(1 + chance.up_to(1) as u16);
            if chance.up_to(1) == 0 {
                provider.fill(server);
            } else {
                provider.close(server);
            }
            assert!(provider.total() <= allowed, "seed {seed}");
        }
        assert_eq!(provider.refused, learned, "seed {seed}: nobody is asked for more in a minute");
    }
}

#[test]
fn no_sequence_of_events_exceeds_what_is_configured() {
    for seed in 0..500 {
        let mut chance = SplitMix::seeded(seed);
        let sizes = [(); 3].map(|()| 1 + chance.up_to(9) as usize);
        let servers = (1..).zip(sizes).map(|(id, most)| shared(id, most));
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let mut provider = Provider::new(servers, chance.up_to(10) as usize);
        for _ in 0..200 {
            let server = ServerId(1 + chance.up_to(2) as u16);
            match chance.up_to(9) {
                0..=4 => provider.fill(server),
                5 | 6 => provider.close(server),
                7 => provider.wait(Duration::from_secs(chance.up_to(90))),
                8 => provider.allowed = chance.up_to(10) as usize,
                _ => provider.break_one(server),
            }
            assert!(provider.total() <= largest, "seed {seed}");
            for (id, most) in (1..).zip(sizes) {
                assert!(provider.connected(ServerId(id)) <= most, "seed {seed}");
            }
        }
    }
}
