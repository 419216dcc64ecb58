//! [`Checks`]: the invariants of a simulated day of jobs. It owns the acknowledged changes, the fate of every job,
//! and the answers that the machine still has to give. Pure.
//!
//! - `versions`: which state of each record is on the disk, and which was acknowledged to be
//! - `accounts`: the fate of every job; which files may be deleted
//! - `states`: the machine, the engine and the driver agree on what every job is doing

mod accounts;
pub(crate) mod states;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bergamot_engine::Failure;
use bergamot_jobs::machine::StoreFailure;
use bergamot_queue::{FileState, SegmentState};
use bergamot_types::JobId;

use self::accounts::Accounts;
use self::versions::Versions;
use super::kind::Kind;
use super::posts::Place;
use super::servers::Servers;
use super::spool::Spool;
use super::timeline::Timeline;
use crate::drive::Context;
use crate::violation::{Checked, Violation, violated};

#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) versions: Versions,
    pub(crate) accounts: Accounts,
    waiters: BTreeMap<u64, Promise>,
    last_waiter: u64,
    /// Records that are on their way to the disk.
    writes: BTreeSet<JobId>,
    is_surveying: bool,
    /// Since when the calendar was set by so many seconds in all; the first when the process began.
    calendar: Vec<(Duration, i64)>,
}

/// What a caller waits for.
#[derive(Debug)]
struct Promise {
    job: JobId,
    what: Promised,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Promised {
    Removal,
    Version(u64),
}

impl Checks {
    /// A caller begins to wait for the last change of a job.
    pub(crate) fn new_waiter(&mut self, job: JobId, is_known: bool) -> u64 {
        self.last_waiter += 1;
        let what = match is_known {
            true => Promised::Version(self.versions.current(job)),
            false => Promised::Removal,
        };
        self.waiters.insert(self.last_waiter, Promise { job, what });
        self.last_waiter
    }

    pub(crate) fn on_answer(
        &mut self,
        spool: &Spool,
        waiter: u64,
        result: &Result<(), StoreFailure>,
    ) -> Checked {
        let Some(Promise { job, what }) = self.waiters.remove(&waiter) else {
            return violated!("waiter {waiter} is answered twice");
        };
        if result.is_err() {
            return Ok(());
        }
        match what {
            Promised::Removal if spool.stored(job).is_some() => {
                violated!("job {job} was said to be removed, and is on the disk")
            }
            Promised::Removal => {
                self.accounts.on_removal_promised(job);
                Ok(())
            }
            // What was changed of it went into the record of another job, or does not matter any more.
            Promised::Version(_) if self.accounts.is_leaving(job) => Ok(()),
            Promised::Version(version) => self.versions.on_promised(spool, job, version),
        }
    }

    pub(crate) fn begin_write(&mut self, job: JobId) -> Checked {
        match self.writes.insert(job) {
            true => Ok(()),
            false => violated!("two writes of job {job} are under way"),
        }
    }

    pub(crate) fn end_write(&mut self, job: JobId) {
        self.writes.remove(&job);
    }

    pub(crate) fn begin_survey(&mut self) -> Checked {
        match std::mem::replace(&mut self.is_surveying, true) {
            false => Ok(()),
            true => violated!("two surveys are under way"),
        }
    }

    pub(crate) fn end_survey(&mut self) {
        self.is_surveying = false;
    }

    /// Nothing is under way any more: every caller has its answer.
    pub(crate) fn check_answered(&self) -> Checked {
        match self.waiters.first_key_value() {
            None => Ok(()),
            Some((_, promise)) => violated!("a caller is never answered: {promise:?}"),
        }
    }

    /// The callers are gone with the process.
    pub(crate) fn on_process_end(&mut self, now: Duration) {
        self.waiters.clear();
        self.writes.clear();
        self.is_surveying = false;
        let offset = self.calendar.last().map_or(0, |(_, offset)| *offset);
        self.calendar = vec![(now, offset)];
    }

    pub(crate) fn on_files_unwanted(&mut self, job: JobId) {
        self.accounts.allow_deletion(job);
    }

    /// A job that fails for want of articles lacks one.
    pub(crate) fn on_failed(
        &mut self,
        timeline: &mut Timeline,
        servers: &Servers,
        cx: &mut Context<'_>,
        job: JobId,
        failure: Failure,
    ) {
        let kind = match failure {
            Failure::Disk | Failure::Processing(_) => Kind::FailedByDisk,
            Failure::Health { .. } => Kind::FailedBeyondRepair,
            Failure::Incomplete => Kind::FailedIncomplete,
            Failure::ServersDown => Kind::FailedByOutage,
        };
        timeline.fire(kind);
        let by_articles = matches!(failure, Failure::Health { .. } | Failure::Incomplete);
        if by_articles && !lacks_an_article(servers, cx, job) {
            let text = format!("job {job} fails with {failure:?}, and servers have all it lacks");
            cx.violate(Violation::new(text));
        }
    }
}

/// Some article is lost, and every server has said that it does not have it.
fn lacks_an_article(servers: &Servers, cx: &Context<'_>, job: JobId) -> bool {
    let Some(known) = cx.engine.job(job) else { return true };
    let files = known.files().iter().filter(|file| file.state() != FileState::Dropped);
    if files.clone().next().is_none() {
        return true; // a user wants none of them
    }
    let mut lost = files.flat_map(|file| {
        let segments = 0..file.segment_count();
        let lost = segments.filter(|segment| file.segment(*segment) == SegmentState::Missing);
        lost.filter_map(|segment| Place::of(file.message_id(segment).as_str()))
    });
    lost.any(|place| servers.is_missed(place))
}

impl Checks {
    pub(crate) fn on_jump(&mut self, now: Duration, seconds: i64) {
        if self.calendar.is_empty() {
            self.calendar.push((Duration::ZERO, 0));
        }
        let offset = self.calendar.last().map_or(0, |(_, offset)| *offset);
        self.calendar.push((now, offset + seconds));
    }

    /// A reading of an hour ago, or more, agrees with the calendar by a day.
    pub(crate) fn is_clock_plausible(&self, now: Duration) -> bool {
        let current = self.calendar.last().map_or(0, |(_, offset)| *offset);
        let agrees = |offset: i64| (offset - current).unsigned_abs() <= 86_400;
        let is_old = |since: Duration| now >= since + Duration::from_secs(3600);
        let mut known = self.calendar.iter();
        self.calendar.is_empty() && is_old(Duration::ZERO)
            || known.any(|(since, offset)| is_old(*since) && agrees(*offset))
    }
}
