//! The random actions of users on a simulated day, drawn when they happen, since they depend on the jobs at that
//! time. Methods of [`World`]. Single-threaded.

use std::time::Duration;

use bergamot_engine::FORCE_PRIORITY;
use bergamot_jobs::edit::{
    Delete, Edit, EditRefusal, FileEdit, HistoryEdit, Place as Target, SortKey,
};
use bergamot_jobs::engine_job::{contents, new_files};
use bergamot_jobs::machine::{Event, MergedFiles, SpoolView};
use bergamot_jobs::{Dupe, Mark, Outcome, Part, Pause, Record};
use bergamot_nzb::Nzb;
use bergamot_queue::{Deletion, DupeMode, Ending, JobState};
use bergamot_storage::Reserve;
use bergamot_types::{ByteCount, JobId};

use super::kind::Kind;
use super::planned::Planned;
use super::posts::{ARTICLE, fingerprint};
use super::site::Site;
use super::timeline::Timeline;
use super::world::{World, has_ended_all};
use crate::violation::{Checked, violated};

impl World {
    pub(crate) fn act(&mut self) -> Checked {
        let (number, is_empty) = {
            let site = &mut *self.site.get();
            let list = site.jobs.list();
            let is_empty = list.queued_count() == 0 && list.history().next().is_none();
            (site.timeline.chance.up_to(99), is_empty)
        };
        match number {
            0..=21 => self.add(false),
            22..=25 => self.add(true),
            _ if is_empty => self.add(false),
            26..=70 => self.edit_queue(),
            71..=81 => self.edit_history(),
            82..=86 => self.merge(),
            87..=91 => self.split(),
            92..=96 => self.pause_all(),
            _ => self.change_settings(),
        }
    }

    /// A new job, which is in the spool before it is reported to the machine.
    fn add(&mut self, by_url: bool) -> Checked {
        let site = &mut *self.site.get();
        let mut record = new_record(site);
        let post = site.timeline.chance.up_to(site.day.posts.len() as u64 - 1) as usize;
        if by_url {
            site.timeline.fire(Kind::AddedByUrl);
            record.url = Some(post.to_string().into());
            record.life = JobState::Fetching;
            record.priority_is_open = site.timeline.one_in(2);
            site.spool.add(&record, None);
        } else {
            site.timeline.fire(Kind::Added);
            let nzb = site.day.posts.nzb(post);
            (record.fingerprint, record.contents) = (fingerprint(&nzb), contents(&nzb));
            refuse_copy(site, &mut record);
            site.spool.add(&record, Some(nzb.into()));
        }
        site.checks.accounts.on_added(record.id);
        let time = site.timeline.millis(0, 20);
        site.timeline.plan_in(time, Planned::Accepted(Box::new(record)));
        Ok(())
    }

    /// Reports a new job to the machine.
    pub(crate) fn accept(&mut self, record: Record) -> Checked {
        let (job, has_ended) = (record.id, record.outcome.is_some());
        let useless = {
            let site = &mut *self.site.get();
            site.timeline.note(|| format!("jobs <- add {record:?}"));
            let expected = Expected::of(site, &record);
            site.checks.accounts.on_told(job);
            site.is_touched = true;
            let now = site.timeline.time();
            let useless = site.jobs.add(now, &self.driver.engine, record);
            site.checks.versions.observe_all(site.jobs.list());
            if !has_ended {
                expected.check(site, job, &useless)?;
            }
            useless
        };
        useless.into_iter().try_for_each(|job| self.promise(job))
    }

    /// A caller waits until the last change of the job is on disk.
    fn promise(&mut self, job: JobId) -> Checked {
        let site = &mut *self.site.get();
        let known = site.jobs.list().record(job);
        known.into_iter().for_each(|record| site.checks.versions.observe(record));
        let waiter = site.checks.new_waiter(job, known.is_some());
        match site.jobs.await_write(job, waiter) {
            None => Ok(()),
            Some(waiter) => site.checks.on_answer(&site.spool, waiter, &Ok(())),
        }
    }

