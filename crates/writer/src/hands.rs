//! Threads that write past the page cache.
//!
//! Such a write waits for the disk, and a disk wants more than one of them at a time. So the thread that
//! a file belongs to hands its articles out, and waits where the order of things matters: for what is
//! written to the same place, and before the file or the job is passed on.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::disks::Disks;
use crate::error::DiskError;
use crate::job_dir::JobDir;
use crate::line::{Choice, Line, lock};
use crate::part_file::PartFile;
use crate::writer::{Done, Outcome, Shared};

/// What lies in their hands.
#[derive(Debug)]
pub(crate) struct Hands<B> {
    line: Line<Handed<B>>,
    under_way: Mutex<Vec<Place>>, // few, so they are searched
    fewer: Condvar,
    most: usize,
    hired: OnceLock<usize>,
}

/// One article.
#[derive(Debug)]
pub(crate) struct Handed<B> {
    pub(crate) ticket: u64,
    pub(crate) dir: Arc<JobDir>,
    pub(crate) part: Arc<PartFile>,
    pub(crate) offset: u64,
    pub(crate) bytes: B,
}

/// Where an article goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    dir: (u64, u64),
    file: u32,
    range: Range<u64>,
}

impl Place {
    pub(crate) fn new(dir: &JobDir, file: u32, offset: u64, length: usize) -> Self {
        let range = offset..offset.saturating_add(length as u64);
        Self { dir: dir.identity(), file, range }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let is_apart = self.range.end <= other.range.start || other.range.end <= self.range.start;
        (self.dir, self.file) == (other.dir, other.file) && !is_apart
    }
}

impl<B> Hands<B> {
    pub(crate) fn new(most: usize) -> Self {
        let (line, under_way, fewer) = (Line::default(), Mutex::default(), Condvar::new());
        Self { line, under_way, fewer, most, hired: OnceLock::new() }
    }

    /// How many there are; when they are needed for the first time, `hire` starts each.
    pub(crate) fn hired(&self, hire: impl Fn(usize) -> bool) -> usize {
        *self.hired.get_or_init(|| (0..self.most).filter(|&number| hire(number)).count())
    }

    /// After what is under way to the same place.
    pub(crate) fn hand(&self, stop: &AtomicBool, place: Place, handed: Handed<B>) {
        self.wait_until_free(stop, &place);
        lock(&self.under_way).push(place);
        self.line.push_to_anyone(stop, handed);
    }

    pub(crate) fn wait_until_free(&self, stop: &AtomicBool, place: &Place) {
        self.wait_while(stop, |other| other.overlaps(place));
    }

    pub(crate) fn wait_for_file(&self, stop: &AtomicBool, dir: &JobDir, file: u32) {
        let of_file = (dir.identity(), file);
        self.wait_while(stop, |other| (other.dir, other.file) == of_file);
    }

    pub(crate) fn wait_for_job(&self, stop: &AtomicBool, dir: &JobDir) {
        self.wait_while(stop, |other| other.dir == dir.identity());
    }

    fn wait_while(&self, stop: &AtomicBool, is_waited_for: impl Fn(&Place) -> bool) {
        let under_way = lock(&self.under_way);
        let waits = |under_way: &mut Vec<Place>| {
            !stop.load(Ordering::Relaxed) && under_way.iter().any(&is_waited_for)
        };
        drop(self.fewer.wait_while(under_way, waits).unwrap_or_else(PoisonError::into_inner));
    }

    fn on_written(&self, place: &Place) {
        let mut under_way = lock(&self.under_way);
        if let Some(found) = under_way.iter().position(|other| other == place) {
            under_way.swap_remove(found);
        }
        drop(under_way);
        self.fewer.notify_all();
    }

    /// What was not begun is dropped, and nobody waits for anything any more.
    pub(crate) fn stop(&self) {
        self.line.clear();
        drop(lock(&self.under_way)); // whoever was about to wait does by now
        self.fewer.notify_all();
    }
}

