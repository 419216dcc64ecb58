//! Who may be asked, who has room, and what there is to say about it.

use std::time::{Duration, Instant};

use bergamot_pool::{Attempt, Consequence, Encounter, Pool, Route, ServerSettings, Tries, Trouble};
use bergamot_types::{ServerId, UnixTime};

/// One that began after all others.
const LAST: Attempt = Attempt::alone(1, 1);

const A: ServerId = ServerId(1);
const B: ServerId = ServerId(2);
const C: ServerId = ServerId(3);
const TODAY: UnixTime = UnixTime(1_800_000_000);

fn server(id: u16) -> ServerSettings {
    ServerSettings::new(ServerId(id), 2)
}

fn pool(change: impl Fn(&mut [ServerSettings; 3])) -> Pool {
    let mut servers = [server(1), server(2), server(3)];
    change(&mut servers);
    Pool::new(servers, 1)
}

fn connect(pool: &mut Pool, server: ServerId) {
    pool.on_opening(server);
    pool.on_connected(server);
}

fn fail(pool: &mut Pool, server: ServerId, trouble: Trouble) -> Consequence {
    pool.on_opening(server);
    pool.on_ended(Instant::now(), server, false, trouble, LAST)
}

fn days_ago(days: i64) -> Option<UnixTime> {
    Some(UnixTime(TODAY.0 - days * 86_400))
}

fn asked(pool: &Pool, tries: &Tries, posted: Option<UnixTime>) -> Vec<ServerId> {
    match pool.route(tries, posted, TODAY) {
        Route::Ask(servers) => servers,
        Route::Exhausted | Route::Wait => Vec::new(),
    }
}

#[test]
fn connections_are_counted_from_dialling_to_the_end() {
    let mut pool = pool(|_| {});
    assert_eq!(pool.ids().collect::<Vec<_>>(), [A, B, C]);
    let counts = |pool: &Pool| (pool.opening(A), pool.working(A), pool.room(A));
    assert_eq!(counts(&pool), (0, 0, 2));
    pool.on_opening(A);
    assert_eq!(counts(&pool), (1, 0, 1));
    pool.on_opening(A);
    assert_eq!(counts(&pool), (2, 0, 0));
    pool.on_connected(A);
    pool.on_connected(A);
    assert_eq!(counts(&pool), (0, 2, 0));
    pool.on_closing(A);
    assert_eq!(counts(&pool), (1, 1, 0), "it counts until it has ended");
    pool.on_ended(Instant::now(), A, false, Trouble::Closed, LAST);
    assert_eq!(counts(&pool), (0, 1, 1));
    assert_eq!((pool.working(B), pool.opening(B)), (0, 0));
}

#[test]
fn servers_that_are_switched_off_or_have_no_connections_are_not_asked() {
    let pool = pool(|servers| {
        servers[0].active = false;
        servers[1].connections = 0;
    });
    assert_eq!(asked(&pool, &Tries::default(), None), [C]);
    assert_eq!((pool.room(A), pool.room(B), pool.room(C)), (0, 0, 2));
    assert!(!pool.may_get_fresh(A) && !pool.may_get_fresh(B) && pool.may_get_fresh(C));
}

#[test]
fn a_peer_is_another_server_of_the_same_level_that_works_or_is_about_to() {
    let mut pool = pool(|servers| servers[2].level = 1);
    assert!(!pool.has_peers(A), "nobody is there yet");
    assert!(!pool.has_peers_among(A, &[A, B, C]));
    connect(&mut pool, A);
    connect(&mut pool, C);
    assert!(!pool.has_peers(A), "neither itself nor one of another level");
    assert!(pool.has_peers(B));
    pool.on_opening(B);
    assert!(pool.has_peers(A), "it may come to be");
    pool.on_ended(Instant::now(), B, false, Trouble::Broken, LAST);
    assert!(!pool.has_peers(A));
    pool.on_opening(B);
    assert!(!pool.has_peers(A), "the last one broke");
    pool.on_connected(B);
    assert!(pool.has_peers(A) && pool.has_peers_among(A, &[A, B]));
    assert!(!pool.has_peers_among(A, &[A]), "itself is none");
    fail(&mut pool, B, Trouble::Login);
    assert!(!pool.has_peers(A), "it is in trouble");
}