    /// Gives the edit to the machine; whether it was carried out, for the first job.
    fn edit(&mut self, jobs: &[JobId], edit: &Edit, kind: Kind) -> Checked {
        let results = {
            let site = &mut *self.site.get();
            site.timeline.note(|| format!("jobs <- edit {jobs:?} {edit:?}"));
            site.is_touched = true;
            allow(site, jobs, edit);
            let now = site.timeline.time();
            let results = site.jobs.edit(now, &self.driver.engine, jobs, edit);
            site.timeline.note(|| format!("   edited: {results:?}"));
            results
        };
        for result in results {
            match result {
                Ok(job) => {
                    self.site.get().timeline.fire(kind);
                    self.plan_retry(job, edit);
                    job.map_or(Ok(()), |job| self.promise(job))?;
                }
                Err(EditRefusal::NoSuchJob(_)) => self.site.get().timeline.fire(Kind::NoSuchJob),
                Err(_) => self.site.get().timeline.fire(Kind::EditRefused),
            }
        }
        Ok(())
    }

    /// Some want back at once what they have deleted, while that is still being carried out.
    fn plan_retry(&mut self, job: Option<JobId>, edit: &Edit) {
        let timeline = &mut self.site.get().timeline;
        let is_deleted = matches!(edit, Edit::Delete(_)) && !timeline.is_healed();
        if let Some(job) = job.filter(|_| is_deleted && timeline.one_in(2)) {
            let time = timeline.millis(0, 2000);
            timeline.plan_in(time, Planned::Retry(job));
        }
    }

    pub(crate) fn retry(&mut self, job: JobId) -> Checked {
        self.edit(&[job], &Edit::History(HistoryEdit::Retry), Kind::HistoryRetried)
    }

    fn edit_queue(&mut self) -> Checked {
        let (jobs, edit, kind) = {
            let site = &mut *self.site.get();
            let jobs = some_jobs(site);
            let (edit, kind) = match site.timeline.chance.up_to(8) {
                0..=1 => pausing(&mut site.timeline),
                2 => moving(site),
                3 => ordering(&mut site.timeline),
                4..=5 => describing(&mut site.timeline),
                6..=7 => choosing_files(&mut site.timeline),
                _ => deleting(&mut site.timeline),
            };
            (jobs, edit, kind)
        };
        let is_of_one = matches!(edit, Edit::Files { .. });
        let jobs = if is_of_one { &jobs[..1] } else { &jobs[..] };
        self.edit(jobs, &edit, kind)
    }

    fn edit_history(&mut self) -> Checked {
        let (job, edit, kind) = {
            let site = &mut *self.site.get();
            let list = site.jobs.list();
            let history: Vec<_> = list.history().map(|record| record.id).collect();
            let job = one_of(&mut site.timeline, &history).unwrap_or(NO_JOB);
            let job = if site.timeline.one_in(8) { some_jobs(site)[0] } else { job };
            let (edit, kind) = match site.timeline.chance.up_to(8) {
                0 => (HistoryEdit::Backup(site.timeline.one_in(2)), Kind::HistoryBackup),
                1 => (HistoryEdit::Hide, Kind::HistoryHidden),
                2 => (HistoryEdit::Delete, Kind::HistoryDeleted),
                3 | 4 => (HistoryEdit::Redownload, Kind::HistoryRedownloaded),
                5 | 6 => (HistoryEdit::Retry, Kind::HistoryRetried),
                7 => (HistoryEdit::Mark(Mark::Good), Kind::HistoryMarked),
                _ => (HistoryEdit::Process, Kind::EditRefused),
            };
            (job, Edit::History(edit), kind)
        };
        self.edit(&[job], &edit, kind)
    }

    fn merge(&mut self) -> Checked {
        let site = &mut *self.site.get();
        let jobs = some_jobs(site);
        site.timeline.note(|| format!("jobs <- merge {jobs:?}"));
        site.is_touched = true;
        let request = match site.jobs.merge(site.timeline.time(), &self.driver.engine, &jobs) {
            Ok(request) => request,
            Err(why) => {
                site.timeline.note(|| format!("   refused: {why}"));
                site.timeline.fire(Kind::MergeRefused);
                return Ok(());
            }
        };
        let listed = site.spool.nzb(&request.whole).map_or(0, |nzb| nzb.files.len() as u32);
        let mut merged = Ok(MergedFiles { listed, files: Vec::new() });
        for donor in &request.donors {
            let begun = site.spool.begun_files(donor.id);
            match (&mut merged, site.spool.nzb(donor)) {
                (Ok(merged), Some(nzb)) if begun.is_empty() => merged.files.push(new_files(nzb)),
                _ => merged = Err(EditRefusal::file_begun(donor.id, None)),
            }
        }
        let time = site.timeline.millis(0, 500);
        site.timeline.plan_in(time, Planned::Merged { jobs, merged });
        Ok(())
    }

