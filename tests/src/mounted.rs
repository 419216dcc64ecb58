//! [`Mounted`]: small disks for tests, in a mount namespace of their own.

use std::cell::Cell;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;

use bergamot_testkit::skip;
use rustix::thread::UnshareFlags;

/// A small disk, for as long as a test runs. Only the superuser can have one.
///
/// It is there for the thread that mounts it and for what that thread starts from then on; so it is
/// taken away by that thread, too.
#[derive(Debug)]
pub struct Mounted {
    place: PathBuf,
    is_ours: bool, // the directory below goes with the disk
}

impl Mounted {
    /// In a place of its own. None where nothing can be mounted: then the test is skipped.
    ///
    /// # Panics
    /// When there is no room for a test.
    pub fn new(size: &str) -> Option<Self> {
        let mut builder = tempfile::Builder::new();
        let place = builder.prefix("bergamot-disk-").tempdir().expect("a directory").keep();
        Self { place, is_ours: true }.or_skip(size)
    }

    /// In this place, which is made if need be.
    ///
    /// # Panics
    /// When the place cannot be made.
    pub fn at(place: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(place).expect("a directory");
        Self { place: place.to_owned(), is_ours: false }.or_skip(size)
    }

    fn or_skip(self, size: &str) -> Option<Self> {
        let is_mounted = has_own_mounts() && self.mount(size);
        if !is_mounted {
            skip("no disk can be mounted here");
        }
        is_mounted.then_some(self)
    }

    pub fn path(&self) -> &Path {
        &self.place
    }

    /// Mounts an empty disk in its place, where it was taken away.
    pub fn mount(&self, size: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&self.place);
        mount.output().is_ok_and(|output| output.status.success())
    }

    /// # Panics
    /// When it cannot be.
    pub fn remount(&self, option: &str) {
        assert!(self.try_to_remount(option), "remount,{option}");
    }

    /// False while a process has a file open for writing there.
    pub fn try_to_remount(&self, option: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{option}")]).arg(&self.place);
        mount.output().is_ok_and(|output| output.status.success())
    }

    /// The directory below becomes visible; open files on the disk stay open.
    pub fn take_away(&self) {
        // The daemon may hold it for another moment.
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }

    /// Fills the disk with a file that is not the daemon's, down to so many free bytes.
    ///
    /// # Panics
    /// When they are not to be had.
    pub fn fill_up_to(&self, free: u64) -> PathBuf {
        let space = rustix::fs::statvfs(&self.place).expect("a disk");
        let filler = self.place.join("filler");
        let taken = (space.f_bavail * space.f_frsize).saturating_sub(free);
        if let Err(error) = fs::write(&filler, vec![7; taken as usize]) {
            // Another process has filled the disk meanwhile.
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        }
        filler
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.take_away();
        if self.is_ours {
            let _ = fs::remove_dir_all(&self.place);
        }
    }
}

/// From here on this thread and all that it starts have mounts of their own, which end with them.
fn has_own_mounts() -> bool {
    thread_local!(static IS_DONE: Cell<bool> = const { Cell::new(false) });
    if !IS_DONE.get() {
        IS_DONE.set(leave_the_mounts_of_the_machine().is_ok());
    }
    IS_DONE.get()
}

fn leave_the_mounts_of_the_machine() -> io::Result<()> {
    #[expect(deprecated, reason = "its successor is unsafe, which is on account of other flags")]
    rustix::thread::unshare(UnshareFlags::NEWNS)?;
    // Else what is mounted here would show everywhere.
    let private = Command::new("mount").args(["--make-rprivate", "/"]).output()?;
    private.status.success().then_some(()).ok_or_else(|| ErrorKind::PermissionDenied.into())
}
