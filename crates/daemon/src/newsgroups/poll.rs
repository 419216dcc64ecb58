//! [`Newsgroups`]: the newsgroups that clients look at, the requests that wait for them and the connections
//! they are read over. Owned by the main loop.
//!
//! `groups` says what is to be read; here it gets its target in the scheduler, its servers and its
//! requests over sessions, and clients get their answers. What is for the engine goes to the queue of its events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bergamot_api::newsgroup::{Group, GroupQuery};
use bergamot_api::view::Page;
use bergamot_engine::{Engine, ErrandId, Event as EngineEvent, ServerStatus};
use bergamot_net::SessionError;
use bergamot_newsgroups::{Batch, Due, Extent, Failure, Fetch, Headers, Need, Order, Settings};
use bergamot_poll::Wanted;
use bergamot_types::{GroupName, ServerId, SplitMix};
use tokio::sync::oneshot;

use crate::clock;
use crate::download::network::Network;
use crate::event::EventSender;
use crate::newsgroups::connections::{SessionRequest, Sessions};
use crate::newsgroups::session::{Answer, RequestError};
use crate::periodic::{Lane, Poll, Targets};

pub(crate) struct Newsgroups {
    groups: bergamot_newsgroups::Newsgroups<Waiter>,
    names: Names,
    /// What looks under way have tried so far.
    tried: BTreeMap<GroupName, Tried>,
    lists: BTreeMap<ErrandId, List>,
    sessions: Sessions,
}

/// What newsgroups need of the main loop.
pub(crate) struct GroupContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) engine_events: &'a mut VecDeque<EngineEvent>, // that it has not handled
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

