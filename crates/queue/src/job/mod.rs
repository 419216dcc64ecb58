//! [`Job`]: the files of one NZB, their totals and their order. Pure.

pub(crate) mod file_order;
pub(crate) mod health;
pub(crate) mod propagation;
pub(crate) mod restored;
pub(crate) mod sample;
pub(crate) mod servers;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use bergamot_types::{JobId, ServerId, UnixTime};

use crate::file::{File, FileState, NewFile, SegmentState};
use crate::job::file_order::FileOrder;
use crate::job::health::{Permille, Sizes};
use crate::job::restored::{Replay, Restored};
use crate::job::servers::{ServerCount, Servers};

#[derive(Clone, Debug)]
pub struct NewJob {
    pub id: JobId,
    /// Higher goes first.
    pub priority: i32,
    /// Among jobs of one priority: lower goes first, and of equal ranks the older job.
    pub rank: i64,
    pub paused: bool,
    pub files: Vec<NewFile>,
    /// Files that lie finished on disk already, and whether each was verified.
    pub finished: Vec<(u32, bool)>,
    /// What lies in the others, in the order in which it was written.
    pub written: Vec<Restored>,
    pub paused_files: Vec<u32>,
    /// Files that the user has dropped.
    pub dropped: Vec<u32>,
    /// Files that go first, in their order; the others follow by their places in the NZB.
    pub order: Vec<u32>,
    /// Fetch PAR2 volumes even where nothing needs repair.
    pub wants_extras: bool,
    /// Until then what is missing may still arrive: see [`Propagation`](crate::Propagation).
    pub health_exempt_until: Option<UnixTime>,
}

/// Files that come behind those that a job has. All are known by their places in the whole job.
#[derive(Clone, Debug, Default)]
pub struct MoreFiles {
    pub files: Vec<NewFile>,
    pub paused: Vec<u32>,
    pub dropped: Vec<u32>,
    /// Of the whole job.
    pub order: Vec<u32>,
    pub wants_extras: bool,
}

impl NewJob {
    /// A job of no special priority that begins with nothing.
    pub fn new(id: JobId, files: Vec<NewFile>) -> Self {
        Self {
            id,
            priority: 0,
            rank: 0,
            paused: false,
            files,
            finished: Vec::new(),
            written: Vec::new(),
            paused_files: Vec::new(),
            dropped: Vec::new(),
            order: Vec::new(),
            wants_extras: false,
            health_exempt_until: None,
        }
    }
}

/// What decides whose turn it is: the least goes first.
pub(crate) type Place = (Reverse<i32>, i64, JobId);

#[derive(Clone, Debug)]
pub struct Job {
    id: JobId,
    priority: i32,
    rank: i64,
    files: Vec<File>,
    order: FileOrder,
    fresh_file: usize, // files before this place in the order have no fresh segments
    unsettled: u32,    // files that are neither whole, holed nor held back
    fresh_bytes: u64,  // of segments that were never handed out
    segments: Totals,
    sizes: Sizes,
    disputed: BTreeSet<(u32, u32)>, // lost, as long as most parts do not come to agree with them
    servers: Servers,
    paused: bool,
    health_exempt_until: Option<UnixTime>,
}

/// What became of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DownloadState {
    Downloading,
    /// Every file is whole. `verified`: every byte passed a check.
    Complete {
        verified: bool,
    },
    Incomplete,
}

/// Sums over the segments that are wanted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    pub bytes: u64,
    pub bytes_done: u64,
    pub segments: u32,
    pub segments_done: u32,
    pub segments_lost: u32,
}

impl Totals {
    fn add(&mut self, file: &File) {
        let (done, bytes_done) = file.written();
        self.bytes += file.all_claimed_bytes();
        self.bytes_done += bytes_done;
        self.segments += file.segment_count();
        self.segments_done += done;
        self.segments_lost += file.lost().count() as u32;
    }

    fn take(&mut self, file: &File) {
        let (done, bytes_done) = file.written();
        self.bytes -= file.all_claimed_bytes();
        self.bytes_done -= bytes_done;
        self.segments -= file.segment_count();
        self.segments_done -= done;
        self.segments_lost -= file.lost().count() as u32;
    }
}

impl Job {
    pub(crate) fn new(new: NewJob) -> (Self, Replay) {
        let mut job = Self {
            id: new.id,
            priority: new.priority,
            rank: new.rank,
            order: FileOrder::new(new.files.len() as u32, &new.order),
            files: new.files.into_iter().map(File::new).collect(),
            fresh_file: 0,
            unsettled: 0,
            fresh_bytes: 0,
            segments: Totals::default(),
            sizes: Sizes::default(),
            disputed: BTreeSet::new(),
            servers: Servers::default(),
            paused: new.paused,
            health_exempt_until: new.health_exempt_until,
        };
        for file in &job.files {
            job.sizes.add_file(file.all_claimed_bytes(), file.is_par2());
        }
        for (file, verified) in new.finished {
            if let Some(file) = job.files.get_mut(file as usize) {
                file.restore_whole(verified);
            }
        }
        job.heed(&new.paused_files, &new.dropped, new.wants_extras);
        let replay = job.restore(&new.written);
        job.count();
        (job, replay)
    }

