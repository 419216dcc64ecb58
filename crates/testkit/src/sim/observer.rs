//! [`Observer`]: the host of a simulated engine. It passes every event and order on to the log, the
//! invariants and the watcher of a test, and schedules the ends of errands. Single-threaded.

use std::time::{Duration, Instant};

use bergamot_engine::{Engine, ErrandId, Event, Notice, Now, Order, Trouble};
use bergamot_limit::Effect;
use bergamot_queue::{FileKey, FileState};
use bergamot_types::ServerId;

use crate::drive::{Context, Host};
use crate::sim::invariants::quota_check::QuotaCheck;
use crate::sim::invariants::tickets::TicketCheck;
use crate::sim::journal::Journal;
use crate::sim::kind::{Fired, Kind};
use crate::sim::log::Log;
use crate::sim::world::{Schedule, Scheduled, Seen, Watcher};
use crate::violation::Checked;

pub(crate) struct Observer<'a, 'w> {
    pub(crate) invariants: TicketCheck<'a>,
    pub(crate) quotas: QuotaCheck<'a>,
    pub(crate) journal: Journal,
    pub(crate) fired: Fired,
    pub(crate) log: Log,
    pub(crate) schedule: Schedule,
    pub(crate) start: Instant,
    pub(crate) watcher: Option<&'w mut Watcher<'w>>,
    pub(crate) dropped: Option<FileKey>, // by the event that is being handled
}

impl Observer<'_, '_> {
    pub(crate) fn fire(&mut self, kind: Kind) {
        *self.fired.entry(kind).or_default() += 1;
    }

    pub(crate) fn count_fired(&mut self, fired: Fired) {
        for (kind, count) in fired {
            *self.fired.entry(kind).or_default() += count;
        }
    }

    fn time(&self, now: Now) -> Duration {
        now.instant.saturating_duration_since(self.start)
    }
}

impl Host for Observer<'_, '_> {
    fn notice(&mut self, _: &mut Context<'_>, notice: Notice) {
        match notice {
            Notice::QuotaReached { server: None, .. } => self.fire(Kind::QuotaReached),
            Notice::QuotaReached { server: Some(_), .. } => self.fire(Kind::BlockUsedUp),
            Notice::BeyondRepair { .. } => self.fire(Kind::BeyondRepair),
            Notice::ScheduleChanged { effect: Some(Effect::Pause), .. } => {
                self.fire(Kind::ScheduledPause);
            }
            Notice::ScheduleChanged { effect: Some(Effect::Limit(_)), .. } => {
                self.fire(Kind::ScheduledRate);
            }
            _ => {}
        }
    }

    fn start_errand(&mut self, cx: &mut Context<'_>, errand: ErrandId, _: ServerId) {
        let now = self.time(cx.now);
        let (time, trouble) = self.invariants.headers().errand_time(now);
        self.schedule.borrow_mut().plan(now + time, Scheduled::ErrandOver(errand, trouble));
    }

    fn recall_errand(&mut self, cx: &mut Context<'_>, errand: ErrandId) {
        let over = Scheduled::ErrandOver(errand, Trouble::Closed);
        self.schedule.borrow_mut().plan(self.time(cx.now), over);
    }

    fn on_event(&mut self, now: Now, event: &Event) -> Checked {
        let time = self.time(now);
        if let Some(watcher) = &mut self.watcher {
            watcher(time, Seen::Event(event));
        }
        self.log.event(time, event);
        self.invariants.on_event(time, event)?;
        self.journal.on_event(event);
        self.quotas.on_event(event);
        self.dropped = if let Event::FileDropped(file) = event { Some(*file) } else { None };
        Ok(())
    }

    fn on_handled(&mut self, engine: &Engine) -> Checked {
        if let Some(file) = self.dropped.take().filter(|file| is_dropped(engine, *file)) {
            self.invariants.on_dropped(file);
        }
        Ok(())
    }

    fn on_order(&mut self, now: Now, order: &Order) -> Checked {
        let time = self.time(now);
        if let Some(watcher) = &mut self.watcher {
            watcher(time, Seen::Order(order));
        }
        self.log.order(now.instant, order);
        self.invariants.on_order(time, order)?;
        self.quotas.on_order(now.date, order)?;
        if let Order::Note(note) = order {
            self.journal.on_note(note);
        }
        Ok(())
    }

    fn on_polled(&mut self, now: Now, engine: &Engine) -> Checked {
        self.invariants.check(self.time(now), engine)
    }
}

fn is_dropped(engine: &Engine, file: FileKey) -> bool {
    let files = engine.job(file.job).map(|job| job.files());
    let known = files.and_then(|files| files.get(file.file as usize));
    known.is_some_and(|known| known.state() == FileState::Dropped)
}
