//! All groups that are asked for.

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

/// After each call poll orders until there are none.
///
/// A group lives from the first time it is asked for until nobody has asked for five minutes. Each
/// living group is one target of the scheduler; when that is due, [`Groups::due`] says what to do.
///
/// The five debug lines of a refresh are an interface that other programs read
/// (`tests/log_lines.rs`, `docs/polling.md`).
#[derive(Debug)]
pub struct Groups<W> {
    settings: Settings,
    cache: Cache,
    live: BTreeMap<GroupName, Live<W>>,
    orders: VecDeque<Order<W>>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Order<W> {
    /// Somebody has waited for this. What they wanted to see is [`Groups::headers`] now.
    Answer { waiter: W, result: Result<(), Failure> },
    /// The group's target is due now.
    Check(GroupName),
    /// The group has a target from now on, due at once.
    Start { group: GroupName, period: Duration },
}

/// What is to be done with a group's target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Due {
    /// Look at the group, and say what came of it with [`Groups::handle_fetched`].
    Fetch(Fetch),
    /// It was looked at just now.
    PutOff(Instant),
    /// Nobody asks for it any more: remove the target.
    Stop,
}

impl<W> Groups<W> {
    pub fn new(settings: Settings) -> Self {
        let cache = Cache::new(settings.budget);
        Self { settings, cache, live: BTreeMap::new(), orders: VecDeque::new() }
    }

    pub fn poll_order(&mut self) -> Option<Order<W>> {
        self.orders.pop_front()
    }

    /// Somebody asks for a group, which counts as activity whatever the answer.
    pub fn request(&mut self, now: Instant, group: &GroupName, need: Need, waiter: W) {
        if !self.enliven(now, group) {
            return self.answer(waiter, Err(Failure::Crowded));
        }
        let is_known = self.cache.touch(group);
        let has_page = self.has_page(group, need);
        let debounce = self.settings.debounce;
        let Some(live) = self.live.get_mut(group) else { return };
        let rests = live.rests_until(now, debounce).is_some();
        let is_settled = rests && !live.is_running();
        // That no server has it is asked again at the refresh period, however many ask for it.
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

    /// Those for whom `gone` holds have left.
    pub fn forget_waiters(&mut self, group: &GroupName, gone: impl Fn(&W) -> bool) {
        if let Some(live) = self.live.get_mut(group) {
            live.forget_waiters(gone);
        }
    }

    /// The group's target is due. It stays so until [`Groups::handle_fetched`], where there is
    /// something to fetch.
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

    /// What came of a fetch, and how long the group may rest now.
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

    /// What is kept of a group. Shared, so that whoever reads all of it need not do so at once.
    pub fn headers(&self, group: &GroupName) -> Option<(&Arc<Headers>, &Extent)> {
        self.cache.cached(group).map(|cached| (&cached.headers, &cached.extent))
    }

    /// Groups that are kept fresh.
    pub fn live(&self) -> impl Iterator<Item = &GroupName> {
        self.live.keys()
    }

    /// How much memory all headers take.
    pub fn cost(&self) -> usize {
        self.cache.cost()
    }

    /// Whether the group may live; if it did not yet, it does now.
    fn enliven(&mut self, now: Instant, group: &GroupName) -> bool {
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
