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
                    if let Err(error) = part.flush() {
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
            // Opened anew: a queue of files that wait for the disk must not be one of open handles.
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
    use std::os::fd::BorrowedFd;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::channel;

    use bergamot_types::{ByteCount, SafeName};
    use rustix::io::Errno;
    use tempfile::TempDir;

    use super::*;
    use crate::kernel::{Kernel, Linux};
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
            name: name("a.bin"),
        };
        submit(finish());
        dones.recv().unwrap().result.unwrap();
        assert_eq!(dones.recv().unwrap().result.unwrap_err().code(), "disk.unsynced");
        submit(finish());
        assert_eq!(dones.recv().unwrap().result.unwrap(), Outcome::Named(name("a.bin")));
    }

    #[test]
    fn what_is_for_the_same_file_or_the_whole_job_waits_for_its_turn() {
        let temp = TempDir::new().unwrap();
        let root = Root::create(temp.path()).unwrap();
        let dir = Arc::new(root.job_dir(&name("job")).unwrap());
        let order = |task| Closing::Order(Order::<Vec<u8>> { ticket: 0, dir: dir.clone(), task });
        let finish = |file| {
            let (size, pieces) = (ByteCount(0), Vec::new());
            order(Task::FinishFile { file, size, pieces, name: name("a") })
        };
        let flush = Closing::Flush { dir: dir.clone(), part: Arc::new(dir.part(1).unwrap()) };
        let mut queue = VecDeque::from([flush, finish(1), finish(2), order(Task::Discard)]);
        let busy = Busy::default();
        let take = |queue: &mut VecDeque<_>| {
            let place = busy.choose(queue)?;
            Some((place, queue.remove(place).map(|closing| closing.claim())?))
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