    pub(crate) fn end_merge(
        &mut self,
        jobs: &[JobId],
        merged: Result<MergedFiles, EditRefusal>,
    ) -> Checked {
        let ended = {
            let site = &mut *self.site.get();
            site.timeline.note(|| format!("jobs <- end_merge {jobs:?} {}", merged.is_ok()));
            site.is_touched = true;
            let is_active = site.jobs.list().active(jobs[0]).is_some();
            let now = site.timeline.time();
            let ended = site.jobs.end_merge(now, &self.driver.engine, jobs, merged);
            match &ended {
                Ok(_) => {
                    site.timeline.fire(Kind::Merged);
                    if is_active {
                        site.timeline.fire(Kind::MergedIntoActive);
                    }
                    let accounts = &mut site.checks.accounts;
                    jobs[1..].iter().for_each(|job| accounts.on_leaving(*job));
                }
                Err(_) => site.timeline.fire(Kind::MergeRefused),
            }
            ended
        };
        ended.map_or(Ok(()), |into| self.promise(into))
    }

    fn split(&mut self) -> Checked {
        let site = &mut *self.site.get();
        let job = some_jobs(site)[0];
        let files: Vec<_> = (0..4).filter(|_| site.timeline.one_in(3)).collect();
        site.timeline.note(|| format!("jobs <- split {job} {files:?}"));
        site.is_touched = true;
        let now = site.timeline.time();
        let split = site.jobs.split(now, &self.driver.engine, job, files, "split");
        let Ok(request) = split else {
            site.timeline.fire(Kind::SplitRefused);
            return Ok(());
        };
        if !request.check_begun {
            site.timeline.fire(Kind::SplitOfActive);
        }
        let begun = site.spool.begun_files(job);
        let is_begun = request.check_begun && request.files.iter().any(|it| begun.contains(it));
        let new = match site.spool.nzb(&request.parent).filter(|_| !is_begun) {
            None => Err(EditRefusal::file_begun(job, None)),
            Some(nzb) => {
                let files = request.files.iter().filter_map(|it| nzb.files.get(*it as usize));
                let nzb = Nzb { files: files.cloned().collect(), ..Nzb::default() };
                let mut new = request.new;
                (new.fingerprint, new.contents) = (fingerprint(&nzb), contents(&nzb));
                site.spool.add(&new, Some(nzb.into()));
                site.checks.accounts.on_added(new.id);
                Ok(Box::new(new))
            }
        };
        let time = site.timeline.millis(0, 500);
        site.timeline.plan_in(time, Planned::Split { job, new });
        Ok(())
    }

    pub(crate) fn end_split(
        &mut self,
        job: JobId,
        new: Result<Box<Record>, EditRefusal>,
    ) -> Checked {
        let is_known = {
            let site = &mut *self.site.get();
            site.timeline.note(|| format!("jobs <- end_split {job} {}", new.is_ok()));
            site.is_touched = true;
            let now = site.timeline.time();
            let new = new.map(|new| *new);
            match site.jobs.end_split(now, &self.driver.engine, job, new) {
                Ok(new) => {
                    site.timeline.fire(Kind::Split);
                    site.checks.accounts.on_told(new);
                    site.jobs.list().record(job).is_some()
                }
                Err(_) => {
                    site.timeline.fire(Kind::SplitRefused);
                    false
                }
            }
        };
        if is_known { self.promise(job) } else { Ok(()) }
    }

    fn pause_all(&mut self) -> Checked {
        let site = &mut *self.site.get();
        let now = site.timeline.time();
        site.is_touched = true;
        match site.timeline.chance.up_to(3) {
            0 | 1 => {
                site.timeline.fire(Kind::AllPaused);
                let lasts = site.timeline.one_in(2);
                let lasting = lasts.then(|| site.timeline.millis(1, 600_000));
                let parts = vec![Part::Download];
                site.jobs.pause(now, &Pause { parts, lasting, author: "user".to_owned() });
            }
            2 => {
                site.timeline.fire(Kind::AllResumed);
                site.jobs.resume(&[Part::Download]);
            }
            _ => {
                site.timeline.fire(Kind::AllResumedLater);
                let after = site.timeline.millis(1, 600_000);
                site.jobs.resume_in(now, after);
            }
        }
        site.spool.pauses = site.jobs.pauses().all().map(|(_, paused)| paused.cloned());
        let pauses = &site.spool.pauses;
        site.timeline.note(|| format!("jobs <- pauses are {pauses:?}"));
        Ok(())
    }

