//! [`Move`]: the crash-safe move of a finished job to its destination; runs on a move thread.

use std::ffi::{OsStr, OsString};
use std::sync::atomic::AtomicBool;

use bergamot_types::{JobId, SafeName};
use rustix::fs::FileType;
use rustix::io::Errno;
use tracing::debug;

use crate::error::DiskError;
use crate::files::folder::Folder;
use crate::files::job_dir::JobDir;
use crate::files::names::Names;
use crate::files::root::Root;
use crate::files::tree;

/// One rename where it can be; between disks a copy under a hidden name, checked, renamed, and only
/// then is the source removed.
///
/// A mark file is written into the source first and moves along with the tree. So a later run recognises its
/// own tree in the destination and does not move the job there twice. A tree with the mark under its final
/// name is complete: the rename comes after the copy was checked and synced.
pub(crate) struct Move<'a> {
    pub(crate) dir: &'a JobDir,
    pub(crate) destination: &'a Root,
    pub(crate) wanted: &'a SafeName,
    pub(crate) job: JobId,
    pub(crate) stop: &'a AtomicBool,
}

impl Move<'_> {
    pub(crate) fn run(&self) -> Result<SafeName, DiskError> {
        let source = self.dir.root().folder()?;
        let target = self.destination.folder()?;
        if let Err(gone) = self.dir.check_unmoved(&source) {
            // A run before this one may have failed right behind its rename.
            let name = find(&target, &self.mark())?.ok_or(gone)?;
            target.sync()?;
            source.sync()?;
            return Ok(name);
        }
        if let Some(name) = self.copied_before(&target)? {
            self.remove_source(&source)?;
            return Ok(name);
        }
        self.dir.check_promised()?;
        self.dir.remove_parts()?;
        tree::check(self.dir.folder())?;
        self.dir.folder().create(&self.mark())?;
        self.dir.folder().sync()?;
        let mut names = Names::of(&target)?;
        let own = OsStr::new(self.dir.name().as_str());
        let renamed =
            names.place((&source, own), &target, self.wanted, SafeName::numbered_directory)?;
        if let Some(name) = renamed {
            target.sync()?;
            source.sync()?;
            return Ok(name);
        }
        debug!(job = %self.job, "copied between disks");
        let name = self.copy(&target, &mut names)?;
        self.remove_source(&source)?;
        Ok(name)
    }

    /// A run before this one may have been killed between copy and removal.
    fn copied_before(&self, target: &Folder) -> Result<Option<SafeName>, DiskError> {
        copied_before(self.dir, target, self.job, &[])
    }

    fn copy(&self, target: &Folder, names: &mut Names) -> Result<SafeName, DiskError> {
        let temporary = temporary(self.dir.root(), self.job);
        tree::remove(target, &temporary, None)?;
        if !target.make_folder(&temporary)? {
            return Err(target.obstructed(&temporary));
        }
        let copied = tree::copy(self.dir.folder(), &target.subfolder(&temporary)?, self.stop);
        // A copy takes minutes, in which another program may have changed what was not copied yet.
        match copied.and_then(|()| self.dir.check_promised()) {
            Ok(()) => {}
            Err(error @ DiskError::Stopped { .. }) => return Err(error),
            Err(error) => {
                // Remove a partial copy now, because the disk may be full; the next run would remove it as
                // well.
                let _ = tree::remove(target, &temporary, None);
                return Err(error);
            }
        }
        let numbered = SafeName::numbered_directory;
        let Some(name) = names.place((target, &temporary), target, self.wanted, numbered)? else {
            // A file system that cannot rename directories; a copy under its final name could not be
            // distinguished from a complete one.
            let _ = tree::remove(target, &temporary, None);
            return Err(target.error(Errno::XDEV, &temporary));
        };
        target.sync()?;
        Ok(name)
    }

    fn remove_source(&self, source: &Folder) -> Result<(), DiskError> {
        remove_source(self.dir, source, self.job)
    }

    fn mark(&self) -> OsString {
        mark(self.dir.root(), self.job)
    }
}

