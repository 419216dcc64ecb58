//! [`JobCheck`]: checks the state of every job, file and segment after every event. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bergamot_engine::{DiskTrouble, Engine, Event, FORCE_PRIORITY, Failure, ServerSettings};
use bergamot_queue::{Cause, FileKey, Layout, NewJob, Part, SegmentKey, SegmentState};
use bergamot_types::{ByteRate, JobId};

use crate::sim::day::recovery::Census;
use crate::sim::day::{Day, JobModel};
use crate::sim::journal::Journal;
use crate::sim::kind::Kind;
use crate::violation::{Checked, Violation, violated};

/// How a job ended.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Verdict {
    Completed,
    FailedDisk,
    FailedIncomplete,
    FailedServersDown,
    Removed,
}

#[derive(Debug)]
pub(crate) struct JobCheck<'a> {
    day: &'a Day,
    jobs: Vec<Job>, // by id, from 1
    all_paused: bool,
    rate: Option<ByteRate>, // that somebody wants
    touched: Option<JobId>,
    looks: u64,
}

#[derive(Debug)]
struct Job {
    state: State,
    priority: i32,
    rank: i64,
    paused: bool,
    files: Vec<File>,
    lost: bool,
    disk_gave_up: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Unknown,
    Going,
    Processing,
    /// Its verdict is out; the shell is about to take it away.
    Ended(Verdict),
}

#[derive(Debug)]
struct File {
    segments: Vec<Segment>,
    fresh: usize, // segments that nobody was ever asked for
    paused: bool,
    dropped: bool,
    losses: u8,
    is_volume: bool,
    /// It was asked for, though it is a volume.
    needed: bool,
    /// Some copy said something else than the others: what was believed may be overturned.
    contested: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    asked: bool,
    written: bool,
    lost: bool,
    /// What is written is the article of another file.
    is_sibling: bool,
    /// Servers that gave us trouble over it, and those that do not have it; one bit each.
    troubled: u64,
    missing: u64,
}

impl Job {
    fn is_going(&self) -> bool {
        matches!(self.state, State::Going | State::Processing)
    }

    fn data(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| !file.is_volume && !file.dropped)
    }

    /// What there is of it and what is lost; none while that cannot be told from here.
    fn census(&self) -> Option<Census> {
        if self.files.iter().any(|file| file.contested || file.dropped) {
            return None;
        }
        let mut census = Census::default();
        for file in &self.files {
            let lost = file.segments.iter().filter(|segment| segment.lost).count() as u64;
            let all = file.segments.len() as u64;
            let (count, gone) = match file.is_volume {
                true => (&mut census.recovery, &mut census.lost_recovery),
                false => (&mut census.data, &mut census.lost_data),
            };
            *count += all;
            *gone += lost;
        }
        Some(census)
    }
}

impl File {
    fn is_settled(&self) -> bool {
        self.segments.iter().all(|segment| segment.written || segment.lost)
    }
}

impl<'a> JobCheck<'a> {
    pub(crate) fn new(day: &'a Day) -> Self {
        let file = |job: &JobModel, index: usize| File {
            segments: vec![Segment::default(); job.files[index] as usize],
            fresh: job.files[index] as usize,
            paused: false,
            dropped: false,
            losses: 0,
            is_volume: job.is_volume(index),
            needed: false,
            contested: false,
        };
        let job = |job: &JobModel| Job {
            state: State::Unknown,
            priority: job.priority,
            rank: 0,
            paused: false,
            files: (0..job.files.len()).map(|index| file(job, index)).collect(),
            lost: false,
            disk_gave_up: false,
        };
        let jobs = day.jobs.iter().map(job).collect();
        Self { day, jobs, all_paused: false, rate: None, touched: None, looks: 0 }
    }

    pub(crate) fn on_added(&mut self, job: JobId) {
        self.job(job).state = State::Going;
        self.touched = Some(job);
    }

    pub(crate) fn on_user_action(&mut self, event: &Event) {
        match *event {
            Event::DownloadPaused => self.all_paused = true,
            Event::DownloadResumed => self.all_paused = false,
            Event::FilePaused(file) => self.file(file).paused = true,
            Event::FileResumed(file) => self.file(file).paused = false,
            Event::JobPaused(job) => self.job(job).paused = true,
            Event::JobPlaced { job, priority, rank } => {
                let job = self.job(job);
                (job.priority, job.rank) = (priority, rank);
            }
            Event::JobResumed(job) => self.job(job).paused = false,
            Event::RateChanged(rate) => self.rate = rate,
            _ => {}
        }
    }

