//! [`Newsgroups`]: the newsgroups that clients look at, the requests that wait for them and the connections
//! they are read over. Owned by the main loop.
//!
//! `groups` says what is to be read; here it gets its target in the scheduler, its servers and its
//! errands, and the requests get their answers. What is for the engine goes to the queue of its events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bergamot_api::newsgroup::{Group, GroupQuery};
use bergamot_api::view::Page;
use bergamot_engine::{Engine, ErrandId, Event, ServerStatus};
use bergamot_net::SessionError;
use bergamot_newsgroups::{Batch, Due, Extent, Failure, Fetch, Headers, Need, Order, Settings};
use bergamot_poll::Wanted;
use bergamot_types::{GroupName, ServerId, SplitMix};
use tokio::sync::oneshot;

use crate::clock;
use crate::download::network::Network;
use crate::event::Outbox;
use crate::newsgroups::connections::{Errand, Errands};
use crate::newsgroups::session::{Brought, TripError};
use crate::periodic::{Lane, Poll, Targets};

pub(crate) struct Newsgroups {
    groups: bergamot_newsgroups::Newsgroups<Waiter>,
    names: Names,
    /// What looks under way have tried so far.
    tried: BTreeMap<GroupName, Tried>,
    lists: BTreeMap<ErrandId, List>,
    errands: Errands,
}

/// What newsgroups need of the main loop.
pub(crate) struct GroupContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) events: &'a mut VecDeque<Event>, // for the engine
    pub(crate) network: &'a Network,
    pub(crate) targets: &'a mut Targets,
    pub(crate) chance: &'a mut SplitMix,
}

type Waiter = oneshot::Sender<Result<(), Failure>>;

#[derive(Default)]
struct Tried {
    servers: Vec<ServerId>,
    failure: Option<Failure>, // none where a server only said that it does not have the group
}

/// Somebody who wants to know which groups there are.
struct List {
    waiter: oneshot::Sender<Result<Page<Group>, Failure>>,
    tried: Vec<ServerId>,
}

/// The numbers that targets have for names.
#[derive(Default)]
struct Names {
    by_number: BTreeMap<u32, GroupName>,
    by_name: BTreeMap<GroupName, u32>,
    last: u32,
}

impl Names {
    fn number(&mut self, group: &GroupName) -> u32 {
        *self.by_name.entry(group.clone()).or_insert_with(|| {
            self.last = self.last.wrapping_add(1);
            self.by_number.insert(self.last, group.clone());
            self.last
        })
    }

    fn forget(&mut self, group: &GroupName) {
        if let Some(number) = self.by_name.remove(group) {
            self.by_number.remove(&number);
        }
    }
}

impl Newsgroups {
    pub(crate) fn new(settings: Settings, outbox: Outbox) -> Self {
        let (tried, lists) = (BTreeMap::new(), BTreeMap::new());
        Self {
            groups: bergamot_newsgroups::Newsgroups::new(settings),
            names: Names::default(),
            tried,
            lists,
            errands: Errands::new(outbox),
        }
    }

    /// Of the target with that number.
    pub(crate) fn name_of(&self, number: u32) -> Option<String> {
        self.names.by_number.get(&number).map(|group| group.as_str().to_owned())
    }

    /// Whether no group is active.
    fn are_idle(&self) -> bool {
        self.groups.live().next().is_none()
    }

    /// Somebody asks for a group; the answer comes when there is something to see.
    pub(crate) fn request(
        &mut self,
        with: &mut GroupContext<'_>,
        group: &GroupName,
        need: Need,
    ) -> oneshot::Receiver<Result<(), Failure>> {
        let (waiter, answer) = oneshot::channel();
        let groups = &mut self.groups;
        groups.forget_waiters(group, oneshot::Sender::is_closed);
        groups.request(clock::now().instant, group, need, waiter);
        self.carry_out(with);
        answer
    }

    /// What is known of a group, and the name of the server that knows it.
    pub(crate) fn known_headers(
        &self,
        network: &Network,
        group: &GroupName,
    ) -> Option<(Arc<Headers>, Extent, String)> {
        let (headers, extent) = self.groups.headers(group)?;
        Some((headers.clone(), *extent, network.name(extent.server).to_owned()))
    }

    pub(crate) fn begin(&mut self, with: &mut GroupContext<'_>, number: u32) {
        let (now, target) = (clock::now().instant, Poll::Group(number));
        let group = self.names.by_number.get(&number).cloned();
        let due = group.as_ref().map(|group| self.groups.due(now, group));
        match due {
            Some(Due::Fetch(fetch)) => self.send_for_headers(with, fetch),
            Some(Due::PutOff(until)) => drop(with.targets.put_off(target, until)),
            Some(Due::Stop) | None => {
                with.targets.remove(target);
                with.targets.finished(now, target, &Ok::<(), ()>(()), with.chance);
                group.iter().for_each(|group| self.names.forget(group));
                if self.are_idle() {
                    self.errands.close_idle();
                }
            }
        }
    }

