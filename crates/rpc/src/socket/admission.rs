//! [`Admission`]: decides which connections of one listener are kept when slots run short.
//!
//! A pure table of connections; no sockets and no clock. Age is the number of the last activity, so the order of events is
//! all it needs. It guarantees:
//!
//! - A client that is not authenticated cannot take a slot from one that is: a quarter of the slots is never given to
//!   unauthenticated connections.
//! - One address has at most a quarter of the slots for unauthenticated connections. Clients behind one proxy share its
//!   address and so share that number.
//! - A few slots are never held: a new client can always connect and run a health check. A connection is held (and cannot
//!   be evicted) only while a call runs for it, while it sends the body of a request whose credentials were right, or while
//!   its own credentials wait to be compared.

use std::collections::HashMap;
use std::net::IpAddr;

use bergamot_types::SplitMix;

use crate::socket::client_network::client_network;

#[derive(Debug)]
pub(crate) struct Admission {
    rules: Rules,
    signs: u64,
    random: SplitMix,
    connections: HashMap<u64, Connection>, // by their first sign
}

/// How many connections there may be, and of what kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Rules {
    limit: usize,
    /// Of those that are not authenticated.
    unauthenticated: usize,
    /// Of those, from one address.
    per_address: usize,
    /// Of those that cannot be evicted.
    held: usize,
    /// Connections whose credentials wait to be compared.
    waiting: usize,
    /// Of those, from one address. With the longest wait it bounds the rate of guesses.
    waiting_per_address: usize,
}

impl Rules {
    /// For a listener that other machines can reach.
    pub(crate) fn for_network(limit: usize) -> Self {
        let per_address = (limit / 4).max(LEAST_PER_ADDRESS);
        Self {
            limit,
            unauthenticated: limit - limit / 4,
            per_address,
            held: limit - (limit / 16).max(1),
            waiting: limit / 2,
            // The rest is for clients whose credentials are known: they have to connect first.
            waiting_per_address: per_address - per_address / 4,
        }
    }

    /// For the Unix socket, where the kernel authenticates the peer.
    pub(crate) fn for_socket(limit: usize) -> Self {
        Self {
            limit,
            unauthenticated: limit,
            per_address: limit,
            held: limit,
            waiting: limit,
            waiting_per_address: limit,
        }
    }
}

#[derive(Debug)]
struct Connection {
    source: Option<IpAddr>,
    last_sign: u64,
    phase: Phase,
    /// The latest request was authenticated, or needed no credentials and was whole.
    is_admitted: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// Between requests, or in the head of one.
    Quiet,
    Body {
        is_authenticated: bool,
    },
    Call,
    /// Its credentials are compared later, for there were too many wrong ones.
    Waiting,
    /// Its credentials waited until a later login replaced them: they will not be compared.
    Replaced,
}

impl Connection {
    fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Call | Phase::Waiting | Phase::Body { is_authenticated: true })
    }
}

/// A new connection has a slot.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Admitted {
    pub(crate) number: u64,
    /// Which connection has to be closed for it.
    pub(crate) evicted: Option<u64>,
}