    pub(crate) fn on_dropped(&mut self, file: FileKey) {
        self.file(file).dropped = true;
    }

    /// The engine is started anew: it knows of what was written and is in the journal, and of no
    /// request for the rest. Gives the jobs that go on.
    pub(crate) fn on_restart(
        &mut self,
        journal: &Journal,
        torn: usize,
    ) -> Result<Vec<usize>, Violation> {
        let written = journal.written();
        self.check_notes(&written, journal, torn)?;
        let mut going = Vec::new();
        for (index, job) in self.jobs.iter_mut().enumerate().filter(|(_, job)| job.is_going()) {
            going.push(index);
            (job.state, job.lost, job.disk_gave_up) = (State::Unknown, false, false);
            let id = JobId(index as u32 + 1);
            for (file, known) in (0..).zip(&mut job.files) {
                let finished = journal.is_finished(FileKey { job: id, file });
                for (segment, known) in (0..).zip(&mut known.segments) {
                    let written = written.contains(&SegmentKey { job: id, file, segment });
                    let written = finished || written;
                    *known = Segment { written, asked: written, ..Segment::default() };
                }
                known.fresh = known.segments.iter().filter(|segment| !segment.asked).count();
                known.losses = 0;
                known.needed &= known.segments.iter().any(|segment| segment.written);
            }
        }
        Ok(going)
    }