/// One of them at work.
pub(crate) fn work<B: AsRef<[u8]>>(shared: &Shared<B>) {
    let anything =
        |queue: &std::collections::VecDeque<_>| Choice::of((!queue.is_empty()).then_some(0));
    while let Some(handed) = shared.hands.line.next(&shared.stop, anything) {
        let bytes = handed.bytes.as_ref();
        let place = Place::new(&handed.dir, handed.part.index(), handed.offset, bytes.len());
        let result = write(&shared.disks, &handed).map(|()| Outcome::Done);
        shared.hands.on_written(&place);
        (shared.on_done)(Done { ticket: handed.ticket, bytes: Some(handed.bytes), result });
    }
}

fn write<B: AsRef<[u8]>>(disks: &Disks, handed: &Handed<B>) -> Result<(), DiskError> {
    let Handed { dir, part, offset, bytes, .. } = handed;
    let device = dir.identity().0;
    let began = Instant::now();
    let was_taken = part.write_past_the_cache(*offset, bytes.as_ref())?;
    dir.note_unflushed(part.index());
    match was_taken {
        true => disks.on_written(device, bytes.as_ref().len() as u64, began.elapsed()),
        false => disks.on_refused(device),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use bergamot_types::{ByteCount, SafeName};
    use rustix::fs::OFlags;
    use rustix::io::Errno;
    use tempfile::TempDir;

    use super::*;
    use crate::kernel::{Kernel, Linux};
    use crate::{Order, Root, Settings, Task, Writer};

    #[test]
    fn places_overlap_only_where_they_share_a_byte_of_a_file() {
        let place = |file, range| Place { dir: (1, 2), file, range };
        let here = place(3, 10..20);
        for (file, range, overlaps) in [
            (3, 0..10, false),
            (3, 0..11, true),
            (3, 12..13, true),
            (3, 19..40, true),
            (3, 20..40, false),
            (4, 10..20, false),
        ] {
            let there = place(file, range);
            assert_eq!((here.overlaps(&there), there.overlaps(&here)), (overlaps, overlaps));
        }
        assert!(!here.overlaps(&Place { dir: (1, 3), ..here.clone() }));
    }

    /// A disk that flushes in no time. Writes past its page cache are told of, and done when that is
    /// allowed; or refused.
    #[derive(Debug)]
    struct Quick {
        direct: Sender<u64>,
        go_on: Mutex<Receiver<()>>,
        refuses: bool,
    }

    impl Kernel for Quick {
        fn fdatasync(&self, _: BorrowedFd<'_>) -> rustix::io::Result<()> {
            Ok(())
        }

        /// None of the file systems that tests run on has to know of it.
        fn direct(&self) -> OFlags {
            OFlags::empty()
        }

        fn pwrite_directly(
            &self,
            file: BorrowedFd<'_>,
            bytes: &[u8],
            offset: u64,
        ) -> rustix::io::Result<usize> {
            self.direct.send(offset).unwrap();
            if self.refuses {
                return Err(Errno::INVAL);
            }
            let _ = lock(&self.go_on).recv();
            Linux.pwrite(file, bytes, offset)
        }
    }

    /// Bytes that begin with a page.
    #[derive(Debug)]
    struct Bytes {
        memory: Vec<u8>,
        start: usize,
        length: usize,
    }

    impl Bytes {
        fn new(value: u8, length: usize) -> Self {
            let memory = vec![value; length + PAGE];
            let start = memory.as_ptr().align_offset(PAGE);
            Self { memory, start, length }
        }
    }

    impl AsRef<[u8]> for Bytes {
        fn as_ref(&self) -> &[u8] {
            &self.memory[self.start..self.start + self.length]
        }
    }

    struct Bench {
        _temp: TempDir,
        dir: Arc<JobDir>,
        writer: Writer<Bytes>,
        dones: Receiver<Done<Bytes>>,
        direct: Receiver<u64>,
        go_on: Sender<()>,
    }

    impl Bench {
        /// With a file of which so much was written that its disk is known to be quick.
        fn new(refuses: bool) -> Self {
            let ((direct, directs), (go_on, goes_on)) = (channel(), channel());
            let kernel = Quick { direct, go_on: Mutex::new(goes_on), refuses };
            let temp = TempDir::new().unwrap();
            let root = Root::with_kernel(temp.path(), Arc::new(kernel)).unwrap();
            let dir = Arc::new(root.job_dir(&SafeName::from_raw("job")).unwrap());
            let (sender, dones) = channel();
            let on_done = move |done: Done<Bytes>| drop(sender.send(done));
            let writer = Writer::start(Settings::default(), on_done).unwrap();
            let bench = Self { _temp: temp, dir, writer, dones, direct: directs, go_on };
            bench.write(0, Bytes::new(1, BEGUN as usize));
            bench.submit(Task::Sync);
            (0..2).for_each(|_| bench.done());
            assert_eq!(bench.direct.try_iter().count(), 0, "nothing was known of the disk");
            bench
        }

        fn submit(&self, task: Task<Bytes>) {
            self.writer.submit(Order { ticket: 0, dir: self.dir.clone(), task });
        }

        fn write(&self, offset: u64, bytes: Bytes) {
            self.submit(Task::Write { file: 0, offset, bytes });
        }

        fn done(&self) {
            self.dones.recv().unwrap().result.unwrap();
        }

        /// What lies at these places of the finished file.
        fn finish(&self, size: u64, places: &[u64]) -> Vec<u8> {
            let name = SafeName::from_raw("a.bin");
            let pieces = Vec::new();
            self.submit(Task::FinishFile { file: 0, size: ByteCount(size), pieces, name });
            self.done();
            let whole = std::fs::read(self.dir.path().join("a.bin")).unwrap();
            assert_eq!(whole.len() as u64, size);
            places.iter().map(|place| whole[*place as usize]).collect()
        }
    }

    #[test]
    fn a_quick_disk_is_written_to_by_several_past_the_page_cache() {
        let bench = Bench::new(false);
        let places = [BEGUN, BEGUN + 8 * PAGE as u64, BEGUN + 16 * PAGE as u64];
        for (value, offset) in (2..).zip(places) {
            bench.write(offset, Bytes::new(value, 8 * PAGE));
        }
        let mut begun: Vec<u64> = bench.direct.iter().take(3).collect();
        begun.sort_unstable();
        assert_eq!(begun, places, "at the same time");
        (0..3).for_each(|_| bench.go_on.send(()).unwrap());
        let end = BEGUN + 24 * PAGE as u64;
        bench.write(end, Bytes::new(5, 7));
        (0..4).for_each(|_| bench.done());
        assert_eq!(
            bench.finish(end + 7, &[0, places[0], places[1], places[2], end]),
            [1, 2, 3, 4, 5]
        );
        assert_eq!(bench.direct.try_iter().count(), 0, "the end is no whole page");
    }

    #[test]
    fn what_goes_to_the_same_place_and_what_ends_the_file_wait_for_each_other() {
        let bench = Bench::new(false);
        bench.write(BEGUN, Bytes::new(2, 4 * PAGE));
        bench.write(BEGUN + PAGE as u64, Bytes::new(3, PAGE));
        bench.write(BEGUN + 1, Bytes::new(4, 2));
        bench.submit(Task::Sync);
        assert_eq!(bench.direct.recv().unwrap(), BEGUN);
        assert!(bench.direct.try_recv().is_err() && bench.dones.try_recv().is_err());
        bench.go_on.send(()).unwrap();
        bench.go_on.send(()).unwrap();
        (0..4).for_each(|_| bench.done());
        let places = [0, 1, PAGE as u64, 2 * PAGE as u64].map(|place| BEGUN + place);
        assert_eq!(bench.finish(BEGUN + 4 * PAGE as u64, &places), [2, 4, 3, 2]);
    }

    #[test]
    fn a_disk_that_refuses_is_asked_once() {
        let bench = Bench::new(true);
        for (value, page) in [(2, 0), (3, 1)] {
            bench.write(BEGUN + page * PAGE as u64, Bytes::new(value, PAGE));
            bench.done();
        }
        assert_eq!(bench.direct.try_iter().count(), 1);
        let places = [BEGUN, BEGUN + PAGE as u64];
        assert_eq!(bench.finish(BEGUN + 2 * PAGE as u64, &places), [2, 3]);
    }

    #[test]
    fn nobody_waits_for_a_disk_that_hangs_when_all_is_to_end() {
        let bench = Bench::new(false);
        bench.write(BEGUN, Bytes::new(2, PAGE));
        bench.direct.recv().unwrap();
        bench.submit(Task::Sync);
        assert!(!bench.writer.shutdown(), "one is in it");
        drop(bench.go_on);
    }

    const PAGE: usize = 4 << 10;
    /// More than is flushed at once.
    const BEGUN: u64 = 33 << 20;
}
