//! Connections for something else than articles count like any other.

#[allow(dead_code, reason = "only its servers are needed here")]
mod provider;

use std::time::Instant;

use bergamot_pool::{Attempt, Consequence, Pool, ServerSettings, Trouble};
use bergamot_types::ServerId;
use provider::{server, shared};

/// One that began after all others.
const LAST: Attempt = Attempt::alone(1, 1);

const A: ServerId = ServerId(1);
const B: ServerId = ServerId(2);

#[test]
fn an_errand_takes_the_place_of_a_connection_and_gives_it_back() {
    let (mut pool, now) = (Pool::new([server(1, 2)], 1), Instant::now());
    let counts = |pool: &Pool| (pool.open(A), pool.opening(A), pool.room(A));
    assert!(pool.has_errand_room(A));
    pool.on_errand(A);
    assert_eq!(counts(&pool), (1, 0, 1), "it is not being opened for articles");
    assert!(pool.has_errand_room(A));
    pool.on_errand(A);
    assert_eq!(counts(&pool), (2, 0, 0));
    assert!(!pool.has_errand_room(A), "as many as it may have");
    assert!(!pool.on_errand_connected(A), "there was no trouble");
    assert_eq!(pool.on_errand_ended(now, A, Trouble::Closed, LAST), Consequence::GoesOn);
    assert_eq!(counts(&pool), (1, 0, 1));
    assert!(pool.has_errand_room(A));
}

#[test]
fn what_is_reserved_for_errands_articles_leave_but_for_the_last_one() {
    for (reserved, for_articles) in [(0, 4), (1, 3), (3, 1), (9, 1)] {
        let mut pool = Pool::new([ServerSettings { reserved, ..server(1, 4) }], 1);
        assert_eq!(pool.room(A), for_articles, "{reserved} reserved");
        (0..for_articles).for_each(|_| pool.on_opening(A));
        assert_eq!((pool.room(A), pool.has_errand_room(A)), (0, for_articles < 4));
    }
}

#[test]
fn nobody_runs_an_errand_to_a_server_that_is_off_used_up_or_unknown() {
    let off = ServerSettings { active: false, ..server(1, 2) };
    let mut pool = Pool::new([off, server(2, 2)], 1);
    assert!(!pool.has_errand_room(A) && pool.has_errand_room(B));
    pool.set_used_up(B, true);
    assert!(!pool.has_errand_room(B));
    assert!(!pool.has_errand_room(ServerId(3)));
}

#[test]
fn after_a_rest_one_errand_finds_out_whether_the_trouble_is_over() {
    let (mut pool, now) = (Pool::new([server(1, 2)], 1), Instant::now());
    pool.on_errand(A);
    let end = pool.on_errand_ended(now, A, Trouble::Unreachable, LAST);
    let Consequence::Rests(time) = end else { panic!("{end:?}") };
    assert_eq!(pool.rests_until(A), Some(now + time));
    assert!(!pool.has_errand_room(A), "it rests");
    pool.on_time(now + time);
    assert_eq!(pool.rests_until(A), None);
    assert!(pool.in_trouble(A) && pool.has_errand_room(A));
    pool.on_errand(A);
    assert!(!pool.has_errand_room(A), "one is enough to try");
    assert!(pool.on_errand_connected(A), "it is over");
    assert!(!pool.in_trouble(A) && pool.has_errand_room(A));
}

#[test]
fn an_errand_that_is_one_too_many_lowers_the_ceiling() {
    let (mut pool, now) = (Pool::new([shared(1, 8), shared(2, 6)], 1), Instant::now());
    assert_eq!((pool.ceiling(A), pool.ceiling(B)), (8, 6));
    (0..3).for_each(|_| pool.on_opening(B));
    pool.on_errand(A);
    pool.on_errand(A);
    let end = pool.on_errand_ended(now, A, Trouble::TooManyConnections, LAST);
    assert_eq!(end, Consequence::LowerCeiling(4));
    assert_eq!((pool.ceiling(A), pool.ceiling(B)), (4, 4));
    assert!(!pool.has_errand_room(A) && !pool.has_errand_room(B));
}

#[test]
fn only_servers_of_one_account_share_connections() {
    let pool = Pool::new([shared(1, 2), shared(2, 2), server(3, 2)], 1);
    assert!(pool.shares(A, B) && pool.shares(A, A));
    assert!(!pool.shares(A, ServerId(3)) && !pool.shares(ServerId(3), A));
    assert!(!pool.shares(ServerId(8), ServerId(9)), "nobody knows either");
}
