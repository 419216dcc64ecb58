//! What no order of events can break.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bergamot_limit::{Credit, Limiter, Settings};
use bergamot_types::{ByteCount, ByteRate, ServerId};
use proptest::prelude::*;

const CONNECTIONS: u32 = 20;

#[derive(Clone, Debug)]
enum Step {
    Request(u32),
    Settle { connection: u32, percent: u64 },
    Replace(u32),
    Wait(Duration),
}

fn step() -> impl Strategy<Value = Step> {
    let connection = || 0..CONNECTIONS;
    prop_oneof![
        8 => connection().prop_map(Step::Request),
        4 => (connection(), 0..=100_u64)
            .prop_map(|(connection, percent)| Step::Settle { connection, percent }),
        1 => connection().prop_map(Step::Replace),
        4 => (0..50_000_u64).prop_map(|micros| Step::Wait(Duration::from_micros(micros))),
        1 => (0..3_000_u64).prop_map(|millis| Step::Wait(Duration::from_millis(millis))),
    ]
}

/// The books of somebody who watches the limiter and trusts nothing.
struct Watch {
    limiter: Limiter<u32>,
    rate: u64,
    start: Instant,
    now: Instant,
    held: BTreeMap<u32, (u64, Instant)>,
    granted: u64,
    /// The least of what was granted and spent, less what the rate allowed, at any time so far.
    floor: i128,
}

impl Watch {
    fn new(rate: u64) -> Self {
        let start = Instant::now();
        let settings = Settings { rate: ByteRate(rate), ..Settings::default() };
        let mut limiter = Limiter::new(start, &settings);
        for connection in 0..CONNECTIONS {
            limiter.add(connection, ServerId(1));
        }
        let held = BTreeMap::new();
        Self { limiter, rate, start, now: start, held, granted: 0, floor: 0 }
    }

    fn above(&self) -> i128 {
        let nanos = (self.now - self.start).as_nanos() as i128;
        i128::from(self.granted) - i128::from(self.rate) * nanos / 1_000_000_000
    }

    /// Notes what may still be read under leases, then lets the limiter act.
    fn call(&mut self, what: impl FnOnce(&mut Limiter<u32>, Instant)) -> Result<(), TestCaseError> {
        let now = self.now;
        self.held.retain(|_, (_, until)| now <= *until + Duration::from_millis(250));
        let unread: u64 = self.held.values().map(|(bytes, _)| bytes).sum();
        self.floor = self.floor.min(self.above() - i128::from(unread));
        what(&mut self.limiter, now);
        while let Some(lease) = self.limiter.poll_lease() {
            let Credit::Bytes { most, until } = lease.credit else {
                return Err(TestCaseError::fail("a limited connection was set free"));
            };
            prop_assert!(most.0 > 0 && until - now <= Duration::from_millis(250));
            prop_assert!(
                self.held.insert(lease.connection, (most.0, until)).is_none(),
                "two at once"
            );
            self.granted += most.0;
        }
        let bound = i128::from(self.rate) * 175 / 1_000 + 1_024;
        prop_assert!(self.above() - self.floor <= bound, "{} too many", self.above() - self.floor);
        Ok(())
    }

    fn settle(&mut self, connection: u32, percent: u64) -> Result<(), TestCaseError> {
        let now = self.now;
        let held = self.held.remove(&connection).filter(|(_, until)| now <= *until);
        let unspent = held.map_or(0, |(bytes, _)| bytes * percent / 100);
        // Before the call notes the time: what is given back can no longer be read.
        self.granted -= unspent;
        self.call(|limiter, now| limiter.settle(now, connection, ByteCount(unspent)))
    }
}

proptest! {
    #[test]
    fn no_stretch_of_time_exceeds_the_rate_by_more_than_its_bound(
        rate in prop::sample::select(vec![16 << 10, 1_000_000, 10_000_000_000_u64]),
        part in 0..4_u64,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut watch = Watch::new(rate);
        // Connections that are replaced get a server with a rate of its own, or with none.
        let of_server = part.checked_sub(1).map(|part| ByteRate(rate >> (2 * part)));
        watch.limiter.set_server(watch.now, ServerId(2), of_server);
        for step in steps {
            match step {
                Step::Wait(time) => {
                    watch.now += time;
                    watch.call(|limiter, now| limiter.handle_timeout(now))?;
                }
                Step::Request(connection) => {
                    watch.held.remove(&connection);
                    watch.call(|limiter, now| limiter.request(now, connection))?;
                }
                Step::Settle { connection, percent } => watch.settle(connection, percent)?,
                Step::Replace(connection) => {
                    watch.held.remove(&connection);
                    watch.limiter.add(connection, ServerId(2));
                }
            }
        }
        // And nobody waits for ever: all ask, hold nothing back, and are served in their turn.
        for connection in 0..CONNECTIONS {
            watch.settle(connection, 0)?;
        }
        for connection in 0..CONNECTIONS {
            watch.call(|limiter, now| limiter.request(now, connection))?;
        }
        let mut served = std::collections::BTreeSet::new();
        let begin = watch.now;
        while served.len() < CONNECTIONS as usize {
            for connection in std::mem::take(&mut watch.held).into_keys() {
                served.insert(connection);
                watch.call(|limiter, now| limiter.settle(now, connection, ByteCount(0)))?;
            }
            if served.len() < CONNECTIONS as usize && watch.held.is_empty() {
                let timeout = watch.limiter.poll_timeout();
                prop_assert!(timeout.is_some_and(|timeout| timeout > watch.now), "{timeout:?}");
                watch.now = timeout.unwrap();
                watch.call(|limiter, now| limiter.handle_timeout(now))?;
            }
        }
        prop_assert!(watch.now - begin < Duration::from_secs(20), "{:?}", watch.now - begin);
    }
}
