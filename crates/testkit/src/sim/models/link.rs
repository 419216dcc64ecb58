//! [`Link`]: the rates of model servers, shared by their connections. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bergamot_engine::ConnectionId;

/// Every server splits its rate evenly among its busy connections, none of which gets more than one
/// may have; and all of them go through one line of ours, which has an end too.
///
/// All connections of a server are equally fast, so it is enough to count what each of them has had
/// since the beginning: a transfer ends when that count has risen by its length, and a change of
/// speed changes no such end. Counted in billionths of bytes, so nothing is rounded.
#[derive(Debug)]
pub(crate) struct Link {
    servers: Vec<Share>,
    ours: Option<u64>,
    advanced: Duration,
}

#[derive(Debug)]
struct Share {
    rate: u64,
    each: Option<u64>,                          // the most for one connection
    had: u128,                                  // by a connection that was busy all the time
    pace: u64,                                  // of each connection, now
    busy: BTreeMap<ConnectionId, (u128, u128)>, // the count at its begin, and at its end
    ends: BTreeSet<(u128, ConnectionId)>,
}

impl Link {
    /// Of servers with a rate, and perhaps one for each connection; and of our own line.
    pub(crate) fn new(servers: &[(u64, Option<u64>)], ours: Option<u64>) -> Self {
        let share = |&(rate, each)| Share {
            rate,
            each,
            had: 0,
            pace: 0,
            busy: BTreeMap::new(),
            ends: BTreeSet::new(),
        };
        Self { servers: servers.iter().map(share).collect(), ours, advanced: Duration::ZERO }
    }

    pub(crate) fn start(&mut self, now: Duration, server: usize, id: ConnectionId, bytes: u64) {
        self.advance(now);
        let share = &mut self.servers[server];
        let end = share.had + u128::from(bytes) * NANOS;
        share.busy.insert(id, (share.had, end));
        share.ends.insert((end, id));
        self.share_out();
    }

    /// Ends a transfer; how many bytes of it have come.
    pub(crate) fn stop(&mut self, now: Duration, server: usize, id: ConnectionId) -> u64 {
        self.advance(now);
        let share = &mut self.servers[server];
        let Some((begun, end)) = share.busy.remove(&id) else { return 0 };
        share.ends.remove(&(end, id));
        let had = (share.had.min(end) - begun) / NANOS;
        self.share_out();
        u64::try_from(had).unwrap_or(u64::MAX)
    }

    /// How many bytes of a transfer have come by now.
    pub(crate) fn came(&self, now: Duration, server: usize, id: ConnectionId) -> u64 {
        let share = &self.servers[server];
        let Some(&(begun, end)) = share.busy.get(&id) else { return 0 };
        let passed = now.saturating_sub(self.advanced).as_nanos();
        let had = (share.had + u128::from(share.pace) * passed).min(end) - begun;
        u64::try_from(had / NANOS).unwrap_or(u64::MAX)
    }

    pub(crate) fn set_rate(&mut self, now: Duration, server: usize, rate: u64) {
        self.advance(now);
        self.servers[server].rate = rate;
        self.share_out();
    }

    /// When the next transfer is complete, and whose it is.
    pub(crate) fn next(&self) -> Option<(Duration, ConnectionId)> {
        let busy = self.servers.iter().filter(|share| share.pace > 0);
        let ends = busy.filter_map(|share| {
            let &(end, id) = share.ends.first()?;
            let left = end.saturating_sub(share.had).div_ceil(u128::from(share.pace));
            let left = Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX >> 8));
            Some((self.advanced + left, id))
        });
        ends.min()
    }

    fn advance(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.advanced).as_nanos();
        self.advanced = self.advanced.max(now);
        for share in &mut self.servers {
            share.had += u128::from(share.pace) * passed;
        }
    }

    /// Fair shares: what a connection cannot use of its part is left to the others.
    fn share_out(&mut self) {
        for share in &mut self.servers {
            let even = share.rate / (share.ends.len().max(1) as u64);
            share.pace =
                if share.ends.is_empty() { 0 } else { even.min(share.each.unwrap_or(even)) };
        }
        let Some(mut left) = self.ours else { return };
        let mut slowest_first: Vec<_> = self.servers.iter_mut().collect();
        slowest_first.sort_by_key(|share| share.pace);
        let mut flows: u64 = slowest_first.iter().map(|share| share.ends.len() as u64).sum();
        for share in slowest_first {
            let count = share.ends.len() as u64;
            share.pace = share.pace.min(left / flows.max(1));
            left -= share.pace * count;
            flows -= count;
        }
    }
}

const NANOS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Takes transfers off as they end.
    fn play(link: &mut Link, servers: &[usize]) -> Vec<(u64, u128)> {
        let mut ends = Vec::new();
        while let Some((now, id)) = link.next() {
            link.stop(now, servers[id.0 as usize], id);
            ends.push((id.0, now.as_millis()));
        }
        ends
    }

    #[test]
    fn two_transfers_share_evenly_and_the_rest_has_all() {
        let mut link = Link::new(&[(1000, None)], None);
        link.start(at(0), 0, ConnectionId(0), 1000);
        link.start(at(0), 0, ConnectionId(1), 500);
        assert_eq!(play(&mut link, &[0, 0]), [(1, 1000), (0, 1500)]);
    }

    #[test]
    fn no_connection_has_more_than_it_may_and_a_change_counts_from_then_on() {
        let mut link = Link::new(&[(1000, Some(250))], None);
        link.start(at(0), 0, ConnectionId(0), 1000);
        assert_eq!(link.next(), Some((at(4000), ConnectionId(0))));
        link.set_rate(at(2000), 0, 100);
        assert_eq!(link.next(), Some((at(7000), ConnectionId(0))));
        link.set_rate(at(3000), 0, 0);
        assert_eq!(link.next(), None);
        assert_eq!(link.stop(at(9000), 0, ConnectionId(0)), 600);
    }

    #[test]
    fn our_own_line_is_shared_by_all_servers_and_the_slow_leave_their_part() {
        let mut link = Link::new(&[(100, None), (10_000, None)], Some(1000));
        link.start(at(0), 0, ConnectionId(0), 100);
        link.start(at(0), 1, ConnectionId(1), 900);
        assert_eq!(play(&mut link, &[0, 1]), [(0, 1000), (1, 1000)]);
    }
}
