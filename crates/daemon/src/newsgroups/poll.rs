//! Newsgroups that somebody looks at.
//!
//! `groups` says what is to be read; here it gets its target in the scheduler, its servers and its
//! errands, and those who wait get their answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bergamot_api::newsgroup::{Group, GroupQuery};
use bergamot_api::view::Page;
use bergamot_engine::{ErrandId, ServerStatus};
use bergamot_net::SessionError;
use bergamot_newsgroups::{Batch, Due, Extent, Failure, Fetch, Headers, Need, Order, Settings};
use bergamot_poll::Wanted;
use bergamot_types::{GroupName, ServerId};
use tokio::sync::oneshot;

use crate::clock;
use crate::newsgroups::connections::Errand;
use crate::newsgroups::session::TripError;
use crate::periodic::{Lane, Poll};
use crate::run::Daemon;

pub(crate) struct Newsgroups {
    groups: bergamot_newsgroups::Newsgroups<Waiter>,
    names: Names,
    /// What looks under way have tried so far.
    tried: BTreeMap<GroupName, Tried>,
    lists: BTreeMap<ErrandId, List>,
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
    pub(crate) fn new(settings: Settings) -> Self {
        let (tried, lists) = (BTreeMap::new(), BTreeMap::new());
        Self {
            groups: bergamot_newsgroups::Newsgroups::new(settings),
            names: Names::default(),
            tried,
            lists,
        }
    }

    /// Of the target with that number.
    pub(crate) fn name_of(&self, number: u32) -> Option<String> {
        self.names.by_number.get(&number).map(|group| group.as_str().to_owned())
    }

    /// Whether no group is active.
    pub(crate) fn are_idle(&self) -> bool {
        self.groups.live().next().is_none()
    }
}

impl Daemon {
    /// Somebody asks for a group; the answer comes when there is something to see.
    pub(crate) fn ask_for_group(
        &mut self,
        group: &GroupName,
        need: Need,
    ) -> oneshot::Receiver<Result<(), Failure>> {
        let (waiter, answer) = oneshot::channel();
        let groups = &mut self.newsgroups.groups;
        groups.forget_waiters(group, oneshot::Sender::is_closed);
        groups.request(clock::now().instant, group, need, waiter);
        self.carry_out_for_groups();
        answer
    }

    /// What is known of a group, and the name of the server that knows it.
    pub(crate) fn known_headers(
        &self,
        group: &GroupName,
    ) -> Option<(Arc<Headers>, Extent, String)> {
        let (headers, extent) = self.newsgroups.groups.headers(group)?;
        Some((headers.clone(), *extent, self.name(extent.server).to_owned()))
    }

    pub(crate) fn begin_look(&mut self, number: u32) {
        let (now, target) = (clock::now().instant, Poll::Group(number));
        let group = self.newsgroups.names.by_number.get(&number).cloned();
        let due = group.as_ref().map(|group| self.newsgroups.groups.due(now, group));
        match due {
            Some(Due::Fetch(fetch)) => self.send_for_headers(fetch),
            Some(Due::PutOff(until)) => drop(self.targets.put_off(target, until)),
            Some(Due::Stop) | None => {
                self.targets.remove(target);
                self.targets.finished(now, target, &Ok::<(), ()>(()), &mut self.chance);
                group.iter().for_each(|group| self.newsgroups.names.forget(group));
                if self.newsgroups.are_idle() {
                    self.close_idle_lines();
                }
            }
        }
    }

    fn carry_out_for_groups(&mut self) {
        let now = clock::now().instant;
        while let Some(order) = self.newsgroups.groups.poll_order() {
            match order {
                // Whoever asked may have left meanwhile.
                Order::Answer { waiter, result } => drop(waiter.send(result)),
                Order::Check(group) => {
                    let number = self.newsgroups.names.number(&group);
                    self.targets.due_now(now, Poll::Group(number));
                }
                Order::Start { group, period } => {
                    let number = self.newsgroups.names.number(&group);
                    self.targets.set(now, Poll::Group(number), target(period));
                }
            }
        }
    }

    /// Numbers that are known are one server's; else the first that has the group is the one.
    pub(crate) fn send_for_headers(&mut self, fetch: Fetch) {
        let tried = self.newsgroups.tried.get(&fetch.group);
        let left = self.header_servers(tried.map_or(&[], |tried| &tried.servers));
        let known = fetch.server().filter(|server| left.contains(server));
        let none = Failure::NoSuchGroup(fetch.group.clone());
        let failure =
            tried.map_or(Failure::NoServer, |tried| tried.failure.clone().unwrap_or(none));
        match self.awake(known.map_or(left, |server| vec![server]), failure) {
            Ok(servers) => drop(self.send_for(Errand::Headers(fetch), servers)),
            Err(failure) => self.on_looked(&fetch.group, Err(failure)),
        }
    }

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
            let cause = self.trouble_of(status)?.into();
            Some(Failure::Server { server: self.name(*server).into(), cause })
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

