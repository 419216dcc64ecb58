//! [`Allowance`]: the quotas and the timetable, and whether they permit another article. Pure.
//!
//! What the calendar says is read off the clock with every event, never counted down: so a clock
//! that is set or a machine that slept needs no special case. Quotas count what came of bodies; to
//! never under-count after a sudden end, an article is asked for only when a record that is charged
//! with it is on disk.

mod leases;
pub(crate) mod meter;
mod schedule;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bergamot_limit::{Effect, QuotaSettings, Record, Usage};
use bergamot_types::{DiskTrouble, ServerId, UnixTime};

use crate::allowance::meter::{Meter, QuotaRecords, Scope};
use crate::allowance::schedule::Schedule;
use crate::article::{Article, Stage};
use crate::dispatch::in_flight::InFlight;
use crate::engine::Engine;
use crate::event::{Event, Fault, Now};
use crate::order::{ConnectionId, Notice, Order, Ticket};
use crate::settings::Settings;

/// Why nothing is fetched just now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hold {
    /// It takes nothing.
    Disk,
    /// The user has paused everything; forced jobs go on nevertheless.
    Paused,
    /// The quota of all servers is reached, or that of each; without a time it lasts until the
    /// settings change.
    Quota { until: Option<UnixTime> },
    /// The timetable says so; without a time it always does.
    Schedule { until: Option<UnixTime> },
    /// What is used, or what was downloaded, cannot be written down.
    Unrecorded,
}

/// What the calendar and the quotas allow.
#[derive(Debug)]
pub(crate) struct Allowance {
    schedule: Schedule,
    meters: BTreeMap<Scope, Meter>,
    unlimited: BTreeMap<Scope, Record>, // what is used of quotas that were taken away, and may return
    sent: BTreeMap<u64, Vec<(Scope, u64)>>, // records on their way, by the meters' own numbers
    last_number: u64,
    write_again: Option<Instant>, // after records could not be written
    next_look: Option<Instant>,
}

