//! The threads that wait for the disk.
//!
//! To finish a file it has to be on the disk, not only in the page cache; and that may take long.
//! Threads of their own do it, so that nobody's writes wait for it: several of them, for file systems
//! make many files durable in hardly more time than one.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use crate::job_dir::JobDir;
use crate::line::lock;
use crate::part_file::PartFile;
use crate::writer::{Done, Order, Outcome, Shared, Task};

pub(crate) enum Closing<B> {
    /// Much was written to the part: bring it to the disk while more comes, so that little is left
    /// to wait for at the end.
    Flush {
        dir: Arc<JobDir>,
        part: Arc<PartFile>,
    },
    Order(Order<B>),
}

/// What is being worked on.
#[derive(Debug, Default)]
pub(crate) struct Busy(Mutex<Vec<Claim>>);

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

impl<B> Closing<B> {
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

impl Busy {
    /// The first that neither what is under way nor what came before it stands in the way of.
    fn choose<B>(&self, queue: &VecDeque<Closing<B>>) -> Option<usize> {
        let mut claims = lock(&self.0);
        let under_way = claims.len();
        for (place, closing) in queue.iter().enumerate() {
            let claim = closing.claim();
            let is_free = !claims.iter().any(|other| other.excludes(&claim));
            if is_free {
                claims.truncate(under_way);
                claims.push(claim);
                return Some(place);
            }
            claims.push(claim);
        }
        claims.truncate(under_way);
        None
    }

    fn release(&self, claim: Claim) {
        let mut claims = lock(&self.0);
        if let Some(place) = claims.iter().position(|other| *other == claim) {
            claims.swap_remove(place);
        }
    }
}

pub(crate) struct Closer<B> {
    pub(crate) shared: Arc<Shared<B>>,
}

impl<B> Closer<B> {
    pub(crate) fn run(self) {
        let Self { shared } = self;
        let choose = |queue: &VecDeque<_>| shared.busy.choose(queue);
        while let Some(closing) = shared.closing.next(&shared.stop, choose) {
            let claim = closing.claim();
            match closing {
                Closing::Flush { dir, part } => {
                    if let Err(error) = part.sync() {
                        dir.remember_unsynced(part.index(), error);
                    }
                }
                Closing::Order(order) => (shared.on_done)(carry_out(order, &shared.stop)),
            }
            shared.busy.release(claim);
            shared.closing.wake_all();
        }
    }
}

fn carry_out<B>(Order { ticket, dir, task }: Order<B>, stop: &AtomicBool) -> Done<B> {
    let result = match task {
        Task::Discard => dir.discard().map(|()| Outcome::Done),
        Task::FinishFile { file, size, pieces, name } => {
            let begun = dir.check_begun(file).and_then(|()| dir.part(file));
            begun.and_then(|part| dir.finish(&part, size, &pieces, &name)).map(Outcome::Named)
        }
        Task::FinishJob { job, destination, name } => {
            dir.move_to(&destination, &name, job, stop).map(Outcome::Named)
        }
        Task::Settle { job, destination, name } => {
            destination.settle(&name, dir.root(), job).map(|()| Outcome::Done)
        }
        Task::Reserve { .. } | Task::Write { .. } => {
            unreachable!("`Writer::submit` brings these to a lane")
        }
    };
    Done { ticket, bytes: None, result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_job_are_apart_and_the_job_is_none_of_them() {
        let claim = |dir, file| Claim { dir: (1, dir), file };
        let (job, first, second) = (claim(7, None), claim(7, Some(1)), claim(7, Some(2)));
        assert!(job.excludes(&first) && first.excludes(&job) && job.excludes(&job));
        assert!(first.excludes(&first) && !first.excludes(&second));
        assert!(!job.excludes(&claim(8, None)) && !first.excludes(&claim(8, Some(1))));
    }
}
