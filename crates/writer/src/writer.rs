//! Threads in front of the disk.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bergamot_types::{ByteCount, JobId, SafeName};

use crate::error::DiskError;
use crate::job_dir::{JobDir, Piece};
use crate::part_cache::PartCache;
use crate::root::Root;

/// Takes orders and does them behind the caller's back.
///
/// Orders for one file are done in the order they came; those for a whole job after all that came
/// before them for its files. The backlog is not bounded here: each write holds a buffer of the
/// caller's budget, and it is that budget which is exhausted when the disk is slow.
pub struct Writer<B> {
    shared: Arc<Shared<B>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub threads: usize,
    /// Over all threads; more than this gains nothing and costs handles that sockets want.
    pub open_files: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { threads: 2, open_files: 64 }
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
    FinishFile { file: u32, size: ByteCount, pieces: Vec<Piece>, name: SafeName },
    FinishJob { job: JobId, destination: Arc<Root>, name: SafeName },
    Reserve { file: u32, size: ByteCount },
    Settle { job: JobId, destination: Arc<Root>, name: SafeName },
    Sync { file: u32 },
    Write { file: u32, offset: u64, bytes: B },
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
}

impl<B: AsRef<[u8]> + Send + 'static> Writer<B> {
    pub fn start(
        settings: Settings,
        on_done: impl Fn(Done<B>) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let threads = settings.threads.max(1);
        let shared = Arc::new(Shared {
            lanes: (0..threads).map(|_| Lane::default()).collect(),
            stop: AtomicBool::new(false),
            running: Mutex::new(0),
            ended: Condvar::new(),
            on_done: Box::new(on_done),
        });
        let writer = Self { shared: shared.clone() };
        for lane in 0..threads {
            let cache = PartCache::new(settings.open_files / threads);
            let worker = Worker { shared: shared.clone(), lane, cache };
            *lock(&shared.running) += 1;
            // When this fails the worker is dropped, and counted out, with the closure.
            std::thread::Builder::new().name(format!("writer-{lane}")).spawn(|| worker.run())?;
        }
        Ok(writer)
    }

    /// Once it was shut down, orders are dropped.
    pub fn submit(&self, order: Order<B>) {
        let lanes = &self.shared.lanes;
        match order.task.file() {
            Some(file) => {
                let lane = (order.dir.identity().1.wrapping_add(file.into())) as usize;
                self.shared.push(&lanes[lane % lanes.len()], Item::File(order));
            }
            None => {
                let missing = AtomicUsize::new(lanes.len());
                let gate = Arc::new(Gate {
                    dir: order.dir.clone(),
                    missing,
                    order: Mutex::new(Some(order)),
                });
                lanes.iter().for_each(|lane| self.shared.push(lane, Item::Gate(gate.clone())));
            }
        }
    }
}