impl Allowance {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut allowance = Self {
            schedule: Schedule::new(settings.timetable.clone()),
            meters: BTreeMap::new(),
            unlimited: BTreeMap::new(),
            sent: BTreeMap::new(),
            last_number: 0,
            write_again: None,
            next_look: None,
        };
        allowance.add_meters(settings);
        allowance
    }

    /// Other settings hold, for what is already used, too. The quotas that were reached and limit
    /// nothing any more.
    pub(crate) fn change(&mut self, date: UnixTime, settings: &Settings) -> Vec<Scope> {
        self.schedule.change(settings.timetable.clone());
        let before = std::mem::take(&mut self.meters);
        let reached = before.iter().filter(|(_, meter)| meter.reached().is_some());
        let mut renewed: Vec<_> = reached.map(|(scope, _)| *scope).collect();
        for (scope, meter) in before {
            let quota = quota_of(settings, scope).cloned().unwrap_or_default();
            match meter.changed(date, &quota) {
                Ok(meter) => _ = self.meters.insert(scope, meter),
                Err(used) => _ = self.unlimited.insert(scope, used),
            }
        }
        self.add_meters(settings);
        renewed.retain(|scope| !self.meters.contains_key(scope));
        renewed
    }

    /// For the quotas that have none yet.
    fn add_meters(&mut self, settings: &Settings) {
        let servers = settings.servers.iter().map(|server| Some(server.id));
        for scope in servers.chain([None]) {
            if self.meters.contains_key(&scope) {
                continue;
            }
            let used = self.unlimited.get(&scope).or_else(|| settings.used.of(scope));
            let meter = quota_of(settings, scope).and_then(|quota| Meter::new(quota, used));
            self.meters.extend(meter.map(|meter| (scope, meter)));
        }
        self.unlimited.retain(|scope, _| !self.meters.contains_key(scope));
    }

    /// Whether so much more may be asked of the server; if so it counts as asked until the next
    /// event, which counts anew.
    pub(crate) fn admits(&mut self, server: ServerId, bytes: u64) -> bool {
        let fits = self.concerned(server).all(|meter| meter.fits(bytes));
        if fits {
            self.concerned(server).for_each(|meter| meter.on_asked(bytes));
        }
        fits
    }

    /// Whether so much more could be asked of the server now.
    pub(crate) fn has_room(&self, server: ServerId, bytes: u64) -> bool {
        let concerned = self.meters.iter().filter(|(scope, _)| concerns(**scope, server));
        concerned.map(|(_, meter)| meter).all(|meter| meter.has_room(bytes))
    }

    pub(crate) fn usage(&mut self, date: UnixTime) -> Vec<(Scope, Vec<Usage>)> {
        self.meters.iter_mut().map(|(&scope, meter)| (scope, meter.usage(date))).collect()
    }

    /// Of the rule of the timetable that holds.
    pub(crate) fn effect(&self) -> Option<Effect> {
        self.schedule.effect()
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.next_look.into_iter().chain(self.write_again).min()
    }

    fn concerned(&mut self, server: ServerId) -> impl Iterator<Item = &mut Meter> {
        let all = self.meters.iter_mut();
        all.filter(move |(scope, _)| concerns(**scope, server)).map(|(_, meter)| meter)
    }

    pub(crate) fn reached(&self, scope: Scope) -> Option<Option<UnixTime>> {
        self.meters.get(&scope).and_then(Meter::reached)
    }

    /// The quotas that were reached or renewed.
    fn check_meters(&mut self, date: UnixTime, asked: &BTreeMap<ServerId, u64>) -> Vec<Scope> {
        let mut changed = Vec::new();
        for (&scope, meter) in &mut self.meters {
            let of_scope = |(server, _): &(&ServerId, &u64)| concerns(scope, **server);
            let under_way = asked.iter().filter(of_scope).map(|(_, bytes)| bytes).sum();
            if meter.look(date, under_way) {
                changed.push(scope);
            }
        }
        changed
    }

    /// While there is work, at the latest when something ends; and every minute, for a clock that
    /// is set causes no event.
    fn plan_next_look(&mut self, now: Now, idle: bool) {
        self.write_again = self.write_again.filter(|at| now.instant < *at);
        let reached = self.meters.values().filter_map(|meter| meter.reached()?);
        let next = reached.chain(self.schedule.until()).min();
        let is_bound = !self.meters.is_empty() || next.is_some();
        self.next_look = (is_bound && !idle).then(|| {
            let left = next.map_or(u64::MAX, |at| at.0.abs_diff(now.date.0));
            now.instant + Duration::from_secs(left.max(1)).min(LONGEST_CLOCK_CHECK)
        });
    }

    /// New records to be kept, if it is time for some.
    fn next_records(&mut self, date: UnixTime) -> Option<QuotaRecords> {
        if self.write_again.is_some() || self.sent.len() >= MOST_RECORDS_SENT {
            return None;
        }
        let calm = self.sent.is_empty();
        if !self.meters.values_mut().any(|meter| meter.wants_checkpoint(date, calm)) {
            return None;
        }
        let mut numbers = Vec::new();
        let records = self.meters.iter_mut().map(|(&scope, meter)| {
            let (number, record) = meter.checkpoint(date);
            numbers.push((scope, number));
            (scope, record)
        });
        let records = records.collect();
        self.last_number += 1;
        self.sent.insert(self.last_number, numbers);
        Some(records)
    }
}

fn concerns(scope: Scope, server: ServerId) -> bool {
    scope.is_none_or(|of| of == server)
}

fn quota_of(settings: &Settings, scope: Scope) -> Option<&QuotaSettings> {
    match scope {
        None => Some(&settings.quota),
        Some(server) => {
            let is_there = settings.servers.iter().any(|known| known.id == server);
            settings.server_quotas.get(&server).filter(|_| is_there)
        }
    }
}