    /// What was written is noted, but for what was torn off; and nothing else is.
    fn check_notes(
        &self,
        noted: &BTreeSet<SegmentKey>,
        journal: &Journal,
        mut torn: usize,
    ) -> Checked {
        for (id, job) in (1..).map(JobId).zip(&self.jobs).filter(|(_, job)| job.is_going()) {
            for (file, known) in (0..).zip(&job.files) {
                let of_file = FileKey { job: id, file };
                let exempt = known.contested || known.dropped;
                if exempt || journal.is_finished(of_file) || journal.is_lost(of_file) {
                    continue;
                }
                for (segment, known) in (0..).zip(&known.segments) {
                    let key = SegmentKey { job: id, file, segment };
                    match (known.written, noted.contains(&key)) {
                        (false, true) => return violated!("{key:?} is noted and not written"),
                        (true, false) if torn == 0 => {
                            return violated!("{key:?} is written and not noted");
                        }
                        (true, false) => torn -= 1,
                        (false, false) | (true, true) => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// As the user has changed it by now.
    pub(crate) fn amend(&self, new: &mut NewJob) {
        let known = &self.jobs[new.id.0 as usize - 1];
        (new.priority, new.rank, new.paused) = (known.priority, known.rank, known.paused);
        for (file, known) in (0..).zip(&known.files) {
            new.paused_files.extend(known.paused.then_some(file));
            new.dropped.extend(known.dropped.then_some(file));
        }
    }

    /// What a new engine has to be told before it is told of jobs.
    pub(crate) fn user_actions(&self) -> impl Iterator<Item = Event> + use<> {
        let paused = self.all_paused.then_some(Event::DownloadPaused);
        paused.into_iter().chain(self.rate.map(|rate| Event::RateChanged(Some(rate))))
    }

    pub(crate) fn on_removed(&mut self, job: JobId) {
        let job = self.job(job);
        if !matches!(job.state, State::Ended(_)) {
            job.state = State::Ended(Verdict::Removed);
        }
    }

    /// No order after a verdict.
    pub(crate) fn on_work(&mut self, what: &str, job: JobId) -> Checked {
        match self.job(job).state {
            State::Going => Ok(()),
            state => violated!("{what} is ordered for job {job}, which is {state:?}"),
        }
    }

    /// A file is as large as it was posted, whatever its parts claim.
    pub(crate) fn on_file_whole(&mut self, file: FileKey, layout: &Layout) -> Checked {
        let right = self.file(file).segments.len() as u64 * self.day.article;
        match layout {
            Layout::InPlace { size } if *size != right => {
                violated!("{file:?} is whole with {size} bytes, and has {right}")
            }
            _ => Ok(()),
        }
    }

    /// Where two other parts name the file, the article of another one is found out: it is not called
    /// verified, and where a server has the right one that is taken.
    pub(crate) fn on_downloaded(&mut self, job: JobId, verified: bool) -> Checked {
        self.on_work("the end", job)?;
        let reliable = self.day.reliable;
        let known = self.job(job);
        let large = known.files.iter().filter(|file| file.segments.len() >= 3 && !file.dropped);
        let siblings =
            large.flat_map(|file| &file.segments).filter(|it| it.is_sibling && it.written);
        if siblings.count() > 0 && (verified || reliable) {
            return violated!("job {job} has an article of another file, verified: {verified}");
        }
        if known.data().any(|file| file.segments.iter().any(|segment| !segment.written)) {
            return violated!("job {job} ends, and not all of its data is written");
        }
        known.state = State::Processing;
        Ok(())
    }

    pub(crate) fn on_processed(&mut self, job: JobId, result: Result<(), Cause>) {
        let job = self.job(job);
        job.state = match result {
            Ok(()) => State::Ended(Verdict::Completed),
            Err(_) => State::Going,
        };
        job.disk_gave_up |= result.is_err();
    }

    /// A job fails only for a reason we saw.
    pub(crate) fn on_fail(&mut self, id: JobId, failure: Failure) -> Checked {
        self.on_work("failure", id)?;
        let job = self.job(id);
        let beyond_repair = job.census().is_none_or(|census| census.is_beyond_repair());
        let (reason, verdict) = match failure {
            Failure::Disk | Failure::Processing(_) => (job.disk_gave_up, Verdict::FailedDisk),
            Failure::Health { .. } => (job.lost && beyond_repair, Verdict::FailedIncomplete),
            Failure::Incomplete => (job.lost, Verdict::FailedIncomplete),
            Failure::ServersDown => (job.lost, Verdict::FailedServersDown),
        };
        job.state = State::Ended(verdict);
        let by_loss = matches!(failure, Failure::Incomplete | Failure::ServersDown);
        let reason = reason && !(self.day.reliable && by_loss);
        if reason { Ok(()) } else { violated!("job {id} fails ({failure:?}) without a reason") }
    }

    pub(crate) fn on_file_finished(&mut self, file: FileKey, result: Result<(), DiskTrouble>) {
        let day_gives_up = result == Err(DiskTrouble::Permanent);
        let known = self.file(file);
        if result == Err(DiskTrouble::Unsynced) {
            known.losses += 1;
            known.segments.iter_mut().for_each(|segment| segment.written = false);
        }
        let gives_up = day_gives_up || known.losses > MOST_LOSSES;
        if result == Err(DiskTrouble::Unsynced) {
            let known = self.file(file);
            known.segments.iter_mut().for_each(|segment| segment.asked = false);
            known.fresh = known.segments.len();
        }
        self.job(file.job).disk_gave_up |= gives_up;
        self.touched = Some(file.job);
    }

    /// Nothing is fetched that lies in its place, or that is paused or dropped.
    fn check_wanted(&self, key: SegmentKey) -> Checked {
        let job = &self.jobs[key.job.0 as usize - 1];
        let file = &job.files[key.file as usize];
        if self.is_held(job) || file.paused || file.dropped {
            return violated!("{key:?} is asked for though it is paused or dropped");
        }
        if file.segments[key.segment as usize].written && !file.contested {
            return violated!("{key:?} is asked for though it is written");
        }
        if file.is_volume && !file.needed && !Self::needs_volumes(job) {
            return violated!("{key:?} is asked for, and nothing has to be repaired");
        }
        Ok(())
    }

    /// Only what is written may be asked for as a control.
    pub(crate) fn on_control(&mut self, key: SegmentKey) -> Checked {
        let contested = self.file(key.file_key()).contested;
        match self.segment(key).written || contested {
            true => Ok(()),
            false => violated!("{key:?} is asked for as a control and is not written"),
        }
    }

    /// Volumes are of no use before it is known that something else is lost.
    fn needs_volumes(job: &Job) -> bool {
        let contested = job.files.iter().any(|file| file.contested);
        let lost = job.data().any(|file| file.segments.iter().any(|segment| segment.lost));
        contested || lost && job.data().all(File::is_settled)
    }

    pub(crate) fn has_needed_volumes(&self) -> bool {
        self.jobs.iter().flat_map(|job| &job.files).any(|file| file.needed)
    }

    fn is_held(&self, job: &Job) -> bool {
        job.paused || self.all_paused && job.priority < FORCE_PRIORITY
    }

    /// Segments that were not requested, and could be.
    fn fresh(&self, job: &Job) -> usize {
        if job.state != State::Going || self.is_held(job) {
            return 0;
        }
        let held_back = |file: &File| file.is_volume && !file.needed;
        let files = job.files.iter().filter(|file| !file.paused && !file.dropped);
        files.filter(|file| !held_back(file)).map(|file| file.fresh).sum()
    }

    /// Fresh articles go by priority, rank and age. Where one connection is all there is, nothing of a
    /// later job comes before all of an earlier one; a slow one may be better off with the later.
    pub(crate) fn on_fetch(&mut self, key: SegmentKey, server: usize, hedge: bool) -> Checked {
        self.check_wanted(key)?;
        let file = self.file(key.file_key());
        file.needed = file.is_volume;
        if hedge || std::mem::replace(&mut self.segment(key).asked, true) {
            return Ok(());
        }
        self.file(key.file_key()).fresh -= 1;
        let place = |id: u32| {
            let job = &self.jobs[id as usize - 1];
            (-job.priority, job.rank, id)
        };
        let earlier = (1..=self.jobs.len() as u32).find(|&id| {
            place(id) < place(key.job.0) && self.fresh(&self.jobs[id as usize - 1]) > 0
        });
        let settings = &self.day.servers[server].settings;
        let reloaded = self
            .day
            .user_actions
            .iter()
            .any(|(_, user_action)| user_action.kind() == Kind::Reloaded);
        let alone = self.day.servers.len() == 1 && settings.connections == 1 && !reloaded;
        match earlier.filter(|_| alone && settings.retention == 0) {
            Some(earlier) => violated!("{key:?} is asked for before all of job {earlier}"),
            None => Ok(()),
        }
    }

    pub(crate) fn on_missing(&mut self, key: SegmentKey, server: usize) {
        let segment = self.segment(key);
        segment.missing |= 1 << server;
        segment.troubled |= 1 << server;
    }

    pub(crate) fn on_trouble(&mut self, key: SegmentKey, server: usize) {
        self.segment(key).troubled |= 1 << server;
    }

    /// A copy has come.
    pub(crate) fn on_copy(
        &mut self,
        key: SegmentKey,
        server: usize,
        part: &Part,
        good: bool,
        outgrown: bool,
    ) {
        let right = crate::sim::models::part(self.day, key);
        let same = part.begin == right.begin && part.length == right.length;
        let right = same
            && part.file_size == right.file_size
            && part.number == right.number
            && (!self.day.names || part.name == right.name && part.total == right.total);
        if !right {
            self.file(key.file_key()).contested = true;
        }
        // In a dispute a good copy may be refused, too.
        let contested = self.file(key.file_key()).contested;
        if !outgrown && (contested || !good) {
            self.on_trouble(key, server);
        }
        self.touched = Some(key.job);
    }

    /// How often the disk has lost a file.
    pub(crate) fn losses(&self, file: FileKey) -> usize {
        self.jobs[file.job.0 as usize - 1].files[file.file as usize].losses.into()
    }

    pub(crate) fn is_contested(&self, file: FileKey) -> bool {
        self.jobs[file.job.0 as usize - 1].files[file.file as usize].contested
    }

    /// Bytes are accounted once: nothing is written again that lies in its place.
    pub(crate) fn on_write(&self, key: SegmentKey) -> Checked {
        let file = &self.jobs[key.job.0 as usize - 1].files[key.file as usize];
        if file.segments[key.segment as usize].written && !file.contested {
            return violated!("{key:?} is written again");
        }
        if file.dropped {
            return violated!("{key:?} is written though its file is dropped");
        }
        Ok(())
    }

    pub(crate) fn on_written(
        &mut self,
        key: SegmentKey,
        good: bool,
        is_sibling: bool,
        result: Result<(), DiskTrouble>,
    ) -> Checked {
        match result {
            Ok(()) if good && !self.file(key.file_key()).dropped => {
                let segment = self.segment(key);
                (segment.written, segment.lost) = (true, false);
                segment.is_sibling = is_sibling;
            }
            Err(DiskTrouble::Permanent) => self.job(key.job).disk_gave_up = true,
            _ => {}
        }
        self.touched = Some(key.job);
        Ok(())
    }

    /// Lost is what every server has answered for: none may have been left out.
    pub(crate) fn on_lost(&mut self, key: SegmentKey, servers: &[ServerSettings]) -> Checked {
        self.job(key.job).lost = true;
        self.segment(key).lost = true;
        self.touched = Some(key.job);
        if self.file(key.file_key()).dropped {
            return violated!("{key:?} is lost, and nobody wants it");
        }
        let segment = *self.segment(key);
        let old = self.day.jobs[key.job.0 as usize - 1].posted_days_ago.is_some();
        for (place, settings) in servers.iter().enumerate().filter(|(_, server)| server.active) {
            let mirror =
                |other: usize| settings.group > 0 && servers[other].group == settings.group;
            let answered = segment.troubled & 1 << place != 0
                || (0..servers.len())
                    .any(|other| segment.missing & 1 << other != 0 && mirror(other));
            let excused = settings.optional || old && settings.retention > 0;
            if !answered && !excused {
                return violated!("{key:?} is lost, and {} was not asked", settings.id);
            }
        }
        Ok(())
    }

    /// The totals of the job that something happened to, against what happened.
    pub(crate) fn check_totals(&mut self, engine: &Engine) -> Checked {
        let Some(id) = self.touched.take() else { return Ok(()) };
        let Some(job) = engine.job(id) else { return Ok(()) };
        let known = &self.jobs[id.0 as usize - 1];
        let weighs = self.day.claimed > 0 && known.lost && known.state == State::Going;
        if weighs && known.census().is_some_and(|census| census.is_beyond_repair()) {
            return violated!("job {id} goes on, and is beyond repair");
        }
        self.looks += 1;
        if job.totals().segments > LARGE_JOB && !self.looks.is_multiple_of(LARGE_JOB.into()) {
            return Ok(()); // to count all of it each time would take the square of its length
        }
        if matches!(known.state, State::Ended(_)) {
            return Ok(()); // whatever was to be forgotten of it, it all is soon
        }
        let (mut done, mut bytes) = (0, 0);
        let files = job.files().iter().zip(&known.files);
        for (file, ours) in files.filter(|(_, ours)| !ours.dropped) {
            for (index, segment) in (0..file.segment_count()).zip(&ours.segments) {
                let written = matches!(file.segment(index), SegmentState::Written { .. });
                done += u32::from(written);
                bytes += if written { u64::from(file.claimed_bytes(index)) } else { 0 };
                if written != segment.written && !ours.contested {
                    return violated!("segment {index} of job {id} is written: {written}");
                }
            }
        }
        let totals = job.totals();
        if (totals.segments_done, totals.bytes_done) != (done, bytes) {
            return violated!("job {id} has {done} articles of {bytes} bytes, not {totals:?}");
        }
        Ok(())
    }

    pub(crate) fn has_fresh(&self) -> bool {
        self.jobs.iter().any(|job| self.fresh(job) > 0)
    }

    pub(crate) fn all_ended(&self) -> bool {
        self.jobs.iter().all(|job| matches!(job.state, State::Ended(_)))
    }

    pub(crate) fn verdicts(&self) -> BTreeMap<Verdict, usize> {
        let mut verdicts = BTreeMap::new();
        for job in &self.jobs {
            if let State::Ended(verdict) = job.state {
                *verdicts.entry(verdict).or_default() += 1;
            }
        }
        verdicts
    }

    fn job(&mut self, job: JobId) -> &mut Job {
        &mut self.jobs[job.0 as usize - 1]
    }

    fn file(&mut self, file: FileKey) -> &mut File {
        &mut self.job(file.job).files[file.file as usize]
    }

    fn segment(&mut self, key: SegmentKey) -> &mut Segment {
        &mut self.file(key.file_key()).segments[key.segment as usize]
    }
}

/// Segments; days from seeds have fewer.
const LARGE_JOB: u32 = 2000;

/// How often a disk may lose a file before its job is given up.
const MOST_LOSSES: u8 = 2;
