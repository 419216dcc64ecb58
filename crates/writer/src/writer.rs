//! Threads in front of the disk.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use bergamot_types::{ByteCount, JobId, SafeName};

use crate::error::DiskError;
use crate::files::job_dir::{JobDir, Piece, Sum};
use crate::files::root::Root;
use crate::threads::direct_io::{self, Hands};
use crate::threads::disk_speed::Disks;
use crate::threads::move_threads::Movers;
use crate::threads::part_cache::PartCache;
use crate::threads::sync_thread::{Busy, Closer, Closing, Duty};
use crate::threads::work_queue::{Line, lock};
use crate::threads::write_thread::{Gate, Item, Lane};

/// Takes orders and does them behind the caller's back.
///
/// Orders for one place of a file are done in the order they came, and its end after all of them; those
/// for a whole job after all that came before them for its files. The backlog is not bounded here: each
/// write holds a buffer of the caller's budget, and it is that budget which is exhausted when the disk is
/// slow.
pub struct Writer<B> {
    shared: Arc<Shared<B>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// That write. One file is written by one of them: most file systems let no two into it through the
    /// page cache.
    pub threads: usize,
    /// That wait for the disk to have what was written; and as many again for each disk that finished
    /// jobs are moved to, while any are.
    pub closers: usize,
    /// That write past the page cache, once a disk is found to be quick.
    pub hands: usize,
    /// Over all threads; more than this gains nothing and costs handles that sockets want.
    pub open_files: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { threads: 2, closers: 4, hands: 8, open_files: 64 }
    }
}

/// What is to be done in one job's directory.
#[derive(Debug)]
pub struct Order<B> {
    pub ticket: u64,
    pub dir: Arc<JobDir>,
    pub task: Task<B>,
}

/// Files go by their index in the job.
#[derive(Debug)]
pub enum Task<B> {
    Discard,
    FinishFile {
        file: u32,
        size: ByteCount,
        pieces: Vec<Piece>,
        /// What it is compared with before it gets its name; nothing, if it is not to be read back.
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
    /// Bring to the disk what was written before to files that are not finished. If that fails,
    /// something of them may be lost, and whoever is to be finished is told so.
    Sync,
    Write {
        file: u32,
        offset: u64,
        bytes: B,
    },
}

/// An order that was done or failed.
#[derive(Debug)]
pub struct Done<B> {
    pub ticket: u64,
    /// The buffer of a write, for use again.
    pub bytes: Option<B>,
    pub result: Result<Outcome, DiskError>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    Done,
    /// The name that a finished file or job was given.
    Named(SafeName),
    /// The file grows as it is written: no room could be set aside.
    Sparse,
}

impl<B: AsRef<[u8]> + Send + 'static> Writer<B> {
    pub fn start(
        settings: Settings,
        on_done: impl Fn(Done<B>) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::start_watched(settings, on_done, |_| ())
    }

    /// `on_death` is called with the name of a thread that panics, at its end: what it had in hand is not
    /// answered, and nobody does the rest of its work.
    pub fn start_watched(
        settings: Settings,
        on_done: impl Fn(Done<B>) + Send + Sync + 'static,
        on_death: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let threads = settings.threads.max(1);
        let shared = Arc::new(Shared {
            lanes: (0..threads).map(|_| Line::default()).collect(),
            closing: Line::default(),
            busy: Busy::default(),
            disks: Disks::default(),
            hands: Hands::new(settings.hands),
            movers: Movers::new(settings.closers.max(1)),
            stop: AtomicBool::new(false),
            running: Mutex::new(0),
            ended: Condvar::new(),
            on_done: Box::new(on_done),
            on_death: Box::new(on_death),
        });
        let writer = Self { shared: shared.clone() };
        for number in 0..threads {
            let cache = PartCache::new(settings.open_files / threads);
            let lane = Lane { shared: shared.clone(), number, cache };
            shared.spawn(format!("writer-{number}"), || lane.run())?;
        }
        for number in 0..settings.closers.max(1) {
            let closer = Closer { shared: shared.clone(), duty: Duty::Files };
            shared.spawn(format!("closer-{number}"), || closer.run())?;
        }
        Ok(writer)
    }

