//! [`SyncThread`]: one of the threads that call `fsync`, finish files and move jobs.
//!
//! A finished file must be on the disk, not only in the page cache, and `fsync` may take long. Separate
//! threads do it, so that no write waits for it; several, because file systems commit many files in hardly
//! more time than one.
//!
//! Each disk that jobs are moved to has move threads of its own, which end when there are no more moves: a
//! network share that hangs blocks only those.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::error::DiskError;
use crate::files::job_dir::{JobDir, Whole};
use crate::files::part_file::PartFile;
use crate::threads::disk_speed::{DiskSpeeds, LEAST_FLUSHED};
use crate::threads::move_threads::MoveThreads;
use crate::threads::work_queue::{Choice, lock};
use crate::writer::{Done, Order, Outcome, Shared, Task};

pub(crate) enum SyncWork<B> {
    /// Flush a part while it is still being written, so that the final `fsync` has little left to do.
    Flush {
        dir: Arc<JobDir>,
        part: Arc<PartFile>,
    },
    Order(Order<B>),
}

/// The files and jobs that sync and move threads are working on.
#[derive(Debug, Default)]
pub(crate) struct ActiveClaims(Mutex<Vec<Claim>>);

/// One file of a job, or all of it. Files need not wait for each other; but one that is to be
/// finished waits for its flush, or the error of that might come too late.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Claim {
    dir: (u64, u64),
    file: Option<u32>,
}

impl Claim {
    fn excludes(&self, other: &Self) -> bool {
        let apart = self.file.zip(other.file).is_some_and(|(one, other)| one != other);
        self.dir == other.dir && !apart
    }
}

impl<B> SyncWork<B> {
    fn claim(&self) -> Claim {
        match self {
            Self::Flush { dir, part } => Claim { dir: dir.identity(), file: Some(part.index()) },
            Self::Order(Order { dir, task, .. }) => {
                let file = match task {
                    Task::FinishFile { file, .. } => Some(*file),
                    _ => None,
                };
                Claim { dir: dir.identity(), file }
            }
        }
    }
}

impl<B> SyncWork<B> {
    /// The device that a finished job is moved to.
    pub(crate) fn device(&self) -> Option<u64> {
        match self {
            Self::Order(Order {
                task: Task::FinishJob { destination, .. } | Task::Settle { destination, .. },
                ..
            }) => Some(destination.device()),
            _ => None,
        }
    }
}

impl ActiveClaims {
    /// The first item accepted by `is_mine` that conflicts neither with an active claim nor with an item
    /// queued before it.
    fn choose<B>(
        &self,
        queue: &VecDeque<SyncWork<B>>,
        is_mine: impl Fn(&SyncWork<B>) -> bool,
    ) -> Option<usize> {
        let mut claims = lock(&self.0);
        let in_flight = claims.len();
        for (place, sync_work) in queue.iter().enumerate() {
            let claim = sync_work.claim();
            let is_free = !claims.iter().any(|other| other.excludes(&claim));
            if is_free && is_mine(sync_work) {
                claims.truncate(in_flight);
                claims.push(claim);
                return Some(place);
            }
            claims.push(claim);
        }
        claims.truncate(in_flight);
        None
    }

    fn release(&self, claim: Claim) {
        let mut claims = lock(&self.0);
        if let Some(place) = claims.iter().position(|other| *other == claim) {
            claims.swap_remove(place);
        }
    }
}

pub(crate) struct SyncThread<B> {
    pub(crate) shared: Arc<Shared<B>>,
    pub(crate) role: SyncRole,
}

/// Which items a thread takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SyncRole {
    /// All except moves to disks that have move threads.
    Files,
    /// Moves to this device; the thread ends when there are none.
    Moves(u64),
}

