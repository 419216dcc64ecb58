//! [`Queue`]: all jobs, ordered by priority, rank and age. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bergamot_types::{JobId, ServerId};

use crate::file::part::{Conflict, Part};
use crate::file::placements::{Layout, Placed};
use crate::file::{File, FileState, SegmentState};
use crate::job::restored::Replay;
use crate::job::{DownloadState, Job, MoreFiles, NewJob, Place};

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FileKey {
    pub job: JobId,
    pub file: u32,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SegmentKey {
    pub job: JobId,
    pub file: u32,
    pub segment: u32,
}

impl SegmentKey {
    pub fn file_key(self) -> FileKey {
        FileKey { job: self.job, file: self.file }
    }
}

/// All jobs with the state of each segment, without servers, bytes or time.
///
/// Drive it like this:
/// 1. [`add`](Self::add) a job; act on the [`Replay`] it returns,
/// 2. take the first segment of [`fresh`](Self::fresh) that a server may be asked for, and call
///    [`take_fresh`](Self::take_fresh) for its file before the next look at `fresh`,
/// 3. for a good copy call [`place`](Self::place), write the part at its offset, and then
///    [`resolve`](Self::resolve) as `Written`; if the write fails call [`displace`](Self::displace) instead,
/// 4. for a segment that no server has call `resolve` as `Missing` or `Damaged`,
/// 5. when `resolve` returns a [`Layout`] the file is whole: name it, and call
///    [`finish_file`](Self::finish_file),
/// 6. after each of these look at [`state`](Self::state); [`remove`](Self::remove) the job when it has ended.
///
/// A segment is returned by `fresh` once; what is asked for again is the caller's to remember. Segments that
/// `place` returns as evicted or refused in error are open again. Calls with the key of a job, file or segment
/// that is not there, or is settled, change nothing, so late answers need no check before. `place` of a segment
/// that is settled or dropped returns `None`. Every list is bounded by the segments of the jobs that were
/// added; claims of one file by `MOST_CLAIMS` and `MOST_VALUES`.
#[derive(Debug, Default)]
pub struct Queue {
    jobs: BTreeMap<JobId, Job>,
    fresh: BTreeSet<Place>, // jobs that may still have segments nobody asked for
    floor: Option<i32>,     // the least priority of which anything is handed out
}

impl Queue {
    pub fn new() -> Self {
        Self::default()
    }

    /// What came of what an earlier run had written of the job.
    pub fn add(&mut self, new: NewJob) -> Replay {
        let (mut job, replay) = Job::new(new);
        let id = job.id();
        job.release_extras_if_needed();
        self.jobs.insert(id, job);
        self.offer(id);
        replay
    }

    pub fn remove(&mut self, job: JobId) -> Option<Job> {
        let job = self.jobs.remove(&job)?;
        self.fresh.remove(&job.place());
        Some(job)
    }

    /// Hands out nothing more of the job until it is resumed; whether that is news.
    pub fn pause(&mut self, job: JobId) -> bool {
        let Some(job) = self.jobs.get_mut(&job).filter(|job| !job.is_paused()) else {
            return false;
        };
        job.set_paused(true);
        self.fresh.remove(&job.place());
        true
    }

    /// Whether the job was paused.
    pub fn resume(&mut self, job: JobId) -> bool {
        let Some(known) = self.jobs.get_mut(&job).filter(|job| job.is_paused()) else {
            return false;
        };
        known.set_paused(false);
        self.offer(job);
        true
    }

    /// Moves the job in the order of all jobs.
    pub fn place_job(&mut self, job: JobId, priority: i32, rank: i64) {
        let Some(known) = self.jobs.get_mut(&job) else { return };
        self.fresh.remove(&known.place());
        known.set_place(priority, rank);
        self.offer(job);
    }

    /// Hands out only what is of jobs of this priority or a higher one, until told otherwise.
    pub fn set_floor(&mut self, floor: Option<i32>) {
        self.floor = floor;
        let jobs: Vec<_> = self.jobs.keys().copied().collect();
        jobs.into_iter().for_each(|job| self.offer(job));
    }

    /// Hands out nothing more of the file; whether that is news.
    pub fn pause_file(&mut self, key: FileKey) -> bool {
        self.set_file_paused(key, true)
    }

    /// Whether the file was paused.
    pub fn resume_file(&mut self, key: FileKey) -> bool {
        self.set_file_paused(key, false)
    }

    fn set_file_paused(&mut self, key: FileKey, paused: bool) -> bool {
        let Some(job) = self.jobs.get_mut(&key.job) else { return false };
        let is_news = job.set_file_paused(key.file, paused);
        self.offer(key.job);
        is_news
    }

    /// Hands out the files of the job in this order from now on; those not told follow by their places.
    pub fn order_files(&mut self, job: JobId, told: &[u32]) {
        if let Some(known) = self.jobs.get_mut(&job) {
            known.set_order(told);
            self.offer(job);
        }
    }

    /// More of a job has come, behind what there was; whether it is there.
    pub fn append(&mut self, job: JobId, more: MoreFiles) -> bool {
        let Some(known) = self.jobs.get_mut(&job) else { return false };
        known.append(more);
        known.release_extras_if_needed();
        self.offer(job);
        true
    }

    /// Wants nothing more of a file that is not whole yet; whether there was one.
    pub fn drop_file(&mut self, key: FileKey) -> bool {
        let Some(job) = self.jobs.get_mut(&key.job) else { return false };
        let dropped = job.drop_file(key.file);
        if dropped {
            job.release_extras_if_needed();
            self.offer(key.job);
        }
        dropped
    }

    /// Whether nothing of the job is handed out, for it or all jobs of its priority are paused.
    pub fn is_job_held(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|job| self.is_held_back(job))
    }

    /// The same of a segment, whose file may be paused, too.
    pub fn is_held(&self, key: SegmentKey) -> bool {
        self.is_job_held(key.job) || self.file(key.file_key()).is_some_and(File::is_paused)
    }

    /// Whether nothing is handed out of any job.
    pub fn is_all_held(&self) -> bool {
        self.jobs.values().all(|job| self.is_held_back(job))
    }

    fn is_held_back(&self, job: &Job) -> bool {
        job.is_paused() || self.floor.is_some_and(|floor| job.priority() < floor)
    }

    pub fn is_paused(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(Job::is_paused)
    }

    pub fn job(&self, job: JobId) -> Option<&Job> {
        self.jobs.get(&job)
    }

    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub fn file(&self, key: FileKey) -> Option<&File> {
        self.jobs.get(&key.job)?.files().get(key.file as usize)
    }

    /// Whether the segment is still to be had: its job may be gone.
    pub fn wants(&self, key: SegmentKey) -> bool {
        self.file(key.file_key()).is_some_and(|file| file.wants(key.segment))
    }

    /// How many segments were not requested yet, counted up to `enough`.
    pub fn fresh_up_to(&self, enough: usize) -> usize {
        let mut found = 0;
        for (_, _, job) in &self.fresh {
            found += self.jobs.get(job).map_or(0, Job::fresh_count);
            if found >= enough {
                return enough;
            }
        }
        found
    }

    /// The next segment of each file that was not requested yet, in the order in which they are wanted.
    pub fn fresh(&self) -> impl Iterator<Item = SegmentKey> + '_ {
        let jobs = self.fresh.iter().filter_map(|(_, _, job)| self.jobs.get(job));
        jobs.flat_map(|job| {
            let segments = job.fresh_segments();
            segments.map(|(file, segment)| SegmentKey { job: job.id(), file, segment })
        })
    }

    /// The bytes, as the NZB claims them, of what was not requested yet of one job.
    pub fn fresh_bytes(&self, job: JobId) -> u64 {
        self.jobs.get(&job).map_or(0, Job::fresh_bytes)
    }

    /// The same for all jobs.
    pub fn all_fresh_bytes(&self) -> u64 {
        self.fresh.iter().map(|&(_, _, job)| self.fresh_bytes(job)).sum()
    }

    /// The next fresh segment of a file has been asked for.
    pub fn take_fresh(&mut self, key: FileKey) {
        let Some(job) = self.jobs.get_mut(&key.job) else { return };
        job.take_fresh(key.file);
        if job.fresh_segments().next().is_none() {
            self.fresh.remove(&job.place());
        }
    }

    /// Finds the place of a good copy; the segments that were evicted for it are wanted again.
    pub fn place(&mut self, key: SegmentKey, part: &Part) -> Option<Result<Placed, Conflict>> {
        let job = self.jobs.get_mut(&key.job)?;
        let placed = job.file_mut(key.file).place(key.segment, part);
        for &again in
            placed.iter().flat_map(|placed| placed.evicted.iter().chain(&placed.refused_in_error))
        {
            job.reopen(key.file, again);
        }
        Some(placed)
    }

    /// The same of a copy that is suspicious, where no server has a better one. It counts as unverified.
    pub fn accept(&mut self, key: SegmentKey, part: &Part) -> Option<Result<Placed, Conflict>> {
        let job = self.jobs.get_mut(&key.job)?;
        Some(job.file_mut(key.file).accept(key.segment, part))
    }

    /// Goes on to the next id that the NZB lists for the segment; whether there is one that was not tried.
    pub fn choose_next_id(&mut self, key: SegmentKey) -> bool {
        let job = self.jobs.get_mut(&key.job);
        job.is_some_and(|job| job.file_mut(key.file).choose_next_id(key.segment))
    }

    /// Goes back to an id that was tried.
    pub fn choose_id(&mut self, key: SegmentKey, choice: u32) {
        if let Some(job) = self.jobs.get_mut(&key.job) {
            job.file_mut(key.file).choose_id(key.segment, choice);
        }
    }

    /// The part could not be written after all.
    pub fn displace(&mut self, key: SegmentKey) {
        if let Some(job) = self.jobs.get_mut(&key.job) {
            job.file_mut(key.file).displace(key.segment);
        }
    }

    /// Where a damaged copy may lie until a better one comes.
    pub fn room_for_damaged(&self, key: SegmentKey, part: &Part) -> Option<u64> {
        self.file(key.file_key())?.room_for_damaged(key.segment, part)
    }

    pub fn size_to_reserve(&mut self, key: FileKey) -> Option<u64> {
        self.jobs.get_mut(&key.job)?.file_mut(key.file).size_to_reserve()
    }

    /// Records what became of a segment; the file's layout, if that made it whole.
    pub fn resolve(&mut self, key: SegmentKey, state: SegmentState) -> Option<Layout> {
        let job = self.jobs.get_mut(&key.job)?;
        let file = job.file_mut(key.file);
        if !file.wants(key.segment) {
            return None;
        }
        let bytes = file.claimed_bytes(key.segment);
        file.resolve(key.segment, state);
        let layout = file.settle();
        let holed = file.state() == FileState::Holed;
        match state {
            SegmentState::Written { .. } => job.note_done(bytes.into()),
            _ => job.note_lost(key.file, key.segment),
        }
        if holed {
            self.settled(key.job);
        }
        layout
    }

    /// An article of the job came from this server, or did not come from it though it was asked.
    pub fn note_server(&mut self, job: JobId, server: ServerId, got: bool) {
        let Some(job) = self.jobs.get_mut(&job) else { return };
        match got {
            true => job.servers_mut().note_got(server),
            false => job.servers_mut().note_failed(server),
        }
    }

    /// A file that was whole has got its name, or could not get it.
    pub fn finish_file(&mut self, key: FileKey, whole: bool) {
        let Some(job) = self.jobs.get_mut(&key.job) else { return };
        let file = job.file_mut(key.file);
        if file.state() == FileState::Finishing {
            file.finish(whole);
            self.settled(key.job);
        }
    }

    /// The disk has lost what a file held that was whole: it is wanted once more.
    pub fn forget_file(&mut self, key: FileKey) {
        let Some(job) = self.jobs.get_mut(&key.job) else { return };
        job.forget_file(key.file);
        self.offer(key.job);
    }

    pub fn state(&self, job: JobId) -> Option<DownloadState> {
        self.jobs.get(&job).map(Job::state)
    }

    fn settled(&mut self, job: JobId) {
        let Some(known) = self.jobs.get_mut(&job) else { return };
        known.note_settled();
        if known.release_extras_if_needed() {
            self.offer(job);
        }
    }

    /// Lists what was not requested yet, if the job has any of that and is not held.
    fn offer(&mut self, job: JobId) {
        let Some(job) = self.jobs.get(&job) else { return };
        if !self.is_held_back(job) && job.fresh_segments().next().is_some() {
            self.fresh.insert(job.place());
        } else {
            self.fresh.remove(&job.place());
        }
    }
}

