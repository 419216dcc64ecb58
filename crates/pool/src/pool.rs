//! [`Pool`]: all servers and their accounts. Pure.

use std::collections::BTreeMap;
use std::time::Instant;

use bergamot_types::{ServerId, SplitMix, UnixTime};

use crate::ceiling::{Ceiling, Holder};
use crate::history::{Encounter, History};
use crate::server::{Attempt, Consequence, End, Server};
use crate::settings::ServerSettings;
use crate::tries::Tries;
use crate::trouble::Trouble;

/// All servers: which may be asked for an article, and how many connections each may have.
///
/// Drive it like this:
/// 1. open at most [`room`](Self::room) connections to a server, and call [`on_opening`](Self::on_opening)
///    for each,
/// 2. tell [`on_connected`](Self::on_connected) when it can be used, [`on_closing`](Self::on_closing) when
///    it is told to quit, and [`on_ended`](Self::on_ended) exactly once when it is gone or never was made,
/// 3. tell what came of requests: [`on_delivered`](Self::on_delivered), [`on_missing`](Self::on_missing),
///    [`on_request_failed`](Self::on_request_failed),
/// 4. call [`on_time`](Self::on_time) at [`next_deadline`](Self::next_deadline),
/// 5. route an article anew whenever one of these returns `true` or a [`Consequence`] other than
///    `GoesOn`: what is true of a [`Route`] holds until then.
///
/// `on_opening` of a connection is answered by one `on_ended`, with or without `on_connected` before it; errands
/// by [`on_errand_ended`](Self::on_errand_ended). A call that does not belong to an opened connection is a bug
/// of the caller. Servers go by their ids, and an id that is not configured panics, except where a method
/// says otherwise; one that is taken out of the settings is known until its last connection has ended.
/// Connections are bounded by the settings, the ceiling of the account and the ramp after an outage.
#[derive(Debug)]
pub struct Pool {
    servers: Vec<Server>,
    ceilings: BTreeMap<Holder, Ceiling>,
    most_failures: u32,
    chance: SplitMix,
}

/// Where an article goes next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Route {
    /// Ask any of these, or wait until one of them can be asked.
    Ask(Vec<ServerId>),
    /// Every server has answered for it.
    Exhausted,
    /// Only servers that are excused for now have not answered.
    Wait,
}

impl Pool {
    /// `seed` is where the jitter of rests begins.
    pub fn new(servers: impl IntoIterator<Item = ServerSettings>, seed: u64) -> Self {
        let chance = SplitMix::seeded(seed);
        let mut pool = Self {
            servers: Vec::new(),
            ceilings: BTreeMap::new(),
            most_failures: MOST_FAILURES,
            chance,
        };
        pool.set_servers(servers);
        pool
    }

    /// A server that fails so often in a row, with no article delivered between, is out of order.
    pub fn set_article_retries(&mut self, retries: u8) {
        self.most_failures = u32::from(retries).max(LEAST_FAILURES);
    }

    /// Other servers, or the same with other settings. One that is not among them is not asked any
    /// more, and is forgotten with its last connection.
    pub fn set_servers(&mut self, servers: impl IntoIterator<Item = ServerSettings>) {
        let mut before = std::mem::take(&mut self.servers);
        for settings in servers {
            let known = before.iter().position(|known| known.id() == settings.id);
            self.servers.push(match known.map(|place| before.remove(place)) {
                Some(mut known) => {
                    known.change(settings);
                    known
                }
                None => Server::new(settings),
            });
        }
        before.retain(|gone| gone.open() > 0);
        before.iter_mut().for_each(Server::leave);
        self.servers.append(&mut before);
        self.count_ceilings();
    }

    fn count_ceilings(&mut self) {
        let mut before = std::mem::take(&mut self.ceilings);
        for server in &self.servers {
            let ceiling = self.ceilings.entry(server.holder()).or_default();
            ceiling.admit(server.settings.connections);
        }
        for (holder, ceiling) in &mut self.ceilings {
            if let Some(before) = before.remove(holder) {
                ceiling.inherit(before);
            }
        }
    }