    fn carry_out(&mut self, with: &mut GroupContext<'_>) {
        let now = clock::now().instant;
        while let Some(order) = self.groups.poll_order() {
            match order {
                // Whoever asked may have left meanwhile.
                Order::Answer { waiter, result } => drop(waiter.send(result)),
                Order::Check(group) => {
                    let number = self.names.number(&group);
                    with.targets.due_now(now, Poll::Group(number));
                }
                Order::Start { group, period } => {
                    let number = self.names.number(&group);
                    with.targets.set(now, Poll::Group(number), target(period));
                }
            }
        }
    }

    fn send_for(
        &mut self,
        with: &mut GroupContext<'_>,
        what: Errand,
        servers: Vec<ServerId>,
    ) -> ErrandId {
        let (errand, event) = self.errands.send(what, servers);
        with.events.extend(event);
        errand
    }

    /// The engine has a connection for an errand, or wants it back.
    pub(crate) fn errands(&mut self) -> &mut Errands {
        &mut self.errands
    }

    /// Other servers may be there now: what still waits for one of the old is sent for anew.
    pub(crate) fn send_anew(&mut self, with: &mut GroupContext<'_>) {
        for (errand, what) in self.errands.take_waiting() {
            with.events.push_back(Event::ErrandDropped(errand));
            match what {
                Errand::Headers(fetch) => self.send_for_headers(with, fetch),
                Errand::List(query) => self.list_anew(with, errand, query),
            }
        }
    }

    /// An errand is over.
    pub(crate) fn on_returned(
        &mut self,
        with: &mut GroupContext<'_>,
        server: ServerId,
        over: Option<(ErrandId, Errand, Result<Brought, TripError>)>,
    ) {
        match over {
            Some((_, Errand::Headers(fetch), Ok(Brought::Headers(batch)))) => {
                self.on_looked(with, &fetch.group, Ok(*batch));
            }
            Some((_, Errand::Headers(fetch), result)) => {
                self.on_vain_look(with, fetch, server, result.err());
            }
            Some((errand, Errand::List(_), Ok(Brought::Groups(page)))) => {
                self.on_listed(errand, page);
            }
            Some((errand, Errand::List(query), result)) => {
                self.on_vain_list(with, errand, query, server, result.err());
            }
            None => {}
        }
        if self.are_idle() {
            self.errands.close_idle();
        }
    }

    /// Numbers that are known are one server's; else the first that has the group is the one.
    fn send_for_headers(&mut self, with: &mut GroupContext<'_>, fetch: Fetch) {
        let tried = self.tried.get(&fetch.group);
        let left = with.header_servers(tried.map_or(&[], |tried| &tried.servers));
        let known = fetch.server().filter(|server| left.contains(server));
        let none = Failure::NoSuchGroup(fetch.group.clone());
        let failure =
            tried.map_or(Failure::NoServer, |tried| tried.failure.clone().unwrap_or(none));
        match with.awake(known.map_or(left, |server| vec![server]), failure) {
            Ok(servers) => drop(self.send_for(with, Errand::Headers(fetch), servers)),
            Err(failure) => self.on_looked(with, &fetch.group, Err(failure)),
        }
    }

    /// A look at a group is over.
    fn on_looked(
        &mut self,
        with: &mut GroupContext<'_>,
        group: &GroupName,
        result: Result<Batch, Failure>,
    ) {
        let now = clock::now().instant;
        self.tried.remove(group);
        // A server that answers that it does not have the group works: it is asked at the usual period.
        let outcome = match &result {
            Ok(_) | Err(Failure::NoSuchGroup(_)) => Ok(()),
            Err(failure) => Err(failure.clone()),
        };
        let period = self.groups.handle_fetched(now, group, result);
        let target = Poll::Group(self.names.number(group));
        with.targets.set_interval(now, target, period);
        with.targets.finished(now, target, &outcome, with.chance);
        self.carry_out(with);
    }

    fn on_vain_look(
        &mut self,
        with: &mut GroupContext<'_>,
        fetch: Fetch,
        server: ServerId,
        why: Option<TripError>,
    ) {
        match why {
            Some(TripError::Errand(SessionError::Recalled)) => self.send_for_headers(with, fetch),
            Some(TripError::NoSuchGroup) => self.try_another(with, fetch, server, None),
            // Numbers that are known are worth waiting for; without them any server will do.
            why if fetch.server().is_none() => {
                let failure = with.failure_of(server, why);
                self.try_another(with, fetch, server, Some(failure));
            }
            why => {
                let failure = with.failure_of(server, why);
                self.on_looked(with, &fetch.group, Err(failure));
            }
        }
    }

