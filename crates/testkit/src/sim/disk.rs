//! [`Disk`]: the simulated disk, which is slow, full or failing, and [`SimDisk`], which gives it the
//! orders of the driver. Single-threaded, in virtual time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bergamot_engine::{DiskTrouble, Event, Now, QuotaRecords, Ticket};
use bergamot_queue::{FileKey, Layout};
use bergamot_types::{JobId, SplitMix};

use crate::drive::{self, Context};
use crate::sim::day::Day;
use crate::sim::day::post::Post;
use crate::sim::kind::{Fired, Kind};
use crate::sim::world::{Schedule, Scheduled};
use crate::violation::Violation;

/// Does one thing after the other, and keeps what byte-level days write.
#[derive(Debug)]
pub(crate) struct Disk<'a> {
    day: &'a Day,
    busy_until: Duration,
    chance: SplitMix,
    files: BTreeMap<FileKey, Vec<u8>>,
    pub(crate) fired: Fired,
}

/// When it is done, and how it went.
pub(crate) type Done = (Duration, Result<(), DiskTrouble>);

impl<'a> Disk<'a> {
    pub(crate) fn new(day: &'a Day) -> Self {
        Self {
            day,
            busy_until: Duration::ZERO,
            chance: SplitMix::seeded(day.seed.number().rotate_left(32)),
            files: BTreeMap::new(),
            fired: Fired::new(),
        }
    }

    pub(crate) fn write(
        &mut self,
        now: Duration,
        file: FileKey,
        offset: u64,
        bytes: Option<Vec<u8>>,
    ) -> Done {
        let length = bytes.as_ref().map_or(self.day.article, |bytes| bytes.len() as u64);
        let done = self.work(now, file.job, length, Kind::WriteFails);
        if let (Ok(()), Some(bytes)) = (done.1, bytes) {
            self.keep(file, offset, &bytes);
        }
        done
    }

    pub(crate) fn finish_file(&mut self, now: Duration, file: FileKey) -> Done {
        let (at, result) = self.work(now, file.job, 0, Kind::FinishFails);
        if result.is_ok() && self.strikes(now, Kind::Unsynced) {
            self.files.remove(&file);
            return (at, Err(DiskTrouble::Unsynced));
        }
        (at, result)
    }

    pub(crate) fn move_job(&mut self, now: Duration, job: JobId) -> Done {
        self.work(now, job, 0, Kind::MoveFails)
    }

    /// Small records, which find room on the fullest disk, and fail as often as other writes.
    pub(crate) fn persist(&mut self, now: Duration) -> Done {
        let fails = self.strikes(now, Kind::WriteFails);
        (now, if fails { Err(DiskTrouble::Transient) } else { Ok(()) })
    }

    /// What a file holds, on a byte-level day.
    pub(crate) fn content(&self, file: FileKey) -> &[u8] {
        self.files.get(&file).map_or(&[], Vec::as_slice)
    }

    fn work(&mut self, now: Duration, job: JobId, bytes: u64, fault: Kind) -> Done {
        if self.day.disk.gone.is_some_and(|(gone, from)| JobId(gone) == job && now >= from) {
            self.fire(Kind::DirectoryGone);
            return (now, Err(DiskTrouble::Permanent));
        }
        if self.day.disk.full.iter().any(|(from, to)| now >= *from && now < *to) {
            self.fire(Kind::DiskFull);
            return (now, Err(DiskTrouble::Full));
        }
        if self.day.kinds.contains(&Kind::DiskSlow) {
            self.fire(Kind::DiskSlow);
        }
        let time = Duration::from_secs_f64(bytes as f64 / self.day.disk.rate as f64);
        self.busy_until = self.busy_until.max(now) + time;
        let fails = self.strikes(now, fault);
        (self.busy_until, if fails { Err(DiskTrouble::Transient) } else { Ok(()) })
    }

