//! [`TicketCheck`]: checks tickets and reservations after every event, and calls the other checks. Pure.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bergamot_engine::{ConnectionId, Engine, Event, Fault, Hold, Notice, Order, Ticket, Trouble};
use bergamot_limit::Effect;
use bergamot_queue::{FileKey, SegmentKey};
use bergamot_types::MessageId;

use crate::sim::day::Day;
use crate::sim::day::user_action::UserAction;
use crate::sim::header_reader::HeaderReader;
use crate::sim::invariants::connection_check::ConnectionCheck;
use crate::sim::invariants::jobs::{JobCheck, Verdict};
use crate::sim::invariants::rate_check::RateCheck;
use crate::sim::journal::Journal;
use crate::sim::kind::Kind;
use crate::violation::{Checked, Violation, violated};

/// Watches what the engine hears and orders. A rule that is broken is told in a sentence.
#[derive(Debug)]
pub(crate) struct TicketCheck<'a> {
    day: &'a Day,
    connections: ConnectionCheck,
    rates: RateCheck,
    jobs: JobCheck<'a>,
    headers: HeaderReader<'a>,
    places: &'a HashMap<MessageId, SegmentKey>, // only looked up
    tickets: BTreeMap<Ticket, Entry>,
    reserved: u64,
    asked_bytes: u64,
    hedged_bytes: u64,
    disk_paused: bool,
    was_excused: bool, // from the last event to this one
    next_look: Duration,
    last_fetch: Duration, // or when something else took all that may come
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: SegmentKey,
    connection: ConnectionId,
    asked: Duration,
    room: Option<u64>,
    stage: Stage,
    /// The article that came is that of another file.
    is_sibling: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Asked,
    /// Its bytes wait for an order; `good` if nothing is wrong with them.
    Decoded {
        good: bool,
    },
    Writing {
        good: bool,
    },
}

impl<'a> TicketCheck<'a> {
    pub(crate) fn new(day: &'a Day, places: &'a HashMap<MessageId, SegmentKey>) -> Self {
        Self {
            day,
            connections: ConnectionCheck::new(day),
            rates: RateCheck::new(day),
            jobs: JobCheck::new(day),
            headers: HeaderReader::new(day),
            places,
            tickets: BTreeMap::new(),
            reserved: 0,
            asked_bytes: 0,
            hedged_bytes: 0,
            disk_paused: false,
            was_excused: false,
            next_look: Duration::ZERO,
            last_fetch: Duration::ZERO,
        }
    }