impl Engine {
    /// Why nothing is fetched just now, if that is so for all jobs and servers alike.
    pub fn hold(&self) -> Option<Hold> {
        if self.disk.is_paused() {
            return Some(Hold::Disk);
        }
        if let Some(until) = self.allowance.reached(None).or_else(|| self.all_used_up()) {
            return Some(Hold::Quota { until });
        }
        if self.allowance.schedule.effect() == Some(Effect::Pause) {
            return Some(Hold::Schedule { until: self.allowance.schedule.until() });
        }
        let is_stuck = self.allowance.write_again.is_some() && self.all_metered();
        if is_stuck || self.is_state_unwritable {
            return Some(Hold::Unrecorded);
        }
        self.overrides.paused.then_some(Hold::Paused)
    }

    /// Whether that is so for jobs of any priority.
    pub(crate) fn holds_everything(&self) -> bool {
        self.hold().is_some_and(|hold| hold != Hold::Paused)
    }

    /// Whether what this server gives is counted against a quota, its own or that of all: nothing is
    /// to be asked of it without need.
    pub fn is_metered(&self, server: ServerId) -> bool {
        let meters = &self.allowance.meters;
        meters.contains_key(&None) || meters.contains_key(&Some(server))
    }

    /// Whether its provider counts what it gives, as with a block account.
    pub(crate) fn gives_by_measure(&self, server: ServerId) -> bool {
        self.allowance.meters.contains_key(&Some(server))
    }

    /// What is used, for an orderly end; none if nothing is counted. What is under way counts as
    /// used, for part of it has come; so this comes last.
    pub fn closing_records(&mut self, now: Now) -> Option<QuotaRecords> {
        for (server, bytes) in self.asked_of_each() {
            self.allowance.concerned(server).for_each(|meter| meter.book(now.date, bytes));
        }
        let meters = std::mem::take(&mut self.allowance.meters);
        let records = meters.into_iter().map(|(scope, meter)| (scope, meter.close()));
        Some(records.collect()).filter(|records| *records != QuotaRecords::default())
    }

    /// Books what came over the line, whether or not it was any good. Of a body that is larger than it
    /// was said to be the surplus is booked as it comes, for its size is not known.
    pub(crate) fn count(&mut self, now: Now, event: &Event) {
        let (ticket, came) = match event {
            Event::Fetched { ticket, part, fault: Some(Fault::TooLarge { needed }) } => {
                (*ticket, part.length.max(*needed))
            }
            Event::Fetched { ticket, part, .. } => (*ticket, part.length),
            Event::Ended { connection, trouble, unanswered } => {
                let Some(ticket) = unanswered.first() else { return };
                let received = self.received_of(*connection, *ticket);
                if received == 0 && *trouble != bergamot_pool::Trouble::Broken {
                    return;
                }
                (*ticket, received.max(self.tickets.get(ticket).map_or(0, |it| it.needs)))
            }
            Event::Progress { ticket, received } => {
                return self.count_surplus(now, *ticket, received.0);
            }
            _ => return,
        };
        if let Some((server, bytes)) = self.charge_for(ticket, came) {
            self.allowance.concerned(server).for_each(|meter| meter.book(now.date, bytes));
        }
    }

    fn count_surplus(&mut self, now: Now, ticket: Ticket, received: u64) {
        let Some(article) = self.tickets.get_mut(&ticket) else { return };
        let Stage::Asked { server, .. } = article.stage else { return };
        let more = received.saturating_sub(article.needs + article.surplus);
        if more > 0 {
            article.surplus += more;
            self.allowance.concerned(server).for_each(|meter| meter.book(now.date, more));
        }
    }

    /// What has come of a body that will not be finished, as far as it was told.
    fn received_of(&self, connection: ConnectionId, ticket: Ticket) -> u64 {
        let line = self.connections.get(&connection).map(|known| &known.in_flight);
        line.filter(|line| line.ticket_at(0) == Some(ticket)).map_or(0, InFlight::received)
    }

