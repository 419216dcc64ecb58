//! [`Tally`]: counters of a server.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bergamot_types::ByteCount;

use crate::faults::fault::Fault;

/// The counts of one server, shared by its connections.
///
/// A test of a fault asserts here that the fault was delivered; without that it proves nothing.
#[derive(Debug, Default)]
pub struct Tally {
    counts: Mutex<Counts>,
}

/// How many connections there were, refused ones included. One counts as open until the server
/// closes it or notices that the reader did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Connections {
    pub accepted: u32,
    pub open: u32,
    pub peak: u32,
}

/// How TLS handshakes ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Handshakes {
    pub done: u32,
    pub failed: u32,
}

#[derive(Debug, Default)]
struct Counts {
    fired: BTreeMap<Fault, u64>,
    commands: BTreeMap<&'static str, u64>,
    articles: BTreeMap<String, ArticleCount>,
    served: u64, // bodies in all
    connections: Connections,
    handshakes: Handshakes,
    admitted: u32, // connections that hold one of the slots there are
    logins: u32,
    sent: u64,
    transcript: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ArticleCount {
    asked: u32,
    served: u32,
    sound: u32,
}

impl Tally {
    /// How often a fault struck.
    pub fn fired(&self, fault: Fault) -> u64 {
        self.counts().fired.get(&fault).copied().unwrap_or(0)
    }

    pub fn all_fired(&self) -> BTreeMap<Fault, u64> {
        self.counts().fired.clone()
    }

    /// How often a command came, by its verb: `BODY`, `AUTHINFO USER`, `unknown`.
    pub fn commands(&self, verb: &str) -> u64 {
        self.counts().commands.get(verb).copied().unwrap_or(0)
    }

    pub fn all_commands(&self) -> BTreeMap<&'static str, u64> {
        self.counts().commands.clone()
    }

    /// How often `ARTICLE` or `BODY` asked for an id.
    pub fn asked(&self, id: &str) -> u32 {
        self.counts().articles.get(id).map_or(0, |count| count.asked)
    }

    /// How often an id was answered with a body, sound or not.
    pub fn served(&self, id: &str) -> u32 {
        self.counts().articles.get(id).map_or(0, |count| count.served)
    }

    /// How often an id was answered with its body and no fault.
    pub fn sound(&self, id: &str) -> u32 {
        self.counts().articles.get(id).map_or(0, |count| count.sound)
    }

    /// How many bodies were sent in all, sound or not.
    pub fn all_served(&self) -> u64 {
        self.counts().served
    }

    /// What was handed to the wire, status lines included.
    pub fn sent(&self) -> ByteCount {
        ByteCount(self.counts().sent)
    }

    pub fn connections(&self) -> Connections {
        self.counts().connections
    }

    pub fn handshakes(&self) -> Handshakes {
        self.counts().handshakes
    }

    /// The command lines received, in order, each behind the number of its connection, when
    /// [`Manners::transcript`](crate::Manners::transcript) asked for them: `1 BODY <a@x>`.
    pub fn transcript(&self) -> Vec<String> {
        self.counts().transcript.clone()
    }

    pub(crate) fn fire(&self, fault: Fault) {
        *self.counts().fired.entry(fault).or_default() += 1;
    }

    pub(crate) fn command(&self, verb: &'static str) {
        *self.counts().commands.entry(verb).or_default() += 1;
    }

    pub(crate) fn record(&self, connection: u32, line: &str) {
        let mut counts = self.counts();
        if counts.transcript.len() < LONGEST_TRANSCRIPT {
            counts.transcript.push(format!("{connection} {line}"));
        }
    }

    /// Counts a question and says how often the id was asked for before.
    pub(crate) fn ask(&self, id: &str) -> u32 {
        let mut counts = self.counts();
        let count = counts.articles.entry(id.to_owned()).or_default();
        count.asked += 1;
        count.asked - 1
    }

    pub(crate) fn serve(&self, id: &str, sound: bool) {
        let mut counts = self.counts();
        counts.served += 1;
        let count = counts.articles.entry(id.to_owned()).or_default();
        count.served += 1;
        count.sound += u32::from(sound);
    }

    /// Counts a password and says how many came before.
    pub(crate) fn login(&self) -> u32 {
        let mut counts = self.counts();
        counts.logins += 1;
        counts.logins - 1
    }

    pub(crate) fn send(&self, bytes: usize) {
        self.counts().sent += bytes as u64;
    }

    /// Counts a connection; returns the counts with it.
    pub(crate) fn open(&self) -> Connections {
        let mut counts = self.counts();
        let connections = &mut counts.connections;
        connections.accepted += 1;
        connections.open += 1;
        connections.peak = connections.peak.max(connections.open);
        *connections
    }

    /// Takes one of `slots`, if one is free.
    pub(crate) fn admit(&self, slots: u32) -> bool {
        let mut counts = self.counts();
        let free = counts.admitted < slots;
        counts.admitted += u32::from(free);
        free
    }

    pub(crate) fn close(&self, admitted: bool) {
        let mut counts = self.counts();
        counts.connections.open -= 1;
        counts.admitted -= u32::from(admitted);
    }

    pub(crate) fn handshake(&self, done: bool) {
        let handshakes = &mut self.counts().handshakes;
        *(if done { &mut handshakes.done } else { &mut handshakes.failed }) += 1;
    }

    /// Counting cannot leave half a count, so a panic elsewhere does not spoil it.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Enough for any test that reads it; a soak must not fill the memory with it.
const LONGEST_TRANSCRIPT: usize = 100_000;