    /// Before the engine hears of it.
    pub(crate) fn on_event(&mut self, now: Duration, event: &Event) -> Checked {
        match event {
            Event::Connected { connection } => self.connections.on_connected(now, *connection),
            Event::Ended { connection, trouble, unanswered } => {
                self.on_ended(now, *connection, *trouble, unanswered);
            }
            Event::Fetched { ticket, part, fault } => {
                let server = self.answered(now, *ticket);
                let Some(entry) = self.tickets.get_mut(ticket) else { return Ok(()) };
                let good = fault.is_none();
                entry.stage = Stage::Decoded { good };
                if entry.room.is_none() {
                    return violated!("the body of {ticket:?} came without room for it");
                }
                let outgrown = matches!(fault, Some(Fault::TooLarge { .. }));
                let right = crate::sim::models::part(self.day, entry.key);
                entry.is_sibling = self.day.has_lone_siblings()
                    && (part.name != right.name || part.total != right.total);
                self.jobs.on_copy(entry.key, server, part, good, outgrown);
            }
            Event::FileFinished { file, result } => self.jobs.on_file_finished(*file, *result),
            Event::JobAdded(job) => self.jobs.on_added(job.id),
            // Few are asked under a rate, and what does not end takes all of it until it is cut off.
            Event::Progress { .. }
                if self.day.kinds.contains(&Kind::Endless) && self.is_rated() =>
            {
                self.last_fetch = now;
            }
            Event::JobProcessed { job, result } => self.jobs.on_processed(*job, *result),
            Event::JobRemoved(job) => self.jobs.on_removed(*job),
            Event::Missing { ticket } => {
                let server = self.answered(now, *ticket);
                if let Some(entry) = self.forget(*ticket) {
                    self.jobs.on_missing(entry.key, server);
                }
            }
            Event::Refused { ticket } => {
                let server = self.answered(now, *ticket);
                if let Some(entry) = self.forget(*ticket)
                    && !self.day.servers[server].may_fail_by_outage(entry.asked, now)
                {
                    self.jobs.on_trouble(entry.key, server);
                }
            }
            Event::Written { ticket, result } => {
                if let Some(entry) = self.forget(*ticket) {
                    let good = entry.stage == Stage::Writing { good: true };
                    self.jobs.on_written(entry.key, good, entry.is_sibling, *result)?;
                }
            }
            Event::DiskReturned
            | Event::DownloadPaused
            | Event::DownloadResumed
            | Event::FilePaused(_)
            | Event::FileResumed(_)
            | Event::JobPaused(_)
            | Event::JobPlaced { .. }
            | Event::JobResumed(_) => {
                self.jobs.on_user_action(event);
                self.connections.excuse(now);
            }
            Event::RateChanged(rate) => {
                self.jobs.on_user_action(event);
                self.rates.set_rate(now, rate.unwrap_or(self.day.rate));
            }
            Event::SettingsChanged(settings) => {
                self.connections.set_servers(now, &settings.servers)
            }
            Event::ProbeWanted { job, articles } => self.headers.on_probe(*job, articles.len()),
            Event::ErrandConnected(_)
            | Event::ErrandDropped(_)
            | Event::ErrandEnded { .. }
            | Event::ErrandWanted { .. }
            | Event::FileDropped(_)
            | Event::FilesAdded { .. }
            | Event::FilesOrdered { .. }
            | Event::Persisted { .. }
            | Event::Present { .. }
            | Event::ProbeDropped(_)
            | Event::Progress { .. }
            | Event::ServerProbeWanted(_)
            | Event::StateUnwritable
            | Event::StateWritable
            | Event::CreditWanted { .. }
            | Event::Timeout
            | Event::CreditReturned { .. } => {}
        }
        Ok(())
    }

    /// The engine wants the file no more.
    pub(crate) fn on_dropped(&mut self, file: FileKey) {
        self.jobs.on_dropped(file);
    }

    /// Nothing of what was under way outlives the engine. Gives the jobs that go on.
    pub(crate) fn on_restart(
        &mut self,
        now: Duration,
        journal: &Journal,
        torn: usize,
    ) -> Result<Vec<usize>, Violation> {
        let going = self.jobs.on_restart(journal, torn)?;
        self.headers.on_restart();
        let servers = self.connections.servers().to_vec();
        self.connections = ConnectionCheck::new(self.day);
        self.connections.set_servers(now, &servers);
        self.rates = RateCheck::new(self.day);
        self.tickets.clear();
        (self.reserved, self.asked_bytes, self.hedged_bytes) = (0, 0, 0);
        (self.disk_paused, self.last_fetch) = (false, now);
        Ok(going)
    }

