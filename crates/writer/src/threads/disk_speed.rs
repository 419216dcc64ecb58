//! How quick disks are.
//!
//! A disk that is nearly as fast as memory is better written to past the page cache: copying into that
//! and flushing it again costs most of the CPU of a download. Any other one is better left to the
//! kernel, which sorts and joins what it writes. Which is which, no file system tells; flushes do.
//!
//! Several threads wait for a disk at the same time, so what counts is the time in which any of them
//! did.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::files::job_dir::JobDir;
use crate::files::part_file::PartFile;
use crate::threads::work_queue::lock;

/// What is known of each, by its device.
#[derive(Debug, Default)]
pub(crate) struct Disks(Mutex<HashMap<u64, Disk>>);

#[derive(Debug, Default)]
struct Disk {
    is_known: bool,
    is_quick: bool,
    /// For so many stretches of flushes it gets no other chance: it had one, and was slow.
    sits_out: u32,
    flushes: Stretch,
    writes: Stretch, // past the page cache
}

/// What a disk has taken since it was judged last, and how long that took.
#[derive(Debug, Default)]
struct Stretch {
    under_way: u32,
    since: Option<Instant>, // from when on the time of those under way is not in `took` yet
    bytes: u64,
    took: Duration,
}

impl Stretch {
    fn begin(&mut self, now: Instant) {
        self.under_way += 1;
        self.since.get_or_insert(now);
    }

    fn end(&mut self, now: Instant, bytes: u64) {
        self.under_way = self.under_way.saturating_sub(1);
        let since = self.since.replace(now).unwrap_or(now);
        self.since = self.since.filter(|_| self.under_way > 0);
        self.took += now.saturating_duration_since(since);
        self.bytes += bytes;
    }

    /// How long the disk takes for a mebibyte, once it has taken enough to tell; then it begins anew.
    fn pace(&mut self, enough: u64) -> Option<Duration> {
        if self.bytes < enough {
            return None;
        }
        let (bytes, took) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.took));
        Some(took.div_f64(bytes as f64 / MEBIBYTE))
    }
}

impl Disks {
    /// Somebody brings to the disk what lies in the page cache, and will say when that was done.
    pub(crate) fn begin_flush(&self, device: u64, now: Instant) {
        lock(&self.0).entry(device).or_default().flushes.begin(now);
    }

    /// So much was in the page cache, and the disk has it.
    pub(crate) fn end_flush(&self, device: u64, now: Instant, bytes: u64) {
        let mut disks = lock(&self.0);
        let disk = disks.entry(device).or_default();
        disk.flushes.end(now, bytes);
        // Others who have waited as long would bring their bytes to the next stretch, but not their time.
        if disk.flushes.under_way > 0 {
            return;
        }
        if let Some(pace) = disk.flushes.pace(MEASURABLE) {
            disk.is_known = true;
            disk.is_quick = disk.sits_out == 0 && pace <= QUICK;
            disk.sits_out = disk.sits_out.saturating_sub(u32::from(disk.sits_out < NEVER));
        }
    }

    /// Whether it was ever judged.
    pub(crate) fn is_known(&self, device: u64) -> bool {
        lock(&self.0).get(&device).is_some_and(|disk| disk.is_known)
    }

    /// Whether it should be written to past the page cache.
    pub(crate) fn is_quick(&self, device: u64) -> bool {
        lock(&self.0).get(&device).is_some_and(|disk| disk.is_quick)
    }

    /// A handle to write so to a file by; a disk that has none to give is not asked again.
    pub(crate) fn open(&self, dir: &JobDir, part: &PartFile) -> Option<OwnedFd> {
        let opened = dir.open_directly(part).ok();
        if opened.is_none() {
            self.on_refused(dir.identity().0);
        }
        opened
    }

    /// Somebody writes past the page cache, and will say when that was done.
    pub(crate) fn begin_write(&self, device: u64, now: Instant) {
        lock(&self.0).entry(device).or_default().writes.begin(now);
    }

    /// So much went past the page cache.
    pub(crate) fn end_write(&self, device: u64, now: Instant, bytes: u64) {
        let mut disks = lock(&self.0);
        let disk = disks.entry(device).or_default();
        disk.writes.end(now, bytes);
        if disk.writes.pace(ENOUGH_WRITTEN).is_some_and(|pace| pace > SLOW) {
            disk.is_quick = false;
            disk.sits_out = disk.sits_out.max(LONG);
        }
    }

    /// It takes nothing past the page cache.
    pub(crate) fn on_refused(&self, device: u64) {
        let mut disks = lock(&self.0);
        let disk = disks.entry(device).or_default();
        (disk.is_known, disk.is_quick, disk.sits_out) = (true, false, NEVER);
    }
}

const MEBIBYTE: f64 = (1 << 20) as f64;

/// Less than that says more of the time that any flush takes. Of a file that was written past the page
/// cache only its end is left to flush.
pub(crate) const LEAST_FLUSHED: u64 = 1 << 20;

/// One flush of the least may be chance.
pub(crate) const MEASURABLE: u64 = 8 << 20;

/// For a mebibyte: 300 MB in a second, more than any disk that turns.
const QUICK: Duration = Duration::from_micros(3_500);

