//! [`Overrides`]: the pause and the rate that a user has set, and the methods of [`Engine`] for pauses,
//! priorities, dropped files and rates. Pure.

use bergamot_limit::Effect;
use bergamot_queue::{FileKey, MoreFiles};
use bergamot_types::{ByteRate, JobId};

use crate::article::Location;
use crate::engine::Engine;
use crate::event::Now;

/// Jobs of this priority and above go on while the user has paused everything.
pub const FORCE_PRIORITY: i32 = 900;

#[derive(Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) paused: bool,
    /// In place of the ordinary rate of the settings.
    pub(crate) rate: Option<ByteRate>,
}

impl Engine {
    /// What is under way still comes, of this job as of all.
    pub(crate) fn on_job_paused(&mut self, job: JobId) {
        if self.queue.pause(job) {
            self.keep_back();
        }
    }

    pub(crate) fn on_job_resumed(&mut self, now: Now, job: JobId) {
        // One that has ended is only waiting to be taken out.
        if !self.jobs.ended.contains(&job) && self.queue.resume(job) {
            self.reroute(now);
        }
    }

    pub(crate) fn on_job_placed(&mut self, now: Now, job: JobId, priority: i32, rank: i64) {
        let was_held = self.queue.is_job_held(job);
        self.queue.place_job(job, priority, rank);
        match (was_held, self.queue.is_job_held(job)) {
            (false, true) => self.keep_back(),
            (true, false) => self.reroute(now),
            (false, false) | (true, true) => {}
        }
    }

    pub(crate) fn on_download_paused(&mut self) {
        self.overrides.paused = true;
        self.queue.set_floor(Some(FORCE_PRIORITY));
        self.keep_back();
    }

    pub(crate) fn on_download_resumed(&mut self, now: Now) {
        self.overrides.paused = false;
        self.queue.set_floor(None);
        self.reroute(now);
    }

    pub(crate) fn on_file_paused(&mut self, file: FileKey) {
        if self.queue.pause_file(file) {
            self.keep_back();
        }
    }

    pub(crate) fn on_file_resumed(&mut self, now: Now, file: FileKey) {
        // Nothing more is fetched of a job that is downloaded.
        if !self.jobs.ended.contains(&file.job) && self.queue.resume_file(file) {
            self.reroute(now);
        }
    }

    /// What is under way of it is discarded when it comes.
    pub(crate) fn on_file_dropped(&mut self, file: FileKey) {
        if self.queue.drop_file(file) {
            self.retries.forget_file(file);
            self.end_job_if_settled(file.job);
        }
    }

    pub(crate) fn on_files_added(&mut self, job: JobId, more: MoreFiles) {
        // One that has ended is only waiting to be taken out.
        if !self.jobs.ended.contains(&job) && self.queue.append(job, more) {
            self.end_job_if_settled(job);
        }
    }

    /// Holds at once, even while a rule of the timetable does: the last word counts. From the next
    /// rule that begins or ends on, rules go before it again; between them it is the ordinary rate.
    pub(crate) fn on_rate_changed(&mut self, now: Now, rate: Option<ByteRate>) {
        self.overrides.rate = rate;
        let rate = rate.unwrap_or_else(|| self.rate_by_schedule());
        self.limiter.set_global(now.instant, Some(rate));
    }

    /// That of the rule that holds, else the ordinary one.
    pub(crate) fn rate_by_schedule(&self) -> ByteRate {
        match self.allowance.effect() {
            Some(Effect::Limit(rate)) => rate,
            Some(Effect::Pause) | None => self.overrides.rate.unwrap_or(self.settings.rates.rate),
        }
    }

    /// Keeps an article back of which nothing is handed out; whether it did.
    pub(crate) fn holds_back(&mut self, key: bergamot_queue::SegmentKey) -> bool {
        if !self.queue.is_held(key) {
            return false;
        }
        self.retries.troubled.entry(key).or_default().location = Location::Parked;
        self.retries.parked.push(key);
        true
    }

    /// What waits for a server waits to be resumed instead, where something was paused.
    fn keep_back(&mut self) {
        for line in self.retries.queues.values_mut() {
            line.retain(|key| !self.queue.is_held(*key));
        }
        for (&key, troubled) in &mut self.retries.troubled {
            if troubled.location == Location::InLine && self.queue.is_held(key) {
                troubled.location = Location::Parked;
                self.retries.parked.push(key);
            }
        }
    }
}
