//! [`Newsgroups`]: the state machine of all requested newsgroups; owns their headers and waiting requests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bergamot_poll::refresh_period;
use bergamot_types::GroupName;
use tracing::debug;

use crate::batch::Batch;
use crate::cache::{Cache, Extent};
use crate::fetch::{Failure, Fetch};
use crate::headers::Headers;
use crate::live::{Live, Need};
use crate::settings::Settings;

/// Which newsgroups are refreshed, what is read of them, and which request is answered when; no I/O, no clock.
///
/// Drive it like this: after [`request`](Self::request) and [`handle_fetched`](Self::handle_fetched) call
/// [`poll_order`](Self::poll_order) until `None`. Each live group is one target of the poll scheduler: call
/// [`due`](Self::due) whenever the target is due.
///
/// Contract:
/// - Every `request` is answered by exactly one [`Order::Answer`] with its waiter, unless
///   [`forget_waiters`](Self::forget_waiters) removed it first. With an `Ok` the headers are in
///   [`headers`](Self::headers).
/// - [`Order::Start`] adds the target of a group, due at once; [`Order::Check`] makes it due now. Both are
///   followed by `due`. A group stays live until no request came for five minutes and none waits; then `due`
///   returns [`Due::Stop`], and the target is removed. `due` of an unknown group is `Stop` too.
/// - [`Due::Fetch`] is answered by exactly one `handle_fetched` of that group, and `due` is not called for it
///   in between. It answers the requests that waited, except those for older headers that came after the
///   fetch began: for these an `Order::Check` follows.
/// - A late `handle_fetched`, of a group that is no longer live, only adds the headers to the cache.
/// - Bounds: 1000 live groups and 1024 waiting requests per group, beyond which a request is answered with
///   [`Failure::Crowded`]; headers of all groups by `Settings::budget`.
///
/// The five debug lines of a refresh are an interface that other programs read
/// (`tests/log_lines.rs`, `docs/polling.md`).
#[derive(Debug)]
pub struct Newsgroups<W> {
    settings: Settings,
    cache: Cache,
    live: BTreeMap<GroupName, Live<W>>,
    orders: VecDeque<Order<W>>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Order<W> {
    /// Answers a request; what it asked for is in [`Newsgroups::headers`] now.
    Answer { waiter: W, result: Result<(), Failure> },
    /// The group's target is due now.
    Check(GroupName),
    /// The group has a target from now on, due at once.
    Start { group: GroupName, period: Duration },
}

/// What to do with the target of a group that is due.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Due {
    /// Read the group and report the result to [`Newsgroups::handle_fetched`].
    Fetch(Fetch),
    /// It was read just now: due again at that time.
    PutOff(Instant),
    /// The group is inactive: remove the target.
    Stop,
}

impl<W> Newsgroups<W> {
    pub fn new(settings: Settings) -> Self {
        let cache = Cache::new(settings.budget);
        Self { settings, cache, live: BTreeMap::new(), orders: VecDeque::new() }
    }

    pub fn poll_order(&mut self) -> Option<Order<W>> {
        self.orders.pop_front()
    }

    /// Requests headers of a group, which counts as activity whatever the answer.
    pub fn request(&mut self, now: Instant, group: &GroupName, need: Need, waiter: W) {
        if !self.activate(now, group) {
            return self.answer(waiter, Err(Failure::Crowded));
        }
        let is_known = self.cache.touch(group);
        let has_page = self.has_page(group, need);
        let debounce = self.settings.debounce;
        let Some(live) = self.live.get_mut(group) else { return };
        let rests = live.rests_until(now, debounce).is_some();
        let is_settled = rests && !live.is_running();
        // A group that no server has is looked up again at the refresh period, not at every request.
        let is_absent = matches!(live.failure, Some(Failure::NoSuchGroup(_))) && !live.is_running();
        let answer = match need {
            Need::Below { .. } if is_known => has_page.then_some(Ok(())),
            Need::Known if is_known => Some(Ok(())),
            Need::Below { .. } | Need::Known if is_settled => live.failure.clone().map(Err),
            _ => None,
        };
        let answer = answer.or_else(|| live.failure.clone().filter(|_| is_absent).map(Err));
        let for_older = is_known && matches!(need, Need::Below { .. });
        if !live.is_running() && !is_absent && (!rests || answer.is_none()) {
            self.orders.push_back(Order::Check(group.clone()));
        }
        match answer {
            Some(result) => self.answer(waiter, result),
            None => {
                if let Err(waiter) = live.wait(waiter, for_older) {
                    self.answer(waiter, Err(Failure::Crowded));
                }
            }
        }
    }