/// 200 MB in a second: the page cache would have done better, for it has more on the way at once.
const SLOW: Duration = Duration::from_micros(5_250);

/// So much has to be written before that is judged: any disk hiccups, and of the few articles that are
/// on the way just then the time counts before their bytes.
const ENOUGH_WRITTEN: u64 = 32 << 20;

/// Stretches of flushes, each of 8 MiB or more, and of 32 where files are large.
const LONG: u32 = 64;
const NEVER: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u64 = 7;
    const MIB: u64 = 1 << 20;

    /// A disk, and what the clock says.
    struct Bench {
        disks: Disks,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self { disks: Disks::default(), now: Instant::now() }
        }

        fn flush(&mut self, bytes: u64, millis: u64) -> bool {
            self.disks.begin_flush(HERE, self.now);
            self.now += Duration::from_millis(millis);
            self.disks.end_flush(HERE, self.now, bytes);
            self.disks.is_quick(HERE)
        }

        fn write(&mut self, bytes: u64, millis: u64) -> bool {
            self.disks.begin_write(HERE, self.now);
            self.now += Duration::from_millis(millis);
            self.disks.end_write(HERE, self.now, bytes);
            self.disks.is_quick(HERE)
        }
    }

    fn flushed(bytes: u64, millis: u64) -> bool {
        let mut bench = Bench::new();
        let is_quick = bench.flush(bytes, millis);
        assert!(!bench.disks.is_known(HERE + 1) && !bench.disks.is_quick(HERE + 1));
        assert_eq!(bench.disks.is_known(HERE), bytes >= MEASURABLE);
        is_quick
    }

    #[test]
    fn a_disk_is_quick_by_what_it_flushed() {
        assert!(!Disks::default().is_quick(HERE));
        assert!(flushed(32 * MIB, 20), "NVMe");
        assert!(flushed(32 * MIB, 112) && !flushed(32 * MIB, 113));
        assert!(!flushed(32 * MIB, 200), "a disk that turns");
        assert!(flushed(8 * MIB, 28) && !flushed(8 * MIB, 29));
        assert!(!flushed(7 * MIB, 0), "so little tells nothing");
    }

    #[test]
    fn many_small_files_tell_as_much_as_a_large_one() {
        let mut bench = Bench::new();
        for _ in 0..3 {
            assert!(!bench.flush(2 * MIB, 4));
            bench.now += Duration::from_secs(1); // in which nobody waits for it
        }
        assert!(bench.flush(2 * MIB, 4));
        let mut bench = Bench::new();
        assert!((0..8).all(|_| !bench.flush(2 * MIB, 8)), "a disk that turns");
    }

    #[test]
    fn time_in_which_several_wait_counts_once() {
        let mut bench = Bench::new();
        for _ in 0..4 {
            bench.disks.begin_flush(HERE, bench.now);
        }
        bench.now += Duration::from_millis(25);
        for _ in 0..4 {
            bench.disks.end_flush(HERE, bench.now, 2 * MIB);
        }
        assert!(bench.disks.is_quick(HERE), "8 MiB in 25 ms");
        for _ in 0..8 {
            bench.disks.begin_write(HERE, bench.now);
        }
        for _ in 0..32 {
            bench.now += Duration::from_millis(5);
            bench.disks.end_write(HERE, bench.now, MIB);
            bench.disks.begin_write(HERE, bench.now);
        }
        assert!(bench.disks.is_quick(HERE), "32 MiB in 160 ms, though each waited for 40");
    }

    #[test]
    fn large_flushes_that_overlap_make_no_disk_quicker() {
        let mut bench = Bench::new();
        (0..2).for_each(|_| bench.disks.begin_flush(HERE, bench.now));
        for millis in [400, 5] {
            bench.now += Duration::from_millis(millis);
            bench.disks.end_flush(HERE, bench.now, 32 * MIB);
        }
        assert!(bench.disks.is_known(HERE) && !bench.disks.is_quick(HERE), "64 MiB in 405 ms");
    }

    #[test]
    fn a_disk_that_turns_busy_is_left_to_the_page_cache_again() {
        let mut bench = Bench::new();
        assert!(bench.flush(32 * MIB, 20));
        assert!(!bench.flush(32 * MIB, 150));
        assert!(bench.flush(32 * MIB, 20));
    }

    #[test]
    fn one_that_is_slow_past_the_page_cache_is_left_to_it_for_long() {
        let mut bench = Bench::new();
        bench.flush(32 * MIB, 0);
        bench.write(MIB, 120);
        assert!((1..64).all(|_| bench.write(MIB, 1)), "one hiccup is none");
        assert!((0..31).all(|_| bench.write(MIB, 6)));
        assert!(!bench.write(MIB, 6));
        assert!((0..LONG).all(|_| !bench.flush(32 * MIB, 0)));
        assert!(bench.flush(32 * MIB, 0));
    }

    #[test]
    fn one_that_refuses_is_not_asked_again() {
        let mut bench = Bench::new();
        bench.flush(32 * MIB, 0);
        bench.disks.on_refused(HERE);
        assert!((0..=LONG).all(|_| !bench.flush(32 * MIB, 0)));
    }
}
