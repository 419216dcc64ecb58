//! [`DiskSpeeds`]: the measured speed of each disk, by device; shared by the writer's threads.
//!
//! A disk that is nearly as fast as memory is better written with direct I/O: copying into the page cache
//! and flushing it costs most of the CPU of a download. Any other disk is better left to the kernel, which
//! sorts and merges writes. No file system tells which is which, so flushes are timed.
//!
//! Several threads wait for a disk at the same time, so a measurement is the time in which at least one of
//! them did.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::files::job_dir::JobDir;
use crate::files::part_file::PartFile;
use crate::threads::work_queue::lock;

/// One entry for each device that was flushed.
#[derive(Debug, Default)]
pub(crate) struct DiskSpeeds(Mutex<HashMap<u64, DiskSpeed>>);

#[derive(Debug, Default)]
struct DiskSpeed {
    is_known: bool,
    is_quick: bool,
    /// Number of measurements for which direct I/O is not tried again, after it was slow.
    sits_out: u32,
    flushes: Measurement,
    writes: Measurement, // past the page cache
}

/// Bytes that a disk has taken since the last decision, and the time that took.
#[derive(Debug, Default)]
struct Measurement {
    in_flight: u32,
    since: Option<Instant>, // from when on the time of those under way is not in `took` yet
    bytes: u64,
    took: Duration,
}

impl Measurement {
    fn begin(&mut self, now: Instant) {
        self.in_flight += 1;
        self.since.get_or_insert(now);
    }

    fn end(&mut self, now: Instant, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let since = self.since.replace(now).unwrap_or(now);
        self.since = self.since.filter(|_| self.in_flight > 0);
        self.took += now.saturating_duration_since(since);
        self.bytes += bytes;
    }

    /// The time per mebibyte, once at least `enough` bytes were taken; then the measurement restarts.
    fn pace(&mut self, enough: u64) -> Option<Duration> {
        if self.bytes < enough {
            return None;
        }
        let (bytes, took) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.took));
        Some(took.div_f64(bytes as f64 / MEBIBYTE))
    }
}

impl DiskSpeeds {
    /// A flush begins; [`end_flush`](Self::end_flush) must follow.
    pub(crate) fn begin_flush(&self, device: u64, now: Instant) {
        lock(&self.0).entry(device).or_default().flushes.begin(now);
    }

    /// A flush of `bytes` has ended; 0 if it failed.
    pub(crate) fn end_flush(&self, device: u64, now: Instant, bytes: u64) {
        let mut disk_speeds = lock(&self.0);
        let disk = disk_speeds.entry(device).or_default();
        disk.flushes.end(now, bytes);
        // Flushes still running would add their bytes to the next measurement, but not their time.
        if disk.flushes.in_flight > 0 {
            return;
        }
        if let Some(pace) = disk.flushes.pace(MEASURABLE) {
            disk.is_known = true;
            disk.is_quick = disk.sits_out == 0 && pace <= QUICK;
            disk.sits_out = disk.sits_out.saturating_sub(u32::from(disk.sits_out < NEVER));
        }
    }

    /// Whether it was ever measured.
    pub(crate) fn is_known(&self, device: u64) -> bool {
        lock(&self.0).get(&device).is_some_and(|disk| disk.is_known)
    }

    /// Whether it should be written with direct I/O.
    pub(crate) fn is_quick(&self, device: u64) -> bool {
        lock(&self.0).get(&device).is_some_and(|disk| disk.is_quick)
    }

    /// A descriptor for direct I/O; a file system that refuses one is not asked again.
    pub(crate) fn open(&self, dir: &JobDir, part: &PartFile) -> Option<OwnedFd> {
        let opened = dir.open_directly(part).ok();
        if opened.is_none() {
            self.on_refused(dir.identity().0);
        }
        opened
    }

    /// A direct write begins; [`end_write`](Self::end_write) must follow.
    pub(crate) fn begin_write(&self, device: u64, now: Instant) {
        lock(&self.0).entry(device).or_default().writes.begin(now);
    }

    /// A direct write of `bytes` has ended.
    pub(crate) fn end_write(&self, device: u64, now: Instant, bytes: u64) {
        let mut disk_speeds = lock(&self.0);
        let disk = disk_speeds.entry(device).or_default();
        disk.writes.end(now, bytes);
        if disk.writes.pace(ENOUGH_WRITTEN).is_some_and(|pace| pace > SLOW) {
            disk.is_quick = false;
            disk.sits_out = disk.sits_out.max(LONG);
        }
    }