impl JobDir {
    /// Where an earlier run has moved this job to, if it has. What is left of the source is removed.
    /// `finished` are the names of the files that were complete here.
    pub fn resume_move(
        &self,
        destination: &Root,
        job: JobId,
        finished: &[&str],
    ) -> Result<Option<SafeName>, DiskError> {
        let delivered = copied_before(self, &destination.folder()?, job, finished)?;
        if delivered.is_some() {
            remove_source(self, &self.root().folder()?, job)?;
        }
        Ok(delivered)
    }
}

/// Only a move removes files from a directory that has the mark, and the mark is the last of them. So
/// where one of the finished files is gone, all of them had arrived; where all are there, the copy has
/// to have them too.
fn copied_before(
    dir: &JobDir,
    target: &Folder,
    job: JobId,
    finished: &[&str],
) -> Result<Option<SafeName>, DiskError> {
    let mark = mark(dir.root(), job);
    let is_marked = dir.folder().stat(&mark)?.is_some();
    let is_emptied = !finished.is_empty() && dir.folder().entries()?.is_empty();
    if !is_marked && !is_emptied {
        return Ok(None);
    }
    let Some(name) = find(target, &mark)? else { return Ok(None) };
    for file in finished {
        if dir.folder().stat(OsStr::new(file))?.is_none() {
            return Ok(Some(name));
        }
    }
    let copy = target.subfolder(OsStr::new(name.as_str()))?;
    Ok(tree::contains(&copy, dir.folder())?.then_some(name))
}

fn remove_source(dir: &JobDir, source: &Folder, job: JobId) -> Result<(), DiskError> {
    let mark = mark(dir.root(), job);
    tree::remove(source, OsStr::new(dir.name().as_str()), Some(&mark))?;
    source.sync()
}

impl Root {
    /// Where a job went that is no longer in `from`, as long as it was not settled.
    pub fn moved(&self, from: &Root, job: JobId) -> Result<Option<SafeName>, DiskError> {
        find(&self.folder()?, &mark(from, job))
    }

    /// All trees with marks of jobs that came from there.
    pub fn marked(&self, from: &Root) -> Result<Vec<(SafeName, JobId)>, DiskError> {
        let (target, prefix) = (self.folder()?, format!("{OURS}{:08x}-", hash(from)));
        let job_of = |name: &OsString| -> Option<JobId> {
            let number = name.to_str()?.strip_prefix(&prefix)?.strip_suffix(MOVED)?;
            number.parse().ok().map(JobId)
        };
        let mut marked = Vec::new();
        for (name, folder) in trees(&target)? {
            // Directories of other users may go away at any moment.
            let entries = folder.entries().unwrap_or_default();
            let marks = entries.iter().filter_map(|(entry, _)| job_of(entry));
            marked.extend(marks.map(|job| (name.clone(), job)));
        }
        Ok(marked)
    }

    /// Takes the mark off a moved job, once its name is on record.
    pub fn settle(&self, name: &SafeName, from: &Root, job: JobId) -> Result<(), DiskError> {
        match self.subfolder(name) {
            Ok(folder) => folder.remove_file(&mark(from, job)),
            Err(DiskError::Vanished { .. }) => Ok(()), // removed by the program that was waiting for it
            Err(error) => Err(error),
        }
    }

    /// Removes half copies of runs that will not come again; only while nothing is being moved.
    pub fn sweep(&self) -> Result<(), DiskError> {
        let folder = self.folder()?;
        for (name, kind) in folder.entries()? {
            if kind == FileType::Directory && is_temporary(&name) {
                tree::remove(&folder, &name, None)?;
            }
        }
        Ok(())
    }
}

