//! How quick disks are.
//!
//! A disk that is nearly as fast as memory is better written to past the page cache: copying into that
//! and flushing it again costs most of the CPU of a download. Any other one is better left to the
//! kernel, which sorts and joins what it writes. Which is which, no file system tells; flushes do.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::Duration;

use crate::job_dir::JobDir;
use crate::line::lock;
use crate::part_file::PartFile;

/// What is known of each, by its device.
#[derive(Debug, Default)]
pub(crate) struct Disks(Mutex<HashMap<u64, Disk>>);

#[derive(Clone, Copy, Debug, Default)]
struct Disk {
    is_quick: bool,
    /// For so many flushes it gets no other chance: it had one, and was slow.
    sits_out: u32,
    /// Written past the page cache since that was judged last, and how long it took.
    written: u64,
    took: Duration,
}

impl Disks {
    /// So much was in the page cache, and that long it took until the disk had it.
    pub(crate) fn on_flushed(&self, device: u64, bytes: u64, took: Duration) {
        if bytes >= MEASURABLE {
            let mut disks = lock(&self.0);
            let disk = disks.entry(device).or_default();
            disk.is_quick = disk.sits_out == 0 && nanos_for_a_mebibyte(bytes, took) <= QUICK;
            disk.sits_out = disk.sits_out.saturating_sub(u32::from(disk.sits_out < NEVER));
        }
    }

    /// Whether it was ever judged.
    pub(crate) fn is_known(&self, device: u64) -> bool {
        lock(&self.0).contains_key(&device)
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

    /// So much was written past the page cache, while others did the same.
    pub(crate) fn on_written(&self, device: u64, bytes: u64, took: Duration) {
        let mut disks = lock(&self.0);
        let disk = disks.entry(device).or_default();
        disk.written += bytes;
        disk.took += took;
        if disk.written >= STRETCH {
            let is_slow = nanos_for_a_mebibyte(disk.written, disk.took) > SLOW;
            let is_quick = disk.is_quick && !is_slow;
            let sits_out = if is_slow { LONG } else { disk.sits_out };
            *disk = Disk { is_quick, sits_out, ..Disk::default() };
        }
    }

    /// It takes nothing past the page cache.
    pub(crate) fn on_refused(&self, device: u64) {
        lock(&self.0).insert(device, Disk { sits_out: NEVER, ..Disk::default() });
    }
}

fn nanos_for_a_mebibyte(bytes: u64, took: Duration) -> u64 {
    let nanos = took.as_nanos().saturating_mul(1 << 20) / u128::from(bytes.max(1));
    u64::try_from(nanos).unwrap_or(u64::MAX / 8).min(u64::MAX / 8)
}

/// A smaller flush says more of the time that any flush takes.
pub(crate) const MEASURABLE: u64 = 8 << 20;

/// 300 MB in a second: more than any disk that turns.
const QUICK: u64 = 3_500_000;

/// 100 MB in a second, by each of the three who write at the same time.
const SLOW: u64 = 10_500_000;

/// So much has to be written before that is judged: any disk hiccups.
const STRETCH: u64 = 32 << 20;

/// Flushes, of two GiB or more.
const LONG: u32 = 64;
const NEVER: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u64 = 7;
    const MIB: u64 = 1 << 20;

    fn flushed(bytes: u64, millis: u64) -> bool {
        let disks = Disks::default();
        disks.on_flushed(HERE, bytes, Duration::from_millis(millis));
        assert!(!disks.is_known(HERE + 1) && !disks.is_quick(HERE + 1));
        assert_eq!(disks.is_known(HERE), bytes >= MEASURABLE);
        disks.is_quick(HERE)
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
    fn a_disk_that_turns_busy_is_left_to_the_page_cache_again() {
        let disks = Disks::default();
        let flush = |millis| disks.on_flushed(HERE, 32 * MIB, Duration::from_millis(millis));
        flush(20);
        flush(150);
        assert!(!disks.is_quick(HERE));
        flush(20);
        assert!(disks.is_quick(HERE));
    }

    #[test]
    fn one_that_is_slow_past_the_page_cache_is_left_to_it_for_long() {
        let disks = Disks::default();
        let flush = || disks.on_flushed(HERE, 32 * MIB, Duration::ZERO);
        let write = |millis| disks.on_written(HERE, MIB, Duration::from_millis(millis));
        flush();
        write(200);
        (1..64).for_each(|_| write(4));
        assert!(disks.is_quick(HERE), "one hiccup is none");
        (0..31).for_each(|_| write(11));
        assert!(disks.is_quick(HERE));
        write(11);
        assert!(!disks.is_quick(HERE));
        for _ in 0..LONG {
            flush();
            assert!(!disks.is_quick(HERE));
        }
        flush();
        assert!(disks.is_quick(HERE));
    }

    #[test]
    fn one_that_refuses_is_not_asked_again() {
        let disks = Disks::default();
        disks.on_flushed(HERE, 32 * MIB, Duration::ZERO);
        disks.on_refused(HERE);
        (0..=LONG).for_each(|_| disks.on_flushed(HERE, 32 * MIB, Duration::ZERO));
        assert!(!disks.is_quick(HERE));
    }
}