    fn strikes(&mut self, now: Duration, kind: Kind) -> bool {
        let known = self.day.disk.failing.iter().find(|(known, _)| *known == kind);
        let Some(&(_, chance)) = known.filter(|_| !self.day.is_healed(now)) else { return false };
        let strikes = self.chance.up_to(999) < chance;
        if strikes {
            self.fire(kind);
        }
        strikes
    }

    fn keep(&mut self, file: FileKey, offset: u64, bytes: &[u8]) {
        let content = self.files.entry(file).or_default();
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        if content.len() < end {
            content.resize(end, 0);
        }
        content[start..end].copy_from_slice(bytes);
    }

    fn fire(&mut self, kind: Kind) {
        *self.fired.entry(kind).or_default() += 1;
    }
}

/// Gives the disk the orders of the driver, and schedules its answers.
pub(crate) struct SimDisk<'a> {
    pub(crate) disk: Disk<'a>,
    pub(crate) post: &'a Post,
    pub(crate) schedule: Schedule,
    /// What follows the downloads.
    pub(crate) steps: bergamot_post::Post,
    pub(crate) start: Instant,
}

impl SimDisk<'_> {
    /// Tells the steps, and carries out their orders. Returns what the engine is to hear of it at once.
    pub(crate) fn tell_steps(&mut self, now: Duration, event: bergamot_post::Event) -> Vec<Event> {
        let mut answers = Vec::new();
        use bergamot_post::{Event as StepEvent, Order, Task};
        self.steps.handle(self.start + now, event);
        while let Some(order) = self.steps.poll_order() {
            match order {
                Order::JobProcessed { job, result } => {
                    answers.push(Event::JobProcessed { job, result });
                }
                Order::Postponed { again_in, .. } => {
                    self.plan_step(now + again_in, StepEvent::Timeout);
                }
                Order::Stage { .. } => {}
                Order::Start { ticket, job, task } => {
                    let (at, result) = match task {
                        Task::Move { .. } => self.disk.move_job(now, job),
                        Task::WriteJournal => (now, Ok(())),
                    };
                    self.plan_step(at, StepEvent::TaskEnded { ticket, result });
                }
            }
        }
        answers
    }

    fn plan_step(&mut self, at: Duration, event: bergamot_post::Event) {
        self.schedule.borrow_mut().plan(at, Scheduled::Step(event));
    }

    fn time(&self, cx: &Context<'_>) -> Duration {
        cx.now.instant.saturating_duration_since(self.start)
    }

    fn answer(&mut self, at: Duration, event: Event) {
        self.schedule.borrow_mut().plan(at, Scheduled::Engine(event));
    }
}

impl drive::Disk<Vec<u8>> for SimDisk<'_> {
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        ticket: Ticket,
        file: FileKey,
        offset: u64,
        body: Option<Vec<u8>>,
    ) {
        let (at, result) = self.disk.write(self.time(cx), file, offset, body);
        self.answer(at, Event::Written { ticket, result });
    }

    fn finish_file(&mut self, cx: &mut Context<'_>, file: FileKey, _: Layout) {
        let (at, result) = self.disk.finish_file(self.time(cx), file);
        if result.is_ok() && !self.post.holds(file, self.disk.content(file)) {
            cx.violate(Violation::new(format!(
                "{file:?} has its name, and other bytes than were posted"
            )));
        }
        self.answer(at, Event::FileFinished { file, result });
    }

    fn process_job(&mut self, cx: &mut Context<'_>, job: JobId, verified: bool) {
        let event = bergamot_post::Event::JobDownloaded { job, verified };
        let answers = self.tell_steps(self.time(cx), event);
        answers.into_iter().for_each(|answer| cx.answer(answer));
    }

    fn forget_job(&mut self, now: Now, job: JobId) {
        self.steps.handle(now.instant, bergamot_post::Event::JobRemoved(job));
    }

    fn persist(&mut self, cx: &mut Context<'_>, number: u64, _: QuotaRecords) {
        let (at, result) = self.disk.persist(self.time(cx));
        self.answer(at, Event::Persisted { number, result });
    }
}
