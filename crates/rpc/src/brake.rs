//! Guessing passwords takes time.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Counts wrong logins by address and by account; after a few of them each costs twice the wait of
/// the one before.
#[derive(Debug, Default)]
pub(crate) struct Brake(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    records: HashMap<Who, Record>,
    /// Where somebody has logged in from: these do not suffer for what others do to their account.
    good: VecDeque<IpAddr>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Who {
    Address(IpAddr),
    Account(Vec<u8>),
}

#[derive(Debug)]
struct Record {
    failures: u32,
    latest: Instant,
}

impl Record {
    fn free_at(&self) -> Instant {
        let Some(beyond) = self.failures.checked_sub(FREE_FAILURES) else { return self.latest };
        self.latest + (FIRST_WAIT * 2u32.pow(beyond.min(10))).min(LONGEST_WAIT)
    }
}

impl Brake {
    /// How long this one has to wait before it may try again.
    pub(crate) fn wait(
        &self,
        now: Instant,
        address: IpAddr,
        account: Option<&[u8]>,
    ) -> Option<Duration> {
        let address = household(address);
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = if table.good.contains(&address) { 1 } else { 2 };
        let records = keys(address, account).take(mine);
        let free_at = records.filter_map(|who| table.records.get(&who).map(Record::free_at)).max();
        Some(free_at?.saturating_duration_since(now)).filter(|wait| !wait.is_zero())
    }

    pub(crate) fn on_failure(&self, now: Instant, address: IpAddr, account: Option<&[u8]>) {
        let address = household(address);
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.good.retain(|good| *good != address);
        let records = &mut table.records;
        for who in keys(address, account) {
            if records.len() >= LARGEST_TABLE && !records.contains_key(&who) {
                let oldest = records.iter().min_by_key(|(_, record)| record.latest);
                let oldest = oldest.map(|(who, _)| who.clone());
                oldest.and_then(|who| records.remove(&who));
            }
            let record = records.entry(who).or_insert(Record { failures: 0, latest: now });
            if now.duration_since(record.latest) > FORGOTTEN_AFTER {
                record.failures = 0;
            }
            record.failures = record.failures.saturating_add(1);
            record.latest = now;
        }
    }

    /// The account keeps its record: one who knows the password must not cover for one who guesses.
    pub(crate) fn on_success(&self, address: IpAddr) {
        let address = household(address);
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.records.remove(&Who::Address(address));
        if !table.good.contains(&address) {
            if table.good.len() == MOST_GOOD {
                table.good.pop_front();
            }
            table.good.push_back(address);
        }
    }
}

/// The address first. A key is no account: whoever guesses at one says nothing of whose it is, and those
/// who have it must not wait for that.
fn keys(address: IpAddr, account: Option<&[u8]>) -> impl Iterator<Item = Who> {
    let cut = |account: &[u8]| account[..account.len().min(LONGEST_ACCOUNT)].to_vec();
    let account = account.map(|account| Who::Account(cut(account)));
    std::iter::once(Who::Address(address)).chain(account)
}

/// Whoever has one address of version 6 has all of its network (RFC 6177).
fn household(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
    }
}

const FREE_FAILURES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Whoever owns the account is kept out for as long, too, so it must be bearable.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const FORGOTTEN_AFTER: Duration = Duration::from_secs(15 * 60);
const LARGEST_TABLE: usize = 1024;
const MOST_GOOD: usize = 64;
const LONGEST_ACCOUNT: usize = 64;
const NETWORK: u128 = !0 << 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end() {
        let (brake, start) = (Brake::default(), Instant::now());
        let address = IpAddr::from([10, 0, 0, 1]);
        for _ in 0..4 {
            brake.on_failure(start, address, Some(b"ann"));
        }
        assert_eq!(brake.wait(start, address, Some(b"ann")), None);
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            brake.on_failure(start, address, Some(b"ann"));
            assert_eq!(brake.wait(start, address, Some(b"ann")), Some(Duration::from_secs(wait)));
        }
        assert_eq!(brake.wait(start + LONGEST_WAIT, address, Some(b"ann")), None);
        // From elsewhere, the account waits; with another account, the address does.
        assert!(brake.wait(start, [10, 0, 0, 2].into(), Some(b"ann")).is_some());
        assert!(brake.wait(start, address, Some(b"bob")).is_some());
        assert!(brake.wait(start, [10, 0, 0, 2].into(), Some(b"bob")).is_none());
        brake.on_success(address);
        assert_eq!(brake.wait(start, address, Some(b"ann")), None);
        assert!(brake.wait(start, [10, 0, 0, 2].into(), Some(b"ann")).is_some());
    }

    #[test]
    fn a_key_waits_only_for_wrong_ones_from_the_same_network() {
        let (brake, start) = (Brake::default(), Instant::now());
        let address = |text: &str| -> IpAddr { text.parse().unwrap() };
        for host in 1..=5u16 {
            let guesser = IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]);
            brake.on_failure(start, guesser, None);
            brake.on_failure(start, [10, 0, 0, 1].into(), None);
        }
        for waiting in ["2001:db8:0:1::77", "10.0.0.1"] {
            let wait = brake.wait(start, address(waiting), None);
            assert_eq!(wait, Some(FIRST_WAIT), "{waiting}");
            assert_eq!(brake.wait(start + FIRST_WAIT, address(waiting), None), None);
        }
        for other in ["2001:db8:0:2::77", "10.0.0.2", "127.0.0.1"] {
            assert_eq!(brake.wait(start, address(other), None), None, "{other}");
        }
    }

    #[test]
    fn many_addresses_do_not_grow_the_table() {
        let (brake, now) = (Brake::default(), Instant::now());
        for n in 0..5000u32 {
            brake.on_failure(now, IpAddr::from(n.to_be_bytes()), Some(&n.to_be_bytes()));
        }
        assert!(brake.0.lock().expect("nobody panicked").records.len() <= LARGEST_TABLE);
    }
}
