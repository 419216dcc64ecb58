//! [`DirectIo`]: the queue and the in-flight ranges of the threads that write with direct I/O (`O_DIRECT`).
//!
//! A direct write waits for the disk, and a disk is fast only with several in flight. So the write thread
//! that owns a file passes its articles to these threads, and waits only where order matters: before a
//! write to an overlapping range, and before the file or the job goes to the sync threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::error::DiskError;
use crate::files::job_dir::JobDir;
use crate::files::part_file::PartFile;
use crate::threads::disk_speed::DiskSpeeds;
use crate::threads::work_queue::{Choice, WorkQueue, lock};
use crate::writer::{Done, Outcome, Shared};

/// Writes queued for or running on the direct-I/O threads.
#[derive(Debug)]
pub(crate) struct DirectIo<B> {
    line: WorkQueue<DirectWrite<B>>,
    in_flight: Mutex<Vec<WriteRange>>, // few, so they are searched
    fewer: Condvar,
    most: usize,
    started: OnceLock<usize>,
}

/// One write.
#[derive(Debug)]
pub(crate) struct DirectWrite<B> {
    pub(crate) ticket: u64,
    pub(crate) dir: Arc<JobDir>,
    pub(crate) part: Arc<PartFile>,
    pub(crate) place: WriteRange,
    pub(crate) bytes: B,
}

/// The range of a file that a write covers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct WriteRange {
    thread: usize, // the write thread that submitted it
    dir: (u64, u64),
    file: u32,
    range: Range<u64>,
}

impl WriteRange {
    pub(crate) fn new(thread: usize, dir: &JobDir, file: u32, offset: u64, length: usize) -> Self {
        let range = offset..offset.saturating_add(length as u64);
        Self { thread, dir: dir.identity(), file, range }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let is_apart = self.range.end <= other.range.start || other.range.end <= self.range.start;
        (self.dir, self.file) == (other.dir, other.file) && !is_apart
    }
}

impl<B> DirectIo<B> {
    pub(crate) fn new(most: usize) -> Self {
        let (line, in_flight, fewer) = (WorkQueue::default(), Mutex::default(), Condvar::new());
        Self { line, in_flight, fewer, most, started: OnceLock::new() }
    }

    /// How many threads there are; the first call starts them with `start_thread`.
    pub(crate) fn started(&self, start_thread: impl Fn(usize) -> bool) -> usize {
        *self.started.get_or_init(|| (0..self.most).filter(|&number| start_thread(number)).count())
    }

    /// Queues a write, after waiting for writes in flight to an overlapping range.
    pub(crate) fn submit(&self, stop: &AtomicBool, write: DirectWrite<B>) {
        self.wait_for_range(stop, &write.place);
        lock(&self.in_flight).push(write.place.clone());
        self.line.push_to_any(stop, write);
    }

    pub(crate) fn wait_for_range(&self, stop: &AtomicBool, place: &WriteRange) {
        self.wait_while(stop, |other| other.overlaps(place));
    }

    pub(crate) fn wait_for_file(&self, stop: &AtomicBool, dir: &JobDir, file: u32) {
        let of_file = (dir.identity(), file);
        self.wait_while(stop, |other| (other.dir, other.file) == of_file);
    }

    /// Waits for the writes that this thread submitted for the job; the other threads wait for theirs.
    pub(crate) fn wait_for_job(&self, stop: &AtomicBool, thread: usize, dir: &JobDir) {
        self.wait_while(stop, |other| (other.thread, other.dir) == (thread, dir.identity()));
    }

    fn wait_while(&self, stop: &AtomicBool, is_waited_for: impl Fn(&WriteRange) -> bool) {
        let in_flight = lock(&self.in_flight);
        let waits = |in_flight: &mut Vec<WriteRange>| {
            !stop.load(Ordering::Relaxed) && in_flight.iter().any(&is_waited_for)
        };
        drop(self.fewer.wait_while(in_flight, waits).unwrap_or_else(PoisonError::into_inner));
    }

    fn on_written(&self, place: &WriteRange) {
        let mut in_flight = lock(&self.in_flight);
        if let Some(found) = in_flight.iter().position(|other| other == place) {
            in_flight.swap_remove(found);
        }
        drop(in_flight);
        self.fewer.notify_all();
    }

    /// Drops queued writes and releases all waiting threads.
    pub(crate) fn stop(&self) {
        self.line.clear();
        drop(lock(&self.in_flight)); // a thread that was about to wait waits by now
        self.fewer.notify_all();
    }
}

/// The loop of one direct-I/O thread.
pub(crate) fn run<B: AsRef<[u8]>>(shared: &Shared<B>) {
    while let Some(write) = shared.direct_io.line.next(&shared.stop, Choice::front) {
        let DirectWrite { ticket, dir, part, place, bytes } = write;
        let result =
            write_part(&shared.disk_speeds, &dir, &part, place.range.start, bytes.as_ref());
        // Closed before the answer: the next order may remove the file.
        drop((part, dir));
        let result = result.map(|()| Outcome::Done);
        (shared.on_done)(Done { ticket, bytes: Some(bytes), result });
        shared.direct_io.on_written(&place);
    }
}