    fn change_settings(&mut self) -> Checked {
        let mut settings = self.site.get().jobs.settings().clone();
        {
            let timeline = &mut self.site.get().timeline;
            timeline.fire(Kind::SettingsChanged);
            match timeline.chance.up_to(4) {
                0 => settings.keep = Duration::from_secs(3600 << timeline.chance.up_to(10)),
                1 => settings.most_kept = timeline.chance.up_to(4) as usize,
                2 => settings.accept_duplicates = timeline.one_in(2),
                3 => settings.wants_par2_volumes = timeline.one_in(2),
                _ => {
                    let articles = timeline.chance.up_to(10);
                    settings.reserve = Reserve::Bytes(ByteCount(articles * ARTICLE));
                }
            }
        }
        self.tell_jobs(Event::SettingsChanged(Box::new(settings)))
    }

    /// Users undo what keeps jobs from ending, again and again until all have ended.
    pub(crate) fn heal(&mut self) -> Checked {
        let paused: Vec<_> = {
            let site = &mut *self.site.get();
            site.is_touched = true;
            site.jobs.resume(&Part::ALL);
            site.spool.pauses = [None, None, None];
            if !has_ended_all(site) {
                site.timeline.plan_in(Duration::from_secs(600), Planned::Heal);
            }
            let queued = site.jobs.list().queued().filter(|record| record.outcome.is_none());
            let files = |record: &Record| {
                record.file_choices.as_deref().map_or(Vec::new(), |it| it.paused().to_vec())
            };
            queued.map(|record| (record.id, record.paused, files(record))).collect()
        };
        for (job, is_paused, files) in paused {
            if is_paused {
                self.edit(&[job], &Edit::Resume, Kind::Resumed)?;
            }
            if !files.is_empty() {
                let edit = Edit::Files { files, what: FileEdit::Resume };
                self.edit(&[job], &edit, Kind::FileResumed)?;
            }
        }
        Ok(())
    }
}

/// What has to come of a new job, by the jobs that there are.
struct Expected {
    is_copy: bool,
    /// The spool may know of a copy whose record is not there yet.
    may_be_copy: bool,
    is_worse: bool,
    worse: Vec<JobId>,
}

impl Expected {
    fn of(site: &Site, new: &Record) -> Self {
        let list = site.jobs.list();
        let has_articles = |other: &&Record| {
            let parts = other.joined().iter().any(|part| part.fingerprint == new.fingerprint);
            other.id != new.id && (other.fingerprint == new.fingerprint || parts)
        };
        let stands =
            |other: &Record| matches!(other.ending(), None | Some(Ending::Completed { .. }));
        // The spool knows of a copy as soon as a record is there that says so, its own or that of a part.
        let says_so = |job: JobId| {
            let record = site.spool.stored(job).map(|stored| &stored.record);
            record.is_some_and(|it| it.stands_in_the_way() && has_articles(&it))
        };
        let is_known = |other: &Record| {
            says_so(other.id) || other.joined().iter().any(|part| says_so(part.job))
        };
        let is_accepted =
            site.jobs.settings().accept_duplicates || new.dupe.mode == DupeMode::Force;
        let all = || list.history().chain(list.queued());
        let is_asked = !is_accepted && new.life != JobState::Fetching;
        let copies = || all().filter(has_articles).filter(|it| is_asked && stands(it));
        let may_be_copy = copies().next().is_some();
        let is_copy = copies().any(is_known);
        let has_key = |other: &&Record| other.dupe.key == new.dupe.key && other.id != new.id;
        let is_moving = |other: &&Record| site.jobs.is_being_moved(other.id);
        let counts = !new.dupe.key.is_empty() && new.dupe.mode == DupeMode::Score;
        let goes_on = |it: &&Record| counts && it.outcome.is_none() && !is_moving(it);
        let rivals = || list.queued().filter(has_key).filter(goes_on);
        let completed = |it: &&Record| matches!(it.ending(), Some(Ending::Completed { .. }));
        let past = all().filter(has_key).filter(completed).filter(|_| counts);
        let mut better = rivals().chain(past).filter(|it| it.dupe.score >= new.dupe.score);
        let is_worse = better.next().is_some();
        let worse = rivals().map(|it| it.id).collect();
        Self { is_copy, may_be_copy, is_worse, worse }
    }

