//! [`WriteThread`]: one of the threads that write through the page cache; owns its queue's part handles.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::DiskError;
use crate::files::job_dir::{JobDir, is_lost};
use crate::files::part_file::PartFile;
use crate::threads::direct_io::{DirectWrite, WriteRange};
use crate::threads::part_cache::PartCache;
use crate::threads::sync_thread::SyncWork;
use crate::threads::work_queue::{Choice, lock};
use crate::writer::{Done, Order, Outcome, Shared, Task};

/// An item of a write thread's queue.
pub(crate) enum WriteItem<B> {
    /// To be passed to the sync threads after all writes to this file.
    Finish {
        file: u32,
        order: Order<B>,
    },
    JobBarrier(Arc<JobBarrier<B>>),
    Write(Order<B>),
}

/// An order for a whole job: it is in the queue of every write thread, and the last to reach it passes it on.
pub(crate) struct JobBarrier<B> {
    dir: Arc<JobDir>,
    is_last: bool, // nothing will be written there any more
    missing: AtomicUsize,
    order: Mutex<Option<Order<B>>>,
}

impl<B> JobBarrier<B> {
    pub(crate) fn new(order: Order<B>, write_queues: usize) -> Self {
        let (dir, missing) = (order.dir.clone(), AtomicUsize::new(write_queues));
        let is_last = !matches!(order.task, Task::Sync);
        Self { dir, is_last, missing, order: Mutex::new(Some(order)) }
    }
}

pub(crate) struct WriteThread<B> {
    pub(crate) shared: Arc<Shared<B>>,
    pub(crate) number: usize,
    pub(crate) cache: PartCache,
}

impl<B: AsRef<[u8]> + Send + 'static> WriteThread<B> {
    pub(crate) fn run(mut self) {
        let shared = self.shared.clone();
        while let Some(item) = shared.write_queues[self.number].next(&shared.stop, Choice::front) {
            match item {
                WriteItem::Finish { file, order } => {
                    shared.direct_io.wait_for_file(&shared.stop, &order.dir, file);
                    self.cache.close(&order.dir, file);
                    shared.queue_sync(SyncWork::Order(order));
                }
                WriteItem::JobBarrier(gate) => self.pass(&gate),
                WriteItem::Write(order) => {
                    if let Some(done) = self.carry_out(order) {
                        (shared.on_done)(done);
                    }
                }
            }
        }
    }

    fn pass(&mut self, gate: &JobBarrier<B>) {
        self.shared.direct_io.wait_for_job(&self.shared.stop, self.number, &gate.dir);
        if gate.is_last {
            self.cache.close_all(&gate.dir);
        }
        if gate.missing.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(order) = lock(&gate.order).take()
        {
            self.shared.queue_sync(SyncWork::Order(order));
        }
    }

    /// `None` if a direct-I/O thread will answer.
    fn carry_out(&mut self, Order { ticket, dir, task }: Order<B>) -> Option<Done<B>> {
        match task {
            Task::Write { file, offset, bytes } => self.write(ticket, dir, file, offset, bytes),
            Task::Reserve { file, size } => {
                self.shared.direct_io.wait_for_file(&self.shared.stop, &dir, file);
                let result = self.with_part(&dir, file, |part| part.reserve(size.0));
                let outcome =
                    |(_, is_its_own)| if is_its_own { Outcome::Done } else { Outcome::Sparse };
                Some(Done { ticket, bytes: None, result: result.map(outcome) })
            }
            _ => unreachable!("`Writer::submit` queues only these two as writes"),
        }
    }

    fn write(
        &mut self,
        ticket: u64,
        dir: Arc<JobDir>,
        file: u32,
        offset: u64,
        bytes: B,
    ) -> Option<Done<B>> {
        let shared = self.shared.clone();
        let device = dir.identity().0;
        let place = WriteRange::new(self.number, &dir, file, offset, bytes.as_ref().len());
        let way = self.with_part(&dir, file, |part| {
            let is_direct = shared.disk_speeds.is_quick(device)
                && part
                    .takes_directly(offset, bytes.as_ref(), || shared.disk_speeds.open(&dir, part))
                && shared.has_direct_io_threads();
            if is_direct {
                part.check_whole()?;
            } else {
                shared.direct_io.wait_for_range(&shared.stop, &place);
                part.write_at(offset, bytes.as_ref())?;
                dir.note_unflushed(file, bytes.as_ref().len() as u64);
            }
            Ok(is_direct)
        });
        let result = match way {
            Ok((part, true)) => {
                shared
                    .direct_io
                    .submit(&shared.stop, DirectWrite { ticket, dir, part, place, bytes });
                return None;
            }
            Ok((part, false)) => {
                if part.owes_a_flush(shared.disk_speeds.is_known(device)) {
                    shared.queue_sync(SyncWork::Flush { dir, part });
                }
                Ok(Outcome::Done)
            }
            Err(error) => Err(error),
        };
        Some(Done { ticket, bytes: Some(bytes), result })
    }

    fn with_part<T>(
        &mut self,
        dir: &Arc<JobDir>,
        file: u32,
        act: impl FnOnce(&PartFile) -> Result<T, DiskError>,
    ) -> Result<(Arc<PartFile>, T), DiskError> {
        let part = self.cache.part(dir, file)?;
        match act(&part) {
            Err(error) if is_lost(&error) => {
                self.cache.close(dir, file);
                dir.lose_part(file);
                Err(error)
            }
            result => result.map(|value| (part, value)),
        }
    }
}