#[cfg(test)]
mod tests {
    use bergamot_types::MessageIdList;

    use super::*;
    use crate::file::NewFile;
    use crate::job::Totals;
    use crate::job::restored::Restored;

    fn file(name: &str, segments: u32) -> NewFile {
        let mut ids = MessageIdList::new();
        (1..=segments).for_each(|n| ids.push(&format!("{name}.{n}@x")).unwrap());
        NewFile {
            name: Some(name.to_owned()),
            ids,
            numbers: (1..=segments).collect(),
            bytes: vec![110; segments as usize],
            ..NewFile::default()
        }
    }

    fn job(id: u32, priority: i32, files: Vec<NewFile>) -> NewJob {
        NewJob { priority, ..NewJob::new(JobId(id), files) }
    }

    fn key(job: u32, file: u32, segment: u32) -> SegmentKey {
        SegmentKey { job: JobId(job), file, segment }
    }

    fn take(queue: &mut Queue) -> Option<SegmentKey> {
        let next = queue.fresh().next()?;
        queue.take_fresh(next.file_key());
        Some(next)
    }

    fn write(queue: &mut Queue, at: SegmentKey, of: u64) -> Option<Layout> {
        let begin = Some(u64::from(at.segment) * 100);
        let part = Part {
            begin,
            length: 100,
            file_size: Some(of * 100),
            verified: true,
            ..Part::default()
        };
        queue.place(at, &part).unwrap().unwrap();
        queue.resolve(at, SegmentState::Written { verified: true })
    }

