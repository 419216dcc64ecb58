//! The threads that write.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::DiskError;
use crate::files::job_dir::{JobDir, is_lost};
use crate::files::part_file::PartFile;
use crate::threads::direct_io::{Handed, Place};
use crate::threads::part_cache::PartCache;
use crate::threads::sync_thread::Closing;
use crate::threads::work_queue::{Choice, lock};
use crate::writer::{Done, Order, Outcome, Shared, Task};

/// What stands in the queue of one of them.
pub(crate) enum Item<B> {
    /// To be passed on behind all writes to this file, when its handle is not needed any more.
    Finish {
        file: u32,
        order: Order<B>,
    },
    Gate(Arc<Gate<B>>),
    Write(Order<B>),
}

/// An order for a whole job stands in every lane; when the last has come to it, it is passed on.
pub(crate) struct Gate<B> {
    dir: Arc<JobDir>,
    is_last: bool, // nothing will be written there any more
    missing: AtomicUsize,
    order: Mutex<Option<Order<B>>>,
}

impl<B> Gate<B> {
    pub(crate) fn new(order: Order<B>, lanes: usize) -> Self {
        let (dir, missing) = (order.dir.clone(), AtomicUsize::new(lanes));
        let is_last = !matches!(order.task, Task::Sync);
        Self { dir, is_last, missing, order: Mutex::new(Some(order)) }
    }
}

pub(crate) struct Lane<B> {
    pub(crate) shared: Arc<Shared<B>>,
    pub(crate) number: usize,
    pub(crate) cache: PartCache,
}

impl<B: AsRef<[u8]> + Send + 'static> Lane<B> {
    pub(crate) fn run(mut self) {
        let shared = self.shared.clone();
        while let Some(item) = shared.lanes[self.number].next(&shared.stop, Choice::front) {
            match item {
                Item::Finish { file, order } => {
                    shared.hands.wait_for_file(&shared.stop, &order.dir, file);
                    self.cache.close(&order.dir, file);
                    shared.close(Closing::Order(order));
                }
                Item::Gate(gate) => self.pass(&gate),
                Item::Write(order) => {
                    if let Some(done) = self.carry_out(order) {
                        (shared.on_done)(done);
                    }
                }
            }
        }
    }

    fn pass(&mut self, gate: &Gate<B>) {
        self.shared.hands.wait_for_job(&self.shared.stop, self.number, &gate.dir);
        if gate.is_last {
            self.cache.close_all(&gate.dir);
        }
        if gate.missing.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(order) = lock(&gate.order).take()
        {
            self.shared.close(Closing::Order(order));
        }
    }

    /// None if somebody else does it.
    fn carry_out(&mut self, Order { ticket, dir, task }: Order<B>) -> Option<Done<B>> {
        match task {
            Task::Write { file, offset, bytes } => self.write(ticket, dir, file, offset, bytes),
            Task::Reserve { file, size } => {
                self.shared.hands.wait_for_file(&self.shared.stop, &dir, file);
                let result = self.with_part(&dir, file, |part| part.reserve(size.0));
                let outcome =
                    |(_, is_its_own)| if is_its_own { Outcome::Done } else { Outcome::Sparse };
                Some(Done { ticket, bytes: None, result: result.map(outcome) })
            }
            _ => unreachable!("`Writer::submit` brings the others elsewhere"),
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
        let place = Place::new(self.number, &dir, file, offset, bytes.as_ref().len());
        let way = self.with_part(&dir, file, |part| {
            let is_handed = shared.disks.is_quick(device)
                && part.takes_directly(offset, bytes.as_ref(), || shared.disks.open(&dir, part))
                && shared.has_hands();
            if is_handed {
                part.check_whole()?;
            } else {
                shared.hands.wait_until_free(&shared.stop, &place);
                part.write_at(offset, bytes.as_ref())?;
                dir.note_unflushed(file, bytes.as_ref().len() as u64);
            }
            Ok(is_handed)
        });
        let result = match way {
            Ok((part, true)) => {
                shared.hands.hand(&shared.stop, Handed { ticket, dir, part, place, bytes });
                return None;
            }
            Ok((part, false)) => {
                if part.owes_a_flush(shared.disks.is_known(device)) {
                    shared.close(Closing::Flush { dir, part });
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