#[test]
fn a_higher_level_gets_fresh_articles_only_where_a_lower_one_keeps_none_for_ever() {
    let mut all = pool(|servers| servers[1].level = 3);
    assert!(all.may_get_fresh(A) && all.may_get_fresh(C) && !all.may_get_fresh(B));
    fail(&mut all, A, Trouble::Login);
    assert!(!all.may_get_fresh(A) && !all.may_get_fresh(B), "there is another one below");
    fail(&mut all, C, Trouble::Login);
    assert!(all.may_get_fresh(B), "all below are excused");
    let short = pool(|servers| {
        servers[1].level = 3;
        servers[0].retention = 10;
        servers[2].retention = 10;
    });
    assert!(short.may_get_fresh(B), "what is old goes there at once");
    let mixed = pool(|servers| {
        servers[1].level = 3;
        servers[0].retention = 10;
    });
    assert!(!mixed.may_get_fresh(B));
}

#[test]
fn retention_ends_after_its_last_day() {
    let pool = pool(|servers| {
        servers[0].retention = 10;
        servers[1].retention = 11;
    });
    let fresh = Tries::default();
    assert_eq!(asked(&pool, &fresh, days_ago(10)), [A, B, C]);
    assert_eq!(asked(&pool, &fresh, days_ago(11)), [B, C]);
    assert_eq!(asked(&pool, &fresh, days_ago(9_999)), [C], "0 is for ever");
    assert_eq!(asked(&pool, &fresh, None), [A, B, C], "nobody knows how old it is");
    assert_eq!(pool.waits_for(&fresh, days_ago(11), TODAY), [B, C]);
}

#[test]
fn what_one_mirror_lacks_its_group_lacks_and_group_0_is_none() {
    let mirrors = pool(|servers| {
        servers[0].group = 7;
        servers[1].group = 7;
        servers[2].group = 8;
    });
    let mut tries = Tries::default();
    tries.missing(A);
    assert_eq!(asked(&mirrors, &tries, None), [C]);
    assert_eq!(asked(&pool(|_| {}), &tries, None), [B, C]);
    let mut broken = Tries::default();
    (1..5).for_each(|n| _ = broken.broke(A, 3, 10 * n, 10 * n - 1));
    assert_eq!(asked(&mirrors, &broken, None), [B, C], "a broken line says nothing of the others");
}

#[test]
fn a_retry_stays_with_its_server_unless_that_is_in_trouble() {
    let mut pool = pool(|_| {});
    let mut tries = Tries::default();
    tries.damaged(B);
    assert_eq!(asked(&pool, &tries, None), [B]);
    fail(&mut pool, B, Trouble::Unreachable);
    assert_eq!(pool.trouble(B), Some(Trouble::Unreachable));
    assert_eq!(pool.trouble(A), None);
    assert_eq!(asked(&pool, &tries, None), [A, B, C]);
}

#[test]
fn an_article_that_comes_forgives_what_broke_before() {
    let mut pool = pool(|_| {});
    let mut number = 0;
    let mut breaks = |pool: &mut Pool| {
        number += 1;
        connect(pool, A);
        let attempt = Attempt::alone(number, number);
        pool.on_ended(Instant::now(), A, true, Trouble::Broken, attempt)
    };
    for _ in 0..3 {
        (0..2).for_each(|_| assert_eq!(breaks(&mut pool), Consequence::GoesOn));
        pool.on_delivered(A, u64::MAX);
    }
    (0..2).for_each(|_| assert_eq!(breaks(&mut pool), Consequence::GoesOn));
    assert!(matches!(breaks(&mut pool), Consequence::Rests(_)), "three in a row");
    assert_eq!(pool.trouble(A), Some(Trouble::OutOfOrder));
}

