//! [`Arrivals`]: waits for files in a directory (inotify), for daemons that log nothing.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

use crate::daemon::PATIENCE;

/// Made before the daemon starts, so that nothing is missed.
#[derive(Debug)]
pub struct Arrivals(OwnedFd);

impl Arrivals {
    /// # Panics
    /// When there is no such directory.
    pub fn watch(directory: &Path) -> Self {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).expect("inotify");
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO;
        inotify::add_watch(&inotify, directory, flags).expect("a directory");
        Self(inotify)
    }

    /// Waits until something of that name has come.
    ///
    /// # Panics
    /// When it does not come in time.
    pub fn wait_for(&self, name: &str) {
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        loop {
            let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
            let count = poll(&mut ready, Some(&patience)).expect("it can be waited for");
            assert!(count > 0, "{name} did not come");
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(&self.0, &mut buffer);
            while let Ok(event) = reader.next() {
                let arrived = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                if arrived == Some(OsStr::new(name)) {
                    return;
                }
            }
        }
    }
}
