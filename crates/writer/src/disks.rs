//! How quick disks are.
//!
//! A disk that is nearly as fast as memory is better written to past the page cache: copying into that
//! and flushing it again costs most of the CPU of a download. Any other one is better left to the
//! kernel, which sorts and joins what it writes. Which is which, no file system tells; flushes do.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::line::lock;

/// What is known of each, by its device.
#[derive(Debug, Default)]
pub(crate) struct Disks(Mutex<HashMap<u64, Disk>>);

#[derive(Clone, Copy, Debug, Default)]
struct Disk {
    is_quick: bool,
    /// It had its chance, and was slow or would not have it.
    is_tried: bool,
    /// Nanoseconds for a MiB of late.
    takes: u64,
}

impl Disks {
    pub(crate) fn on_flushed(&self, device: u64, bytes: u64, took: Duration) {
        if bytes >= MEASURABLE {
            let mut disks = lock(&self.0);
            let disk = disks.entry(device).or_default();
            disk.is_quick = !disk.is_tried && nanos_for_a_mebibyte(bytes, took) <= QUICK;
        }
    }

    /// Whether anything has been flushed to it.
    pub(crate) fn is_known(&self, device: u64) -> bool {
        lock(&self.0).contains_key(&device)
    }

    /// Whether it should be written to past the page cache.
    pub(crate) fn is_quick(&self, device: u64) -> bool {
        lock(&self.0).get(&device).is_some_and(|disk| disk.is_quick)
    }

    /// So much was written past the page cache, while others did the same.
    pub(crate) fn on_written(&self, device: u64, bytes: u64, took: Duration) {
        let mut disks = lock(&self.0);
        let disk = disks.entry(device).or_default();
        disk.takes = (disk.takes * 7 + nanos_for_a_mebibyte(bytes, took)) / 8;
        if disk.takes > SLOW {
            *disk = Disk { is_tried: true, ..Disk::default() };
        }
    }

    /// It takes nothing past the page cache.
    pub(crate) fn on_refused(&self, device: u64) {
        let refusing = Disk { is_tried: true, ..Disk::default() };
        lock(&self.0).insert(device, refusing);
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
    fn one_that_is_slow_past_the_page_cache_is_not_tried_again() {
        let disks = Disks::default();
        let write = |millis| disks.on_written(HERE, MIB, Duration::from_millis(millis));
        disks.on_flushed(HERE, 32 * MIB, Duration::ZERO);
        write(50);
        (0..100).for_each(|_| write(9));
        assert!(disks.is_quick(HERE), "one hiccup is none");
        (0..100).for_each(|_| write(30));
        disks.on_flushed(HERE, 32 * MIB, Duration::ZERO);
        assert!(!disks.is_quick(HERE));
    }

    #[test]
    fn one_that_refuses_is_not_asked_again() {
        let disks = Disks::default();
        disks.on_flushed(HERE, 32 * MIB, Duration::ZERO);
        disks.on_refused(HERE);
        disks.on_flushed(HERE, 32 * MIB, Duration::ZERO);
        assert!(!disks.is_quick(HERE));
    }
}
