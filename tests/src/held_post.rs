//! [`HeldPost`]: a generated post whose articles from a given part on are held back, file by file, until the test
//! releases them.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bergamot_newsd::{Articles, Generated};

use crate::daemon::PATIENCE;

/// Use it for tests that stop a download at a known article, such as those that pause a half-written file.
#[derive(Debug)]
pub struct HeldPost {
    post: Generated,
    held_from: u32, // parts from this number on
    state: Mutex<State>,
    changed: Condvar,
}

/// Files by their places in the post.
#[derive(Debug, Default)]
struct State {
    /// Of which a held part was asked for.
    reached: BTreeSet<usize>,
    open: BTreeSet<usize>,
}

impl HeldPost {
    pub fn new(post: Generated, held_from: u32) -> Self {
        Self { post, held_from, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until a held part of the file is asked for: all parts before it have been.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn wait_until_reached(&self, file: usize) {
        let is_missing = |state: &mut State| !state.reached.contains(&file);
        let waited = self.changed.wait_timeout_while(self.state(), PATIENCE, is_missing);
        let timeout = waited.unwrap_or_else(PoisonError::into_inner).1;
        assert!(!timeout.timed_out(), "no held part of file {file} was asked for");
    }

    /// From now on nothing of the file is held.
    pub fn open(&self, file: usize) {
        self.state().open.insert(file);
        self.changed.notify_all();
    }

    fn pass(&self, id: &str) {
        let Some((file, _)) = place(id).filter(|(_, number)| *number >= self.held_from) else {
            return;
        };
        self.state().reached.insert(file);
        self.changed.notify_all();
        let is_closed = |state: &mut State| !state.open.contains(&file);
        // A test that has failed never opens it.
        drop(self.changed.wait_timeout_while(self.state(), PATIENCE, is_closed));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// File and number of a part, as [`Generated::id`] writes them.
fn place(id: &str) -> Option<(usize, u32)> {
    let mut words = id.split('.');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

impl Articles for HeldPost {
    fn contains(&self, id: &str) -> bool {
        self.post.contains(id)
    }

    fn append_body(&self, id: &str, out: &mut Vec<u8>) -> bool {
        // Other connections of the server go on meanwhile.
        tokio::task::block_in_place(|| self.pass(id));
        self.post.append_body(id, out)
    }

    fn subject(&self, id: &str) -> Option<String> {
        self.post.subject(id)
    }

    fn another(&self, id: &str) -> Option<String> {
        self.post.another(id)
    }
}