    /// Drops waiting requests for which `gone` holds.
    pub fn forget_waiters(&mut self, group: &GroupName, gone: impl Fn(&W) -> bool) {
        if let Some(live) = self.live.get_mut(group) {
            live.forget_waiters(gone);
        }
    }

    /// The group's target is due.
    pub fn due(&mut self, now: Instant, group: &GroupName) -> Due {
        let Some(live) = self.live.get_mut(group) else { return Due::Stop };
        if !live.activity.is_active(now) && !live.is_waited_for() {
            debug!(target: LOG_TARGET, %group, "Group inactive, stopping refresh task");
            self.live.remove(group);
            return Due::Stop;
        }
        if let Some(until) = live.rests_until(now, self.settings.debounce) {
            return Due::PutOff(until);
        }
        let older = live.wants_older();
        live.begin(now);
        debug!(target: LOG_TARGET, %group, "Triggering incremental update");
        let known = self.cache.cached(group).map(|cached| cached.extent);
        Due::Fetch(Fetch { group: group.clone(), known, older, most: self.settings.first_read })
    }

    /// Takes the result of a fetch and returns the time until the next one.
    pub fn handle_fetched(
        &mut self,
        now: Instant,
        group: &GroupName,
        result: Result<Batch, Failure>,
    ) -> Duration {
        let result = result.map(|batch| {
            let count = self.cache.merge(group, batch);
            if count > 0 {
                debug!(target: LOG_TARGET, %group, count, "Found new articles");
            }
        });
        let Some(live) = self.live.get_mut(group) else { return refresh_period(0.0) };
        let served = live.end(result.clone().err());
        let rate = live.activity.rate(now);
        let period = refresh_period(rate);
        let (rps, period_secs) = (format_args!("{rate:.2}"), period.as_secs_f64());
        debug!(target: LOG_TARGET, %group, %rps, period_secs = %format_args!("{period_secs:.1}"), "Group refresh scheduled");
        if live.is_waited_for() {
            self.orders.push_back(Order::Check(group.clone()));
        }
        for waiter in served {
            self.answer(waiter, result.clone());
        }
        period
    }

    /// The cached headers of a group. Shared, so that a long reply can be written in pieces.
    pub fn headers(&self, group: &GroupName) -> Option<(&Arc<Headers>, &Extent)> {
        self.cache.cached(group).map(|cached| (&cached.headers, &cached.extent))
    }

    /// Newsgroups that are refreshed.
    pub fn live(&self) -> impl Iterator<Item = &GroupName> {
        self.live.keys()
    }

    /// Bytes of memory that all headers take.
    pub fn cost(&self) -> usize {
        self.cache.cost()
    }

    /// Makes the group live if it is not; `false` if there are too many.
    fn activate(&mut self, now: Instant, group: &GroupName) -> bool {
        let is_new = !self.live.contains_key(group);
        if is_new && self.live.len() >= MOST_LIVE {
            return false;
        }
        let live = self.live.entry(group.clone()).or_insert_with(|| Live::new(now));
        live.activity.record(now);
        if is_new {
            debug!(target: LOG_TARGET, %group, "Spawning background refresh task");
            let period = refresh_period(live.activity.rate(now));
            self.orders.push_back(Order::Start { group: group.clone(), period });
        }
        true
    }

    fn has_page(&self, group: &GroupName, need: Need) -> bool {
        let (Need::Below { number, count }, Some(cached)) = (need, self.cache.cached(group)) else {
            return false;
        };
        !cached.extent.has_older() || cached.headers.below(number).take(count).count() == count
    }

    fn answer(&mut self, waiter: W, result: Result<(), Failure>) {
        self.orders.push_back(Order::Answer { waiter, result });
    }
}

/// Each costs a target and a window of activity, together about a kilobyte.
const MOST_LIVE: usize = 1000;

/// The documented filter of these lines is `RUST_LOG=bergamot_groups=debug`, whatever the crate is called.
const LOG_TARGET: &str = "bergamot_groups";
