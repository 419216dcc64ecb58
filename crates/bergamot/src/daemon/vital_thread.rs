//! Threads that the daemon cannot do without.

use std::io;
use std::thread;

/// If it panics, the whole process ends: without it nothing would go on, and nobody would notice.
/// The next start goes on with what is on disk.
pub(super) fn vital_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let work = move || {
        let _fuse = Fuse;
        work();
    };
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

struct Fuse;

impl Drop for Fuse {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}