    fn check(&self, site: &mut Site, job: JobId, useless: &[JobId]) -> Checked {
        let ending = |job: JobId| site.jobs.list().record(job).and_then(Record::ending);
        let copy = Some(Ending::Deleted(Deletion::Copy));
        let duplicate = Some(Ending::Deleted(Deletion::Duplicate));
        let (own, is_worse) = (ending(job), self.is_worse);
        let is_copy = self.is_copy || self.may_be_copy && own == copy;
        let expected = match (is_copy, is_worse) {
            (true, _) => copy,
            (false, true) => duplicate,
            (false, false) => None,
        };
        if own != expected {
            return violated!("job {job} is {own:?} as it is added, and has to be {expected:?}");
        }
        if is_copy || is_worse {
            site.timeline.fire(if is_copy { Kind::CopyRefused } else { Kind::DuplicateRefused });
            return Ok(());
        }
        if useless != self.worse {
            return violated!("job {job} replaces {useless:?}, and not {:?}", self.worse);
        }
        if let Some(other) = self.worse.iter().find(|other| ending(**other).is_none()) {
            return violated!("job {job} replaces {other}, which goes on");
        }
        if !useless.is_empty() {
            site.timeline.fire(Kind::DuplicateReplaced);
        }
        Ok(())
    }
}

fn new_record(site: &mut Site) -> Record {
    let now = site.timeline.time();
    let id = site.spool.index.next_id();
    let Site { timeline, spool, .. } = site;
    // Names are few, so that directories of one name are wanted by several jobs.
    let name = ["alpha", "beta", "gamma"][timeline.chance.up_to(2) as usize];
    let mut record = Record::new(id, name, now.date, "test", Default::default());
    record.rank = spool.index.next_rank();
    record.priority = priority(timeline);
    record.category = category(timeline).map(Into::into);
    if timeline.one_in(8) {
        timeline.fire(Kind::AddedPaused);
        record.paused = true;
    }
    if timeline.one_in(4) {
        timeline.fire(Kind::AddedWithDupeKey);
        record.dupe = Dupe {
            key: "key".into(),
            score: timeline.chance.up_to(3) as i32,
            mode: dupe_mode(timeline),
        };
    }
    record
}

/// The thread that takes NZBs refuses most copies itself.
fn refuse_copy(site: &mut Site, record: &mut Record) {
    let is_copy = !site.spool.index.copies(record.fingerprint).is_empty();
    let is_accepted = site.jobs.settings().accept_duplicates || record.dupe.mode == DupeMode::Force;
    if is_copy && is_accepted {
        site.timeline.fire(Kind::CopyAccepted);
    } else if is_copy && site.timeline.one_in(2) {
        site.timeline.fire(Kind::CopyRefusedByIntake);
        let sequence = site.spool.index.next_sequence();
        let ending = Ending::Deleted(Deletion::Copy);
        let outcome = Outcome::new(ending, site.timeline.time().date, "nzb.duplicate");
        record.end(Outcome { sequence, ..outcome });
    }
}

/// What users may expect of an edit that deletes.
fn allow(site: &mut Site, jobs: &[JobId], edit: &Edit) {
    let accounts = &mut site.checks.accounts;
    for job in jobs {
        match edit {
            Edit::Delete(Delete::Finally) | Edit::History(HistoryEdit::Delete) => {
                accounts.allow_removal(*job);
            }
            Edit::Delete(Delete::AsDuplicate | Delete::ToHistory)
            | Edit::History(HistoryEdit::Redownload | HistoryEdit::Retry) => {
                accounts.allow_deletion(*job);
            }
            _ => {}
        }
    }
}

fn one_of<T: Copy>(timeline: &mut Timeline, all: &[T]) -> Option<T> {
    let last = all.len().checked_sub(1)?;
    all.get(timeline.chance.up_to(last as u64) as usize).copied()
}

/// At least one; mostly of the queue, and sometimes one that does not exist.
fn some_jobs(site: &mut Site) -> Vec<JobId> {
    let list = site.jobs.list();
    let queued: Vec<_> = list.queued().map(|record| record.id).collect();
    let past: Vec<_> = list.history().map(|record| record.id).collect();
    let timeline = &mut site.timeline;
    let count = [1, 1, 2, 2, 3][timeline.chance.up_to(4) as usize];
    let mut jobs = Vec::new();
    for _ in 0..count {
        let from = if timeline.one_in(10) { &past } else { &queued };
        let job = if timeline.one_in(20) { None } else { one_of(timeline, from) };
        let job = job.unwrap_or(NO_JOB);
        if !jobs.contains(&job) || timeline.one_in(20) {
            jobs.push(job);
        }
    }
    jobs
}