impl<B> SyncThread<B> {
    pub(crate) fn run(self) {
        let Self { shared, role } = self;
        let choose = |queue: &VecDeque<_>| role.choose(&shared.busy, &shared.move_threads, queue);
        while let Some(sync_work) = shared.sync_work.next(&shared.stop, choose) {
            let claim = sync_work.claim();
            match sync_work {
                SyncWork::Flush { dir, part } => {
                    let bytes = dir.note_flushed(part.index());
                    if let Err(error) = timed(&shared.disk_speeds, &dir, bytes, || part.flush()) {
                        dir.remember_unsynced(part.index(), error);
                    }
                }
                SyncWork::Order(order) => (shared.on_done)(carry_out(order, &shared)),
            }
            shared.busy.release(claim);
            shared.sync_work.wake_all();
        }
    }
}

impl SyncRole {
    fn choose<B>(
        self,
        busy: &ActiveClaims,
        move_threads: &MoveThreads,
        queue: &VecDeque<SyncWork<B>>,
    ) -> Choice {
        match self {
            Self::Files => Choice::of(busy.choose(queue, |sync_work| {
                sync_work.device().is_none_or(|device| !move_threads.serve(device))
            })),
            Self::Moves(device) => {
                let is_mine = |sync_work: &SyncWork<B>| sync_work.device() == Some(device);
                match busy.choose(queue, is_mine) {
                    None if !queue.iter().any(is_mine) => {
                        move_threads.leave(device);
                        Choice::Leave
                    }
                    place => Choice::of(place),
                }
            }
        }
    }
}

/// Runs a flush of `bytes` and records its duration as a measurement of the disk, unless it is too short.
fn timed(
    disk_speeds: &DiskSpeeds,
    dir: &JobDir,
    bytes: u64,
    flush: impl FnOnce() -> Result<(), DiskError>,
) -> Result<(), DiskError> {
    if bytes < LEAST_FLUSHED {
        return flush();
    }
    let device = dir.identity().0;
    disk_speeds.begin_flush(device, Instant::now());
    let flushed = flush();
    disk_speeds.end_flush(device, Instant::now(), if flushed.is_ok() { bytes } else { 0 });
    flushed
}

