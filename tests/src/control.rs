//! A good job.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bergamot_newsd::{Articles, Generated};
use bergamot_types::ByteCount;

use crate::daemon::Daemon;
use crate::home::Home;
use crate::news::content_of;

/// What a test downloads last, to show that the daemon outlived what was done to it.
#[derive(Debug)]
pub struct Control {
    post: Arc<Generated>,
}

impl Control {
    pub fn new() -> Self {
        let post = Generated::new(4711, ByteCount(20_000)).file("control.bin", ByteCount(90_000));
        Self { post: Arc::new(post) }
    }

    /// These articles and its own.
    pub fn beside(&self, articles: impl Articles + 'static) -> Arc<dyn Articles> {
        let all: Vec<Arc<dyn Articles>> = vec![Arc::new(articles), self.post.clone()];
        Arc::new(all)
    }

    /// Downloads it, once for each control.
    ///
    /// # Panics
    /// When the daemon does not bring every byte.
    pub fn completes(&self, home: &Home, daemon: &mut Daemon) {
        self.completes_in(&home.join("complete"), home, daemon);
    }

    /// The same where the complete directory is elsewhere.
    ///
    /// # Panics
    /// When the daemon does not bring every byte.
    pub fn completes_in(&self, complete: &Path, home: &Home, daemon: &mut Daemon) {
        home.drop_nzb("control.nzb", self.post.nzb());
        daemon.wait_complete("control");
        let found = fs::read(complete.join("control/control.bin")).expect("it is complete");
        assert!(found == content_of(&self.post), "the control job is whole");
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}