fn priority(timeline: &mut Timeline) -> i32 {
    [0, 0, 0, 50, -50, FORCE_PRIORITY][timeline.chance.up_to(5) as usize]
}

fn category(timeline: &mut Timeline) -> Option<&'static str> {
    [None, None, Some("tv"), Some("film"), Some("other")][timeline.chance.up_to(4) as usize]
}

fn dupe_mode(timeline: &mut Timeline) -> DupeMode {
    [DupeMode::Score, DupeMode::Score, DupeMode::All, DupeMode::Force]
        [timeline.chance.up_to(3) as usize]
}

fn pausing(timeline: &mut Timeline) -> (Edit, Kind) {
    match timeline.one_in(2) {
        true => (Edit::Pause, Kind::Paused),
        false => (Edit::Resume, Kind::Resumed),
    }
}

fn moving(site: &mut Site) -> (Edit, Kind) {
    let other = some_jobs(site)[0];
    let timeline = &mut site.timeline;
    let (target, kind) = match timeline.chance.up_to(4) {
        0 => (Target::Top, Kind::MovedTop),
        1 => (Target::Bottom, Kind::MovedBottom),
        2 => (Target::Before(other), Kind::MovedBefore),
        3 => (Target::After(other), Kind::MovedAfter),
        _ => (Target::By(timeline.chance.up_to(6) as i64 - 3), Kind::MovedBy),
    };
    (Edit::Move(target), kind)
}

fn ordering(timeline: &mut Timeline) -> (Edit, Kind) {
    if timeline.one_in(3) {
        use SortKey::{Category, Left, Name, Priority, Size};
        let by = [Name, Priority, Category, Size, Left][timeline.chance.up_to(4) as usize];
        return (Edit::Sort { by, descending: timeline.one_in(2) }, Kind::Sorted);
    }
    match priority(timeline) {
        FORCE_PRIORITY => (Edit::SetPriority(FORCE_PRIORITY), Kind::Forced),
        priority => (Edit::SetPriority(priority), Kind::PrioritySet),
    }
}

fn describing(timeline: &mut Timeline) -> (Edit, Kind) {
    match timeline.chance.up_to(5) {
        0 => (Edit::SetCategory(category(timeline).map(str::to_owned)), Kind::CategorySet),
        1 => (Edit::SetName(format!("name {}", timeline.chance.up_to(2))), Kind::NameSet),
        2 => {
            let value = timeline.chance.up_to(2).to_string();
            (Edit::SetParameter { name: "p".to_owned(), value }, Kind::ParameterSet)
        }
        3 => (Edit::SetDupeKey("key".to_owned()), Kind::DupeKeySet),
        4 => (Edit::SetDupeScore(timeline.chance.up_to(3) as i32), Kind::DupeScoreSet),
        _ => (Edit::SetDupeMode(dupe_mode(timeline)), Kind::DupeModeSet),
    }
}

fn choosing_files(timeline: &mut Timeline) -> (Edit, Kind) {
    let first = timeline.chance.up_to(3) as u32;
    let second = timeline.one_in(3).then_some(first + 1);
    let files = std::iter::once(first).chain(second).collect();
    let (what, kind) = match timeline.chance.up_to(6) {
        0 | 1 => (FileEdit::Pause, Kind::FilePaused),
        2 => (FileEdit::Resume, Kind::FileResumed),
        3 => (FileEdit::Delete, Kind::FileDeleted),
        4 => (FileEdit::Top, Kind::FileMoved),
        5 => (FileEdit::By(1), Kind::FileMoved),
        _ => (FileEdit::Reorder, Kind::FilesReordered),
    };
    (Edit::Files { files, what }, kind)
}

fn deleting(timeline: &mut Timeline) -> (Edit, Kind) {
    let (delete, kind) = match timeline.chance.up_to(3) {
        0 => (Delete::ToHistory, Kind::DeletedToHistory),
        1 => (Delete::Park, Kind::DeletedParked),
        2 => (Delete::AsDuplicate, Kind::DeletedAsDuplicate),
        _ => (Delete::Finally, Kind::DeletedFinally),
    };
    (Edit::Delete(delete), kind)
}

/// No job ever has this number.
const NO_JOB: JobId = JobId(9999);