    /// The NZB gives the length before decoding, which is what a provider counts; unless it is wrong.
    fn charge_for(&self, ticket: Ticket, came: u64) -> Option<(ServerId, u64)> {
        let article = self.tickets.get(&ticket)?;
        let Stage::Asked { server, .. } = article.stage else { return None };
        let file = self.queue.file(article.key.file_key());
        let claimed = file.map_or(0, |file| file.claimed_bytes(article.key.segment));
        Some((server, came.max(u64::from(claimed)).saturating_sub(article.surplus)))
    }

    pub(crate) fn check_allowance(&mut self, now: Now) {
        if self.allowance.schedule.look(now.date) {
            self.on_schedule_changed(now);
        }
        if !self.allowance.meters.is_empty() {
            let asked = self.asked_of_each();
            for scope in self.allowance.check_meters(now.date, &asked) {
                self.on_quota_changed(now, scope);
            }
        }
        self.allowance.plan_next_look(now, self.queue.is_empty());
    }

    fn on_schedule_changed(&mut self, now: Now) {
        let (effect, until) = (self.allowance.schedule.effect(), self.allowance.schedule.until());
        self.limiter.set_global(now.instant, Some(self.rate_by_schedule()));
        self.notify(Notice::ScheduleChanged { effect, until });
    }

    fn on_quota_changed(&mut self, now: Now, server: Scope) {
        let reached = self.allowance.reached(server);
        self.notify(match reached {
            Some(until) => Notice::QuotaReached { server, until },
            None => Notice::QuotaRenewed { server },
        });
        if let Some(server) = server {
            self.pool.set_used_up(server, reached.is_some());
            self.reroute(now);
        }
    }

    /// Only while there is something to fetch, or under way still: an idle daemon writes nothing.
    pub(crate) fn keep_records(&mut self, now: Now) {
        let is_calm = self.holds_everything() && !self.tickets.values().any(Article::is_asked);
        if self.queue.is_empty() || is_calm {
            return;
        }
        if let Some(records) = self.allowance.next_records(now.date) {
            let number = self.allowance.last_number;
            self.orders.push_back(Order::Persist { number, records });
        }
    }

    pub(crate) fn on_persisted(&mut self, now: Now, number: u64, result: Result<(), DiskTrouble>) {
        let allowance = &mut self.allowance;
        let Some(numbers) = allowance.sent.remove(&number) else { return };
        for (scope, number) in numbers {
            if let Some(meter) = allowance.meters.get_mut(&scope) {
                meter.on_persisted(number, result.is_ok());
            }
        }
        // What became of an older one says nothing, when a newer one is on its way or there.
        if result.is_err() && number == allowance.last_number {
            allowance.write_again = Some(now.instant + RECORD_RETRY_DELAY);
        }
    }

    /// Bytes that each server may be sending.
    fn asked_of_each(&self) -> BTreeMap<ServerId, u64> {
        let mut asked = BTreeMap::new();
        for article in self.tickets.values() {
            if let Stage::Asked { server, .. } = article.stage {
                *asked.entry(server).or_default() += article.needs;
            }
        }
        asked
    }

    /// When the first of them has something left, if every server's own quota is reached.
    fn all_used_up(&self) -> Option<Option<UnixTime>> {
        let ends: Option<Vec<_>> =
            self.active_servers().map(|server| self.allowance.reached(Some(server))).collect();
        let ends = ends.filter(|ends| !ends.is_empty())?;
        Some(ends.into_iter().flatten().min())
    }

    fn all_metered(&self) -> bool {
        self.active_servers().all(|server| self.is_metered(server))
    }

    fn active_servers(&self) -> impl Iterator<Item = ServerId> + '_ {
        let servers = self.settings.servers.iter();
        servers.filter(|server| server.active && server.connections > 0).map(|server| server.id)
    }
}

/// How long a clock may have been set before it is noticed.
const LONGEST_CLOCK_CHECK: Duration = Duration::from_secs(60);

/// How long to leave a disk alone that would not take the records.
const RECORD_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Records on their way; a disk that far behind gets no more.
const MOST_RECORDS_SENT: usize = 4;