    /// The file system refuses direct I/O.
    pub(crate) fn on_refused(&self, device: u64) {
        let mut disk_speeds = lock(&self.0);
        let disk = disk_speeds.entry(device).or_default();
        (disk.is_known, disk.is_quick, disk.sits_out) = (true, false, NEVER);
    }
}

const MEBIBYTE: f64 = (1 << 20) as f64;

/// A smaller flush measures mostly the fixed cost. A file written with direct I/O has only its end left to
/// flush.
pub(crate) const LEAST_FLUSHED: u64 = 1 << 20;

/// One flush of the smallest size may be an outlier.
pub(crate) const MEASURABLE: u64 = 8 << 20;

/// Per mebibyte: 300 MB/s, more than any rotating disk.
const QUICK: Duration = Duration::from_micros(3_500);

/// Per mebibyte: 200 MB/s; the page cache would do better, because it has more writes in flight.
const SLOW: Duration = Duration::from_micros(5_250);

/// Bytes written before direct I/O is judged: any disk stalls at times, and the time of writes in flight is
/// counted before their bytes.
const ENOUGH_WRITTEN: u64 = 32 << 20;

/// Measurements, each of 8 MiB or more, and of 32 MiB where files are large.
const LONG: u32 = 64;
const NEVER: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u64 = 7;
    const MIB: u64 = 1 << 20;

    /// A disk, and what the clock says.
    struct Bench {
        disk_speeds: DiskSpeeds,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self { disk_speeds: DiskSpeeds::default(), now: Instant::now() }
        }

        fn flush(&mut self, bytes: u64, millis: u64) -> bool {
            self.disk_speeds.begin_flush(HERE, self.now);
            self.now += Duration::from_millis(millis);
            self.disk_speeds.end_flush(HERE, self.now, bytes);
            self.disk_speeds.is_quick(HERE)
        }

        fn write(&mut self, bytes: u64, millis: u64) -> bool {
            self.disk_speeds.begin_write(HERE, self.now);
            self.now += Duration::from_millis(millis);
            self.disk_speeds.end_write(HERE, self.now, bytes);
            self.disk_speeds.is_quick(HERE)
        }
    }

    fn flushed(bytes: u64, millis: u64) -> bool {
        let mut bench = Bench::new();
        let is_quick = bench.flush(bytes, millis);
        assert!(!bench.disk_speeds.is_known(HERE + 1) && !bench.disk_speeds.is_quick(HERE + 1));
        assert_eq!(bench.disk_speeds.is_known(HERE), bytes >= MEASURABLE);
        is_quick
    }

    #[test]
    fn a_disk_is_quick_by_what_it_flushed() {
        assert!(!DiskSpeeds::default().is_quick(HERE));
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
            bench.disk_speeds.begin_flush(HERE, bench.now);
        }
        bench.now += Duration::from_millis(25);
        for _ in 0..4 {
            bench.disk_speeds.end_flush(HERE, bench.now, 2 * MIB);
        }
        assert!(bench.disk_speeds.is_quick(HERE), "8 MiB in 25 ms");
        for _ in 0..8 {
            bench.disk_speeds.begin_write(HERE, bench.now);
        }
        for _ in 0..32 {
            bench.now += Duration::from_millis(5);
            bench.disk_speeds.end_write(HERE, bench.now, MIB);
            bench.disk_speeds.begin_write(HERE, bench.now);
        }
        assert!(bench.disk_speeds.is_quick(HERE), "32 MiB in 160 ms, though each waited for 40");
    }

    #[test]
    fn large_flushes_that_overlap_make_no_disk_quicker() {
        let mut bench = Bench::new();
        (0..2).for_each(|_| bench.disk_speeds.begin_flush(HERE, bench.now));
        for millis in [400, 5] {
            bench.now += Duration::from_millis(millis);
            bench.disk_speeds.end_flush(HERE, bench.now, 32 * MIB);
        }
        assert!(
            bench.disk_speeds.is_known(HERE) && !bench.disk_speeds.is_quick(HERE),
            "64 MiB in 405 ms"
        );
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
        bench.disk_speeds.on_refused(HERE);
        assert!((0..=LONG).all(|_| !bench.flush(32 * MIB, 0)));
    }
}
