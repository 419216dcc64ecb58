//! [`Writer`]: the handle of the writer threads; owns their work queues and starts and stops them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use bergamot_types::{ByteCount, JobId, SafeName};

use crate::error::DiskError;
use crate::files::job_dir::{JobDir, Piece, Sum};
use crate::files::root::Root;
use crate::threads::direct_io::{self, DirectIo};
use crate::threads::disk_speed::DiskSpeeds;
use crate::threads::move_threads::MoveThreads;
use crate::threads::part_cache::PartCache;
use crate::threads::sync_thread::{ActiveClaims, SyncRole, SyncThread, SyncWork};
use crate::threads::work_queue::{WorkQueue, lock};
use crate::threads::write_thread::{JobBarrier, WriteItem, WriteThread};

/// Carries out [`Order`]s on its own threads, so that no caller waits for a disk.
///
/// Contract:
/// - [`submit`](Self::submit) never blocks. Every order that is submitted before a shutdown is answered by
///   exactly one [`Done`] with its ticket, passed to `on_done` on one of the writer's threads. Tickets are
///   the caller's: the writer neither checks nor compares them.
/// - The `Done` of a [`Task::Write`] returns its buffer, successful or not; that of any other task has none.
/// - Writes to overlapping ranges of one file are done in the order of submission. Other writes may be
///   answered in any order.
/// - [`Task::FinishFile`] runs after every `Reserve` and `Write` that was submitted for that file before it;
///   `FinishJob`, `Discard` and `Sync` after every task that was submitted for files of that job before them.
///   Only `Settle` waits for no write.
/// - A failed `fsync` is remembered, because the kernel reports it once and may have dropped the pages: each
///   `Sync` of the job fails with it until the `FinishFile` of that file has failed with it too.
/// - Nothing bounds the queues: each queued write holds a buffer of the caller's memory budget, and that
///   budget is what a slow disk exhausts. Threads and open files are bounded by [`Settings`].
/// - After [`shutdown`](Self::shutdown) queued orders and later ones are dropped without an answer; orders
///   that are already running are still answered.
/// - A thread that panics does not answer the order it was running; `on_death` is called with its name.
pub struct Writer<B> {
    shared: Arc<Shared<B>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Threads that write through the page cache. A file belongs to one of them, because most file systems
    /// serialise the writers of one file.
    pub threads: usize,
    /// Threads that wait for `fsync`; and at most as many again for each disk that finished jobs are moved
    /// to, while there are moves.
    pub sync_threads: usize,
    /// Threads that write with direct I/O. They start when a disk is first measured to be fast.
    pub direct_io_threads: usize,
    /// Part files kept open, over all threads; more gains nothing and costs descriptors that sockets need.
    pub open_files: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { threads: 2, sync_threads: 4, direct_io_threads: 8, open_files: 64 }
    }
}

/// A task in the directory of one job.
#[derive(Debug)]
pub struct Order<B> {
    pub ticket: u64,
    pub dir: Arc<JobDir>,
    pub task: Task<B>,
}

/// What to do; `file` is the index of a file in its job.
#[derive(Debug)]
pub enum Task<B> {
    Discard,
    FinishFile {
        file: u32,
        size: ByteCount,
        pieces: Vec<Piece>,
        /// Checksums that the file is read back and compared with before it is renamed; empty to skip that.
        sums: Vec<Sum>,
        name: SafeName,
    },
    FinishJob {
        job: JobId,
        destination: Arc<Root>,
        name: SafeName,
    },
    Reserve {
        file: u32,
        size: ByteCount,
    },
    Settle {
        job: JobId,
        destination: Arc<Root>,
        name: SafeName,
    },
    /// Fsync what was written to unfinished files. If that fails, data of them may be lost: finishing
    /// one of them fails from then on.
    Sync,
    Write {
        file: u32,
        offset: u64,
        bytes: B,
    },
}

/// The answer to one [`Order`].
#[derive(Debug)]
pub struct Done<B> {
    pub ticket: u64,
    /// The buffer of a write, to be reused.
    pub bytes: Option<B>,
    pub result: Result<Outcome, DiskError>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    Done,
    /// The name that a finished file or job was given.
    Named(SafeName),
    /// Space could not be preallocated: the file grows as it is written.
    Sparse,
}

