//! Small disks for tests.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small disk, for as long as a test runs. Only the superuser can have one.
#[derive(Debug)]
pub struct Mounted(PathBuf);

impl Mounted {
    /// None, with a word about it, where nothing can be mounted.
    ///
    /// # Panics
    /// When there is no room for a test.
    pub fn new(size: &str) -> Option<Self> {
        let mut builder = tempfile::Builder::new();
        let place = builder.prefix("bergamot-disk-").tempdir().expect("a directory").keep();
        let disk = Self(place);
        disk.mount(size).then_some(disk)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Mounts an empty disk in its place, where it was taken away.
    pub fn mount(&self, size: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&self.0);
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        if !is_mounted {
            eprintln!("not tried: no disk can be mounted here");
        }
        is_mounted
    }

    /// # Panics
    /// When it cannot be.
    pub fn remount(&self, option: &str) {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{option}")]).arg(&self.0);
        assert!(mount.status().is_ok_and(|status| status.success()), "remount,{option}");
    }

    /// What is below comes to light; whoever has something open there keeps it.
    pub fn take_away(&self) {
        // The daemon may hold it for another moment.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }

    /// Leaves so many bytes free, in a file of somebody else.
    ///
    /// # Panics
    /// When they are not to be had.
    pub fn fill_up_to(&self, free: u64) -> PathBuf {
        let space = rustix::fs::statvfs(&self.0).expect("a disk");
        let filler = self.0.join("filler");
        let taken = (space.f_bavail * space.f_frsize).saturating_sub(free);
        if let Err(error) = fs::write(&filler, vec![7; taken as usize]) {
            // Somebody was quicker, and it is full all the same.
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        }
        filler
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.take_away();
        let _ = fs::remove_dir_all(&self.0);
    }
}