    /// Once it was shut down, orders are dropped.
    pub fn submit(&self, order: Order<B>) {
        let Shared { lanes, stop, .. } = &*self.shared;
        match order.task {
            Task::Reserve { file, .. } | Task::Write { file, .. } => {
                let lane = self.shared.lane_of(&order.dir, file);
                lanes[lane].push(stop, Item::Write(order));
            }
            Task::FinishFile { file, .. } => {
                let lane = self.shared.lane_of(&order.dir, file);
                lanes[lane].push(stop, Item::Finish { file, order });
            }
            Task::Settle { .. } => self.shared.close(Closing::Order(order)),
            Task::Discard | Task::FinishJob { .. } | Task::Sync => {
                let gate = Arc::new(Gate::new(order, lanes.len()));
                lanes.iter().for_each(|lane| lane.push(stop, Item::Gate(gate.clone())));
            }
        }
    }
}

impl<B> Writer<B> {
    /// Drops what was not begun and waits a moment for the rest; `false` if a disk hangs so that a
    /// thread is still in it. Nothing was promised of the backlog, so nothing is lost.
    pub fn shutdown(&self) -> bool {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.lanes.iter().for_each(Line::clear);
        self.shared.closing.clear();
        self.shared.hands.stop();
        let running = lock(&self.shared.running);
        let (running, _) = self
            .shared
            .ended
            .wait_timeout_while(running, SHUTDOWN_PATIENCE, |running| *running > 0)
            .unwrap_or_else(PoisonError::into_inner);
        *running == 0
    }
}

#[cfg(test)]
impl<B> Writer<B> {
    pub(crate) fn disks(&self) -> &Disks {
        &self.shared.disks
    }
}

impl<B> Drop for Writer<B> {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl<B> fmt::Debug for Writer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("threads", &self.shared.lanes.len()).finish_non_exhaustive()
    }
}

pub(crate) struct Shared<B> {
    pub(crate) lanes: Vec<Line<Item<B>>>,
    pub(crate) closing: Line<Closing<B>>,
    pub(crate) busy: Busy,
    pub(crate) disks: Disks,
    pub(crate) hands: Hands<B>,
    pub(crate) movers: Movers,
    pub(crate) stop: AtomicBool,
    pub(crate) on_done: Box<dyn Fn(Done<B>) + Send + Sync>,
    on_death: Box<dyn Fn(&str) + Send + Sync>,
    running: Mutex<usize>,
    ended: Condvar,
}

impl<B: Send + 'static> Shared<B> {
    /// Leaves it to the threads that wait for the disk.
    pub(crate) fn close(self: &Arc<Self>, closing: Closing<B>) {
        let (device, mut hired) = (closing.device(), None);
        self.closing.push_after(&self.stop, closing, || {
            hired = device.filter(|device| self.movers.hire(*device));
        });
        let Some(device) = hired else { return };
        let closer = Closer { shared: self.clone(), duty: Duty::Moves(device) };
        if self.spawn("mover".to_owned(), || closer.run()).is_err() {
            // Then those do it who are there already.
            self.movers.leave(device);
            self.closing.wake_all();
        }
    }

    fn spawn(
        self: &Arc<Self>,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        *lock(&self.running) += 1;
        // When the thread cannot be started it is counted out with the closure.
        let counted = Counted(self.clone());
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let _counted = counted;
            work();
        });
        thread.map(drop)
    }
}

impl<B: AsRef<[u8]> + Send + 'static> Shared<B> {
    /// Whether there is anybody to write past the page cache: they are there from the first time on.
    pub(crate) fn has_hands(self: &Arc<Self>) -> bool {
        let hire = |number| {
            let shared = self.clone();
            self.spawn(format!("hand-{number}"), move || direct_io::work(&shared)).is_ok()
        };
        self.hands.hired(hire) > 0
    }
}

impl<B> Shared<B> {
    pub(crate) fn lane_of(&self, dir: &JobDir, file: u32) -> usize {
        dir.identity().1.wrapping_add(file.into()) as usize % self.lanes.len()
    }
}

/// A thread that runs.
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

/// A signal to end leaves three seconds for everything.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(1);