fn write_part(
    disk_speeds: &DiskSpeeds,
    dir: &JobDir,
    part: &PartFile,
    offset: u64,
    bytes: &[u8],
) -> Result<(), DiskError> {
    let device = dir.identity().0;
    disk_speeds.begin_write(device, Instant::now());
    let written = part.write_directly(offset, bytes);
    let past = written.as_ref().map_or(0, |written| written.past);
    disk_speeds.end_write(device, Instant::now(), past as u64);
    if written?.is_refused {
        disk_speeds.on_refused(device);
    }
    dir.note_unflushed(part.index(), (bytes.len() - past) as u64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use bergamot_types::{ByteCount, SafeName};
    use rustix::fs::OFlags;
    use rustix::io::Errno;
    use tempfile::TempDir;

    use super::*;
    use crate::files::kernel::{Kernel, Linux};
    use crate::threads::disk_speed::MEASURABLE;
    use crate::{Order, Root, Settings, Task, Writer};

    #[test]
    fn places_overlap_only_where_they_share_a_byte_of_a_file() {
        let place = |file, range| WriteRange { thread: 0, dir: (1, 2), file, range };
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
        assert!(!here.overlaps(&WriteRange { dir: (1, 3), ..here.clone() }));
    }

    /// Writes past its page cache are told of, and those to the first place are done when that is
    /// allowed; or they fail.
    #[derive(Debug)]
    struct Quick {
        direct: Sender<u64>,
        go_on: Mutex<Receiver<()>>,
        fails: Option<Errno>,
    }

    impl Kernel for Quick {
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
            if let Some(errno) = self.fails {
                return Err(errno);
            }
            if offset == 0 {
                let _ = lock(&self.go_on).recv();
            }
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
        /// On a disk that is known to be quick; the first file is longer than what is written to it.
        fn new(fails: Option<Errno>) -> Self {
            let ((direct, directs), (go_on, goes_on)) = (channel(), channel());
            let kernel = Quick { direct, go_on: Mutex::new(goes_on), fails };
            let temp = TempDir::new().unwrap();
            let root = Root::with_kernel(temp.path(), Arc::new(kernel)).unwrap();
            let dir = Arc::new(root.job_dir(&SafeName::from_raw("job")).unwrap());
            let (sender, dones) = channel();
            let on_done = move |done: Done<Bytes>| drop(sender.send(done));
            let writer = Writer::start(Settings::default(), on_done).unwrap();
            let now = Instant::now();
            writer.disk_speeds().begin_flush(dir.identity().0, now);
            writer.disk_speeds().end_flush(dir.identity().0, now, MEASURABLE);
            let bench = Self { _temp: temp, dir, writer, dones, direct: directs, go_on };
            bench.submit(Task::Reserve { file: 0, size: ByteCount(RESERVED as u64) });
            bench.done().unwrap();
            bench
        }

        fn submit(&self, task: Task<Bytes>) {
            self.writer.submit(Order { ticket: 0, dir: self.dir.clone(), task });
        }

        fn write(&self, place: usize, bytes: Bytes) {
            self.submit(Task::Write { file: 0, offset: (place * ARTICLE) as u64, bytes });
        }

        fn done(&self) -> Result<Outcome, DiskError> {
            self.dones.recv().unwrap().result
        }

        /// The first byte at each of these places of the finished file.
        fn finish(&self, size: usize, places: &[usize]) -> Vec<u8> {
            let (name, pieces) = (SafeName::from_raw("a.bin"), Vec::new());
            let size = ByteCount(size as u64);
            self.submit(Task::FinishFile { file: 0, size, pieces, sums: Vec::new(), name });
            self.done().unwrap();
            let whole = std::fs::read(self.dir.path().join("a.bin")).unwrap();
            assert_eq!(whole.len() as u64, size.0);
            places.iter().map(|place| whole[*place]).collect()
        }
    }

    #[test]
    fn a_quick_disk_is_written_to_by_several_past_the_page_cache() {
        let bench = Bench::new(None);
        (0..3).for_each(|place| bench.write(place, Bytes::new(place as u8, ARTICLE)));
        let mut begun: Vec<u64> = bench.direct.iter().take(3).collect();
        begun.sort_unstable();
        assert_eq!(begun, [0, 1, 2].map(|place| place * ARTICLE as u64), "though the first waits");
        bench.write(3, Bytes::new(3, 7));
        bench.write(4, Bytes::new(4, PAGE));
        (0..4).for_each(|_| drop(bench.done().unwrap()));
        bench.go_on.send(()).unwrap();
        bench.done().unwrap();
        let places = [0, 1, 2, 3, 4].map(|place| place * ARTICLE);
        assert_eq!(bench.finish(places[4] + PAGE, &places), [0, 1, 2, 3, 4]);
        assert_eq!(bench.direct.try_iter().count(), 0, "little, and no whole pages");
    }

    #[test]
    fn the_end_of_a_file_goes_past_the_page_cache_as_far_as_it_is_whole_pages() {
        let bench = Bench::new(None);
        bench.write(1, Bytes::new(1, ARTICLE + PAGE + 7));
        bench.done().unwrap();
        bench.write(0, Bytes::new(2, 3));
        bench.done().unwrap();
        assert_eq!(bench.direct.try_iter().collect::<Vec<_>>(), [ARTICLE as u64]);
        assert_eq!(bench.dir.unflushed(0), 7 + 3);
        let (tail, end) = (2 * ARTICLE + PAGE, 2 * ARTICLE + PAGE + 7);
        assert_eq!(bench.finish(end, &[0, ARTICLE, tail - 1, tail, end - 1]), [2, 1, 1, 1, 1]);
    }

    #[test]
    fn what_goes_to_the_same_place_and_what_ends_the_file_wait_for_each_other() {
        let bench = Bench::new(None);
        bench.write(0, Bytes::new(2, 2 * ARTICLE));
        bench.write(1, Bytes::new(3, ARTICLE));
        let unaligned = Bytes::new(4, 2);
        bench.submit(Task::Write { file: 0, offset: 1, bytes: unaligned });
        bench.submit(Task::Sync);
        assert_eq!(bench.direct.recv().unwrap(), 0);
        // What should not happen has a moment to happen in.
        assert!(bench.dones.recv_timeout(Duration::from_millis(100)).is_err());
        bench.go_on.send(()).unwrap();
        (0..4).for_each(|_| drop(bench.done().unwrap()));
        assert_eq!(bench.finish(2 * ARTICLE, &[0, 1, 2, 3, ARTICLE]), [2, 4, 4, 2, 3]);
    }

    #[test]
    fn a_disk_that_knows_no_other_way_than_the_page_cache_is_asked_once() {
        let bench = Bench::new(Some(Errno::INVAL));
        for place in [0, 1] {
            bench.write(place, Bytes::new(place as u8, ARTICLE));
            bench.done().unwrap();
        }
        assert_eq!(bench.direct.try_iter().count(), 1);
        assert_eq!(bench.finish(2 * ARTICLE, &[0, ARTICLE]), [0, 1]);
    }

    #[test]
    fn a_disk_that_fails_says_so_and_one_that_was_interrupted_does_not() {
        for (errno, code) in [(Errno::IO, Some("disk.error")), (Errno::NOSPC, Some("disk.full"))] {
            let bench = Bench::new(Some(errno));
            for _ in 0..2 {
                bench.write(0, Bytes::new(1, ARTICLE));
                assert_eq!(bench.done().err().map(|error| error.code()), code);
            }
            assert_eq!(bench.direct.try_iter().count(), 2, "that may pass");
        }
        let bench = Bench::new(Some(Errno::INTR));
        bench.write(0, Bytes::new(1, ARTICLE));
        bench.done().unwrap();
        assert_eq!(bench.finish(ARTICLE, &[0]), [1]);
    }

    #[test]
    fn nobody_waits_for_a_disk_that_hangs_when_all_is_to_end() {
        let bench = Bench::new(None);
        bench.write(0, Bytes::new(2, ARTICLE));
        bench.direct.recv().unwrap();
        bench.write(0, Bytes::new(3, ARTICLE));
        bench.submit(Task::Sync);
        assert!(!bench.writer.shutdown(), "one is in it");
        drop(bench.go_on);
        assert!(bench.writer.shutdown(), "and nobody else");
    }

    #[test]
    fn a_cut_behind_the_check_of_a_write_that_waits_is_found() {
        let bench = Bench::new(None);
        bench.write(0, Bytes::new(1, ARTICLE));
        bench.direct.recv().unwrap();
        let path = bench.dir.path().join("0000.part");
        std::fs::File::options().write(true).open(path).unwrap().set_len(0).unwrap();
        bench.go_on.send(()).unwrap();
        bench.done().unwrap();
        bench.write(1, Bytes::new(2, ARTICLE));
        assert_eq!(bench.done().unwrap_err().code(), "file.changed");
    }

    #[test]
    fn what_reaches_the_end_of_what_is_reserved_is_checked_when_it_is_written() {
        let bench = Bench::new(None);
        for (place, length) in [(RESERVED / ARTICLE - 1, ARTICLE), (RESERVED / ARTICLE, ARTICLE)] {
            bench.write(place, Bytes::new(1, length));
            bench.done().unwrap();
        }
        assert_eq!(bench.direct.try_iter().count(), 0);
    }

    const ARTICLE: usize = 64 << 10;
    const RESERVED: usize = 16 * ARTICLE;
    const PAGE: usize = 4 << 10;
}