    /// What the user has chosen of its files.
    fn heed(&mut self, paused: &[u32], dropped: &[u32], wants_extras: bool) {
        for &file in paused {
            if let Some(file) = self.files.get_mut(file as usize) {
                file.set_paused(true);
            }
        }
        for &file in dropped {
            self.leave_out(file);
        }
        if wants_extras || self.has_only_extras() {
            self.files.iter_mut().for_each(File::release);
        }
    }

    /// More of it has come, behind what there was.
    pub(crate) fn append(&mut self, more: MoreFiles) {
        for file in more.files.into_iter().map(File::new) {
            self.sizes.add_file(file.all_claimed_bytes(), file.is_par2());
            self.files.push(file);
        }
        self.heed(&more.paused, &more.dropped, more.wants_extras);
        self.set_order(&more.order);
        self.count();
    }

    /// The order in which its files are wanted.
    pub fn order(&self) -> &FileOrder {
        &self.order
    }

    pub(crate) fn set_order(&mut self, told: &[u32]) {
        self.order = FileOrder::new(self.files.len() as u32, told);
        self.fresh_file = 0;
    }

    pub fn id(&self) -> JobId {
        self.id
    }

    pub fn priority(&self) -> i32 {
        self.priority
    }

    pub fn rank(&self) -> i64 {
        self.rank
    }

    pub(crate) fn place(&self) -> Place {
        (Reverse(self.priority), self.rank, self.id)
    }

    pub(crate) fn set_place(&mut self, priority: i32, rank: i64) {
        (self.priority, self.rank) = (priority, rank);
    }

    pub fn files(&self) -> &[File] {
        &self.files
    }

    pub fn totals(&self) -> Totals {
        self.segments
    }

