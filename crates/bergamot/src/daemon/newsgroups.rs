//! Newsgroups that somebody looks at.
//!
//! `groups` says what is to be read; here it gets its target in the scheduler, its servers and its
//! errands, and those who wait get their answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bergamot_engine::ErrandId;
use bergamot_groups::{Batch, Due, Extent, Failure, Fetch, Groups, Headers, Need, Order, Settings};
use bergamot_net::ErrandError;
use bergamot_poll::Wanted;
use bergamot_rpc::newsgroup::{Group, GroupQuery};
use bergamot_rpc::view::Page;
use bergamot_types::{GroupName, ServerId};
use tokio::sync::oneshot;

use super::core::Daemon;
use super::errands::Errand;
use super::header_trip::TripError;
use super::targets::{Lane, Poll};
use crate::clock;

pub(super) struct Newsgroups {
    groups: Groups<Waiter>,
    names: Names,
    /// Servers that do not have a group, or failed, in the look under way.
    tried: BTreeMap<GroupName, Vec<ServerId>>,
    lists: BTreeMap<ErrandId, ListWaiter>,
}

type Waiter = oneshot::Sender<Result<(), Failure>>;
type ListWaiter = oneshot::Sender<Result<Page<Group>, Failure>>;

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
    pub(super) fn new(settings: Settings) -> Self {
        let (tried, lists) = (BTreeMap::new(), BTreeMap::new());
        Self { groups: Groups::new(settings), names: Names::default(), tried, lists }
    }
}

impl Daemon {
    /// Somebody asks for a group; the answer comes when there is something to see.
    pub(super) fn ask_for_group(
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
    pub(super) fn known_headers(
        &self,
        group: &GroupName,
    ) -> Option<(Arc<Headers>, Extent, String)> {
        let (headers, extent) = self.newsgroups.groups.headers(group)?;
        Some((headers.clone(), *extent, self.name(extent.server).to_owned()))
    }

    pub(super) fn begin_look(&mut self, number: u32) {
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
    fn send_for_headers(&mut self, fetch: Fetch) {
        let usable = self.header_servers();
        let tried = self.newsgroups.tried.get(&fetch.group).map_or(&[][..], Vec::as_slice);
        let left: Vec<_> = usable.into_iter().filter(|server| !tried.contains(server)).collect();
        let known = fetch.server().filter(|server| left.contains(server));
        let servers = known.map_or(left, |server| vec![server]);
        if servers.is_empty() {
            let group = fetch.group;
            let failure = match tried.is_empty() {
                true => Failure::NoServer,
                false => Failure::NoSuchGroup(group.clone()),
            };
            return self.on_looked(&group, Err(failure));
        }
        self.send_for(Errand::Headers(fetch), servers);
    }

    /// Servers that may be asked for headers, the best first: not those that count what they give.
    fn header_servers(&self) -> Vec<ServerId> {
        let settings = self.engine.settings();
        let usable = settings.servers.iter().filter(|server| server.active);
        let mut usable: Vec<_> =
            usable.filter(|server| !settings.server_quotas.contains_key(&server.id)).collect();
        usable.sort_by_key(|server| server.level);
        usable.into_iter().map(|server| server.id).collect()
    }

    /// A look at a group is over.
    pub(super) fn on_looked(&mut self, group: &GroupName, result: Result<Batch, Failure>) {
        let now = clock::now().instant;
        self.newsgroups.tried.remove(group);
        let outcome = result.as_ref().map(|_| ()).map_err(Failure::clone);
        let period = self.newsgroups.groups.handle_fetched(now, group, result);
        let target = Poll::Group(self.newsgroups.names.number(group));
        self.targets.set_interval(now, target, period);
        self.targets.finished(now, target, &outcome, &mut self.chance);
        self.carry_out_for_groups();
    }

    pub(super) fn on_vain_look(&mut self, fetch: Fetch, server: ServerId, why: Option<TripError>) {
        match why {
            Some(TripError::Errand(ErrandError::Recalled)) => self.send_for_headers(fetch),
            Some(TripError::NoSuchGroup) => {
                let tried = self.newsgroups.tried.entry(fetch.group.clone()).or_default();
                tried.push(server);
                self.send_for_headers(fetch);
            }
            why => {
                let failure = self.failure_of(server, why);
                self.on_looked(&fetch.group, Err(failure));
            }
        }
    }

    /// Somebody wants to know which groups there are.
    pub(super) fn list_groups(
        &mut self,
        query: GroupQuery,
    ) -> oneshot::Receiver<Result<Page<Group>, Failure>> {
        let (waiter, answer) = oneshot::channel();
        self.newsgroups.lists.retain(|_, waiter| !waiter.is_closed());
        let servers = self.header_servers();
        let refusal = match self.newsgroups.lists.len() >= MOST_LISTS {
            true => Some(Failure::Crowded),
            false => servers.is_empty().then_some(Failure::NoServer),
        };
        match refusal {
            // Whoever asked may have left meanwhile.
            Some(failure) => drop(waiter.send(Err(failure))),
            None => {
                let errand = self.send_for(Errand::List(query), servers);
                self.newsgroups.lists.insert(errand, waiter);
            }
        }
        answer
    }

    pub(super) fn on_listed(&mut self, errand: ErrandId, result: Result<Page<Group>, Failure>) {
        if let Some(waiter) = self.newsgroups.lists.remove(&errand) {
            // Whoever asked may have left meanwhile.
            let _ = waiter.send(result);
        }
    }

    pub(super) fn on_vain_list(
        &mut self,
        errand: ErrandId,
        query: GroupQuery,
        server: ServerId,
        why: Option<TripError>,
    ) {
        let recalled = matches!(why, Some(TripError::Errand(ErrandError::Recalled)));
        let waiter = self.newsgroups.lists.remove(&errand).filter(|waiter| !waiter.is_closed());
        let Some(waiter) = waiter else { return };
        if recalled {
            let servers = self.header_servers();
            let again = self.send_for(Errand::List(query), servers);
            self.newsgroups.lists.insert(again, waiter);
        } else {
            // Whoever asked may have left meanwhile.
            let _ = waiter.send(Err(self.failure_of(server, why)));
        }
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