    fn try_another(
        &mut self,
        with: &mut GroupContext<'_>,
        fetch: Fetch,
        than: ServerId,
        failure: Option<Failure>,
    ) {
        let tried = self.tried.entry(fetch.group.clone()).or_default();
        tried.servers.push(than);
        tried.failure = failure.or(tried.failure.take());
        self.send_for_headers(with, fetch);
    }

    /// Somebody wants to know which groups there are.
    pub(crate) fn list_groups(
        &mut self,
        with: &mut GroupContext<'_>,
        query: GroupQuery,
    ) -> oneshot::Receiver<Result<Page<Group>, Failure>> {
        let (waiter, answer) = oneshot::channel();
        self.lists.retain(|_, list| !list.waiter.is_closed());
        let list = List { waiter, tried: Vec::new() };
        match self.lists.len() >= MOST_LISTS {
            // Whoever asked may have left meanwhile.
            true => drop(list.waiter.send(Err(Failure::Crowded))),
            false => self.send_for_list(with, query, list, Failure::NoServer),
        }
        answer
    }

    /// `failure` is what is said where nobody is left to be asked.
    fn send_for_list(
        &mut self,
        with: &mut GroupContext<'_>,
        query: GroupQuery,
        list: List,
        failure: Failure,
    ) {
        match with.awake(with.header_servers(&list.tried), failure) {
            Ok(servers) => {
                let errand = self.send_for(with, Errand::List(query), servers);
                self.lists.insert(errand, list);
            }
            // Whoever asked may have left meanwhile.
            Err(failure) => drop(list.waiter.send(Err(failure))),
        }
    }

    fn list_anew(&mut self, with: &mut GroupContext<'_>, errand: ErrandId, query: GroupQuery) {
        let list = self.lists.remove(&errand);
        if let Some(list) = list.filter(|list| !list.waiter.is_closed()) {
            self.send_for_list(with, query, list, Failure::NoServer);
        }
    }

    fn on_listed(&mut self, errand: ErrandId, page: Page<Group>) {
        if let Some(list) = self.lists.remove(&errand) {
            // Whoever asked may have left meanwhile.
            let _ = list.waiter.send(Ok(page));
        }
    }

    fn on_vain_list(
        &mut self,
        with: &mut GroupContext<'_>,
        errand: ErrandId,
        query: GroupQuery,
        server: ServerId,
        why: Option<TripError>,
    ) {
        if matches!(why, Some(TripError::Errand(SessionError::Recalled))) {
            return self.list_anew(with, errand, query);
        }
        let Some(mut list) = self.lists.remove(&errand) else { return };
        list.tried.push(server);
        let failure = with.failure_of(server, why);
        self.send_for_list(with, query, list, failure);
    }
}

impl GroupContext<'_> {
    /// Those of the servers that do not rest after some trouble; nobody waits for a server that does.
    fn awake(
        &self,
        mut servers: Vec<ServerId>,
        otherwise: Failure,
    ) -> Result<Vec<ServerId>, Failure> {
        let now = clock::now().instant;
        let rests = |status: &ServerStatus| status.rests_until.is_some_and(|until| now < until);
        let resting: Vec<_> = self.engine.servers().filter(rests).collect();
        let asleep = servers.iter().find_map(|server| {
            let status = resting.iter().find(|status| status.id == *server)?;
            let cause = self.network.trouble_text(status)?.into();
            Some(Failure::Server { server: self.network.name(*server).into(), cause })
        });
        servers.retain(|server| resting.iter().all(|status| status.id != *server));
        if servers.is_empty() { Err(asleep.unwrap_or(otherwise)) } else { Ok(servers) }
    }

    /// Servers that may be asked for headers, the best first: not those that count what they give.
    fn header_servers(&self, tried: &[ServerId]) -> Vec<ServerId> {
        let settings = self.engine.settings();
        let usable = settings.servers.iter().filter(|server| {
            let counts = settings.server_quotas.contains_key(&server.id);
            server.active && !counts && !tried.contains(&server.id)
        });
        let mut usable: Vec<_> = usable.collect();
        usable.sort_by_key(|server| server.level);
        usable.into_iter().map(|server| server.id).collect()
    }

    fn failure_of(&self, server: ServerId, why: Option<TripError>) -> Failure {
        let cause = why.map_or_else(|| "nothing came".to_owned(), |why| why.to_string());
        Failure::Server { server: self.network.name(server).into(), cause: cause.into() }
    }
}

fn target(interval: Duration) -> Wanted<Lane> {
    Wanted { kind: Lane::Groups, interval, priority: 0, enabled: true }
}

/// Each reads a list of some megabytes.
const MOST_LISTS: usize = 8;
