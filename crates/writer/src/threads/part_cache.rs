//! [`PartCache`]: the part files that one write thread keeps open, least recently used closed first.

use std::sync::Arc;

use crate::error::DiskError;
use crate::files::job_dir::JobDir;
use crate::files::part_file::PartFile;

/// A list, not a map: it is short, and searching it is faster.
#[derive(Debug)]
pub(crate) struct PartCache {
    open: Vec<Entry>, // oldest first
    limit: usize,
}

#[derive(Debug)]
struct Entry {
    dir: Arc<JobDir>,
    part: Arc<PartFile>,
}

impl PartCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { open: Vec::new(), limit: limit.max(1) }
    }

    pub(crate) fn part(
        &mut self,
        dir: &Arc<JobDir>,
        index: u32,
    ) -> Result<Arc<PartFile>, DiskError> {
        // A handle from before the directory was reopened may be of another file.
        if self.position(dir, index).is_some_and(|at| !Arc::ptr_eq(&self.open[at].dir, dir)) {
            self.close(dir, index);
        }
        if let Some(at) = self.position(dir, index) {
            self.open[at..].rotate_left(1);
            self.close_oldest(self.limit, 1);
        } else {
            self.close_oldest(self.limit - 1, 0);
            let part = match dir.part(index) {
                Err(DiskError::TooManyFiles { .. }) => {
                    self.yield_handles();
                    dir.part(index)?
                }
                part => part?,
            };
            self.open.push(Entry { dir: dir.clone(), part: Arc::new(part) });
        }
        Ok(self.open.last().expect("pushed or rotated there above").part.clone())
    }

    /// Closes the oldest until at most `handles` handles or `parts` parts are left.
    fn close_oldest(&mut self, handles: usize, parts: usize) {
        let mut open: usize = self.open.iter().map(|entry| entry.part.handles()).sum();
        while open > handles && self.open.len() > parts {
            open -= self.open.remove(0).part.handles();
        }
    }

    /// The process is out of file descriptors: sockets need them more than this cache.
    fn yield_handles(&mut self) {
        self.limit = (self.open.len() / 2).max(1);
        self.open.clear();
    }

    pub(crate) fn close(&mut self, dir: &JobDir, index: u32) {
        if let Some(at) = self.position(dir, index) {
            self.open.remove(at);
        }
    }

    pub(crate) fn close_all(&mut self, dir: &JobDir) {
        self.open.retain(|entry| entry.dir.identity() != dir.identity());
    }

    fn position(&self, dir: &JobDir, index: u32) -> Option<usize> {
        let wanted = (dir.identity(), index);
        self.open.iter().position(|e| (e.dir.identity(), e.part.index()) == wanted)
    }
}
