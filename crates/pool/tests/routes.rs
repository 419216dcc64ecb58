//! Where an article goes next.

#[allow(dead_code, reason = "only its servers are needed here")]
mod provider;

use std::time::Instant;

use bergamot_pool::{Attempt, Pool, Route, ServerSettings, Tries, Trouble};
use bergamot_types::{ServerId, UnixTime};
use provider::server;

/// One that began after all others.
const LAST: Attempt = Attempt::alone(1, 1);

const TODAY: UnixTime = UnixTime(1_800_000_000);

/// Servers that are optional or not, of which some are in trouble.
fn pool(servers: &[(bool, Option<Trouble>)]) -> Pool {
    let settings = (1..).zip(servers);
    let settings =
        settings.map(|(id, (optional, _))| ServerSettings { optional: *optional, ..server(id, 2) });
    let mut pool = Pool::new(settings, 1);
    for (id, (_, trouble)) in (1..).map(ServerId).zip(servers) {
        if let Some(trouble) = trouble {
            pool.on_opening(id);
            pool.on_ended(Instant::now(), id, false, *trouble, LAST);
        }
    }
    pool
}

#[test]
fn nothing_is_given_up_as_long_as_nobody_has_answered() {
    let dead = Some(Trouble::Unreachable);
    let login = Some(Trouble::Login);
    let missing = |servers: &[u16]| {
        let mut tries = Tries::default();
        servers.iter().for_each(|server| tries.missing(ServerId(*server)));
        tries
    };
    let ask = |servers: &[u16]| Route::Ask(servers.iter().copied().map(ServerId).collect());
    for (servers, tried, route) in [
        (vec![], missing(&[]), Route::Wait),
        (vec![(true, dead)], missing(&[]), Route::Wait),
        (vec![(true, login)], missing(&[]), Route::Wait),
        (vec![(true, dead), (true, dead)], missing(&[]), Route::Wait),
        (vec![(true, dead), (true, login)], missing(&[]), Route::Wait),
        (vec![(true, dead), (true, None)], missing(&[]), ask(&[2])),
        (vec![(true, dead), (true, None)], missing(&[2]), Route::Exhausted),
        (vec![(true, dead), (false, None)], missing(&[2]), Route::Exhausted),
        (vec![(false, login), (true, None)], missing(&[2]), Route::Wait),
        (vec![(false, dead), (true, None)], missing(&[2]), ask(&[1])),
        (vec![(true, dead), (false, login)], missing(&[]), Route::Wait),
        (vec![(true, dead), (true, dead)], missing(&[1, 2]), Route::Exhausted),
    ] {
        assert_eq!(pool(&servers).route(&tried, None, TODAY), route, "{servers:?} {tried:?}");
    }
}
