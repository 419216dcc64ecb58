//! [`Backlog`]: the bytes that were ordered to be written and are not. Pure.

use std::time::{Duration, Instant};

/// Articles on their way to the disk.
///
/// A disk that keeps up needs few of them at a time; more would only lie in memory, and cold memory
/// costs more than decoding into it. One that stands still for a moment is another matter: then there
/// is all of the budget to go on with.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    bytes: u64,
    moved: Option<Instant>, // when the disk took the first of them, or was done with one
}

impl Backlog {
    pub(crate) fn on_write(&mut self, now: Instant, bytes: u64) {
        self.moved.get_or_insert(now);
        self.bytes += bytes;
    }

    pub(crate) fn on_written(&mut self, now: Instant, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.moved = (self.bytes > 0).then_some(now);
    }

    /// If more would only lie there: until when to wait for the disk to move on.
    pub(crate) fn wait_until(&self, now: Instant) -> Option<Instant> {
        let until = self.moved.filter(|_| self.bytes >= ENOUGH)? + STANDSTILL;
        (now < until).then_some(until)
    }
}

/// Some milliseconds of work for a disk that is as fast as memory. With half of it such a disk stands
/// idle for a third of the time, as everybody waits for one article to be done.
const ENOUGH: u64 = 8 << 20;

/// A disk that keeps up writes an article in less than this, even where others want it, too.
const STANDSTILL: Duration = Duration::from_millis(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_has_to_wait_as_long_as_the_disk_moves() {
        let (mut backlog, start) = (Backlog::default(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        backlog.on_write(start, ENOUGH - 1);
        assert_eq!(backlog.wait_until(start), None);
        backlog.on_write(at(1), 1);
        assert_eq!(backlog.wait_until(at(1)), Some(at(30)), "since the first");
        assert_eq!(backlog.wait_until(at(30)), None, "it stands still");
        backlog.on_write(at(31), 7);
        backlog.on_written(at(32), 7);
        assert_eq!(backlog.wait_until(at(32)), Some(at(62)), "it moves again");
        backlog.on_written(at(33), 1);
        assert_eq!(backlog.wait_until(at(33)), None);
        backlog.on_written(at(34), ENOUGH - 1);
        backlog.on_write(at(90), ENOUGH);
        assert_eq!(backlog.wait_until(at(91)), Some(at(120)));
    }
}
