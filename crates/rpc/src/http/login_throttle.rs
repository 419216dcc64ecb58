//! [`LoginThrottle`]: delays credentials before they are compared, to slow down guessing; shared by all connections.
//!
//! Wrong logins are counted by address and by account. After a few of them every login from that address, or to that
//! account, waits before it is compared, unless the same credentials were right before: those are compared at once, so
//! guesses cannot lock out known clients. A login that was never used before cannot be distinguished from a guess, so it
//! waits as well and is then compared.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::http::auth::Credentials;
use crate::socket::client_network::client_network;

#[derive(Debug, Default)]
pub(crate) struct LoginThrottle {
    table: Mutex<Table>,
    /// Its key is random and of this process alone.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Table {
    records: HashMap<Key, Record>,
    /// Keyed hashes of credentials that were right; the secrets themselves are not kept. A collision
    /// lets a guess be compared without its wait, no more.
    known: VecDeque<u64>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Key {
    Address(IpAddr),
    Account(Vec<u8>),
}

#[derive(Debug)]
struct Record {
    failures: u32,
    latest: Instant,
}

impl Record {
    fn wait(&self, now: Instant) -> Duration {
        let is_forgotten = now.duration_since(self.latest) > FORGOTTEN_AFTER;
        match self.failures.checked_sub(FREE_FAILURES) {
            Some(beyond) if !is_forgotten => (FIRST_WAIT * (1 << beyond.min(10))).min(LONGEST_WAIT),
            _ => Duration::ZERO,
        }
    }
}

impl LoginThrottle {
    /// How long these credentials wait before they are compared.
    pub(crate) fn wait(
        &self,
        now: Instant,
        address: IpAddr,
        given: &Credentials,
    ) -> Option<Duration> {
        let fingerprint = self.hasher.hash_one(given);
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.known.contains(&fingerprint) {
            return None;
        }
        let records = keys(address, given).filter_map(|who| table.records.get(&who));
        records.map(|record| record.wait(now)).max().filter(|wait| !wait.is_zero())
    }

    pub(crate) fn on_failure(&self, now: Instant, address: IpAddr, given: &Credentials) {
        let fingerprint = self.hasher.hash_one(given);
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.known.retain(|known| *known != fingerprint);
        let records = &mut table.records;
        for who in keys(address, given) {
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

    /// The count stays: a client with a valid password must not reset it for another one that guesses.
    pub(crate) fn on_success(&self, given: &Credentials) {
        let fingerprint = self.hasher.hash_one(given);
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.known.contains(&fingerprint) {
            return;
        }
        if table.known.len() == MOST_KNOWN {
            table.known.pop_front();
        }
        table.known.push_back(fingerprint);
    }
}

/// The address first. A token belongs to no account.
fn keys(address: IpAddr, given: &Credentials) -> impl Iterator<Item = Key> {
    let cut = |account: &[u8]| account[..account.len().min(LONGEST_ACCOUNT)].to_vec();
    let account = given.account().map(|account| Key::Account(cut(account)));
    std::iter::once(Key::Address(client_network(address))).chain(account)
}

const FREE_FAILURES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// A client that uses right credentials for the first time waits as long, so it must be shorter than the
/// time-outs of clients. How many may wait at once bounds the rate of guesses (see `Admission`).
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(5);
const FORGOTTEN_AFTER: Duration = Duration::from_secs(15 * 60);
const LARGEST_TABLE: usize = 1024;
/// Where any name goes with a password, each name makes credentials of its own.
const MOST_KNOWN: usize = 64;
const LONGEST_ACCOUNT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn login(text: &str) -> Credentials {
        Credentials::login(text.as_bytes()).expect("there is a colon")
    }

    fn key(text: &str) -> Credentials {
        Credentials::Token(text.as_bytes().to_vec())
    }

    #[test]
    fn waits_double_up_to_five_seconds_and_are_forgotten() {
        let (throttle, start) = (LoginThrottle::default(), Instant::now());
        let address = IpAddr::from([10, 0, 0, 1]);
        let elsewhere = IpAddr::from([10, 0, 0, 2]);
        for _ in 0..4 {
            throttle.on_failure(start, address, &login("ann:x"));
        }
        assert_eq!(throttle.wait(start, address, &login("ann:y")), None);
        for wait in [1, 2, 4, 5, 5] {
            throttle.on_failure(start, address, &login("ann:x"));
            let expected = Some(Duration::from_secs(wait));
            assert_eq!(throttle.wait(start, address, &login("ann:y")), expected);
        }
        // From elsewhere, the account waits; with another account, the address does.
        assert!(throttle.wait(start, elsewhere, &login("ann:y")).is_some());
        assert!(throttle.wait(start, address, &login("bob:y")).is_some());
        assert!(throttle.wait(start, elsewhere, &login("bob:y")).is_none());
        let later = start + FORGOTTEN_AFTER + Duration::from_secs(1);
        assert_eq!(throttle.wait(later, address, &login("ann:y")), None);
    }

    #[test]
    fn credentials_that_were_right_before_never_wait() {
        let (throttle, start) = (LoginThrottle::default(), Instant::now());
        let address = IpAddr::from([10, 0, 0, 1]);
        throttle.on_success(&login("ann:right"));
        throttle.on_success(&key("right"));
        for _ in 0..100 {
            throttle.on_failure(start, address, &login("ann:wrong"));
        }
        assert_eq!(throttle.wait(start, address, &login("ann:right")), None);
        assert_eq!(throttle.wait(start, address, &key("right")), None);
        // What they are used for does not help guesses, nor does a part of them.
        throttle.on_success(&login("ann:right"));
        for guess in [login("ann:wrong"), login("right:ann"), login("ann:"), key("ann:right")] {
            assert_eq!(throttle.wait(start, address, &guess), Some(LONGEST_WAIT));
        }
        throttle.on_failure(start, address, &login("ann:right"));
        assert_eq!(throttle.wait(start, address, &login("ann:right")), Some(LONGEST_WAIT));
    }

    #[test]
    fn a_key_waits_only_for_wrong_ones_from_the_same_network() {
        let (throttle, start) = (LoginThrottle::default(), Instant::now());
        let address = |text: &str| -> IpAddr { text.parse().unwrap() };
        for host in 1..=5u16 {
            let guesser = IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]);
            throttle.on_failure(start, guesser, &key("a"));
            throttle.on_failure(start, [10, 0, 0, 1].into(), &key("a"));
        }
        for waiting in ["2001:db8:0:1::77", "10.0.0.1"] {
            let wait = throttle.wait(start, address(waiting), &key("b"));
            assert_eq!(wait, Some(FIRST_WAIT), "{waiting}");
        }
        for other in ["2001:db8:0:2::77", "10.0.0.2", "127.0.0.1"] {
            assert_eq!(throttle.wait(start, address(other), &key("b")), None, "{other}");
        }
    }

    #[test]
    fn many_addresses_and_names_do_not_grow_the_tables() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        for n in 0..5000u32 {
            throttle.on_failure(now, IpAddr::from(n.to_be_bytes()), &login(&format!("{n}:x")));
            throttle.on_success(&login(&format!("{n}:y")));
        }
        let table = throttle.table.lock().expect("no test thread panicked");
        assert!(table.records.len() <= LARGEST_TABLE && table.known.len() <= MOST_KNOWN);
    }
}