    #[test]
    fn fresh_segments_come_by_priority_then_age_then_place() {
        let mut queue = Queue::new();
        queue.add(job(1, 0, vec![file("a", 2)]));
        queue.add(job(2, 0, vec![file("b", 1)]));
        queue.add(job(3, 9, vec![file("c", 1), file("d", 1)]));
        assert_eq!((queue.fresh_up_to(3), queue.fresh_up_to(99)), (3, 5));
        assert_eq!((queue.fresh_bytes(JobId(1)), queue.all_fresh_bytes()), (220, 550));
        let heads: Vec<_> = queue.fresh().collect();
        assert_eq!(heads, [key(3, 0, 0), key(3, 1, 0), key(1, 0, 0), key(2, 0, 0)]);
        let order: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        assert_eq!(queue.all_fresh_bytes(), 0);
        assert_eq!(order, [key(3, 0, 0), key(3, 1, 0), key(1, 0, 0), key(1, 0, 1), key(2, 0, 0)]);
        assert_eq!(queue.fresh_up_to(5), 0);
    }

    #[test]
    fn files_come_in_the_order_that_is_told_and_keep_their_places() {
        let mut queue = Queue::new();
        let files = || vec![file("a", 2), file("b", 1), file("c", 1)];
        queue.add(NewJob { order: vec![2], ..job(1, 0, files()) });
        let order = |queue: &Queue| queue.fresh().map(|key| key.file).collect::<Vec<_>>();
        assert_eq!(order(&queue), [2, 0, 1]);
        assert_eq!(take(&mut queue), Some(key(1, 2, 0)));
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)));
        queue.order_files(JobId(1), &[1, 2]);
        assert_eq!((order(&queue), queue.fresh_up_to(9)), (vec![1, 0], 2));
        queue.pause_file(key(1, 1, 0).file_key());
        assert_eq!(take(&mut queue), Some(key(1, 0, 1)));
        assert_eq!(take(&mut queue), None);
        queue.resume_file(key(1, 1, 0).file_key());
        assert_eq!(queue.job(JobId(1)).unwrap().first_unasked(), Some((1, 0)));
        assert_eq!(take(&mut queue), Some(key(1, 1, 0)));
    }

    #[test]
    fn a_job_that_is_under_way_can_get_more_files() {
        let mut queue = Queue::new();
        queue.add(job(1, 0, vec![file("a", 1), NewFile { is_extra: true, ..file("v", 1) }]));
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)));
        let more = MoreFiles {
            files: vec![file("b", 1), file("c", 2), file("d", 1)],
            paused: vec![3],
            dropped: vec![2],
            order: vec![4],
            wants_extras: false,
        };
        assert!(queue.append(JobId(1), more.clone()) && !queue.append(JobId(2), more));
        let totals = queue.job(JobId(1)).unwrap().totals();
        assert_eq!((totals.segments, queue.fresh_bytes(JobId(1))), (4, 110), "one file is paused");
        assert_eq!(take(&mut queue), Some(key(1, 4, 0)));
        assert_eq!(take(&mut queue), None);
        queue.resume_file(key(1, 3, 0).file_key());
        assert_eq!(take(&mut queue), Some(key(1, 3, 0)));
        write(&mut queue, key(1, 0, 0), 1).unwrap();
        queue.finish_file(key(1, 0, 0).file_key(), true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Downloading));
        let begun: Vec<_> =
            queue.job(JobId(1)).unwrap().files().iter().map(File::is_begun).collect();
        assert_eq!(begun, [true, false, false, true, true]);
    }

    #[test]
    fn volumes_that_are_all_that_is_left_are_wanted_for_their_own_sake() {
        let mut queue = Queue::new();
        let extra = NewFile { is_extra: true, ..file("v", 1) };
        queue.add(job(1, 0, vec![file("a", 1), extra]));
        queue.drop_file(key(1, 0, 0).file_key());
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Downloading));
        assert_eq!(take(&mut queue), Some(key(1, 1, 0)));
    }

    #[test]
    fn a_job_that_is_moved_goes_where_its_priority_and_rank_put_it() {
        let mut queue = Queue::new();
        for id in 1..=4 {
            queue.add(NewJob { rank: i64::from(id), ..job(id, 0, vec![file("a", 1)]) });
        }
        let order = |queue: &Queue| queue.fresh().map(|key| key.job.0).collect::<Vec<_>>();
        assert_eq!(order(&queue), [1, 2, 3, 4]);
        queue.place_job(JobId(4), 0, -7);
        queue.place_job(JobId(1), 0, 3);
        assert_eq!(order(&queue), [4, 2, 1, 3], "of equal ranks the older job is first");
        queue.place_job(JobId(3), 1, i64::MAX);
        assert_eq!(order(&queue), [3, 4, 2, 1]);
        queue.pause(JobId(3));
        queue.place_job(JobId(3), -5, 0);
        assert_eq!(order(&queue), [4, 2, 1], "a paused one stays so");
        queue.resume(JobId(3));
        assert_eq!(order(&queue), [4, 2, 1, 3]);
        queue.place_job(JobId(9), 0, 0);
        queue.remove(JobId(4));
        assert_eq!(order(&queue), [2, 1, 3]);
    }

    #[test]
    fn a_job_may_begin_paused() {
        let mut queue = Queue::new();
        queue.add(NewJob { paused: true, ..job(1, 0, vec![file("a", 1)]) });
        assert_eq!(take(&mut queue), None);
        assert!(queue.resume(JobId(1)));
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)));
    }

    #[test]
    fn a_job_is_complete_when_every_file_is_whole() {
        let mut queue = Queue::new();
        queue.add(job(1, 0, vec![file("a", 2), file("b", 1)]));
        assert_eq!(write(&mut queue, key(1, 0, 1), 2), None);
        assert_eq!(write(&mut queue, key(1, 0, 0), 2), Some(Layout::InPlace { size: 200 }));
        assert_eq!(queue.file(key(1, 0, 0).file_key()).unwrap().state(), FileState::Finishing);
        queue.finish_file(key(1, 0, 0).file_key(), true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Downloading));
        write(&mut queue, key(1, 1, 0), 1).unwrap();
        queue.finish_file(key(1, 1, 0).file_key(), true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Complete { verified: true }));
        let totals = queue.job(JobId(1)).unwrap().totals();
        assert_eq!((totals.segments_done, totals.bytes_done, totals.bytes), (3, 330, 330));
    }

    #[test]
    fn a_lost_segment_leaves_a_hole_and_lets_go_of_the_par2_volumes() {
        let mut queue = Queue::new();
        let extra = NewFile { is_extra: true, ..file("v", 1) };
        queue.add(job(1, 0, vec![extra, file("a", 2)]));
        assert_eq!(take(&mut queue), Some(key(1, 1, 0)));
        assert_eq!(take(&mut queue), Some(key(1, 1, 1)));
        assert_eq!(take(&mut queue), None);
        write(&mut queue, key(1, 1, 0), 2);
        assert_eq!(queue.resolve(key(1, 1, 1), SegmentState::Missing), None);
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)), "the volume is wanted now");
        write(&mut queue, key(1, 0, 0), 1).unwrap();
        queue.finish_file(key(1, 0, 0).file_key(), true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Incomplete));
        let lost: Vec<_> = queue.job(JobId(1)).unwrap().files()[1].lost_ids().collect();
        assert_eq!(lost[0].as_str(), "a.2@x");
    }

    #[test]
    fn par2_volumes_stay_where_they_are_while_nothing_is_missing() {
        let mut queue = Queue::new();
        let extra = NewFile { is_extra: true, ..file("v", 1) };
        queue.add(job(1, 0, vec![extra.clone(), file("a", 1)]));
        write(&mut queue, key(1, 1, 0), 1).unwrap();
        queue.finish_file(key(1, 1, 0).file_key(), true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Complete { verified: true }));
        queue.add(job(2, 0, vec![extra]));
        assert_eq!(take(&mut queue), Some(key(2, 0, 0)), "there is nothing else in this job");
    }

    #[test]
    fn nothing_of_a_paused_job_is_handed_out_until_it_is_resumed() {
        let mut queue = Queue::new();
        queue.add(job(1, 9, vec![file("a", 2)]));
        queue.add(job(2, 0, vec![file("b", 1)]));
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)));
        assert!(queue.pause(JobId(1)) && !queue.pause(JobId(1)), "news once");
        assert!(queue.is_paused(JobId(1)) && !queue.is_paused(JobId(2)));
        assert_eq!((queue.fresh_up_to(9), take(&mut queue)), (1, Some(key(2, 0, 0))));
        assert_eq!(take(&mut queue), None);
        write(&mut queue, key(1, 0, 0), 2);
        assert!(queue.resume(JobId(1)) && !queue.resume(JobId(1)));
        assert_eq!(take(&mut queue), Some(key(1, 0, 1)));
        assert!(!queue.pause(JobId(7)) && !queue.resume(JobId(7)), "there is no such job");
    }

    #[test]
    fn a_paused_job_stays_so_when_its_volumes_are_let_go() {
        let mut queue = Queue::new();
        let extra = NewFile { is_extra: true, ..file("v", 1) };
        queue.add(job(1, 0, vec![extra, file("a", 1)]));
        take(&mut queue);
        queue.pause(JobId(1));
        queue.resolve(key(1, 1, 0), SegmentState::Missing);
        assert_eq!(take(&mut queue), None);
        queue.resume(JobId(1));
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)));
    }

    #[test]
    fn health_falls_with_what_is_lost_and_comes_back_with_what_is_wanted_again() {
        let mut queue = Queue::new();
        let index = NewFile { is_par2: true, ..file("p", 1) };
        let extra = NewFile { is_extra: true, ..file("v", 3) };
        queue.add(job(1, 0, vec![file("a", 20), index, extra]));
        let healths = |queue: &Queue| {
            let job = queue.job(JobId(1)).unwrap();
            (job.health().0, job.critical_health().0)
        };
        assert_eq!(healths(&queue), (1000, 800));
        queue.resolve(key(1, 2, 0), SegmentState::Missing);
        queue.resolve(key(1, 1, 0), SegmentState::Damaged);
        assert_eq!(healths(&queue), (1000, 909));
        queue.resolve(key(1, 0, 0), SegmentState::Damaged);
        queue.resolve(key(1, 0, 1), SegmentState::Missing);
        queue.resolve(key(1, 0, 1), SegmentState::Missing);
        assert_eq!(healths(&queue), (900, 909));
        queue.jobs.get_mut(&JobId(1)).unwrap().reopen(0, 0);
        assert_eq!(healths(&queue), (950, 909));
        write(&mut queue, key(1, 0, 0), 20);
        assert_eq!(queue.job(JobId(1)).unwrap().sizes().failed, 330);
    }

    #[test]
    fn what_may_yet_turn_out_to_be_right_is_not_held_against_the_health() {
        let mut queue = Queue::new();
        queue.add(job(1, 0, vec![file("a", 4)]));
        let part = |segment: u64, file_size| Part {
            begin: Some(segment * 100),
            length: 100,
            file_size: Some(file_size),
            verified: true,
            ..Part::default()
        };
        queue.place(key(1, 0, 0), &part(0, 900)).unwrap().unwrap();
        queue.resolve(key(1, 0, 0), SegmentState::Written { verified: true });
        assert!(queue.place(key(1, 0, 1), &part(1, 400)).unwrap().is_err());
        queue.resolve(key(1, 0, 1), SegmentState::Missing);
        let failed = |queue: &Queue| queue.job(JobId(1)).unwrap().sizes().failed;
        assert_eq!(failed(&queue), 0, "the first may have been the liar");
        let placed = queue.place(key(1, 0, 2), &part(2, 400)).unwrap().unwrap();
        assert_eq!((placed.evicted, placed.refused_in_error), (vec![0], vec![1]));
        assert_eq!(failed(&queue), 0);
        queue.resolve(key(1, 0, 0), SegmentState::Missing);
        queue.resolve(key(1, 0, 1), SegmentState::Missing);
        assert_eq!(queue.job(JobId(1)).unwrap().totals().segments_lost, 2);
        queue.add(job(2, 0, vec![file("b", 4)]));
        queue.place(key(2, 0, 0), &part(0, 900)).unwrap().unwrap();
        queue.resolve(key(2, 0, 0), SegmentState::Written { verified: true });
        assert!(queue.place(key(2, 0, 1), &part(1, 400)).unwrap().is_err());
        let placed = queue.place(key(2, 0, 2), &part(2, 400)).unwrap().unwrap();
        assert_eq!(
            (placed.refused_in_error, placed.reset_tries),
            (vec![], vec![1]),
            "not given up yet"
        );
    }

    #[test]
    fn a_lost_recovery_file_does_not_keep_whole_data_from_completing() {
        let mut queue = Queue::new();
        let index = NewFile { is_par2: true, ..file("p", 1) };
        let extra = NewFile { is_extra: true, ..file("v", 1) };
        queue.add(job(1, 0, vec![index.clone(), extra, file("a", 1)]));
        queue.resolve(key(1, 0, 0), SegmentState::Missing);
        write(&mut queue, key(1, 2, 0), 1).unwrap();
        queue.finish_file(key(1, 2, 0).file_key(), true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Complete { verified: true }));
        queue.add(job(2, 0, vec![index]));
        queue.resolve(key(2, 0, 0), SegmentState::Missing);
        assert_eq!(
            queue.state(JobId(2)),
            Some(DownloadState::Incomplete),
            "there is nothing else in it"
        );
    }

    #[test]
    fn unlisted_segments_and_empty_files_are_holes() {
        let mut queue = Queue::new();
        queue.add(job(1, 0, vec![NewFile { unlisted: 1, ..file("a", 1) }, file("none", 0)]));
        write(&mut queue, key(1, 0, 0), 2);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Incomplete));
    }

    #[test]
    fn parts_without_checksums_complete_unverified() {
        let mut queue = Queue::new();
        queue.add(job(1, 0, vec![file("a", 1)]));
        let part = Part { length: 5, ..Part::default() };
        assert_eq!(queue.place(key(1, 0, 0), &part).unwrap().unwrap().offset, 0);
        queue.resolve(key(1, 0, 0), SegmentState::Written { verified: false }).unwrap();
        queue.finish_file(key(1, 0, 0).file_key(), true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Complete { verified: false }));
    }

    #[test]
    fn files_finished_before_a_restart_are_not_wanted_again() {
        let mut queue = Queue::new();
        queue.add(NewJob {
            finished: vec![(0, true), (7, true)],
            ..job(1, 0, vec![file("a", 2), file("b", 1)])
        });
        assert_eq!(take(&mut queue), Some(key(1, 1, 0)));
        assert_eq!(queue.job(JobId(1)).unwrap().totals().segments_done, 2);
    }

    fn restored(file: u32, segment: u32, of: u64) -> Restored {
        let begin = Some(u64::from(segment) * 100);
        let file_size = Some(of * 100);
        let part = Part { begin, length: 100, file_size, verified: true, ..Part::default() };
        Restored { file, segment, part }
    }

    #[test]
    fn what_was_written_before_a_restart_is_not_handed_out_again() {
        let mut queue = Queue::new();
        let written = [(0, 0), (0, 1), (0, 3), (0, 5), (1, 2)];
        let written = written.map(|(file, segment)| restored(file, segment, 6 - u64::from(file)));
        let new = job(1, 0, vec![file("a", 6), file("b", 5)]);
        let replay = queue.add(NewJob { written: written.to_vec(), ..new });
        assert_eq!(replay, Replay::default());
        let totals = queue.job(JobId(1)).unwrap().totals();
        assert_eq!((totals.segments_done, totals.bytes_done), (5, 550));
        assert_eq!((queue.fresh_up_to(99), queue.all_fresh_bytes()), (6, 660));
        let order: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        let rest = [(0, 2), (0, 4), (1, 0), (1, 1), (1, 3), (1, 4)];
        assert_eq!(order, rest.map(|(file, segment)| key(1, file, segment)));
        assert_eq!((queue.fresh_up_to(99), queue.all_fresh_bytes()), (0, 0));
        assert_eq!(write(&mut queue, key(1, 0, 2), 6), None);
        assert_eq!(write(&mut queue, key(1, 0, 4), 6), Some(Layout::InPlace { size: 600 }));
    }

    #[test]
    fn a_file_that_is_whole_with_what_was_written_is_to_be_finished() {
        let mut queue = Queue::new();
        let written = vec![restored(0, 1, 2), restored(0, 0, 2)];
        let replay = queue.add(NewJob { written, ..job(1, 0, vec![file("a", 2), file("b", 1)]) });
        let whole = key(1, 0, 0).file_key();
        assert_eq!(replay.whole, [(whole, Layout::InPlace { size: 200 })]);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Downloading));
        queue.finish_file(whole, true);
        write(&mut queue, key(1, 1, 0), 1).unwrap();
        queue.finish_file(key(1, 1, 0).file_key(), true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Complete { verified: true }));
    }

    #[test]
    fn records_that_cannot_be_are_ignored_and_those_that_conflict_are_wanted_again() {
        let mut queue = Queue::new();
        let misplaced = Restored { segment: 2, ..restored(0, 1, 4) };
        let huge = Part { begin: Some(u64::MAX), length: u64::MAX, ..Part::default() };
        let written = vec![
            restored(9, 0, 4),
            restored(0, 9, 4),
            restored(1, 0, 1),
            restored(0, 0, 4),
            restored(0, 0, 4),
            restored(0, 1, 4),
            misplaced,
            Restored { file: 0, segment: 3, part: huge },
        ];
        let finished = vec![(1, true)];
        let new = job(1, 0, vec![file("a", 4), file("b", 1)]);
        let replay = queue.add(NewJob { written, finished, ..new });
        assert_eq!((replay.whole, replay.refused), (vec![], vec![key(1, 0, 2), key(1, 0, 3)]));
        let order: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        assert_eq!(order, [key(1, 0, 2), key(1, 0, 3)]);
    }

    #[test]
    fn what_the_majority_of_the_records_speaks_against_is_wanted_again_once() {
        let mut queue = Queue::new();
        let written = vec![restored(0, 0, 9), restored(0, 1, 4), restored(0, 3, 4)];
        let replay = queue.add(NewJob { written, ..job(1, 0, vec![file("a", 4)]) });
        assert_eq!(replay.refused, [key(1, 0, 0), key(1, 0, 1)], "the liar, and who came before");
        let order: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        assert_eq!(order, [key(1, 0, 0), key(1, 0, 1), key(1, 0, 2)]);
    }

    #[test]
    fn a_restored_segment_that_is_evicted_later_does_not_become_fresh() {
        let mut queue = Queue::new();
        let written = vec![restored(0, 2, 9)];
        queue.add(NewJob { written, ..job(1, 0, vec![file("a", 4)]) });
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)));
        assert_eq!(take(&mut queue), Some(key(1, 0, 1)));
        let part = |segment| restored(0, segment, 4).part;
        assert!(queue.place(key(1, 0, 0), &part(0)).unwrap().is_err());
        let placed = queue.place(key(1, 0, 1), &part(1)).unwrap().unwrap();
        assert_eq!(placed.evicted, [2]);
        assert_eq!(queue.job(JobId(1)).unwrap().totals().segments_done, 0);
        assert_eq!(take(&mut queue), Some(key(1, 0, 3)), "whoever evicted it asks for it");
        assert_eq!(take(&mut queue), None);
    }

    #[test]
    fn a_volume_that_had_been_begun_is_wanted() {
        let mut queue = Queue::new();
        let volume = |name| NewFile { is_extra: true, ..file(name, 2) };
        let new = job(1, 0, vec![file("a", 1), volume("v"), volume("w")]);
        queue.add(NewJob { written: vec![restored(1, 0, 2)], ..new });
        let order: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        assert_eq!(order, [key(1, 0, 0), key(1, 1, 1)]);
    }

    #[test]
    fn only_what_is_important_enough_is_handed_out_above_a_floor() {
        let mut queue = Queue::new();
        queue.add(job(1, 900, vec![file("a", 1)]));
        queue.add(job(2, 899, vec![file("b", 1)]));
        queue.set_floor(Some(900));
        queue.add(job(3, 0, vec![file("c", 1)]));
        let order = |queue: &Queue| queue.fresh().map(|key| key.job.0).collect::<Vec<_>>();
        assert_eq!((order(&queue), queue.all_fresh_bytes()), (vec![1], 110));
        assert!(!queue.is_held(key(1, 0, 0)) && queue.is_held(key(2, 0, 0)));
        queue.place_job(JobId(3), 901, 0);
        queue.place_job(JobId(1), 0, 0);
        assert_eq!((order(&queue), queue.is_all_held()), (vec![3], false));
        queue.pause(JobId(3));
        assert!(queue.is_all_held());
        queue.set_floor(None);
        assert_eq!(order(&queue), [2, 1], "who was paused by itself stays so");
    }

    #[test]
    fn nothing_of_a_paused_file_is_handed_out_and_its_job_waits_for_it() {
        let mut queue = Queue::new();
        let new = job(1, 0, vec![file("a", 2), file("b", 1), file("c", 1)]);
        queue.add(NewJob { paused_files: vec![2, 9], ..new });
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)));
        let a = key(1, 0, 0).file_key();
        assert!(queue.pause_file(a) && !queue.pause_file(a), "news once");
        assert_eq!((queue.fresh_up_to(9), queue.all_fresh_bytes()), (1, 110));
        assert_eq!((take(&mut queue), take(&mut queue)), (Some(key(1, 1, 0)), None));
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Downloading));
        assert!(queue.resume_file(a) && !queue.resume_file(a));
        assert!(queue.resume_file(key(1, 2, 0).file_key()));
        assert_eq!((queue.fresh_up_to(9), queue.all_fresh_bytes()), (2, 220));
        assert_eq!(take(&mut queue), Some(key(1, 0, 1)));
        assert_eq!((take(&mut queue), take(&mut queue)), (Some(key(1, 2, 0)), None));
        for nobody in [key(1, 9, 0).file_key(), key(9, 0, 0).file_key()] {
            assert!(!queue.pause_file(nobody) && !queue.drop_file(nobody));
        }
    }

    #[test]
    fn a_dropped_file_is_not_missed() {
        let mut queue = Queue::new();
        let new = job(1, 0, vec![file("a", 2), file("b", 1), file("c", 4)]);
        queue.add(NewJob { dropped: vec![2], ..new });
        let [a, b] = [0, 1].map(|file| key(1, file, 0).file_key());
        assert_eq!(take(&mut queue), Some(key(1, 0, 0)));
        queue.resolve(key(1, 0, 0), SegmentState::Missing);
        assert_eq!(queue.job(JobId(1)).unwrap().sizes().failed, 110);
        assert!(queue.drop_file(a) && !queue.drop_file(a), "once");
        let known = queue.job(JobId(1)).unwrap();
        assert_eq!((known.sizes().failed, known.sizes().all), (0, 110));
        let totals = Totals { bytes: 110, segments: 1, ..Totals::default() };
        assert_eq!((known.totals(), queue.all_fresh_bytes()), (totals, 110));
        assert!(!queue.wants(key(1, 0, 1)) && queue.wants(key(1, 1, 0)));
        assert_eq!(queue.resolve(key(1, 0, 1), SegmentState::Missing), None);
        write(&mut queue, key(1, 1, 0), 1).unwrap();
        assert!(!queue.drop_file(b), "it is whole");
        queue.finish_file(b, true);
        queue.finish_file(b, true);
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Complete { verified: true }));
    }

    #[test]
    fn a_job_of_dropped_files_is_none() {
        let mut queue = Queue::new();
        queue.add(job(1, 0, vec![file("a", 1), file("b", 1)]));
        queue.drop_file(key(1, 0, 0).file_key());
        assert_eq!(queue.state(JobId(1)), Some(DownloadState::Downloading));
        queue.drop_file(key(1, 1, 0).file_key());
        assert_eq!(
            (queue.state(JobId(1)), take(&mut queue)),
            (Some(DownloadState::Incomplete), None)
        );
    }

    #[test]
    fn volumes_are_let_go_of_when_the_last_file_they_waited_for_is_dropped() {
        let mut queue = Queue::new();
        let volume = NewFile { is_extra: true, ..file("v", 1) };
        queue.add(job(1, 0, vec![file("a", 1), file("b", 1), volume]));
        queue.resolve(key(1, 0, 0), SegmentState::Missing);
        queue.drop_file(key(1, 1, 0).file_key());
        assert_eq!(queue.fresh().last(), Some(key(1, 2, 0)));
    }
}
