//! Who moves finished jobs: so many threads for each disk, and only while there is something to move.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::threads::work_queue::lock;

/// How many there are, by disk. All of it is asked and changed while nobody else chooses what to do
/// next, so that nothing is left to somebody who has just left.
#[derive(Debug)]
pub(crate) struct Movers {
    most: usize,
    at_work: Mutex<HashMap<u64, usize>>,
}

impl Movers {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, at_work: Mutex::default() }
    }

    /// Whether one more is to be started.
    pub(crate) fn hire(&self, device: u64) -> bool {
        let mut at_work = lock(&self.at_work);
        let count = at_work.entry(device).or_default();
        let is_wanted = *count < self.most;
        *count += usize::from(is_wanted);
        is_wanted
    }

    pub(crate) fn leave(&self, device: u64) {
        let mut at_work = lock(&self.at_work);
        match at_work.get_mut(&device) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(at_work.remove(&device)),
        }
    }

    /// Whether there is anybody.
    pub(crate) fn serve(&self, device: u64) -> bool {
        lock(&self.at_work).contains_key(&device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_disk_has_its_own() {
        let movers = Movers::new(2);
        assert_eq!([1, 1, 1, 2].map(|device| movers.hire(device)), [true, true, false, true]);
        movers.leave(1);
        assert!(movers.serve(1) && movers.hire(1));
        movers.leave(2);
        assert!(!movers.serve(2));
    }
}