    pub fn ids(&self) -> impl Iterator<Item = ServerId> + '_ {
        self.servers.iter().filter(|server| !server.is_leaving()).map(Server::id)
    }

    pub fn settings(&self, server: ServerId) -> &ServerSettings {
        &self.server(server).settings
    }

    /// Connections that can be asked; a server that is gone has none.
    pub fn working(&self, server: ServerId) -> usize {
        self.find(server).map_or(0, Server::working)
    }

    /// Connections that are open, being opened or closed.
    pub fn open(&self, server: ServerId) -> usize {
        self.find(server).map_or(0, Server::open)
    }

    /// How many it may have just now, by its settings and by what its provider was found to allow.
    pub fn ceiling(&self, server: ServerId) -> usize {
        let server = self.server(server);
        let learned = self.ceilings.get(&server.holder()).map_or(0, Ceiling::most);
        learned.min(server.settings.connections)
    }

    /// Until then it is not tried again.
    pub fn rests_until(&self, server: ServerId) -> Option<Instant> {
        self.server(server).next_deadline()
    }

    /// Whether there are others of its level that could do its work.
    pub fn has_peers(&self, server: ServerId) -> bool {
        let level = self.server(server).settings.level;
        let is_peer = |other: &&Server| {
            other.id() != server && other.settings.level == level && other.is_promising()
        };
        self.servers.iter().filter(is_peer).any(Server::is_active)
    }

    /// Whether there are others among these that are of use now.
    pub fn has_peers_among(&self, server: ServerId, others: &[ServerId]) -> bool {
        let mut others = others.iter().filter(|other| **other != server);
        others.any(|other| self.server(*other).is_promising())
    }

    pub fn in_trouble(&self, server: ServerId) -> bool {
        self.server(server).in_trouble()
    }

    pub fn is_used_up(&self, server: ServerId) -> bool {
        self.server(server).is_used_up()
    }

    /// Its allowance is used up, or is not any more. While it is, the server counts as having answered
    /// for every article, and no connection to it is opened.
    pub fn set_used_up(&mut self, server: ServerId, used_up: bool) {
        self.server_mut(server).set_used_up(used_up);
    }

    /// Connections that are being opened, or closed.
    pub fn opening(&self, server: ServerId) -> usize {
        self.server(server).opening()
    }

    /// How many connections may be opened beside those that are.
    pub fn room(&self, server: ServerId) -> usize {
        let server = self.server(server);
        match server.room() {
            0 => 0, // as most of the time
            room => room.min(self.room_below_ceiling(server)),
        }
    }

    /// Whether one more connection may be opened for something else than articles.
    pub fn has_errand_room(&self, server: ServerId) -> bool {
        let Some(server) = self.find(server) else { return false };
        server.errand_room().min(self.room_below_ceiling(server)) > 0
    }

    pub fn on_errand(&mut self, server: ServerId) {
        self.server_mut(server).on_errand();
    }

    /// Whether a trouble is over now.
    pub fn on_errand_connected(&mut self, server: ServerId) -> bool {
        self.server_mut(server).on_errand_connected()
    }

    pub fn on_errand_ended(
        &mut self,
        now: Instant,
        server: ServerId,
        trouble: Trouble,
        attempt: Attempt,
    ) -> Consequence {
        let end = self.ending(server, false, trouble, attempt);
        self.end(now, server, trouble, |known, chance| known.on_errand_ended(now, end, chance))
    }

    /// Whether the connections of one count against the other.
    pub fn shares(&self, one: ServerId, other: ServerId) -> bool {
        let holder = |server| self.find(server).map(Server::holder);
        holder(one).is_some() && holder(one) == holder(other)
    }

    pub fn on_opening(&mut self, server: ServerId) {
        self.server_mut(server).on_opening();
    }

    /// Whether a trouble is over now.
    pub fn on_connected(&mut self, server: ServerId) -> bool {
        self.server_mut(server).on_connected()
    }

    /// A working connection is told to quit; it counts as open until it has ended.
    pub fn on_closing(&mut self, server: ServerId) {
        self.server_mut(server).on_closing();
    }

    /// `was_working`: it had connected and was not being closed. `attempt`: the request it ended on, or
    /// the connection itself.
    pub fn on_ended(
        &mut self,
        now: Instant,
        server: ServerId,
        was_working: bool,
        trouble: Trouble,
        attempt: Attempt,
    ) -> Consequence {
        let end = self.ending(server, was_working, trouble, attempt);
        self.end(now, server, trouble, |known, chance| known.on_ended(now, end, chance))
    }

    fn ending(
        &self,
        server: ServerId,
        was_working: bool,
        trouble: Trouble,
        attempt: Attempt,
    ) -> End {
        let holder = self.server(server).holder();
        let others = self.sharing(holder).filter(|other| other.id() != server);
        let others = others.map(Server::open).sum();
        End { trouble, was_working, attempt, others, most_failures: self.most_failures }
    }

    fn end(
        &mut self,
        now: Instant,
        server: ServerId,
        trouble: Trouble,
        end: impl FnOnce(&mut Server, &mut SplitMix) -> Consequence,
    ) -> Consequence {
        let position = self.position(server);
        let server = &mut self.servers[position];
        let holder = server.holder();
        let end = end(server, &mut self.chance);
        let is_out_of_order = server.is_out_of_order();
        let ceiling = self.ceilings.entry(holder).or_default();
        match end {
            Consequence::LowerCeiling(to) => ceiling.lower(now, to),
            // What looked like too many connections was no connection at all, or a server that fails.
            Consequence::Rests(_) if trouble == Trouble::TooManyConnections || is_out_of_order => {
                ceiling.forget();
            }
            Consequence::GoesOn | Consequence::Rests(_) => {}
        }
        if server.is_leaving() {
            self.servers.retain(|server| !server.is_leaving() || server.open() > 0);
            return Consequence::GoesOn;
        }
        end
    }

    /// A request failed and its connection goes on.
    pub fn on_request_failed(
        &mut self,
        now: Instant,
        server: ServerId,
        attempt: Attempt,
    ) -> Consequence {
        let (position, most_failures) = (self.position(server), self.most_failures);
        let server = &mut self.servers[position];
        server.on_request_failed(now, attempt, most_failures, &mut self.chance)
    }

    /// An article came, good or bad, for the request of this number. Whether the server was out of order
    /// until now.
    pub fn on_delivered(&mut self, server: ServerId, number: u64) -> bool {
        self.server_mut(server).on_delivered(number)
    }

    /// The server does not have an article. Whether it was out of order until now.
    pub fn on_missing(&mut self, server: ServerId) -> bool {
        self.server_mut(server).on_missing()
    }

    /// The number of the request that began last, of those it has delivered an article for, good or bad.
    /// 0 for a server that was removed and whose last connection has ended.
    pub fn newest_delivered(&self, server: ServerId) -> u64 {
        self.find(server).map_or(0, Server::newest_delivered)
    }

    /// Also a server that was removed and whose last connection has ended: it delivers nothing any more.
    pub fn is_out_of_order(&self, server: ServerId) -> bool {
        self.find(server).is_none_or(Server::is_out_of_order)
    }

    /// Out of order and rested: one article shows whether it delivers again.
    pub fn wants_probe(&self, server: ServerId) -> bool {
        self.server(server).wants_probe()
    }

    /// Whether the server may be asked for the article if it is taken to be in order.
    pub fn may_probe(
        &self,
        server: ServerId,
        tries: &Tries,
        posted: Option<UnixTime>,
        today: UnixTime,
    ) -> bool {
        let mut open = self.open_for(tries, posted, today);
        let level = self.server(server).settings.level;
        let (mut is_open, mut is_lowest) = (false, true);
        for other in &mut open {
            is_open |= other.id() == server;
            is_lowest &= other.is_excused() || other.settings.level >= level;
        }
        is_open && is_lowest
    }

    /// Rests end and ceilings rise by the passing of time.
    pub fn on_time(&mut self, now: Instant) {
        self.servers.iter_mut().for_each(|server| server.on_time(now));
        self.ceilings.values_mut().for_each(|ceiling| ceiling.on_time(now));
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        let ceilings = self.ceilings.values().filter_map(Ceiling::next_deadline);
        self.servers.iter().filter_map(Server::next_deadline).chain(ceilings).min()
    }

    /// An article moves up a level only when every server below has answered for it; a server that
    /// is busy or unreachable has not.
    pub fn route(&self, tries: &Tries, posted: Option<UnixTime>, today: UnixTime) -> Route {
        // A retry stays with its server, unless that is in no state to take it.
        let wanted = tries.wanted_server().and_then(|wanted| self.find(wanted));
        let takes_it =
            |server: &&Server| server.is_active() && !server.in_trouble() && !server.is_used_up();
        if let Some(wanted) = wanted.filter(takes_it) {
            return Route::Ask(vec![wanted.id()]);
        }
        self.route_anew(tries, posted, today)
    }

    /// The same without regard to who is owed a retry.
    pub fn route_anew(&self, tries: &Tries, posted: Option<UnixTime>, today: UnixTime) -> Route {
        let open = || self.open_for(tries, posted, today);
        let askable = || open().filter(|server| !server.is_excused());
        let Some(level) = askable().map(|server| server.settings.level).min() else {
            // Where no server has answered, optional or not, there is nothing to give up upon. And a server
            // that is to be probed is probed with something, or it would be out of order for ever.
            let active = self.servers.iter().filter(|server| server.is_active()).count();
            let holds = |server: &Server| !server.settings.optional || server.wants_probe();
            let waits = open().count() == active || open().any(holds);
            return if waits { Route::Wait } else { Route::Exhausted };
        };
        let of_level = askable().filter(|server| server.settings.level == level);
        Route::Ask(of_level.map(Server::id).collect())
    }

    /// Who has not answered for the article, be it excused or not.
    pub fn waits_for(
        &self,
        tries: &Tries,
        posted: Option<UnixTime>,
        today: UnixTime,
    ) -> Vec<ServerId> {
        self.open_for(tries, posted, today).map(Server::id).collect()
    }

    /// Whether a server that has not answered could only not be asked for the time being.
    pub fn is_outage(&self, tries: &Tries, posted: Option<UnixTime>, today: UnixTime) -> bool {
        let may_pass = |server: &Server| server.trouble().is_some_and(Trouble::may_pass);
        self.open_for(tries, posted, today).any(may_pass)
    }

    /// Whether all who have not answered have given all they may.
    pub fn waits_for_quota(
        &self,
        tries: &Tries,
        posted: Option<UnixTime>,
        today: UnixTime,
    ) -> bool {
        self.open_for(tries, posted, today).all(Server::is_used_up)
    }

    fn open_for<'a>(
        &'a self,
        tries: &'a Tries,
        posted: Option<UnixTime>,
        today: UnixTime,
    ) -> impl Iterator<Item = &'a Server> {
        self.servers
            .iter()
            .filter(|server| server.is_active() && !self.has_answered(server, tries))
            .filter(move |server| !is_too_old(server, posted, today))
    }

    /// Whether the server may be asked for anything at all that was not requested yet: those of a
    /// higher level only where a lower one does not keep articles for ever.
    pub fn may_get_fresh(&self, server: ServerId) -> bool {
        let server = self.server(server);
        let askable = |other: &&Server| other.is_active() && !other.is_excused();
        let below = self.servers.iter().filter(askable);
        let mut below = below.filter(|other| other.settings.level < server.settings.level);
        askable(&server) && below.all(|other| other.settings.retention > 0)
    }

    /// What every server that is used has had to do with the article so far.
    pub fn history(&self, tries: &Tries, posted: Option<UnixTime>, today: UnixTime) -> History {
        let active = self.servers.iter().filter(|server| server.is_active());
        let of_server = |server: &Server| {
            let id = server.id();
            let tried: Vec<_> = tries.encounters(id).collect();
            let untried = || self.why_not_asked(server, tries, posted, today).into_iter().collect();
            let all: Vec<_> = if tried.is_empty() { untried() } else { tried };
            all.into_iter().map(move |encounter| (id, encounter))
        };
        active.flat_map(of_server).collect()
    }

    fn why_not_asked(
        &self,
        server: &Server,
        tries: &Tries,
        posted: Option<UnixTime>,
        today: UnixTime,
    ) -> Option<Encounter> {
        if self.has_answered(server, tries) {
            return Some(Encounter::MirrorLacks);
        }
        if is_too_old(server, posted, today) {
            return Some(Encounter::TooOld);
        }
        if server.is_used_up() {
            return Some(Encounter::UsedUp);
        }
        server.trouble().filter(|_| server.is_excused()).map(Encounter::Excused)
    }

    /// The trouble that keeps the server from being asked just now.
    pub fn trouble(&self, server: ServerId) -> Option<Trouble> {
        self.server(server).trouble()
    }

    /// What one mirror does not have, none of its group has.
    fn has_answered(&self, server: &Server, tries: &Tries) -> bool {
        if tries.is_empty() {
            return false;
        }
        let group = server.settings.group;
        let is_mirror = |other: &&Server| group > 0 && other.settings.group == group;
        let mut mirrors = self.servers.iter().filter(is_mirror);
        tries.answered(server.id()) || mirrors.any(|mirror| tries.missing_at(mirror.id()))
    }

    /// Servers of one account share what the provider allows it. One that has none keeps a place in
    /// it: it may be the only one that has what the others lack, and those may be busy for days.
    fn room_below_ceiling(&self, server: &Server) -> usize {
        let most = self.ceilings.get(&server.holder()).map_or(0, Ceiling::most);
        let left = most.saturating_sub(self.sharing(server.holder()).map(Server::open).sum());
        let has_none =
            |other: &&Server| other.is_active() && !other.is_used_up() && other.open() == 0;
        let others = self.sharing(server.holder()).filter(|other| other.id() != server.id());
        let kept = left.saturating_sub(others.filter(has_none).count());
        if server.open() == 0 { kept.max(left.min(1)) } else { kept }
    }

    fn sharing(&self, holder: Holder) -> impl Iterator<Item = &Server> {
        self.servers.iter().filter(move |server| server.holder() == holder)
    }

    fn position(&self, server: ServerId) -> usize {
        let position = self.servers.iter().position(|known| known.id() == server);
        position.expect("ids come from the settings")
    }

    fn find(&self, server: ServerId) -> Option<&Server> {
        self.servers.iter().find(|known| known.id() == server)
    }

    fn server(&self, server: ServerId) -> &Server {
        &self.servers[self.position(server)]
    }

    fn server_mut(&mut self, server: ServerId) -> &mut Server {
        let position = self.position(server);
        &mut self.servers[position]
    }
}