    pub(crate) fn headers(&mut self) -> &mut HeaderReader<'a> {
        &mut self.headers
    }

    fn articles_are_under_way(&self) -> bool {
        self.tickets.values().any(|entry| entry.stage == Stage::Asked)
    }

    pub(crate) fn jobs(&self) -> &JobCheck<'a> {
        &self.jobs
    }

    pub(crate) fn on_order(&mut self, now: Duration, order: &Order) -> Checked {
        match order {
            Order::Admit { ticket, reserve, .. } => self.on_admit(*ticket, *reserve as u64),
            Order::Connect { connection, server } => {
                let errands = self.headers.at(*server);
                self.connections.on_connect(*connection, *server, errands)
            }
            Order::DeleteFiles { job } => self.jobs.on_work("a removal of files", *job),
            Order::Discard { ticket } => match self.forget(*ticket).map(|entry| entry.stage) {
                Some(Stage::Decoded { .. }) => Ok(()),
                other => violated!("{ticket:?} is discarded while it is {other:?}"),
            },
            Order::Disconnect { connection } => self.connections.on_disconnect(*connection),
            Order::FailJob { job, failure } => self.jobs.on_fail(*job, *failure),
            Order::Fetch { connection, ticket, id, control: true, .. } => {
                self.on_control(now, *connection, *ticket, id)
            }
            Order::Fetch { connection, ticket, id, hedge, .. } => {
                self.last_fetch = now;
                self.on_fetch(now, *connection, *ticket, id, *hedge)
            }
            Order::FinishFile { file, layout } => {
                self.jobs.on_work("a file finished", file.job)?;
                self.jobs.on_file_whole(*file, layout)
            }
            Order::JobDownloaded { job, verified } => self.jobs.on_downloaded(*job, *verified),
            Order::Reserve { file, .. } => self.jobs.on_work("room on the disk", file.job),
            Order::Write { ticket, file, .. } => {
                self.jobs.on_work("a write", file.job)?;
                self.on_write(*ticket)
            }
            Order::Lend { connection, credit } => self.rates.on_lend(now, *connection, *credit),
            Order::Note(_) | Order::Persist { .. } | Order::Revoke { .. } | Order::Stat { .. } => {
                Ok(())
            }
            Order::Probed { job, census } => self.headers.on_probed(*job, *census),
            Order::RecallErrand { errand } => self.headers.on_recalled(*errand),
            Order::StartErrand { errand, server } => {
                let (articles, open) =
                    (self.articles_are_under_way(), self.connections.open(*server));
                let settings = &self.connections.servers()[usize::from(server.0) - 1];
                self.headers.on_started(*errand, settings, articles, open)
            }
            Order::Tell(notice) => self.on_notice(now, notice),
        }
    }

    pub(crate) fn on_received(&mut self, now: Duration, server: usize, bytes: u64) -> Checked {
        self.rates.on_received(now, server, bytes)
    }

    /// After every step: what the engine believes is what happened.
    pub(crate) fn check(&mut self, now: Duration, engine: &Engine) -> Checked {
        let reserved = engine.reserved().0;
        if reserved != self.reserved {
            return violated!("{reserved} bytes are reserved, and articles hold {}", self.reserved);
        }
        self.jobs.check_totals(engine)?;
        self.headers.check(self.articles_are_under_way())?;
        if now >= self.next_look {
            self.next_look = now + LOOK;
            self.check_starvation(now, engine.hold())?;
        }
        self.was_excused = self.is_excused();
        Ok(())
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.tickets.is_empty() && self.reserved == 0 && self.connections.is_empty()
    }

    /// At the end of the day.
    pub(crate) fn check_end(&self) -> Checked {
        if let Some((ticket, entry)) = self.tickets.first_key_value() {
            return violated!("{ticket:?} is still {:?}", entry.stage);
        }
        if self.reserved > 0 {
            return violated!("{} bytes are still reserved", self.reserved);
        }
        self.connections.check_end()
    }

    pub(crate) fn verdicts(&self) -> BTreeMap<Verdict, usize> {
        self.jobs.verdicts()
    }

    pub(crate) fn all_jobs_ended(&self) -> bool {
        self.jobs.all_ended()
    }

    fn on_fetch(
        &mut self,
        asked: Duration,
        connection: ConnectionId,
        ticket: Ticket,
        id: &MessageId,
        hedge: bool,
    ) -> Checked {
        let Some(&key) = self.places.get(id) else { return violated!("nobody wants <{id}>") };
        self.jobs.on_work("an article", key.job)?;
        let server = self.connections.on_fetch(connection)?;
        self.jobs.on_fetch(key, server, hedge)?;
        let others = self.under_way(key);
        if hedge && others == 0 {
            return violated!("<{id}> is hedged, and nobody was asked for it");
        }
        // What a file was lost with may still be under way when it is fetched anew.
        if others > usize::from(hedge) + self.jobs.losses(key.file_key()) {
            return violated!("<{id}> is in {} places: asked for as {ticket:?}", others + 1);
        }
        self.on_bytes_asked(hedge)?;
        self.tickets.insert(
            ticket,
            Entry { key, connection, asked, room: None, stage: Stage::Asked, is_sibling: false },
        );
        Ok(())
    }

    /// An article is asked for again that is written, of a server that is out of order.
    fn on_control(
        &mut self,
        asked: Duration,
        connection: ConnectionId,
        ticket: Ticket,
        id: &MessageId,
    ) -> Checked {
        let Some(&key) = self.places.get(id) else { return violated!("nobody wants <{id}>") };
        self.jobs.on_work("a control", key.job)?;
        let server = self.connections.on_fetch(connection)?;
        self.jobs.on_control(key)?;
        self.connections.check_control(server)?;
        self.tickets.insert(
            ticket,
            Entry { key, connection, asked, room: None, stage: Stage::Asked, is_sibling: false },
        );
        Ok(())
    }

    /// Where an article is, that is neither only wanted nor written. A damaged copy that is kept
    /// in case no better one comes does not count, nor does one that was overturned.
    fn under_way(&self, key: SegmentKey) -> usize {
        let contested = self.jobs.is_contested(key.file_key());
        let kept = |entry: &&Entry| match entry.stage {
            Stage::Writing { good } => !good || contested,
            _ => false,
        };
        self.tickets.values().filter(|entry| entry.key == key && !kept(entry)).count()
    }

    /// A second request for a straggler may cost at most 2 % more, once there is enough to count.
    fn on_bytes_asked(&mut self, hedge: bool) -> Checked {
        self.asked_bytes += self.day.article;
        if !hedge {
            return Ok(());
        }
        self.hedged_bytes += self.day.article;
        let total = u64::from(self.day.articles()) * self.day.article;
        let most = (total.max(self.asked_bytes) / 50).max(2 * self.day.article);
        if self.hedged_bytes > most {
            return violated!("{} bytes are asked for twice", self.hedged_bytes);
        }
        Ok(())
    }

    fn on_admit(&mut self, ticket: Ticket, reserve: u64) -> Checked {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return violated!("room for {ticket:?}, which nobody knows");
        };
        if entry.stage != Stage::Asked || entry.room.replace(reserve).is_some() {
            return violated!("room for {ticket:?} twice, or too late");
        }
        let alone = self.reserved == 0;
        self.reserved += reserve;
        if self.reserved > self.day.budget && !alone {
            return violated!("{} bytes are reserved of {}", self.reserved, self.day.budget);
        }
        Ok(())
    }

    fn on_write(&mut self, ticket: Ticket) -> Checked {
        match self.tickets.get_mut(&ticket) {
            Some(entry) => match entry.stage {
                Stage::Decoded { good } => {
                    entry.stage = Stage::Writing { good };
                    let key = entry.key;
                    if good { self.on_good_write(key) } else { Ok(()) }
                }
                other => violated!("{ticket:?} is written while it is {other:?}"),
            },
            None => violated!("{ticket:?} is written, and nobody knows it"),
        }
    }

    /// However often an article was asked for, it is written once.
    fn on_good_write(&self, key: SegmentKey) -> Checked {
        let same =
            |entry: &&Entry| entry.key == key && entry.stage == Stage::Writing { good: true };
        let contested = self.jobs.is_contested(key.file_key());
        if self.tickets.values().filter(same).count() > 1 && !contested {
            return violated!("{key:?} is being written twice");
        }
        self.jobs.on_write(key)
    }

    /// What an outage breaks is no answer to anything.
    fn on_ended(
        &mut self,
        now: Duration,
        connection: ConnectionId,
        trouble: Trouble,
        unanswered: &[Ticket],
    ) {
        let server = self.connections.on_ended(connection);
        let blamed = matches!(trouble, Trouble::Broken | Trouble::Closed | Trouble::OutOfStep);
        for (index, ticket) in unanswered.iter().enumerate() {
            if let Some(entry) = self.forget(*ticket)
                && blamed
                && index == 0
                && !self.day.servers[server].may_fail_by_outage(entry.asked, now)
            {
                self.jobs.on_trouble(entry.key, server);
            }
        }
        // What was ordered and did not reach it any more.
        let lost = self
            .tickets
            .iter()
            .filter(|(_, entry)| entry.connection == connection && entry.stage == Stage::Asked);
        for ticket in lost.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.forget(ticket);
        }
    }

    fn on_notice(&mut self, now: Duration, notice: &Notice) -> Checked {
        match notice {
            Notice::ScheduleChanged { effect, .. } => {
                let rate = match effect {
                    Some(Effect::Limit(rate)) => *rate,
                    _ => self.day.rate,
                };
                self.rates.set_rate(now, rate);
            }
            Notice::DiskPaused { .. } => self.disk_paused = true,
            Notice::DiskResumed => self.disk_paused = false,
            Notice::ServerRests { server, .. } => self.connections.set_resting(now, *server, true),
            Notice::ServerWorks { server } => self.connections.set_resting(now, *server, false),
            Notice::ArticleLost { id, .. } => {
                let Some(&key) = self.places.get(id) else { return Ok(()) };
                // Where sizes are in dispute it may still turn out to be right.
                if self.day.reliable && !self.jobs.is_contested(key.file_key()) {
                    return violated!("<{id}> is lost, and a server has it");
                }
                return self.jobs.on_lost(key, self.connections.servers());
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a rate is limited, be it for a while.
    fn is_rated(&self) -> bool {
        let user_actions = self
            .day
            .user_actions
            .iter()
            .any(|(_, user_action)| matches!(user_action, UserAction::Rate(Some(_))));
        user_actions || self.day.rate.0 > 0 || !self.day.server_rates.is_empty()
    }

    /// The server that answered.
    fn answered(&mut self, now: Duration, ticket: Ticket) -> usize {
        let connection = self.tickets.get(&ticket).map(|entry| entry.connection);
        connection.map_or(0, |connection| self.connections.on_answered(now, connection))
    }

    fn forget(&mut self, ticket: Ticket) -> Option<Entry> {
        let entry = self.tickets.remove(&ticket)?;
        self.reserved -= entry.room.unwrap_or(0);
        Some(entry)
    }

    /// An article that was not requested, a connection that could ask and has nothing to do, and
    /// nothing is asked of anybody else either. While others are busy a slow one may well be idle:
    /// they may be done with all of it before it would be with one.
    fn check_starvation(&mut self, now: Duration, hold: Option<Hold>) -> Checked {
        // What is under way counts as used, so the last of a quota may wait for it; how long the
        // calendar may hold everything up, the end of the day shows.
        let metered = !self.day.calendar.quota.allowances.is_empty();
        let held = metered || matches!(hold, Some(Hold::Schedule { .. }));
        // Nothing changes between two events, so what held until this one held for all of the time.
        let excused = held || self.was_excused || self.is_excused();
        let wanted = self.jobs.has_fresh();
        if excused || !wanted {
            self.connections.excuse(now);
            return Ok(());
        }
        match self.connections.idle_for(now) {
            Some((connection, time)) if time.min(now - self.last_fetch) > LONGEST_IDLE => {
                violated!(
                    "connection {connection} has had nothing to do for {time:?}, and articles wait"
                )
            }
            _ => Ok(()),
        }
    }

    /// Whether the disk takes nothing, or there is no room for more than what it has not taken yet.
    fn is_excused(&self) -> bool {
        let room = 2 * u64::from(self.day.claimed).max(ROOM);
        self.disk_paused || self.day.budget < self.reserved + room
    }
}

/// How often idle connections are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Below the half minute after which idle connections are closed, and above every pause there is
/// between two looks at what could be asked.
const LONGEST_IDLE: Duration = Duration::from_secs(20);

/// No article gets less room.
const ROOM: u64 = 16 << 10;
