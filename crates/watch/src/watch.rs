//! [`Watch`]: inotify events of the watch folder, read on a thread of its own.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tracing::{debug, warn};

use crate::scan;

/// A thread that reads inotify and keeps what it state until the next scan asks.
pub(crate) struct Watch {
    root: PathBuf,
    shared: Arc<Shared>,
}

struct Shared {
    inotify: OwnedFd,
    state: Mutex<State>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    folders: HashMap<i32, PathBuf>,
    news: News,
    stop: bool,
    has_failed: bool, // nothing is read any more
}

/// What happened since the last scan, by path relative to the folder.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Closed by a writer or moved here.
    pub(crate) closed: HashSet<PathBuf>,
    /// Also those of which there was any other sign.
    pub(crate) touched: HashSet<PathBuf>,
}

impl Watch {
    /// Fails where there is no inotify, or no more of it.
    pub(crate) fn start(
        root: &Path,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, Errno> {
        let inotify = inotify::init(CreateFlags::CLOEXEC)?;
        let shared = Arc::new(Shared { inotify, state: Mutex::default(), wake: Box::new(wake) });
        let reader = shared.clone();
        std::thread::Builder::new()
            .name("intake-watch".to_owned())
            .spawn(move || reader.read())
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
        Ok(Self { root: root.to_owned(), shared })
    }

    /// Watches one directory; no harm if it is watched already. `false` if it cannot be.
    pub(crate) fn follow(&self, relative: &Path) -> bool {
        let mut state = self.shared.state();
        if state.has_failed || state.folders.len() >= MOST_FOLDERS {
            return false;
        }
        match inotify::add_watch(&self.shared.inotify, self.root.join(relative), INTEREST) {
            Ok(folder) => {
                state.folders.insert(folder, relative.to_owned());
                true
            }
            Err(errno) => {
                debug!(%errno, "a folder is not watched");
                false
            }
        }
    }

    pub(crate) fn take_news(&self) -> News {
        std::mem::take(&mut self.shared.state().news)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.stop = true;
        // The end of a watch is an event too, and wakes the thread from its read. One is made for
        // that, should there be none left.
        let own = inotify::add_watch(&self.shared.inotify, "/", WatchFlags::DELETE_SELF).ok();
        for folder in state.folders.drain().map(|(folder, _)| folder).chain(own) {
            let _ = inotify::remove_watch(&self.shared.inotify, folder);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("root", &self.root).finish_non_exhaustive()
    }
}

/// After a panic of the thread the folder is polled.
struct PollOnPanic<'a>(&'a Shared);

impl Drop for PollOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().has_failed = true;
            warn!("the thread of the watch folder has died: it is only polled from now on");
            (self.0.wake)();
        }
    }
}

impl Shared {
    fn read(&self) {
        let _poll_on_panic = PollOnPanic(self);
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        // A disk mounted over the folder covers it without a notice.
        let mounts = File::open("/proc/self/mountinfo").ok();
        let mut worthwhile = false;
        loop {
            if reader.is_buffer_empty() && self.wait(mounts.as_ref()) {
                (self.wake)();
                continue;
            }
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    worthwhile |= is_worth_a_scan(event.events(), name);
                    self.state().note(event.wd(), event.events(), name);
                }
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    self.state().has_failed = true;
                    return warn!(%errno, "the watch folder is only polled from now on");
                }
            }
            if self.state().stop {
                return;
            }
            if worthwhile && reader.is_buffer_empty() {
                worthwhile = false;
                (self.wake)();
            }
        }
    }

    /// Waits for a notice; `true` if mounts have changed before one came.
    fn wait(&self, mounts: Option<&File>) -> bool {
        let Some(mounts) = mounts else { return false };
        let mut watched =
            [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(mounts, PollFlags::PRI)];
        // When that fails, the read that follows will tell.
        let _ = poll(&mut watched, None);
        watched[0].revents().is_empty() && !watched[1].revents().is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note(&mut self, folder: i32, events: ReadFlags, name: Option<&OsStr>) {
        if events.contains(ReadFlags::IGNORED) {
            self.folders.remove(&folder);
        }
        let (Some(folder), Some(name)) = (self.folders.get(&folder), name) else { return };
        if self.news.touched.len() >= MOST_NEWS {
            return;
        }
        let path = folder.join(name);
        if events.intersects(ReadFlags::CLOSE_WRITE | ReadFlags::MOVED_TO) {
            self.news.closed.insert(path.clone());
        }
        self.news.touched.insert(path);
    }
}

/// Not our own renaming of what was read. After an overflow that is unknown, so it is.
fn is_worth_a_scan(events: ReadFlags, name: Option<&OsStr>) -> bool {
    let of_folders = ReadFlags::ISDIR
        | ReadFlags::QUEUE_OVERFLOW
        | ReadFlags::IGNORED
        | ReadFlags::MOVE_SELF
        | ReadFlags::UNMOUNT;
    events.intersects(of_folders) || name.is_some_and(scan::is_offered)
}

const INTEREST: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::CREATE)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);
/// Other programs want some of the user's 8,192 watches, too.
const MOST_FOLDERS: usize = 1_024;
/// What is not remembered is found by the scan, a second later.
const MOST_NEWS: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overflow_calls_for_a_scan_and_our_own_marks_do_not() {
        let name = |name| Some(OsStr::new(name));
        assert!(is_worth_a_scan(ReadFlags::QUEUE_OVERFLOW, None));
        assert!(is_worth_a_scan(ReadFlags::CREATE | ReadFlags::ISDIR, name("tv")));
        assert!(is_worth_a_scan(ReadFlags::CLOSE_WRITE, name("a.NZB")));
        assert!(!is_worth_a_scan(ReadFlags::MOVED_TO, name("a.nzb.queued")));
        assert!(!is_worth_a_scan(ReadFlags::CLOSE_WRITE, name("a.nzb.error.txt")));
    }
}
