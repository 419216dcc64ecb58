//! [`Tries`]: what has been tried for one article, server by server. Pure.

use bergamot_types::ServerId;

use crate::history::Encounter;

/// Kept only for articles that did not come at the first asking.
#[derive(Clone, Debug, Default)]
pub struct Tries {
    servers: Vec<(ServerId, ServerTries)>,
}

/// What one server has done about the article.
#[derive(Clone, Copy, Debug, Default)]
struct ServerTries {
    /// Requests that failed on it and are charged to it; see [`Tries::broke`].
    broken: u8,
    /// Requests that failed on it, charged or not.
    failed: u16,
    /// The newest request of any article when it failed last.
    newest_at_failure: u64,
    /// Copies that were no good.
    damaged: u8,
    /// Connections that were refused, for no known reason, when they asked for it.
    refused: u8,
    answered: bool,
    /// It said that it does not have it, which mirrors need not be asked again.
    missing: bool,
}

impl Tries {
    /// Whether nothing has gone wrong with it yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    pub fn answered(&self, server: ServerId) -> bool {
        self.servers.iter().any(|(id, tries)| *id == server && tries.answered)
    }

    pub fn missing_at(&self, server: ServerId) -> bool {
        self.servers.iter().any(|(id, tries)| *id == server && tries.missing)
    }

    /// How many connections of the server broke on it.
    pub fn breaks_at(&self, server: ServerId) -> u8 {
        let tries = self.servers.iter().find(|(id, _)| *id == server);
        tries.map_or(0, |(_, tries)| tries.broken)
    }

    /// The server does not have the article.
    pub fn missing(&mut self, server: ServerId) {
        let tries = self.of(server);
        tries.answered = true;
        tries.missing = true;
    }

    /// A request for the article failed. Requests are numbered as they begin: `newest` is the last one so
    /// far, and `newest_delivered` the last one that the server has delivered an article for.
    ///
    /// It is charged to the article only if the server delivered another one that was asked for since it
    /// failed last: a server that delivers nothing is out of order, which no article pays for, and what it
    /// was asked for before that may still arrive. More than `limit` charges count as an answer. Returns the
    /// charges.
    pub fn broke(&mut self, server: ServerId, limit: u8, newest: u64, newest_delivered: u64) -> u8 {
        let tries = self.of(server);
        tries.failed = tries.failed.saturating_add(1);
        let before = std::mem::replace(&mut tries.newest_at_failure, newest);
        if tries.broken > 0 && newest_delivered <= before {
            return tries.broken;
        }
        self.charge(server, limit.max(LEAST_CHARGES))
    }

    /// Charges a failed request to the article, whatever else the server delivers.
    pub fn charge(&mut self, server: ServerId, limit: u8) -> u8 {
        let tries = self.of(server);
        tries.broken = tries.broken.saturating_add(1);
        tries.answered |= tries.broken > limit;
        tries.broken
    }

    /// How many requests for it failed at the server, charged or not.
    pub fn failures_at(&self, server: ServerId) -> u16 {
        let tries = self.servers.iter().find(|(id, _)| *id == server);
        tries.map_or(0, |(_, tries)| tries.failed)
    }

    /// Its connection was refused when it asked for the article, for no reason that anybody could
    /// read. How often that has happened.
    pub fn refused(&mut self, server: ServerId) -> u8 {
        let tries = self.of(server);
        tries.refused = tries.refused.saturating_add(1);
        tries.refused
    }

    /// The servers that were asked for it in vain.
    pub fn asked_in_vain(&self) -> impl Iterator<Item = ServerId> + '_ {
        let tried = |tries: &ServerTries| tries.missing || tries.damaged > 0 || tries.broken > 0;
        self.servers.iter().filter(move |(_, tries)| tried(tries)).map(|(id, _)| *id)
    }

    /// What happened with one server.
    pub(crate) fn encounters(&self, server: ServerId) -> impl Iterator<Item = Encounter> + use<> {
        let tries = self.servers.iter().find(|(id, _)| *id == server);
        let tries = tries.map(|(_, tries)| *tries).unwrap_or_default();
        let all = [
            tries.missing.then_some(Encounter::Missing),
            (tries.damaged > 0).then_some(Encounter::Damaged(tries.damaged)),
            (tries.broken > 0).then_some(Encounter::Broke(tries.broken)),
            (tries.refused > 0).then_some(Encounter::Refused(tries.refused)),
        ];
        all.into_iter().flatten()
    }

    /// Its copy was bad; one more try, in case it was the way here that spoiled it.
    pub fn damaged(&mut self, server: ServerId) {
        let tries = self.of(server);
        tries.damaged = tries.damaged.saturating_add(1);
        tries.answered |= tries.damaged > DAMAGED_RETRIES;
    }

    /// Its copy has a right checksum and does not go with the other parts: it has no other.
    pub fn suspicious(&mut self, server: ServerId) {
        let tries = self.of(server);
        tries.damaged = tries.damaged.saturating_add(1);
        tries.answered = true;
    }

    /// The servers that sent a copy may be asked as if they had not been.
    pub fn forgive_copies(&mut self) {
        self.servers.retain(|(_, tries)| tries.damaged == 0);
    }

    /// Whether any copy came, good for nothing as it was.
    pub fn had_a_copy(&self) -> bool {
        self.servers.iter().any(|(_, tries)| tries.damaged > 0)
    }

    /// A server that is still owed a retry of its own keeps the article.
    pub fn wanted_server(&self) -> Option<ServerId> {
        let owed = |tries: &ServerTries| !tries.answered && (tries.broken > 0 || tries.damaged > 0);
        self.servers.iter().find(|(_, tries)| owed(tries)).map(|(id, _)| *id)
    }

    fn of(&mut self, server: ServerId) -> &mut ServerTries {
        let known = self.servers.iter().position(|(id, _)| *id == server);
        let index = known.unwrap_or_else(|| {
            self.servers.push((server, ServerTries::default()));
            self.servers.len() - 1
        });
        &mut self.servers[index].1
    }
}