impl<B: AsRef<[u8]> + Send + 'static> Writer<B> {
    pub fn start(
        settings: Settings,
        on_done: impl Fn(Done<B>) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::start_watched(settings, on_done, |_| ())
    }

    /// `on_death` is called with the name of a thread that panics, when it ends: the order it was running is
    /// not answered, and its queue may not be worked off.
    pub fn start_watched(
        settings: Settings,
        on_done: impl Fn(Done<B>) + Send + Sync + 'static,
        on_death: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let threads = settings.threads.max(1);
        let shared = Arc::new(Shared {
            write_queues: (0..threads).map(|_| WorkQueue::default()).collect(),
            sync_work: WorkQueue::default(),
            busy: ActiveClaims::default(),
            disk_speeds: DiskSpeeds::default(),
            direct_io: DirectIo::new(settings.direct_io_threads),
            move_threads: MoveThreads::new(settings.sync_threads.max(1)),
            stop: AtomicBool::new(false),
            running: Mutex::new(0),
            ended: Condvar::new(),
            on_done: Box::new(on_done),
            on_death: Box::new(on_death),
        });
        let writer = Self { shared: shared.clone() };
        for number in 0..threads {
            let cache = PartCache::new(settings.open_files / threads);
            let thread = WriteThread { shared: shared.clone(), number, cache };
            shared.spawn(format!("writer-{number}"), || thread.run())?;
        }
        for number in 0..settings.sync_threads.max(1) {
            let thread = SyncThread { shared: shared.clone(), role: SyncRole::Files };
            shared.spawn(format!("sync-{number}"), || thread.run())?;
        }
        Ok(writer)
    }

    /// Queues an order; after a shutdown it is dropped.
    pub fn submit(&self, order: Order<B>) {
        let Shared { write_queues, stop, .. } = &*self.shared;
        match order.task {
            Task::Reserve { file, .. } | Task::Write { file, .. } => {
                let thread = self.shared.thread_of(&order.dir, file);
                write_queues[thread].push(stop, WriteItem::Write(order));
            }
            Task::FinishFile { file, .. } => {
                let thread = self.shared.thread_of(&order.dir, file);
                write_queues[thread].push(stop, WriteItem::Finish { file, order });
            }
            Task::Settle { .. } => self.shared.queue_sync(SyncWork::Order(order)),
            Task::Discard | Task::FinishJob { .. } | Task::Sync => {
                let gate = Arc::new(JobBarrier::new(order, write_queues.len()));
                write_queues
                    .iter()
                    .for_each(|thread| thread.push(stop, WriteItem::JobBarrier(gate.clone())));
            }
        }
    }
}

impl<B> Writer<B> {
    /// Drops queued orders and waits up to one second for running ones; `false` if a thread still runs
    /// then, because a disk hangs. Unanswered orders were never recorded as done, so nothing is lost.
    pub fn shutdown(&self) -> bool {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.write_queues.iter().for_each(WorkQueue::clear);
        self.shared.sync_work.clear();
        self.shared.direct_io.stop();
        let running = lock(&self.shared.running);
        let (running, _) = self
            .shared
            .ended
            .wait_timeout_while(running, SHUTDOWN_TIMEOUT, |running| *running > 0)
            .unwrap_or_else(PoisonError::into_inner);
        *running == 0
    }
}

#[cfg(test)]
impl<B> Writer<B> {
    pub(crate) fn disk_speeds(&self) -> &DiskSpeeds {
        &self.shared.disk_speeds
    }
}

impl<B> Drop for Writer<B> {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl<B> fmt::Debug for Writer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("threads", &self.shared.write_queues.len())
            .finish_non_exhaustive()
    }
}

pub(crate) struct Shared<B> {
    pub(crate) write_queues: Vec<WorkQueue<WriteItem<B>>>,
    pub(crate) sync_work: WorkQueue<SyncWork<B>>,
    pub(crate) busy: ActiveClaims,
    pub(crate) disk_speeds: DiskSpeeds,
    pub(crate) direct_io: DirectIo<B>,
    pub(crate) move_threads: MoveThreads,
    pub(crate) stop: AtomicBool,
    pub(crate) on_done: Box<dyn Fn(Done<B>) + Send + Sync>,
    on_death: Box<dyn Fn(&str) + Send + Sync>,
    running: Mutex<usize>,
    ended: Condvar,
}

impl<B: Send + 'static> Shared<B> {
    /// Passes work to the sync threads, or to the move threads of the disk a job goes to.
    pub(crate) fn queue_sync(self: &Arc<Self>, sync_work: SyncWork<B>) {
        let (device, mut started) = (sync_work.device(), None);
        self.sync_work.push_after(&self.stop, sync_work, || {
            started = device.filter(|device| self.move_threads.start_thread(*device));
        });
        let Some(device) = started else { return };
        let thread = SyncThread { shared: self.clone(), role: SyncRole::Moves(device) };
        if self.spawn("move".to_owned(), || thread.run()).is_err() {
            // The sync threads take the moves of a disk without move threads.
            self.move_threads.leave(device);
            self.sync_work.wake_all();
        }
    }

    fn spawn(
        self: &Arc<Self>,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        *lock(&self.running) += 1;
        // If the thread cannot be started, dropping the closure counts it out again.
        let counted = Counted(self.clone());
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let _counted = counted;
            work();
        });
        thread.map(drop)
    }
}

impl<B: AsRef<[u8]> + Send + 'static> Shared<B> {
    /// Whether there are direct-I/O threads; the first call starts them.
    pub(crate) fn has_direct_io_threads(self: &Arc<Self>) -> bool {
        let start_thread = |number| {
            let shared = self.clone();
            self.spawn(format!("submit-{number}"), move || direct_io::run(&shared)).is_ok()
        };
        self.direct_io.started(start_thread) > 0
    }
}

impl<B> Shared<B> {
    pub(crate) fn thread_of(&self, dir: &JobDir, file: u32) -> usize {
        dir.identity().1.wrapping_add(file.into()) as usize % self.write_queues.len()
    }
}

/// One running thread; counts it out when it ends, and reports a panic.
struct Counted<B>(Arc<Shared<B>>);

impl<B> Drop for Counted<B> {
    fn drop(&mut self) {
        *lock(&self.0.running) -= 1;
        self.0.ended.notify_all();
        if std::thread::panicking() {
            (self.0.on_death)(std::thread::current().name().unwrap_or("writer"));
        }
    }
}

/// A stop signal leaves three seconds for the whole process.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