fn carry_out<B>(Order { ticket, dir, task }: Order<B>, shared: &Shared<B>) -> Done<B> {
    let result = match task {
        Task::Discard => dir.discard().map(|()| Outcome::Done),
        Task::FinishFile { file, size, pieces, sums, name } => {
            // Reopened here: queued files must not each hold an open descriptor.
            let begun = dir.check_begun(file).and_then(|()| dir.part(file));
            begun.and_then(|part| {
                let flush =
                    || timed(&shared.disk_speeds, &dir, dir.unflushed(file), || part.sync());
                let whole = Whole { size, pieces: &pieces, sums: &sums };
                dir.finish_by(&part, &whole, &name, flush).map(Outcome::Named)
            })
        }
        Task::FinishJob { job, destination, name } => {
            dir.move_to(&destination, &name, job, &shared.stop).map(Outcome::Named)
        }
        Task::Sync => dir.sync_parts().map(|()| Outcome::Done),
        Task::Settle { job, destination, name } => {
            destination.settle(&name, dir.root(), job).map(|()| Outcome::Done)
        }
        Task::Reserve { .. } | Task::Write { .. } => {
            unreachable!("`Writer::submit` queues these to a write thread")
        }
    };
    Done { ticket, bytes: None, result }
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use bergamot_types::{ByteCount, SafeName};
    use rustix::io::Errno;
    use tempfile::TempDir;

    use super::*;
    use crate::files::job_dir::Sum;
    use crate::files::kernel::{Kernel, Linux};
    use crate::{Root, Settings, Writer};

    /// The first flush fails, and those after it know nothing of that: as in the kernel.
    #[derive(Debug, Default)]
    struct Forgetful {
        has_failed: AtomicBool,
    }

    impl Kernel for Forgetful {
        fn fdatasync(&self, file: BorrowedFd<'_>) -> rustix::io::Result<()> {
            match self.has_failed.swap(true, Ordering::Relaxed) {
                false => Err(Errno::IO),
                true => Linux.fdatasync(file),
            }
        }
    }

    fn name(text: &str) -> SafeName {
        SafeName::from_raw(text)
    }

    #[test]
    fn a_flush_that_failed_while_the_file_grew_is_told_of_at_its_end() {
        let temp = TempDir::new().unwrap();
        let root = Root::with_kernel(temp.path(), Arc::new(Forgetful::default())).unwrap();
        let dir = Arc::new(root.job_dir(&name("job")).unwrap());
        let (sender, dones) = channel();
        let on_done = move |done: Done<Vec<u8>>| sender.send(done).unwrap();
        let writer = Writer::start(Settings::default(), on_done).unwrap();
        let submit = |task| writer.submit(Order { ticket: 0, dir: dir.clone(), task });
        let size = 33 << 20;
        submit(Task::Write { file: 0, offset: 0, bytes: vec![7; size] });
        let finish = || Task::FinishFile {
            file: 0,
            size: ByteCount(size as u64),
            pieces: Vec::new(),
            sums: Vec::new(),
            name: name("a.bin"),
        };
        submit(finish());
        dones.recv().unwrap().result.unwrap();
        assert_eq!(dones.recv().unwrap().result.unwrap_err().code(), "disk.unsynced");
        submit(finish());
        assert_eq!(dones.recv().unwrap().result.unwrap(), Outcome::Named(name("a.bin")));
    }

    /// Counts how often anything was flushed, and flushes only when it is told to.
    #[derive(Debug)]
    struct Slow {
        flushes: Sender<()>,
        go_on: Mutex<Receiver<()>>,
    }

    impl Kernel for Slow {
        fn fdatasync(&self, file: BorrowedFd<'_>) -> rustix::io::Result<()> {
            self.flushes.send(()).unwrap();
            lock(&self.go_on).recv().unwrap();
            Linux.fdatasync(file)
        }
    }

    struct Fixture {
        _temp: TempDir,
        dir: Arc<JobDir>,
        writer: Writer<Vec<u8>>,
        dones: Receiver<Done<Vec<u8>>>,
    }

    impl Fixture {
        fn new(kernel: impl Kernel + 'static) -> Self {
            let temp = TempDir::new().unwrap();
            let root = Root::with_kernel(temp.path(), Arc::new(kernel)).unwrap();
            let dir = Arc::new(root.job_dir(&name("job")).unwrap());
            let (sender, dones) = channel();
            let on_done = move |done: Done<Vec<u8>>| sender.send(done).unwrap();
            let writer = Writer::start(Settings::default(), on_done).unwrap();
            Self { _temp: temp, dir, writer, dones }
        }

        fn submit(&self, task: Task<Vec<u8>>) {
            self.writer.submit(Order { ticket: 0, dir: self.dir.clone(), task });
        }

        fn done(&self) -> Result<Outcome, DiskError> {
            self.dones.recv().unwrap().result
        }

        fn write(&self, file: u32) {
            self.submit(Task::Write { file, offset: 0, bytes: vec![7; 10] });
            self.done().unwrap();
        }

        fn finish(&self, file: u32) -> Result<Outcome, DiskError> {
            let (size, pieces) = (ByteCount(10), Vec::new());
            let (sums, name) = (Vec::new(), name("a.bin"));
            self.submit(Task::FinishFile { file, size, pieces, sums, name });
            self.done()
        }
    }

    #[test]
    fn only_what_was_written_since_the_last_time_is_brought_to_the_disk() {
        let (flushes, flushed) = channel();
        let (go_on, goes_on) = channel();
        let place = Fixture::new(Slow { flushes, go_on: Mutex::new(goes_on) });
        (0..99).for_each(|_| go_on.send(()).unwrap());
        for (written, synced) in [(vec![0, 1, 2], 3), (vec![], 0), (vec![2, 2], 1)] {
            written.into_iter().for_each(|file| place.write(file));
            place.submit(Task::Sync);
            assert_eq!(place.done().unwrap(), Outcome::Done);
            assert_eq!(flushed.try_iter().count(), synced);
        }
        place.write(1);
        place.finish(1).unwrap();
        flushed.try_iter().for_each(drop);
        place.submit(Task::Sync);
        place.done().unwrap();
        assert_eq!(flushed.try_iter().count(), 0, "what has its name is on the disk");
    }

    #[test]
    fn writes_go_on_while_the_disk_takes_its_time() {
        let (flushes, flushed) = channel();
        let (go_on, goes_on) = channel();
        let place = Fixture::new(Slow { flushes, go_on: Mutex::new(goes_on) });
        place.write(0);
        place.submit(Task::Sync);
        flushed.recv().unwrap();
        (0..4).for_each(|file| place.write(file));
        go_on.send(()).unwrap();
        assert_eq!(place.done().unwrap(), Outcome::Done);
        place.submit(Task::Sync);
        (0..4).for_each(|_| go_on.send(()).unwrap());
        place.done().unwrap();
        assert_eq!(flushed.try_iter().count(), 4, "what was written meanwhile is not forgotten");
    }

    /// A share that hangs: nothing that is moved there arrives before it is told to.
    #[derive(Debug)]
    struct Hanging {
        begun: Sender<()>,
        go_on: Mutex<Receiver<()>>,
    }

    impl Kernel for Hanging {
        fn rename_exclusive(
            &self,
            from: (BorrowedFd<'_>, &std::ffi::OsStr),
            to: (BorrowedFd<'_>, &std::ffi::OsStr),
        ) -> rustix::io::Result<()> {
            if to.1 == "away" {
                self.begun.send(()).unwrap();
                let _ = lock(&self.go_on).recv();
            }
            Linux.rename_exclusive(from, to)
        }
    }

    #[test]
    fn files_are_finished_while_many_jobs_hang_on_their_way_to_another_disk() {
        let (begun, begins) = channel();
        let (go_on, goes_on) = channel();
        let place = Fixture::new(Hanging { begun, go_on: Mutex::new(goes_on) });
        let there = TempDir::new().unwrap();
        let destination = Arc::new(Root::open(there.path()).unwrap());
        let most = Settings::default().sync_threads;
        for _ in 0..2 * most {
            let dir = Arc::new(place.dir.root().job_dir(&name("other")).unwrap());
            let (job, destination) = (bergamot_types::JobId(1), destination.clone());
            let task = Task::FinishJob { job, destination, name: name("away") };
            place.writer.submit(Order { ticket: 1, dir, task });
        }
        (0..most).for_each(|_| begins.recv().unwrap());
        place.write(0);
        assert_eq!(place.finish(0).unwrap(), Outcome::Named(name("a.bin")));
        drop(go_on);
        for _ in 0..2 * most {
            let done = place.dones.recv().unwrap();
            assert!(done.ticket == 1 && done.result.is_ok(), "{done:?}");
        }
        assert!(place.writer.shutdown(), "who moved them has left");
    }

    /// A fault of ours that no answer of the kernel can provoke.
    #[derive(Debug)]
    struct Fatal;

    impl Kernel for Fatal {
        fn fdatasync(&self, _: BorrowedFd<'_>) -> rustix::io::Result<()> {
            panic!("on purpose");
        }
    }

    #[test]
    fn a_thread_that_panics_is_told_of_by_its_name() {
        let temp = TempDir::new().unwrap();
        let root = Root::with_kernel(temp.path(), Arc::new(Fatal)).unwrap();
        let dir = Arc::new(root.job_dir(&name("job")).unwrap());
        let (sender, deaths) = channel();
        let on_death = move |thread: &str| sender.send(thread.to_owned()).unwrap();
        let writer = Writer::start_watched(Settings::default(), |_| (), on_death).unwrap();
        let task = Task::Write { file: 0, offset: 0, bytes: vec![7; 10] };
        writer.submit(Order { ticket: 0, dir: dir.clone(), task });
        writer.submit(Order { ticket: 1, dir, task: Task::Sync });
        assert!(deaths.recv().unwrap().starts_with("sync-"));
    }

    #[test]
    fn what_did_not_reach_the_disk_is_told_until_its_file_is_to_be_finished() {
        let place = Fixture::new(Forgetful::default());
        place.write(0);
        for _ in 0..2 {
            place.submit(Task::Sync);
            assert_eq!(place.done().unwrap_err().code(), "disk.unsynced");
        }
        assert_eq!(place.finish(0).unwrap_err().code(), "disk.unsynced");
        place.submit(Task::Sync);
        place.done().unwrap();
    }

    #[test]
    fn a_file_that_vanished_is_not_on_the_disk_and_nothing_more_is_written_under_its_name() {
        let place = Fixture::new(Linux);
        place.write(0);
        std::fs::remove_file(place.dir.path().join("0000.part")).unwrap();
        place.submit(Task::Sync);
        assert_eq!(place.done().unwrap_err().code(), "disk.vanished");
        for _ in 0..2 {
            place.submit(Task::Write { file: 0, offset: 0, bytes: vec![7; 10] });
            assert_eq!(place.done().unwrap_err().code(), "disk.vanished");
        }
        assert!(!place.dir.path().join("0000.part").exists());
        place.write(1);
    }

    /// What is done to files, what it is called, and the code of what comes of it.
    type Interference = (&'static str, fn(&std::path::Path), &'static str);

    const INTERFERENCES: [Interference; 5] = [
        ("removed", |dir| std::fs::remove_file(dir.join("0000.part")).unwrap(), "disk.vanished"),
        ("cut", |dir| cut(&dir.join("0000.part")), "file.changed"),
        ("replaced", |dir| replace(&dir.join("0000.part")), "file.changed"),
        ("swapped", swap, "file.changed"),
        (
            "overwritten",
            |dir| std::fs::write(dir.join("0000.part"), [8; 10]).unwrap(),
            "file.changed",
        ),
    ];

    fn cut(path: &std::path::Path) {
        std::fs::File::options().write(true).open(path).unwrap().set_len(3).unwrap();
    }

    fn replace(path: &std::path::Path) {
        let other = path.with_extension("other");
        std::fs::write(&other, [7; 10]).unwrap();
        std::fs::rename(other, path).unwrap();
    }

    fn swap(dir: &std::path::Path) {
        let [one, other, aside] = ["0000.part", "0001.part", "aside"].map(|name| dir.join(name));
        std::fs::rename(&one, &aside).unwrap();
        std::fs::rename(&other, &one).unwrap();
        std::fs::rename(&aside, &other).unwrap();
    }

    #[test]
    fn no_file_gets_its_name_that_is_not_the_one_that_was_written() {
        for (what, interfere, code) in INTERFERENCES {
            let place = Fixture::new(Linux);
            (0..2).for_each(|file| place.write(file));
            interfere(place.dir.path());
            // What has other bytes and is else the same is only found by reading it.
            let sum = Sum { from: 0, length: 10, crc32: crc32fast::hash(&[7; 10]) };
            let (size, pieces, sums) = (ByteCount(10), Vec::new(), vec![sum]);
            place.submit(Task::FinishFile { file: 0, size, pieces, sums, name: name("a") });
            assert_eq!(place.done().unwrap_err().code(), code, "{what}");
            assert!(!place.dir.path().join("a").exists(), "{what}");
            place.submit(Task::Write { file: 0, offset: 0, bytes: vec![7; 10] });
            assert!(place.done().is_err(), "{what}: nothing more is written under its name");
        }
    }

    #[test]
    fn a_directory_that_is_opened_anew_opens_its_files_anew() {
        let place = Fixture::new(Linux);
        (0..2).for_each(|file| place.write(file));
        swap(place.dir.path());
        let dir = Arc::new(place.dir.root().reopen(place.dir.name()).unwrap());
        for file in 0..2 {
            let task = Task::Write { file, offset: 0, bytes: vec![file as u8; 10] };
            place.writer.submit(Order { ticket: 0, dir: dir.clone(), task });
            place.done().unwrap();
        }
        for file in 0..2 {
            let path = dir.path().join(format!("000{file}.part"));
            assert_eq!(std::fs::read(path).unwrap(), [file; 10]);
        }
    }

    #[test]
    fn a_file_that_was_cut_takes_no_more() {
        let place = Fixture::new(Linux);
        place.write(0);
        cut(&place.dir.path().join("0000.part"));
        place.submit(Task::Write { file: 0, offset: 10, bytes: vec![7; 10] });
        assert_eq!(place.done().unwrap_err().code(), "file.changed");
    }

    #[test]
    fn no_job_is_moved_of_which_a_finished_file_is_not_as_it_was() {
        let meddlings: [Interference; 3] = [
            ("removed", |path| std::fs::remove_file(path).unwrap(), "disk.vanished"),
            ("cut", cut, "file.changed"),
            ("replaced", replace, "file.changed"),
        ];
        for (what, interfere, code) in meddlings {
            let (place, there) = (Fixture::new(Linux), TempDir::new().unwrap());
            place.write(0);
            place.finish(0).unwrap();
            interfere(&place.dir.path().join("a.bin"));
            let destination = Arc::new(Root::open(there.path()).unwrap());
            let job = bergamot_types::JobId(1);
            place.submit(Task::FinishJob { job, destination, name: name("job") });
            assert_eq!(place.done().unwrap_err().code(), code, "{what}");
            assert_eq!(std::fs::read_dir(there.path()).unwrap().count(), 0, "{what}");
        }
    }

    #[test]
    fn what_is_for_the_same_file_or_the_whole_job_waits_for_its_turn() {
        let temp = TempDir::new().unwrap();
        let root = Root::open(temp.path()).unwrap();
        let dir = Arc::new(root.job_dir(&name("job")).unwrap());
        let order = |task| SyncWork::Order(Order::<Vec<u8>> { ticket: 0, dir: dir.clone(), task });
        let finish = |file| {
            let (size, pieces) = (ByteCount(0), Vec::new());
            order(Task::FinishFile { file, size, pieces, sums: Vec::new(), name: name("a") })
        };
        let flush = SyncWork::Flush { dir: dir.clone(), part: Arc::new(dir.part(1).unwrap()) };
        let mut queue = VecDeque::from([flush, finish(1), finish(2), order(Task::Discard)]);
        let busy = ActiveClaims::default();
        let take = |queue: &mut VecDeque<_>| {
            let place = busy.choose(queue, |_| true)?;
            Some((place, queue.remove(place).map(|sync_work| sync_work.claim())?))
        };
        let (first, flushing) = take(&mut queue).unwrap();
        let (second, finishing) = take(&mut queue).unwrap();
        assert_eq!((first, second), (0, 1), "the flush, and the end of the other file");
        assert_eq!(take(&mut queue), None, "the rest has to wait");
        busy.release(finishing);
        assert_eq!(take(&mut queue), None);
        busy.release(flushing);
        let (third, finishing) = take(&mut queue).unwrap();
        assert_eq!((third, take(&mut queue)), (0, None), "the job waits for its last file");
        busy.release(finishing);
        assert!(take(&mut queue).is_some() && queue.is_empty());
    }

    #[test]
    fn files_of_a_job_are_apart_and_the_job_is_none_of_them() {
        let claim = |dir, file| Claim { dir: (1, dir), file };
        let (job, first, second) = (claim(7, None), claim(7, Some(1)), claim(7, Some(2)));
        assert!(job.excludes(&first) && first.excludes(&job) && job.excludes(&job));
        assert!(first.excludes(&first) && !first.excludes(&second));
        assert!(!job.excludes(&claim(8, None)) && !first.excludes(&claim(8, Some(1))));
    }
}