/// The first charge is made before it is known whether the server delivers anything else.
const LEAST_CHARGES: u8 = 1;

/// "CRC mismatch: the same server once more, then the others."
const DAMAGED_RETRIES: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    const A: ServerId = ServerId(1);
    const B: ServerId = ServerId(2);

    #[test]
    fn a_damaged_copy_is_asked_for_once_more_where_it_came_from() {
        let mut tries = Tries::default();
        tries.damaged(A);
        assert_eq!((tries.answered(A), tries.wanted_server()), (false, Some(A)));
        tries.damaged(A);
        assert_eq!((tries.answered(A), tries.wanted_server()), (true, None));
        assert!(!tries.answered(B));
    }

    #[test]
    fn broken_connections_are_forgiven_as_often_as_configured() {
        let mut tries = Tries::default();
        for count in 1..=3 {
            let newest = 10 * u64::from(count);
            assert_eq!(tries.broke(A, 3, newest, newest - 1), count);
        }
        assert!(!tries.answered(A));
        tries.broke(A, 3, 40, 39);
        assert!(tries.answered(A));
    }

    #[test]
    fn an_article_is_not_charged_while_the_server_delivers_nothing_else() {
        for limit in [0, 3] {
            let mut tries = Tries::default();
            // What was asked for before the first failure still arrives.
            (100..1100).for_each(|newest| assert_eq!(tries.broke(A, limit, newest, 99), 1));
            assert!(!tries.answered(A));
            assert_eq!((tries.failures_at(A), tries.failures_at(B)), (1000, 0));
        }
    }

    #[test]
    fn copies_and_retries_are_told_apart_by_server() {
        let mut tries = Tries::default();
        assert!(!tries.had_a_copy() && tries.wanted_server().is_none());
        tries.missing(A);
        tries.refused(B);
        assert!(!tries.had_a_copy(), "nothing came");
        assert_eq!(tries.wanted_server(), None, "neither is owed a retry");
        tries.broke(B, 3, 1, 0);
        assert_eq!(tries.wanted_server(), Some(B));
        assert!(!tries.had_a_copy());
        assert_eq!(tries.asked_in_vain().collect::<Vec<_>>(), [A, B]);
        tries.damaged(B);
        assert!(tries.had_a_copy());
        let mut only_damaged = Tries::default();
        only_damaged.damaged(B);
        assert_eq!(only_damaged.asked_in_vain().collect::<Vec<_>>(), [B]);
    }
}