#[test]
fn what_a_server_out_of_order_would_be_asked_goes_to_others_and_waits_if_they_lack_it() {
    let mut pool = pool(|servers| servers[1].level = 1);
    for number in 1..=3 {
        connect(&mut pool, A);
        let attempt = Attempt::alone(number, number);
        pool.on_ended(Instant::now(), A, true, Trouble::Broken, attempt);
    }
    assert!(!asked(&pool, &Tries::default(), None).contains(&A));
    let mut tries = Tries::default();
    [B, C].into_iter().for_each(|server| tries.missing(server));
    assert_eq!(pool.route(&tries, None, TODAY), Route::Wait, "it has not answered");
}

#[test]
fn too_many_where_none_works_teaches_nothing_and_other_trouble_unteaches_nothing() {
    for (trouble, room) in [(Trouble::TooManyConnections, 2), (Trouble::Unreachable, 1)] {
        let (mut pool, now) = (pool(|_| {}), Instant::now());
        connect(&mut pool, A);
        let end = fail(&mut pool, A, Trouble::TooManyConnections);
        assert_eq!((end, pool.room(A)), (Consequence::LowerCeiling(1), 0));
        pool.on_ended(now, A, true, Trouble::Closed, LAST);
        assert!(matches!(fail(&mut pool, A, trouble), Consequence::Rests(_)));
        // The rest is over, and it is too early for a higher ceiling.
        pool.on_time(now + Duration::from_secs(20));
        connect(&mut pool, A);
        let more = pool.room(A);
        assert_eq!(more + 1, room, "{trouble:?}");
    }
}

#[test]
fn a_used_up_server_says_so() {
    let mut pool = pool(|_| {});
    assert!(!pool.is_used_up(A));
    pool.set_used_up(A, true);
    assert!(pool.is_used_up(A) && !pool.is_used_up(B));
    assert_eq!(asked(&pool, &Tries::default(), None), [B, C]);
    assert_eq!(pool.waits_for(&Tries::default(), None, TODAY), [A, B, C], "it has not answered");
}

#[test]
fn the_history_has_a_word_on_every_server_that_did_not_give_the_article() {
    let settings = (1..=7).map(|id| ServerSettings {
        group: u32::from(id == 1 || id == 2),
        retention: if id == 3 { 10 } else { 0 },
        active: id != 7,
        ..server(id)
    });
    let mut pool = Pool::new(settings, 1);
    let mut tries = Tries::default();
    assert!(pool.history(&tries, None, TODAY).is_empty());
    tries.missing(A);
    pool.set_used_up(ServerId(4), true);
    fail(&mut pool, ServerId(5), Trouble::Login);
    let six = ServerId(6);
    tries.damaged(six);
    (1..3).for_each(|n| _ = tries.broke(six, 3, 10 * n, 10 * n - 1));
    (0..3).for_each(|_| _ = tries.refused(six));
    let history = pool.history(&tries, days_ago(11), TODAY);
    assert!(!history.is_empty());
    let expected = [
        (A, Encounter::Missing),
        (B, Encounter::MirrorLacks),
        (C, Encounter::TooOld),
        (ServerId(4), Encounter::UsedUp),
        (ServerId(5), Encounter::Excused(Trouble::Login)),
        (six, Encounter::Damaged(1)),
        (six, Encounter::Broke(2)),
        (six, Encounter::Refused(3)),
    ];
    assert_eq!(history.iter().collect::<Vec<_>>(), expected);
    assert_eq!(tries.asked_in_vain().collect::<Vec<_>>(), [A, six]);
    assert_eq!((tries.breaks_at(six), tries.breaks_at(A)), (2, 0));
}

#[test]
fn a_server_that_was_only_refused_was_not_asked_in_vain_and_trouble_alone_excuses_nobody() {
    let mut pool = pool(|_| {});
    let mut tries = Tries::default();
    tries.refused(A);
    assert_eq!(tries.asked_in_vain().count(), 0);
    fail(&mut pool, B, Trouble::Unreachable);
    let history = pool.history(&tries, None, TODAY);
    assert_eq!(history.iter().collect::<Vec<_>>(), [(A, Encounter::Refused(1))]);
}