    /// A look at a group is over.
    pub(crate) fn on_looked(&mut self, group: &GroupName, result: Result<Batch, Failure>) {
        let now = clock::now().instant;
        self.newsgroups.tried.remove(group);
        // A server that answers that it does not have the group works: it is asked at the usual period.
        let outcome = match &result {
            Ok(_) | Err(Failure::NoSuchGroup(_)) => Ok(()),
            Err(failure) => Err(failure.clone()),
        };
        let period = self.newsgroups.groups.handle_fetched(now, group, result);
        let target = Poll::Group(self.newsgroups.names.number(group));
        self.targets.set_interval(now, target, period);
        self.targets.finished(now, target, &outcome, &mut self.chance);
        self.carry_out_for_groups();
    }

    pub(crate) fn on_vain_look(&mut self, fetch: Fetch, server: ServerId, why: Option<TripError>) {
        match why {
            Some(TripError::Errand(SessionError::Recalled)) => self.send_for_headers(fetch),
            Some(TripError::NoSuchGroup) => self.try_another(fetch, server, None),
            // Numbers that are known are worth waiting for; without them any server will do.
            why if fetch.server().is_none() => {
                let failure = self.failure_of(server, why);
                self.try_another(fetch, server, Some(failure));
            }
            why => {
                let failure = self.failure_of(server, why);
                self.on_looked(&fetch.group, Err(failure));
            }
        }
    }

    fn try_another(&mut self, fetch: Fetch, than: ServerId, failure: Option<Failure>) {
        let tried = self.newsgroups.tried.entry(fetch.group.clone()).or_default();
        tried.servers.push(than);
        tried.failure = failure.or(tried.failure.take());
        self.send_for_headers(fetch);
    }

    /// Somebody wants to know which groups there are.
    pub(crate) fn list_groups(
        &mut self,
        query: GroupQuery,
    ) -> oneshot::Receiver<Result<Page<Group>, Failure>> {
        let (waiter, answer) = oneshot::channel();
        self.newsgroups.lists.retain(|_, list| !list.waiter.is_closed());
        let list = List { waiter, tried: Vec::new() };
        match self.newsgroups.lists.len() >= MOST_LISTS {
            // Whoever asked may have left meanwhile.
            true => drop(list.waiter.send(Err(Failure::Crowded))),
            false => self.send_for_list(query, list, Failure::NoServer),
        }
        answer
    }

    /// `failure` is what is said where nobody is left to be asked.
    fn send_for_list(&mut self, query: GroupQuery, list: List, failure: Failure) {
        match self.awake(self.header_servers(&list.tried), failure) {
            Ok(servers) => {
                let errand = self.send_for(Errand::List(query), servers);
                self.newsgroups.lists.insert(errand, list);
            }
            // Whoever asked may have left meanwhile.
            Err(failure) => drop(list.waiter.send(Err(failure))),
        }
    }

    pub(crate) fn list_anew(&mut self, errand: ErrandId, query: GroupQuery) {
        let list = self.newsgroups.lists.remove(&errand);
        if let Some(list) = list.filter(|list| !list.waiter.is_closed()) {
            self.send_for_list(query, list, Failure::NoServer);
        }
    }

    pub(crate) fn on_listed(&mut self, errand: ErrandId, page: Page<Group>) {
        if let Some(list) = self.newsgroups.lists.remove(&errand) {
            // Whoever asked may have left meanwhile.
            let _ = list.waiter.send(Ok(page));
        }
    }

    pub(crate) fn on_vain_list(
        &mut self,
        errand: ErrandId,
        query: GroupQuery,
        server: ServerId,
        why: Option<TripError>,
    ) {
        if matches!(why, Some(TripError::Errand(SessionError::Recalled))) {
            return self.list_anew(errand, query);
        }
        let Some(mut list) = self.newsgroups.lists.remove(&errand) else { return };
        list.tried.push(server);
        let failure = self.failure_of(server, why);
        self.send_for_list(query, list, failure);
    }

    fn failure_of(&self, server: ServerId, why: Option<TripError>) -> Failure {
        let cause = why.map_or_else(|| "nothing came".to_owned(), |why| why.to_string());
        Failure::Server { server: self.name(server).into(), cause: cause.into() }
    }
}

fn target(interval: Duration) -> Wanted<Lane> {
    Wanted { kind: Lane::Groups, interval, priority: 0, enabled: true }
}

/// Each reads a list of some megabytes.
const MOST_LISTS: usize = 8;
