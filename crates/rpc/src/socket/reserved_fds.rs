//! [`ReservedFds`]: open file descriptors that are given up for control connections when the process has no others left.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::{debug, warn};

/// Some that are open for nothing, so that each can make room for a connection.
#[derive(Debug)]
pub(crate) struct ReservedFds {
    files: Mutex<Vec<File>>,
    wanted: usize,
    is_told: AtomicBool, // once is enough
}

/// Brings one back when it is dropped, if it can.
#[derive(Debug)]
pub(crate) struct BorrowedFd(Arc<ReservedFds>);

impl ReservedFds {
    pub(crate) fn new(wanted: usize) -> Arc<Self> {
        let is_told = AtomicBool::new(false);
        let reserved_fds = Self { files: Mutex::default(), wanted, is_told };
        reserved_fds.replenish();
        Arc::new(reserved_fds)
    }

    /// What to do about a connection that could not be taken: try again at once if there is room now, and
    /// hold on to what is returned as long as the connection lasts.
    pub(crate) fn make_room(self: &Arc<Self>, error: &io::Error) -> Option<BorrowedFd> {
        if !is_exhaustion(error) {
            return None;
        }
        if self.is_told.swap(true, Ordering::Relaxed) {
            debug!(%error, "no file descriptor is left");
        } else {
            warn!(
                "resource.fd_limit: {error}; reserved descriptors are used for control connections; raise the limit of open files"
            );
        }
        self.files().pop().map(|_| BorrowedFd(self.clone()))
    }

    fn replenish(&self) {
        let mut files = self.files();
        while files.len() < self.wanted
            && let Ok(file) = File::open("/dev/null")
        {
            files.push(file);
        }
    }

    fn files(&self) -> MutexGuard<'_, Vec<File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BorrowedFd {
    fn drop(&mut self) {
        self.0.replenish();
    }
}

fn is_exhaustion(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(code, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spare_makes_room_for_one_until_that_is_gone() {
        let full = io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        let reserved_fds = ReservedFds::new(2);
        let borrowed = [reserved_fds.make_room(&full), reserved_fds.make_room(&full)];
        assert!(borrowed.iter().all(Option::is_some));
        assert!(reserved_fds.make_room(&full).is_none(), "all are lent");
        drop(borrowed);
        assert!(reserved_fds.make_room(&full).is_some());
        assert!(reserved_fds.make_room(&io::ErrorKind::ConnectionAborted.into()).is_none());
    }
}