impl Admission {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, signs: 0, random: SplitMix::seeded(0), connections: HashMap::new() }
    }

    /// A slot for a new connection; none if all connections that could be evicted are held.
    pub(crate) fn connect(&mut self, source: Option<IpAddr>) -> Option<Admitted> {
        let source = source.map(client_network);
        let evicted = match self.needed_room(source) {
            Room::Free => None,
            Room::Evict(number) => {
                self.connections.remove(&number);
                Some(number)
            }
            Room::None => return None,
        };
        let number = self.sign();
        let connection =
            Connection { source, last_sign: number, phase: Phase::Quiet, is_admitted: false };
        self.connections.insert(number, connection);
        Some(Admitted { number, evicted })
    }

    /// The head of a request is there and its body is going to be read. False if there is no room for
    /// that now.
    pub(crate) fn on_body(&mut self, number: u64, is_authenticated: bool) -> bool {
        self.enter(number, Phase::Body { is_authenticated })
    }

    /// So much of a body has come that it counts as a sign of life.
    pub(crate) fn on_progress(&mut self, number: u64) {
        let sign = self.sign();
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.last_sign = sign;
        }
    }

    /// A request is whole and a call is carried out for it. False if there is no room for that now.
    pub(crate) fn on_call(&mut self, number: u64) -> bool {
        let may_call = self.enter(number, Phase::Call);
        if may_call && self.admitted() < self.rules.held {
            let connection = self.connections.get_mut(&number);
            connection.into_iter().for_each(|connection| connection.is_admitted = true);
        }
        may_call
    }

    /// Its credentials have to wait before they are compared. False if there is no room for that now.
    ///
    /// If too many wait already, it replaces one of them that is drawn at random. A first login cannot be
    /// distinguished from a guess, so all must have the same chance: if the last to come were refused, or the first
    /// replaced, a client that sends faster than the others would shut them out.
    pub(crate) fn on_wait(&mut self, number: u64) -> bool {
        if let Some(replaced) = self.waiter_to_replace(number) {
            self.set_phase(replaced, Phase::Replaced);
        }
        self.enter(number, Phase::Waiting)
    }

    /// Its wait is over. False if it was replaced meanwhile; its credentials must not be compared then.
    pub(crate) fn on_waited(&mut self, number: u64) -> bool {
        let phase = self.connections.get(&number).map(|connection| connection.phase);
        self.set_phase(number, Phase::Quiet);
        phase == Some(Phase::Waiting)
    }

    /// Always allowed: slots are reserved for it.
    pub(crate) fn on_health_check(&mut self, number: u64) {
        self.set_phase(number, Phase::Call);
    }

    pub(crate) fn on_answered(&mut self, number: u64) {
        self.set_phase(number, Phase::Quiet);
    }

    pub(crate) fn disconnect(&mut self, number: u64) {
        self.connections.remove(&number);
    }

    fn enter(&mut self, number: u64, phase: Phase) -> bool {
        let is_held = self.connections.get(&number).is_some_and(Connection::is_held);
        let would_hold = !matches!(phase, Phase::Quiet | Phase::Body { is_authenticated: false });
        let held = self.connections.values().filter(|connection| connection.is_held()).count();
        if would_hold && !is_held && held >= self.rules.held {
            return false;
        }
        self.set_phase(number, phase);
        true
    }

    fn set_phase(&mut self, number: u64, phase: Phase) {
        let sign = self.sign();
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.last_sign = sign;
            connection.phase = phase;
        }
    }

    fn sign(&mut self) -> u64 {
        self.signs += 1;
        self.signs
    }

    fn admitted(&self) -> usize {
        self.connections.values().filter(|connection| connection.is_admitted).count()
    }

    fn needed_room(&self, source: Option<IpAddr>) -> Room {
        let mut by_source: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for connection in self.connections.values().filter(|connection| !connection.is_admitted) {
            *by_source.entry(connection.source).or_default() += 1;
        }
        let own = by_source.get(&source).copied().unwrap_or(0);
        let unauthenticated: usize = by_source.values().sum();
        if own >= self.rules.per_address {
            return self.longest_silent(|it| !it.is_admitted && it.source == source).into();
        }
        let is_full = self.connections.len() >= self.rules.limit;
        if !is_full && unauthenticated < self.rules.unauthenticated {
            return Room::Free;
        }
        // The address with the most connections makes room first.
        let mut sources: Vec<_> = by_source.into_iter().collect();
        sources.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut victim = sources.iter().find_map(|(source, _)| {
            self.longest_silent(|it| !it.is_admitted && it.source == *source)
        });
        if is_full {
            victim = victim.or_else(|| self.longest_silent(|it| it.is_admitted));
        }
        victim.into()
    }

    fn waiter_to_replace(&mut self, newcomer: u64) -> Option<u64> {
        let source = self.connections.get(&newcomer).and_then(|connection| connection.source);
        let mut by_source: HashMap<Option<IpAddr>, Vec<u64>> = HashMap::new();
        for (number, waiter) in self.connections.iter().filter(|(_, it)| it.phase == Phase::Waiting)
        {
            by_source.entry(waiter.source).or_default().push(*number);
        }
        let own = by_source.get(&source).map_or(0, Vec::len);
        let all: usize = by_source.values().map(Vec::len).sum();
        let most = by_source.values().map(Vec::len).max().unwrap_or(0);
        let mut candidates = if own >= self.rules.waiting_per_address {
            by_source.remove(&source).unwrap_or_default()
        } else if all >= self.rules.waiting {
            by_source.into_values().filter(|waiters| waiters.len() == most).flatten().collect()
        } else {
            return None;
        };
        candidates.sort_unstable(); // the order of the map must not matter
        let drawn = self.random.up_to(candidates.len().saturating_sub(1) as u64);
        candidates.get(drawn as usize).copied()
    }

    fn longest_silent(&self, of: impl Fn(&Connection) -> bool) -> Option<u64> {
        let connections = self.connections.iter().filter(|(_, it)| !it.is_held() && of(it));
        connections.min_by_key(|(_, it)| it.last_sign).map(|(number, _)| *number)
    }
}