impl<B> Writer<B> {
    /// Drops what was not begun and waits a moment for the rest; `false` if a disk hangs so that a
    /// thread is still in it. Nothing was promised of the backlog, so nothing is lost.
    pub fn shutdown(&self) -> bool {
        self.shared.stop.store(true, Ordering::Relaxed);
        for lane in &self.shared.lanes {
            let dropped = std::mem::take(&mut *lock(&lane.queue));
            lane.ready.notify_all();
            drop(dropped); // outside the lock, for the caller's buffers may have their own
        }
        let running = lock(&self.shared.running);
        let (running, _) = self
            .shared
            .ended
            .wait_timeout_while(running, SHUTDOWN_PATIENCE, |running| *running > 0)
            .unwrap_or_else(PoisonError::into_inner);
        *running == 0
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

impl<B> Task<B> {
    /// `None` for those that concern the whole job.
    fn file(&self) -> Option<u32> {
        match self {
            Self::FinishFile { file, .. }
            | Self::Reserve { file, .. }
            | Self::Sync { file }
            | Self::Write { file, .. } => Some(*file),
            Self::Discard | Self::FinishJob { .. } | Self::Settle { .. } => None,
        }
    }
}

struct Shared<B> {
    lanes: Vec<Lane<B>>,
    stop: AtomicBool,
    running: Mutex<usize>,
    ended: Condvar,
    on_done: Box<dyn Fn(Done<B>) + Send + Sync>,
}

/// The orders of one thread.
struct Lane<B> {
    queue: Mutex<VecDeque<Item<B>>>,
    ready: Condvar,
}

enum Item<B> {
    File(Order<B>),
    Gate(Arc<Gate<B>>),
}

/// An order for a whole job stands in every lane; the thread that comes to it last does it.
struct Gate<B> {
    dir: Arc<JobDir>,
    missing: AtomicUsize,
    order: Mutex<Option<Order<B>>>,
}

impl<B> Default for Lane<B> {
    fn default() -> Self {
        Self { queue: Mutex::default(), ready: Condvar::new() }
    }
}

impl<B> Shared<B> {
    fn push(&self, lane: &Lane<B>, item: Item<B>) {
        let mut queue = lock(&lane.queue);
        if !self.stop.load(Ordering::Relaxed) {
            queue.push_back(item);
            lane.ready.notify_one();
        }
    }

    fn next(&self, lane: &Lane<B>) -> Option<Item<B>> {
        let mut queue = lock(&lane.queue);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            match queue.pop_front() {
                Some(item) => return Some(item),
                None => {
                    queue = lane.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

struct Worker<B> {
    shared: Arc<Shared<B>>,
    lane: usize,
    cache: PartCache,
}

impl<B: AsRef<[u8]>> Worker<B> {
    fn run(mut self) {
        while let Some(item) = self.shared.next(&self.shared.lanes[self.lane]) {
            let order = match item {
                Item::File(order) => Some(order),
                Item::Gate(gate) => self.pass(&gate),
            };
            if let Some(order) = order {
                let done = self.carry_out(order);
                (self.shared.on_done)(done);
            }
        }
    }

    fn pass(&mut self, gate: &Gate<B>) -> Option<Order<B>> {
        self.cache.close_all(&gate.dir);
        let last = gate.missing.fetch_sub(1, Ordering::AcqRel) == 1;
        if last { lock(&gate.order).take() } else { None }
    }

    fn carry_out(&mut self, Order { ticket, dir, task }: Order<B>) -> Done<B> {
        let stop = &self.shared.stop;
        let (bytes, result) = match task {
            Task::Discard => (None, dir.discard().map(|()| Outcome::Done)),
            Task::FinishFile { file, size, pieces, name } => {
                let finished = dir
                    .check_begun(file)
                    .and_then(|()| self.cache.part(&dir, file))
                    .and_then(|part| dir.finish(part, size, &pieces, &name));
                self.cache.close(&dir, file);
                (None, finished.map(Outcome::Named))
            }
            Task::FinishJob { job, destination, name } => {
                (None, dir.move_to(&destination, &name, job, stop).map(Outcome::Named))
            }
            Task::Reserve { file, size } => {
                (None, self.with_part(&dir, file, |part| part.reserve(size.0)))
            }
            Task::Settle { job, destination, name } => {
                (None, destination.settle(&name, dir.root(), job).map(|()| Outcome::Done))
            }
            Task::Sync { file } => (None, self.with_part(&dir, file, |part| part.sync())),
            Task::Write { file, offset, bytes } => {
                let result =
                    self.with_part(&dir, file, |part| part.write_at(offset, bytes.as_ref()));
                (Some(bytes), result)
            }
        };
        Done { ticket, bytes, result }
    }

    fn with_part(
        &mut self,
        dir: &Arc<JobDir>,
        file: u32,
        act: impl FnOnce(&crate::PartFile) -> Result<(), DiskError>,
    ) -> Result<Outcome, DiskError> {
        let result = self.cache.part(dir, file).and_then(act);
        if matches!(result, Err(DiskError::Vanished { .. })) {
            self.cache.close(dir, file);
            dir.forget_part(file);
        }
        result.map(|()| Outcome::Done)
    }
}

impl<B> Drop for Worker<B> {
    fn drop(&mut self) {
        *lock(&self.shared.running) -= 1;
        self.shared.ended.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of strangers runs under these locks, so what they guard is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A signal to end leaves three seconds for everything.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(1);
