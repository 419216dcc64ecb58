//! [`MoveThreads`]: how many threads move finished jobs to each disk; they exist only while there are moves.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::threads::work_queue::lock;

/// The number of move threads by device. Read and changed only under the lock of the sync queue, so that
/// no move is left to a thread that has just ended.
#[derive(Debug)]
pub(crate) struct MoveThreads {
    most: usize,
    running: Mutex<HashMap<u64, usize>>,
}

impl MoveThreads {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, running: Mutex::default() }
    }

    /// Counts one more thread in; `false` if the disk has its maximum.
    pub(crate) fn start_thread(&self, device: u64) -> bool {
        let mut running = lock(&self.running);
        let count = running.entry(device).or_default();
        let is_wanted = *count < self.most;
        *count += usize::from(is_wanted);
        is_wanted
    }

    pub(crate) fn leave(&self, device: u64) {
        let mut running = lock(&self.running);
        match running.get_mut(&device) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(running.remove(&device)),
        }
    }

    /// Whether the disk has any.
    pub(crate) fn serve(&self, device: u64) -> bool {
        lock(&self.running).contains_key(&device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_disk_has_its_own() {
        let move_threads = MoveThreads::new(2);
        assert_eq!(
            [1, 1, 1, 2].map(|device| move_threads.start_thread(device)),
            [true, true, false, true]
        );
        move_threads.leave(1);
        assert!(move_threads.serve(1) && move_threads.start_thread(1));
        move_threads.leave(2);
        assert!(!move_threads.serve(2));
    }
}