fn find(target: &Folder, mark: &OsStr) -> Result<Option<SafeName>, DiskError> {
    for (name, folder) in trees(target)? {
        if folder.kind(mark)? == Some(FileType::RegularFile) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The directories in a destination that can be opened, one at a time.
fn trees(target: &Folder) -> Result<impl Iterator<Item = (SafeName, Folder)>, DiskError> {
    let open = move |(name, kind): (OsString, FileType)| {
        let name = name.to_str().and_then(SafeName::recorded)?;
        // Directories of other users may be closed to us, or go away at any moment.
        let folder = || target.subfolder(OsStr::new(name.as_str())).ok();
        let folder = if kind == FileType::Directory { folder() } else { None }?;
        Some((name, folder))
    };
    Ok(target.entries()?.into_iter().filter_map(open))
}

fn mark(from: &Root, job: JobId) -> OsString {
    OsString::from(format!("{OURS}{:08x}-{job}{MOVED}", hash(from)))
}

fn temporary(from: &Root, job: JobId) -> OsString {
    OsString::from(format!("{OURS}{:08x}-{job}{MOVING}", hash(from)))
}

fn is_temporary(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(OURS) && name.ends_with(MOVING))
}

/// Tells two daemons apart that share a destination: their jobs have the same numbers.
fn hash(from: &Root) -> u32 {
    crc32fast::hash(from.path().as_os_str().as_encoded_bytes())
}

/// Hidden, and no safe name begins with a dot.
const OURS: &str = ".bergamot-";
const MOVED: &str = ".moved";
const MOVING: &str = ".moving";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::BorrowedFd;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::io::Result;
    use tempfile::TempDir;

    use super::*;
    use crate::files::kernel::{Kernel, Linux};

    static RUNNING: AtomicBool = AtomicBool::new(false);

    /// Two disks, between which nothing can be renamed, and a death after so many calls.
    #[derive(Debug)]
    struct KilledKernel {
        left: AtomicU32,
    }

    impl KilledKernel {
        fn dying_after(calls: u32) -> Arc<Self> {
            Arc::new(Self { left: AtomicU32::new(calls) })
        }

        fn live(&self) -> Result<()> {
            let left = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            left.map(drop).map_err(|_| Errno::IO)
        }
    }

    impl Kernel for KilledKernel {
        fn pwrite(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
            self.live()?;
            Linux.pwrite(file, bytes, offset)
        }

        fn fdatasync(&self, file: BorrowedFd<'_>) -> Result<()> {
            self.live()?;
            Linux.fdatasync(file)
        }

        fn rename_exclusive(
            &self,
            from: (BorrowedFd<'_>, &OsStr),
            to: (BorrowedFd<'_>, &OsStr),
        ) -> Result<()> {
            let inode = |folder| rustix::fs::fstat(folder).map(|stat| stat.st_ino);
            if inode(from.0)? != inode(to.0)? {
                return Err(Errno::XDEV);
            }
            self.live()?;
            Linux.rename_exclusive(from, to)
        }

        fn unlink(&self, folder: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
            self.live()?;
            Linux.unlink(folder, name)
        }
    }

    fn name(raw: &str) -> SafeName {
        SafeName::from_raw(raw)
    }

    fn roots(temp: &TempDir, kernel: Arc<dyn Kernel>) -> (Root, Root) {
        let root = |part: &str| {
            let path = temp.path().join(part);
            fs::create_dir_all(&path).unwrap();
            Root::with_kernel(&path, kernel.clone()).unwrap()
        };
        (root("from"), root("to"))
    }

    fn fill(dir: &Path) {
        fs::create_dir(dir.join("sub")).unwrap();
        fs::write(dir.join("a.bin"), vec![7; 3 << 20]).unwrap();
        fs::write(dir.join("sub/b.bin"), b"b").unwrap();
        fs::write(dir.join("0003.part"), b"unfinished").unwrap();
    }

    fn listed(path: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn killed_anywhere_and_run_again_one_complete_tree_is_left() {
        let (mut deaths, mut taken_up) = (0, 0);
        for calls in 0.. {
            let temp = TempDir::new().unwrap();
            let (from, to) = roots(&temp, KilledKernel::dying_after(calls));
            let dir = from.job_dir(&name("Job")).unwrap();
            fill(dir.path());
            let first = dir.move_to(&to, &name("Job"), JobId(1), &RUNNING);
            deaths += u32::from(first.is_err());

            let (from, to) = roots(&temp, KilledKernel::dying_after(u32::MAX));
            let at = match from.reopen(&name("Job")) {
                Ok(dir) => match dir.resume_move(&to, JobId(1), &["a.bin"]).unwrap() {
                    Some(at) => {
                        taken_up += 1;
                        at
                    }
                    None => {
                        assert!(dir.path().join("a.bin").exists(), "nothing is lost");
                        dir.move_to(&to, &name("Job"), JobId(1), &RUNNING).unwrap()
                    }
                },
                Err(_) => to.moved(&from, JobId(1)).unwrap().unwrap(),
            };
            to.settle(&at, &from, JobId(1)).unwrap();
            assert_eq!(listed(to.path()), ["Job"], "killed after {calls} calls");
            assert_eq!(listed(&to.path().join("Job")), ["a.bin", "sub"]);
            assert_eq!(fs::read(to.path().join("Job/a.bin")).unwrap(), vec![7; 3 << 20]);
            assert_eq!(fs::read(to.path().join("Job/sub/b.bin")).unwrap(), b"b");
            assert!(listed(from.path()).is_empty());
            if first.is_ok() {
                break;
            }
        }
        assert!(deaths > 10, "only {deaths} runs were killed");
        assert!(taken_up >= 2, "only {taken_up} were known by their copies");
    }

    #[test]
    fn a_kill_after_the_rename_loses_no_name() {
        let temp = TempDir::new().unwrap();
        let (from, to) = roots(&temp, Arc::new(Linux));
        let dir = from.job_dir(&name("Job")).unwrap();
        fill(dir.path());
        fs::create_dir(to.path().join("job")).unwrap();
        let moved = dir.move_to(&to, &name("Job"), JobId(1), &RUNNING).unwrap();
        assert_eq!(moved, name("Job (2)"), "names that differ in case are one name elsewhere");
        assert_eq!(to.moved(&from, JobId(1)).unwrap(), Some(moved.clone()));
        assert_eq!(to.moved(&from, JobId(2)).unwrap(), None);
        let again = dir.move_to(&to, &name("Job"), JobId(1), &RUNNING).unwrap();
        assert_eq!(again, moved, "it has been moved");
        to.settle(&moved, &from, JobId(1)).unwrap();
        to.settle(&moved, &from, JobId(1)).unwrap();
        assert_eq!(to.moved(&from, JobId(1)).unwrap(), None);
        assert_eq!(listed(&to.path().join("Job (2)")), ["a.bin", "sub"]);
        let gone = dir.move_to(&to, &name("Job"), JobId(1), &RUNNING).unwrap_err();
        assert_eq!(gone.code(), "disk.vanished");
    }

    #[test]
    fn a_stranger_with_our_mark_does_not_cost_the_source() {
        let temp = TempDir::new().unwrap();
        let (from, to) = roots(&temp, Arc::new(Linux));
        let dir = from.job_dir(&name("Job")).unwrap();
        fill(dir.path());
        for folder in [dir.path().to_owned(), to.path().join("Job")] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(mark(&from, JobId(1))), b"").unwrap();
        }
        let moved = dir.move_to(&to, &name("Job"), JobId(1), &RUNNING).unwrap();
        assert_eq!(moved, name("Job (2)"));
        assert_eq!(fs::read(to.path().join("Job (2)/sub/b.bin")).unwrap(), b"b");
    }

    #[test]
    fn links_and_specials_in_the_source_are_refused() {
        for (plant, code) in [("link", "disk.obstructed"), ("pipe", "disk.obstructed")] {
            let temp = TempDir::new().unwrap();
            let (from, to) = roots(&temp, KilledKernel::dying_after(u32::MAX));
            let dir = from.job_dir(&name("Job")).unwrap();
            fill(dir.path());
            let planted = dir.path().join("sub/planted");
            match plant {
                "link" => std::os::unix::fs::symlink("/etc/passwd", &planted).unwrap(),
                _ => mkfifo(&planted),
            }
            let refused = dir.move_to(&to, &name("Job"), JobId(1), &RUNNING).unwrap_err();
            assert_eq!(refused.code(), code, "{refused}");
            assert!(refused.to_string().contains("sub/planted"));
            assert!(listed(to.path()).is_empty());
            assert!(dir.path().join("a.bin").exists());
        }
    }

    fn mkfifo(path: &Path) {
        use rustix::fs::{CWD, Mode, mknodat};
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    }

    #[test]
    fn links_planted_in_the_destination_are_not_followed() {
        let temp = TempDir::new().unwrap();
        let elsewhere = TempDir::new().unwrap();
        let (from, to) = roots(&temp, KilledKernel::dying_after(u32::MAX));
        let dir = from.job_dir(&name("Job")).unwrap();
        fill(dir.path());
        std::os::unix::fs::symlink(elsewhere.path(), to.path().join("Job")).unwrap();
        let moved = dir.move_to(&to, &name("Job"), JobId(1), &RUNNING).unwrap();
        assert_eq!(moved, name("Job (2)"));
        assert!(listed(elsewhere.path()).is_empty());

        let dir = from.job_dir(&name("Next")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), to.path().join(temporary(&from, JobId(2))))
            .unwrap();
        let refused = dir.move_to(&to, &name("Next"), JobId(2), &RUNNING).unwrap_err();
        assert_eq!(refused.code(), "disk.obstructed");
        assert!(listed(elsewhere.path()).is_empty());
    }

    /// Cuts a file of the source while another is copied.
    #[derive(Debug)]
    struct Interference {
        disks: Arc<KilledKernel>,
        victim: std::path::PathBuf,
    }

    impl Kernel for Interference {
        fn pwrite(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
            let victim = fs::File::options().write(true).open(&self.victim).unwrap();
            victim.set_len(1).unwrap();
            Linux.pwrite(file, bytes, offset)
        }

        fn rename_exclusive(
            &self,
            from: (BorrowedFd<'_>, &OsStr),
            to: (BorrowedFd<'_>, &OsStr),
        ) -> Result<()> {
            self.disks.rename_exclusive(from, to)
        }
    }

    #[test]
    fn a_file_that_changes_during_the_copy_is_not_delivered() {
        let temp = TempDir::new().unwrap();
        let victim = temp.path().join("from/Job/a.bin");
        let disks = KilledKernel::dying_after(u32::MAX);
        let (from, to) = roots(&temp, Arc::new(Interference { disks, victim }));
        let dir = from.job_dir(&name("Job")).unwrap();
        fill(dir.path());
        for (index, (file, status)) in (0..).zip(dir.finished().unwrap()) {
            dir.expect_finished(index, file.to_str().unwrap(), status);
        }
        let changed = dir.move_to(&to, &name("Job"), JobId(1), &RUNNING).unwrap_err();
        assert_eq!(changed.code(), "file.changed");
        assert!(listed(to.path()).is_empty());
        assert!(dir.path().join("a.bin").exists());
    }

    #[test]
    fn a_copy_stops_when_told_and_its_remains_are_swept() {
        let temp = TempDir::new().unwrap();
        let (from, to) = roots(&temp, KilledKernel::dying_after(u32::MAX));
        let dir = from.job_dir(&name("Job")).unwrap();
        fill(dir.path());
        let stopped = dir.move_to(&to, &name("Job"), JobId(1), &AtomicBool::new(true)).unwrap_err();
        assert_eq!(stopped.code(), "disk.stopped");
        assert_eq!(listed(to.path()).len(), 1);
        to.sweep().unwrap();
        assert!(listed(to.path()).is_empty());
        assert!(dir.path().join("a.bin").exists());
    }
}