enum Room {
    Free,
    Evict(u64),
    None,
}

impl From<Option<u64>> for Room {
    fn from(victim: Option<u64>) -> Self {
        victim.map_or(Self::None, Self::Evict)
    }
}

/// A browser opens six.
const LEAST_PER_ADDRESS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    fn admit(admission: &mut Admission, source: u8) -> Admitted {
        admission.connect(address(source)).expect("a connection can be evicted")
    }

    /// One that has been authenticated and is between two requests.
    fn authenticated(admission: &mut Admission, source: u8) -> u64 {
        let number = admit(admission, source).number;
        assert!(admission.on_body(number, true) && admission.on_call(number));
        admission.on_answered(number);
        number
    }

    #[test]
    fn the_longest_silent_connection_is_evicted() {
        let mut admission = Admission::new(Rules::for_socket(2));
        let [first, second] = [0; 2].map(|_| admission.connect(None).expect("room").number);
        assert!(admission.on_call(first));
        admission.on_answered(first);
        let third = admission.connect(None).expect("room");
        assert_eq!(third.evicted, Some(second));
        admission.disconnect(third.number);
        assert_eq!(admission.connect(None).expect("room").evicted, None);
    }

    #[test]
    fn a_connection_is_kept_while_its_call_is_carried_out() {
        let mut admission = Admission::new(Rules::for_socket(2));
        let [first, second] = [0; 2].map(|_| admission.connect(None).expect("room").number);
        assert!(admission.on_call(first) && admission.on_call(second));
        assert_eq!(admission.connect(None), None);
        admission.on_answered(second);
        assert_eq!(admission.connect(None).expect("room").evicted, Some(second));
    }

    #[test]
    fn one_address_has_a_quarter_of_the_places_without_a_login() {
        let mut admission = Admission::new(Rules::for_network(128));
        let flood: Vec<_> = (0..100).map(|_| admit(&mut admission, 1)).collect();
        assert!(flood[..32].iter().all(|admit| admit.evicted.is_none()));
        assert_eq!(flood[32].evicted, Some(flood[0].number), "its own oldest makes room");
        assert_eq!(admission.connections.len(), 32);
        assert_eq!(admit(&mut admission, 2).evicted, None);
    }

    #[test]
    fn half_sent_bodies_without_a_login_make_room() {
        let mut admission = Admission::new(Rules::for_network(128));
        for source in 0..200 {
            let number = admit(&mut admission, source).number;
            assert!(admission.on_body(number, false));
        }
        let health = admit(&mut admission, 250);
        assert!(health.evicted.is_some());
        admission.on_health_check(health.number);
    }

    #[test]
    fn a_body_that_makes_progress_is_not_the_first_to_go() {
        let mut admission = Admission::new(Rules::for_network(128));
        let upload = admit(&mut admission, 1).number;
        assert!(admission.on_body(upload, false));
        for _ in 0..200 {
            admission.on_progress(upload);
            assert_ne!(admit(&mut admission, 1).evicted, Some(upload));
        }
    }

    #[test]
    fn authenticated_connections_survive_a_flood_from_everywhere() {
        let mut admission = Admission::new(Rules::for_network(128));
        let known: Vec<_> = (0..32).map(|_| authenticated(&mut admission, 1)).collect();
        for source in 0..=255 {
            for _ in 0..10 {
                let number = admit(&mut admission, source).number;
                assert!(admission.on_body(number, false));
            }
        }
        assert!(known.iter().all(|number| admission.connections.contains_key(number)));
    }

    #[test]
    fn the_address_with_the_most_connections_makes_room() {
        let mut admission = Admission::new(Rules::for_network(128));
        let single = admit(&mut admission, 1).number;
        for source in 2..=5 {
            for _ in 0..40 {
                admit(&mut admission, source);
            }
        }
        assert!(admission.connections.contains_key(&single));
    }

    #[test]
    fn places_for_health_checks_are_never_held() {
        let mut admission = Admission::new(Rules::for_network(128));
        let calls: Vec<_> = (0..120).map(|_| authenticated(&mut admission, 1)).collect();
        assert!(calls.iter().all(|number| admission.on_call(*number)));
        for _ in 0..20 {
            let late = admit(&mut admission, 1).number;
            assert!(!admission.on_call(late) && !admission.on_body(late, true));
            admission.on_health_check(late);
            admission.on_answered(late);
        }
        admission.on_answered(calls[0]);
        let next = admit(&mut admission, 1).number;
        assert!(admission.on_call(next));
    }

    fn waiter(admission: &mut Admission, source: u8) -> u64 {
        let number = admit(admission, source).number;
        assert!(admission.on_wait(number));
        number
    }

    fn waiting(admission: &Admission) -> usize {
        admission.connections.values().filter(|it| it.phase == Phase::Waiting).count()
    }

    #[test]
    fn few_guesses_wait_at_once() {
        let mut admission = Admission::new(Rules::for_network(128));
        let first: Vec<_> = (0..24).map(|_| waiter(&mut admission, 1)).collect();
        assert_eq!(waiting(&admission), 24);
        // Flooded with new connections, those that wait are not evicted.
        for _ in 0..100 {
            admit(&mut admission, 1);
        }
        assert!(first.iter().all(|number| admission.on_waited(*number)));
        for source in 1..=200 {
            waiter(&mut admission, source % 4);
            assert!(waiting(&admission) <= 64);
        }
        assert_eq!(waiting(&admission), 64, "of all");
    }

    #[test]
    fn a_login_beyond_the_bound_replaces_another_of_its_address() {
        let mut admission = Admission::new(Rules::for_network(128));
        let first: Vec<_> = (0..24).map(|_| waiter(&mut admission, 1)).collect();
        let late = waiter(&mut admission, 1);
        assert!(admission.on_waited(late));
        let compared = first.iter().filter(|number| admission.on_waited(**number)).count();
        assert_eq!(compared, 23);
    }

    #[test]
    fn where_all_places_are_taken_the_address_with_the_most_logins_gives_one() {
        let mut admission = Admission::new(Rules::for_network(128));
        let many: Vec<_> = (0..24).map(|_| waiter(&mut admission, 1)).collect();
        let few: Vec<_> = (2..42).map(|source| waiter(&mut admission, source)).collect();
        let late = waiter(&mut admission, 250);
        assert!(admission.on_waited(late));
        assert!(few.iter().all(|number| admission.on_waited(*number)));
        assert_eq!(many.iter().filter(|number| admission.on_waited(**number)).count(), 23);
    }

    /// Each guesser sends its next login as soon as it is answered, so none of them frees a slot.
    #[test]
    fn guesses_that_never_pause_leave_a_first_login_its_turn() {
        let mut admission = Admission::new(Rules::for_network(128));
        let mut guessers: Vec<_> = (0..28).map(|_| waiter(&mut admission, 1)).collect();
        let mut tries = 0;
        loop {
            tries += 1;
            let client = waiter(&mut admission, 1);
            for guesser in &mut guessers {
                admission.on_waited(*guesser);
                admission.disconnect(*guesser);
                *guesser = waiter(&mut admission, 1);
            }
            if admission.on_waited(client) {
                break;
            }
            admission.disconnect(client);
            assert!(tries < 20, "it never gets its turn");
        }
    }

    #[test]
    fn with_few_places_a_browser_still_gets_in() {
        let mut admission = Admission::new(Rules::for_network(8));
        let held = authenticated(&mut admission, 1);
        assert!(admission.on_call(held));
        for _ in 0..6 {
            assert_eq!(admit(&mut admission, 2).evicted, None);
        }
        assert!(admit(&mut admission, 3).evicted.is_some());
    }
}