/// A request for the list of groups.
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
    pub(crate) fn new(settings: Settings, events: EventSender) -> Self {
        let (tried, lists) = (BTreeMap::new(), BTreeMap::new());
        Self {
            groups: bergamot_newsgroups::Newsgroups::new(settings),
            names: Names::default(),
            tried,
            lists,
            sessions: Sessions::new(events),
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

    /// Requests the headers of a group. The reply is sent when `need` is fulfilled.
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
            Some(Due::Fetch(fetch)) => self.request_headers(with, fetch),
            Some(Due::PutOff(until)) => drop(with.targets.put_off(target, until)),
            Some(Due::Stop) | None => {
                with.targets.remove(target);
                with.targets.finished(now, target, &Ok::<(), ()>(()), with.chance);
                group.iter().for_each(|group| self.names.forget(group));
                if self.are_idle() {
                    self.sessions.close_idle();
                }
            }
        }
    }

    fn carry_out(&mut self, with: &mut GroupContext<'_>) {
        let now = clock::now().instant;
        while let Some(order) = self.groups.poll_order() {
            match order {
                // The caller may have gone away.
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

    fn send(
        &mut self,
        with: &mut GroupContext<'_>,
        what: SessionRequest,
        servers: Vec<ServerId>,
    ) -> ErrandId {
        let (request, event) = self.sessions.send(what, servers);
        with.engine_events.extend(event);
        request
    }

    /// The connections, for orders of the engine.
    pub(crate) fn sessions(&mut self) -> &mut Sessions {
        &mut self.sessions
    }

    /// Other servers may be there now: what still waits for one of the old is sent for anew.
    pub(crate) fn resend(&mut self, with: &mut GroupContext<'_>) {
        for (request, what) in self.sessions.take_waiting() {
            with.engine_events.push_back(EngineEvent::ErrandDropped(request));
            match what {
                SessionRequest::Headers(fetch) => self.request_headers(with, fetch),
                SessionRequest::List(query) => self.resend_list(with, request, query),
            }
        }
    }

    /// A request is over.
    pub(crate) fn on_returned(
        &mut self,
        with: &mut GroupContext<'_>,
        server: ServerId,
        over: Option<(ErrandId, SessionRequest, Result<Answer, RequestError>)>,
    ) {
        match over {
            Some((_, SessionRequest::Headers(fetch), Ok(Answer::Headers(batch)))) => {
                self.on_headers(with, &fetch.group, Ok(*batch));
            }
            Some((_, SessionRequest::Headers(fetch), result)) => {
                self.on_headers_failed(with, fetch, server, result.err());
            }
            Some((request, SessionRequest::List(_), Ok(Answer::Groups(page)))) => {
                self.on_listed(request, page);
            }
            Some((request, SessionRequest::List(query), result)) => {
                self.on_list_failed(with, request, query, server, result.err());
            }
            None => {}
        }
        if self.are_idle() {
            self.sessions.close_idle();
        }
    }

    /// Numbers that are known are one server's; else the first that has the group is the one.
    fn request_headers(&mut self, with: &mut GroupContext<'_>, fetch: Fetch) {
        let tried = self.tried.get(&fetch.group);
        let left = with.header_servers(tried.map_or(&[], |tried| &tried.servers));
        let known = fetch.server().filter(|server| left.contains(server));
        let none = Failure::NoSuchGroup(fetch.group.clone());
        let failure =
            tried.map_or(Failure::NoServer, |tried| tried.failure.clone().unwrap_or(none));
        match with.awake(known.map_or(left, |server| vec![server]), failure) {
            Ok(servers) => drop(self.send(with, SessionRequest::Headers(fetch), servers)),
            Err(failure) => self.on_headers(with, &fetch.group, Err(failure)),
        }
    }

    /// A look at a group is over.
    fn on_headers(
        &mut self,
        with: &mut GroupContext<'_>,
        group: &GroupName,
        result: Result<Batch, Failure>,
    ) {
        let now = clock::now().instant;
        self.tried.remove(group);
        // A server that replies that it does not have the group works: it is polled at the usual interval.
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

    fn on_headers_failed(
        &mut self,
        with: &mut GroupContext<'_>,
        fetch: Fetch,
        server: ServerId,
        why: Option<RequestError>,
    ) {
        match why {
            Some(RequestError::Session(SessionError::Recalled)) => {
                self.request_headers(with, fetch)
            }
            Some(RequestError::NoSuchGroup) => self.try_another(with, fetch, server, None),
            // Numbers that are known are worth waiting for; without them any server will do.
            why if fetch.server().is_none() => {
                let failure = with.failure_of(server, why);
                self.try_another(with, fetch, server, Some(failure));
            }
            why => {
                let failure = with.failure_of(server, why);
                self.on_headers(with, &fetch.group, Err(failure));
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
        self.request_headers(with, fetch);
    }

    /// Requests the list of all groups.
    pub(crate) fn list_groups(
        &mut self,
        with: &mut GroupContext<'_>,
        query: GroupQuery,
    ) -> oneshot::Receiver<Result<Page<Group>, Failure>> {
        let (waiter, answer) = oneshot::channel();
        self.lists.retain(|_, list| !list.waiter.is_closed());
        let list = List { waiter, tried: Vec::new() };
        match self.lists.len() >= MOST_LISTS {
            // The caller may have gone away.
            true => drop(list.waiter.send(Err(Failure::Crowded))),
            false => self.request_list(with, query, list, Failure::NoServer),
        }
        answer
    }

    /// `failure` is the reply if no server is left to try.
    fn request_list(
        &mut self,
        with: &mut GroupContext<'_>,
        query: GroupQuery,
        list: List,
        failure: Failure,
    ) {
        match with.awake(with.header_servers(&list.tried), failure) {
            Ok(servers) => {
                let request = self.send(with, SessionRequest::List(query), servers);
                self.lists.insert(request, list);
            }
            // The caller may have gone away.
            Err(failure) => drop(list.waiter.send(Err(failure))),
        }
    }

    fn resend_list(&mut self, with: &mut GroupContext<'_>, request: ErrandId, query: GroupQuery) {
        let list = self.lists.remove(&request);
        if let Some(list) = list.filter(|list| !list.waiter.is_closed()) {
            self.request_list(with, query, list, Failure::NoServer);
        }
    }

    fn on_listed(&mut self, request: ErrandId, page: Page<Group>) {
        if let Some(list) = self.lists.remove(&request) {
            // The caller may have gone away.
            let _ = list.waiter.send(Ok(page));
        }
    }

    fn on_list_failed(
        &mut self,
        with: &mut GroupContext<'_>,
        request: ErrandId,
        query: GroupQuery,
        server: ServerId,
        why: Option<RequestError>,
    ) {
        if matches!(why, Some(RequestError::Session(SessionError::Recalled))) {
            return self.resend_list(with, request, query);
        }
        let Some(mut list) = self.lists.remove(&request) else { return };
        list.tried.push(server);
        let failure = with.failure_of(server, why);
        self.request_list(with, query, list, failure);
    }
}

impl GroupContext<'_> {
    /// Those of the servers that do not rest after some trouble; a server that does is not waited for.
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

    /// Servers that headers may be read from, the best first. Servers with a quota are left out.
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

    fn failure_of(&self, server: ServerId, why: Option<RequestError>) -> Failure {
        let cause = why.map_or_else(|| "nothing came".to_owned(), |why| why.to_string());
        Failure::Server { server: self.network.name(server).into(), cause: cause.into() }
    }
}

fn target(interval: Duration) -> Wanted<Lane> {
    Wanted { kind: Lane::Groups, interval, priority: 0, enabled: true }
}

/// Each reads a list of some megabytes.
const MOST_LISTS: usize = 8;