/// Fewer failures say nothing of the server, however few retries an article has.
const LEAST_FAILURES: u32 = 3;

/// Until the settings say how often an article is retried.
const MOST_FAILURES: u32 = 3;

fn is_too_old(server: &Server, posted: Option<UnixTime>, today: UnixTime) -> bool {
    let retention = u64::from(server.settings.retention);
    retention > 0 && posted.is_some_and(|posted| today.days_since(posted) > retention)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that is begun after all others.
    const LAST: Attempt = Attempt::alone(1, 1);

    const TODAY: UnixTime = UnixTime(1_800_000_000);

    fn pool(optional: bool) -> Pool {
        let server = |id, level, optional| ServerSettings {
            level,
            optional,
            ..ServerSettings::new(ServerId(id), 2)
        };
        Pool::new([server(1, 0, optional), server(2, 1, false)], 1)
    }

    #[test]
    fn what_a_used_up_server_would_be_asked_goes_to_the_next_level() {
        let (mut pool, fresh) = (pool(false), Tries::default());
        pool.set_used_up(ServerId(1), true);
        assert_eq!(pool.room(ServerId(1)), 0);
        assert_eq!(pool.route(&fresh, None, TODAY), Route::Ask(vec![ServerId(2)]));
        pool.set_used_up(ServerId(1), false);
        assert_eq!(pool.room(ServerId(1)), 2);
        assert_eq!(pool.route(&fresh, None, TODAY), Route::Ask(vec![ServerId(1)]));
    }

    fn server(id: u16, connections: usize) -> ServerSettings {
        ServerSettings::new(ServerId(id), connections)
    }

    #[test]
    fn servers_come_and_go_and_keep_what_they_are_known_by() {
        let (mut pool, now) = (Pool::new([server(1, 2), server(2, 2)], 1), Instant::now());
        for id in [1, 1, 2] {
            pool.on_opening(ServerId(id));
            pool.on_connected(ServerId(id));
        }
        pool.set_servers([server(3, 1), server(1, 5)]);
        assert_eq!(pool.ids().collect::<Vec<_>>(), [ServerId(3), ServerId(1)]);
        assert_eq!([1, 2, 3].map(|id| pool.working(ServerId(id))), [2, 1, 0]);
        assert_eq!((pool.room(ServerId(1)), pool.room(ServerId(2))), (3, 0));
        let askable = Route::Ask(vec![ServerId(3), ServerId(1)]);
        assert_eq!(pool.route(&Tries::default(), None, TODAY), askable);
        let end = pool.on_ended(now, ServerId(2), true, Trouble::Login, LAST);
        assert_eq!((end, pool.working(ServerId(2))), (Consequence::GoesOn, 0), "nobody cares");
    }

    #[test]
    fn a_server_that_comes_back_has_the_connections_it_had() {
        let mut pool = Pool::new([server(1, 2)], 1);
        pool.on_opening(ServerId(1));
        pool.set_servers([]);
        assert_eq!((pool.ids().count(), pool.room(ServerId(1))), (0, 0));
        pool.set_servers([server(1, 2)]);
        assert_eq!((pool.ids().count(), pool.room(ServerId(1))), (1, 1));
    }

    #[test]
    fn a_server_that_left_is_forgotten_with_its_last_connection() {
        let (mut pool, now) = (Pool::new([server(1, 2), server(2, 2)], 1), Instant::now());
        (0..2).for_each(|_| pool.on_opening(ServerId(1)));
        pool.set_servers([server(2, 2)]);
        for left in [1, 0] {
            pool.on_ended(now, ServerId(1), false, Trouble::Login, LAST);
            assert_eq!(pool.open(ServerId(1)), left);
            assert_eq!(pool.shares(ServerId(1), ServerId(1)), left > 0, "it counts while it lasts");
            assert_eq!(pool.ids().collect::<Vec<_>>(), [ServerId(2)]);
        }
    }

    #[test]
    fn a_server_without_connections_is_forgotten_at_once() {
        let (mut pool, now) = (Pool::new([server(1, 2)], 1), Instant::now());
        pool.on_opening(ServerId(1));
        pool.on_ended(now, ServerId(1), false, Trouble::Login, LAST);
        pool.set_servers([]);
        pool.set_servers([server(1, 2)]);
        assert!(!pool.in_trouble(ServerId(1)), "it is a new one by the same number");
    }

    #[test]
    fn other_settings_end_a_rest() {
        let (mut pool, now) = (Pool::new([server(1, 2)], 1), Instant::now());
        pool.on_opening(ServerId(1));
        pool.on_ended(now, ServerId(1), false, Trouble::Login, LAST);
        assert_eq!((pool.room(ServerId(1)), pool.next_deadline().is_some()), (0, true));
        pool.set_servers([server(1, 2)]);
        assert_eq!((pool.room(ServerId(1)), pool.next_deadline()), (1, None));
    }

    #[test]
    fn a_retry_does_not_wait_for_a_server_that_is_gone() {
        let (mut pool, mut tries) = (pool(false), Tries::default());
        tries.broke(ServerId(1), 3, 1, 0);
        assert_eq!(pool.route(&tries, None, TODAY), Route::Ask(vec![ServerId(1)]));
        let idle = ServerSettings { active: false, ..server(1, 2) };
        for rest in [vec![idle, server(2, 2)], vec![server(2, 2)]] {
            pool.set_servers(rest);
            assert_eq!(pool.route(&tries, None, TODAY), Route::Ask(vec![ServerId(2)]));
        }
    }

    #[test]
    fn a_used_up_server_is_owed_no_retry() {
        let (mut pool, mut tries) = (pool(false), Tries::default());
        tries.damaged(ServerId(1));
        assert_eq!(pool.route(&tries, None, TODAY), Route::Ask(vec![ServerId(1)]));
        pool.set_used_up(ServerId(1), true);
        assert_eq!(pool.route(&tries, None, TODAY), Route::Ask(vec![ServerId(2)]));
    }

    #[test]
    fn an_article_waits_for_a_used_up_server_only_if_that_is_not_optional() {
        for (optional, route) in [(false, Route::Wait), (true, Route::Exhausted)] {
            let (mut pool, mut tries) = (pool(optional), Tries::default());
            tries.missing(ServerId(2));
            pool.set_used_up(ServerId(1), true);
            assert_eq!(pool.route(&tries, None, TODAY), route);
        }
    }
}