    /// How much of it there is and how much of that is lost, by what the NZB claims.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    pub fn health(&self) -> Permille {
        self.sizes.health()
    }

    /// Below this health the job cannot be made whole any more.
    pub fn critical_health(&self) -> Permille {
        self.sizes.critical_health()
    }

    /// Until then its health is not acted upon.
    pub fn health_exempt_until(&self) -> Option<UnixTime> {
        self.health_exempt_until
    }

    /// What each server has done for it so far.
    pub fn servers(&self) -> impl Iterator<Item = (ServerId, ServerCount)> + '_ {
        self.servers.iter()
    }

    pub(crate) fn servers_mut(&mut self) -> &mut Servers {
        &mut self.servers
    }

    /// Whether that is news.
    pub(crate) fn set_file_paused(&mut self, file: u32, paused: bool) -> bool {
        let Some(known) = self.files.get_mut(file as usize) else { return false };
        if known.is_paused() == paused {
            return false;
        }
        self.fresh_bytes -= known.fresh_bytes();
        known.set_paused(paused);
        self.fresh_bytes += known.fresh_bytes();
        self.fresh_file = self.fresh_file.min(self.order.place(file));
        true
    }

    /// Counts as if the file had never been listed; whether it could be dropped. The user may drop
    /// thousands, so the others are not counted anew.
    pub(crate) fn drop_file(&mut self, file: u32) -> bool {
        let Some(known) = self.files.get(file as usize) else { return false };
        let (state, fresh_bytes) = (known.state(), known.fresh_bytes());
        if !self.leave_out(file) {
            return false;
        }
        let known = &self.files[file as usize];
        self.fresh_bytes -= fresh_bytes;
        self.unsettled -= u32::from(state == FileState::Wanted);
        if state != FileState::HeldBack {
            self.segments.take(known);
        }
        true
    }

    fn leave_out(&mut self, file: u32) -> bool {
        let Some(known) = self.files.get_mut(file as usize) else { return false };
        if !known.give_away() {
            return false;
        }
        let is_par2 = known.is_par2();
        self.sizes.take_file(known.all_claimed_bytes(), is_par2);
        for segment in known.lost().filter(|segment| !self.disputed.contains(&(file, *segment))) {
            self.sizes.take_failed(known.claimed_bytes(segment).into(), is_par2);
        }
        self.disputed.retain(|(of, _)| *of != file);
        true
    }

    /// Nothing of a paused job is handed out.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    pub fn state(&self) -> DownloadState {
        if self.unsettled > 0 {
            return DownloadState::Downloading;
        }
        let (mut all_verified, mut any_dropped, mut any_whole) = (true, false, false);
        for file in &self.files {
            match file.state() {
                FileState::Whole { verified } => {
                    all_verified &= verified;
                    any_whole = true;
                }
                FileState::Dropped => any_dropped = true,
                FileState::HeldBack => {}
                FileState::Holed if self.can_do_without(file) => {}
                FileState::Finishing | FileState::Holed | FileState::Wanted => {
                    return DownloadState::Incomplete;
                }
            }
        }
        if any_dropped && !any_whole {
            return DownloadState::Incomplete; // of which nothing is left
        }
        DownloadState::Complete { verified: all_verified }
    }

    /// Where all data is whole, a recovery file that is not is no loss.
    fn can_do_without(&self, file: &File) -> bool {
        file.is_par2() && self.files.iter().any(|other| !other.is_par2())
    }

    /// A post of nothing but PAR2 volumes is wanted for their own sake.
    fn has_only_extras(&self) -> bool {
        let mut wanted = self.files.iter().filter(|file| file.state() != FileState::Dropped);
        wanted.all(|file| file.listed().is_extra)
    }

    /// Lets go of the PAR2 volumes if a file has holes, or nothing else is left; whether there were any
    /// to let go of.
    pub(crate) fn release_extras_if_needed(&mut self) -> bool {
        let is_holed = |file: &File| file.state() == FileState::Holed && !self.can_do_without(file);
        let held = self.files.iter().any(|file| file.state() == FileState::HeldBack);
        if self.unsettled > 0 || !held {
            return false;
        }
        if !self.files.iter().any(is_holed) && !self.has_only_extras() {
            return false;
        }
        self.files.iter_mut().for_each(File::release);
        self.fresh_file = 0;
        self.count();
        true
    }

    /// The next segment of each file that was never handed out.
    pub(crate) fn fresh_segments(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let files = self.order.files().iter().skip(self.fresh_file);
        files.filter_map(|&file| Some((file, self.files[file as usize].peek_fresh()?)))
    }

    /// The first segment that was never handed out, be it of a paused file.
    pub fn first_unasked(&self) -> Option<(u32, u32)> {
        let mut others = self.order.files().iter();
        let first = |&file: &u32| Some((file, self.files[file as usize].first_unasked()?));
        self.fresh_segments().next().or_else(|| others.find_map(first))
    }

    pub(crate) fn take_fresh(&mut self, file: u32) {
        let known = &mut self.files[file as usize];
        if let Some(segment) = known.peek_fresh() {
            self.fresh_bytes -= u64::from(known.claimed_bytes(segment));
            known.take_fresh();
        }
        let is_done = |file: &u32| self.files[*file as usize].fresh_count() == 0;
        while self.order.files().get(self.fresh_file).is_some_and(is_done) {
            self.fresh_file += 1;
        }
    }

    pub(crate) fn fresh_bytes(&self) -> u64 {
        self.fresh_bytes
    }

    pub(crate) fn fresh_count(&self) -> usize {
        let left = self.order.files().iter().skip(self.fresh_file);
        left.map(|file| self.files[*file as usize].fresh_count()).sum()
    }

    pub(crate) fn reopen(&mut self, file: u32, segment: u32) {
        let was_disputed = self.disputed.remove(&(file, segment));
        let file = &mut self.files[file as usize];
        let bytes = u64::from(file.claimed_bytes(segment));
        let is_par2 = file.is_par2();
        match file.reopen(segment) {
            SegmentState::Wanted => {}
            SegmentState::Written { .. } => {
                self.segments.segments_done -= 1;
                self.segments.bytes_done -= bytes;
            }
            SegmentState::Damaged | SegmentState::Missing => {
                self.segments.segments_lost -= 1;
                if !was_disputed {
                    self.sizes.take_failed(bytes, is_par2);
                }
            }
        }
    }

    pub(crate) fn forget_file(&mut self, file: u32) {
        let known = &mut self.files[file as usize];
        let (done, bytes) = known.written();
        known.forget();
        self.segments.segments_done -= done;
        self.segments.bytes_done -= bytes;
        self.fresh_bytes += known.fresh_bytes();
        self.fresh_file = self.fresh_file.min(self.order.place(file));
    }

    pub(crate) fn file_mut(&mut self, file: u32) -> &mut File {
        &mut self.files[file as usize]
    }

    pub(crate) fn note_done(&mut self, bytes: u64) {
        self.segments.segments_done += 1;
        self.segments.bytes_done += bytes;
    }

    /// What is only disputed does not count against the health: it may be wanted again.
    pub(crate) fn note_lost(&mut self, file: u32, segment: u32) {
        self.segments.segments_lost += 1;
        let known = &self.files[file as usize];
        if known.is_disputed(segment) {
            self.disputed.insert((file, segment));
        } else {
            self.sizes.add_failed(known.claimed_bytes(segment).into(), known.is_par2());
        }
    }

    pub(crate) fn note_settled(&mut self) {
        self.unsettled -= 1;
    }

    fn count(&mut self) {
        self.unsettled = 0;
        self.fresh_bytes = self.files.iter().map(File::fresh_bytes).sum();
        let mut totals = Totals::default();
        let counts = |state| !matches!(state, FileState::Dropped | FileState::HeldBack);
        for file in self.files.iter().filter(|file| counts(file.state())) {
            totals.add(file);
            let unsettled = matches!(file.state(), FileState::Wanted | FileState::Finishing);
            self.unsettled += u32::from(unsettled);
        }
        self.segments = totals;
    }
}
