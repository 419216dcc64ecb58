//! [`PartFile`]: one incomplete file, `0007.part`; shared by the writer's threads.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use bergamot_types::{FileIdentity, FileStatus};
use rustix::fs;
use rustix::io::Errno;

use crate::error::DiskError;
use crate::files::folder::{Folder, Stamp, status_of};
use crate::files::job_dir::{Piece, Sum};
use crate::files::kernel::Kernel;
use crate::threads::disk_speed::MEASURABLE;
use crate::threads::work_queue::lock;

/// Named by its index in the job, as `0007.part`; it is renamed when it is complete.
#[derive(Debug)]
pub struct PartFile {
    index: u32,
    file: OwnedFd,
    path: PathBuf,
    kernel: Arc<dyn Kernel>,
    history: Arc<PartHistory>,
    unflushed: AtomicU64,
    awaits_flush: AtomicBool,
    /// A second handle with `O_DIRECT`; `None` if the file system does not support it.
    direct: OnceLock<Option<OwnedFd>>,
}

impl PartFile {
    pub(crate) fn new(index: u32, file: OwnedFd, path: PathBuf, folder: &Folder) -> Self {
        Self {
            index,
            file,
            path,
            kernel: folder.kernel().clone(),
            history: Arc::default(),
            unflushed: AtomicU64::new(0),
            awaits_flush: AtomicBool::new(false),
            direct: OnceLock::new(),
        }
    }

    pub(crate) fn with_history(mut self, history: Arc<PartHistory>) -> Self {
        self.history = history;
        self
    }

    pub(crate) fn history(&self) -> &Arc<PartHistory> {
        &self.history
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub fn index(&self) -> u32 {
        self.index
    }

    /// Writes all of it or fails; a file that was deleted meanwhile takes bytes, but keeps none.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.check_whole()?;
        self.write_to_the_cache(offset, bytes)
    }

    /// It has its name, and nothing was cut off.
    pub(crate) fn check_whole(&self) -> Result<(), DiskError> {
        self.whole_status().map(drop)
    }

    fn whole_status(&self) -> Result<fs::Stat, DiskError> {
        let least_size = self.history.least_size();
        let stat = fs::fstat(&self.file).map_err(|errno| self.error(errno, 0))?;
        if stat.st_nlink == 0 {
            return Err(DiskError::Vanished { path: self.path.clone() });
        }
        if stat.st_size.cast_unsigned() < least_size {
            return Err(DiskError::Changed { path: self.path.clone() });
        }
        Ok(stat)
    }

    fn write_to_the_cache(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.target().write_all(offset, bytes)?;
        self.unflushed.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.note_written(offset, bytes.len());
        Ok(())
    }

    fn note_written(&self, offset: u64, length: usize) {
        self.expect_size(offset + length as u64);
    }

    fn expect_size(&self, size: u64) {
        self.history.expect_size(size);
    }

    /// Whether that range has the right checksum.
    pub(crate) fn agrees_with(&self, sum: &Sum) -> Result<bool, DiskError> {
        let mut buffer = vec![0; sum.length.min(COPIED_AT_ONCE as u64) as usize];
        let (mut hash, mut done) = (crc32fast::Hasher::new(), 0);
        while done < sum.length {
            let want = (sum.length - done).min(COPIED_AT_ONCE as u64) as usize;
            let Some(offset) = sum.from.checked_add(done).filter(|at| *at <= i64::MAX as u64)
            else {
                return Ok(false);
            };
            let got = self.read_at(offset, &mut buffer[..want])?;
            if got == 0 {
                return Ok(false); // it ends before
            }
            hash.update(&buffer[..got]);
            done += got as u64;
        }
        Ok(hash.finalize() == sum.crc32)
    }

    /// Drops the pages of the file from the page cache; advisory only.
    pub(crate) fn drop_cache(&self) {
        let _ = fs::fadvise(&self.file, 0, None, fs::Advice::DontNeed);
    }

    /// Whether most of the bytes are whole pages for whole pages of the file, and there is a handle to
    /// write them by; `open` is asked for it once.
    ///
    /// A direct write is done some time after [`Self::check_whole`]. If the file is cut in between, the
    /// write must not bring the least size back, or no later check finds the cut: so it has to end
    /// before that size.
    pub(crate) fn takes_directly(
        &self,
        offset: u64,
        bytes: &[u8],
        open: impl FnOnce() -> Option<OwnedFd>,
    ) -> bool {
        let page = page() as u64;
        let begins_with_a_page =
            [offset, bytes.as_ptr().addr() as u64].iter().all(|place| place.is_multiple_of(page));
        let end = offset.saturating_add(bytes.len() as u64);
        begins_with_a_page
            && bytes.len() >= LEAST_DIRECT
            && end < self.history.least_size()
            && self.direct.get_or_init(open).is_some()
    }

    /// One, or two.
    pub(crate) fn handles(&self) -> usize {
        1 + usize::from(matches!(self.direct.get(), Some(Some(_))))
    }

    /// Writes all of it or fails; whole pages past the page cache, and through it what is left, or all
    /// of it if there is no other way.
    pub(crate) fn write_directly(&self, offset: u64, bytes: &[u8]) -> Result<Written, DiskError> {
        let Some(file) = self.direct.get().and_then(Option::as_ref) else {
            self.write_to_the_cache(offset, bytes)?;
            return Ok(Written { past: 0, is_refused: true });
        };
        let whole = &bytes[..bytes.len() - bytes.len() % page()];
        let written = match self.kernel.pwrite_directly(file.as_fd(), whole, offset) {
            Ok(count) if count == whole.len() => Written { past: count, is_refused: false },
            Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                Written { past: 0, is_refused: true }
            }
            // What is left need not be whole pages.
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => Written { past: 0, is_refused: false },
            Err(errno) => return Err(self.error(errno, bytes.len() as u64)),
        };
        let rest = &bytes[written.past..];
        if !rest.is_empty() {
            self.write_to_the_cache(offset + written.past as u64, rest)?;
        }
        self.note_written(offset, written.past);
        Ok(written)
    }

    /// Whether so much was written that it should be flushed: little is enough where that shows how
    /// quick the disk is. It says so once, until it was.
    pub(crate) fn owes_a_flush(&self, is_disk_known: bool) -> bool {
        let enough = if is_disk_known { FLUSHED_AT_ONCE } else { MEASURABLE };
        self.unflushed.load(Ordering::Relaxed) >= enough
            && !self.awaits_flush.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn flush(&self) -> Result<(), DiskError> {
        self.unflushed.store(0, Ordering::Relaxed);
        self.awaits_flush.store(false, Ordering::Relaxed);
        self.sync()
    }

    /// Allocates the space of the file, if the file system supports it.
    ///
    /// Never shrinks the file. Returns whether the space is allocated.
    pub fn reserve(&self, size: u64) -> Result<bool, DiskError> {
        // A file that was cut must not grow again: the cut could not be found any more.
        let stat = self.whole_status()?;
        if size <= stat.st_size.cast_unsigned() {
            self.expect_size(size);
            return Ok(allocated(&stat) >= size);
        }
        let is_allocated = match self.kernel.fallocate(self.file.as_fd(), size) {
            Ok(()) => true,
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                self.reserve_sparsely(size)?;
                false
            }
            Err(errno) => return Err(self.error(errno, size)),
        };
        // Not every file system makes the file longer by that.
        self.expect_size(self.size()?.min(size));
        Ok(is_allocated)
    }

    fn reserve_sparsely(&self, size: u64) -> Result<(), DiskError> {
        match self.kernel.ftruncate(self.file.as_fd(), size) {
            // FAT refuses to grow a file that way; then it grows as it is written.
            Ok(()) | Err(Errno::PERM | Errno::OPNOTSUPP | Errno::INVAL) => Ok(()),
            Err(errno) => Err(self.error(errno, size)),
        }
    }

    /// Makes what was written durable. After an error nothing since the last success may be trusted:
    /// the kernel reports a failed flush once and forgets it.
    pub fn sync(&self) -> Result<(), DiskError> {
        let synced = self.kernel.fdatasync(self.file.as_fd());
        synced.map_err(|errno| DiskError::Unsynced { path: self.path.clone(), errno })
    }

    pub(crate) fn set_size(&self, size: u64) -> Result<(), DiskError> {
        if self.size()? != size {
            let truncated = self.kernel.ftruncate(self.file.as_fd(), size);
            truncated.map_err(|errno| self.error(errno, size))?;
        }
        // It may be less than what was reserved.
        self.history.set_size(size);
        Ok(())
    }

    pub(crate) fn identity(&self) -> Result<FileIdentity, DiskError> {
        self.status().map(|status| status.identity)
    }

    pub(crate) fn status(&self) -> Result<FileStatus, DiskError> {
        let stat = fs::fstat(&self.file).map_err(|errno| self.error(errno, 0))?;
        Ok(status_of(&stat))
    }

    /// Whether the pieces still lie apart. A file that is as long as all pieces together, although
    /// they reach further, was joined before a crash.
    pub(crate) fn is_scattered(&self, pieces: &[Piece]) -> Result<bool, DiskError> {
        let total: u64 = pieces.iter().map(|piece| piece.length).sum();
        let end = pieces.last().map_or(0, |last| last.from.saturating_add(last.length));
        Ok(end > total && self.size()? != total)
    }

    pub(crate) fn copy_pieces(&self, from: &PartFile, pieces: &[Piece]) -> Result<(), DiskError> {
        let mut buffer = vec![0; COPIED_AT_ONCE];
        let mut end = 0;
        for piece in pieces {
            let mut done = 0;
            while done < piece.length {
                let want = (piece.length - done).min(COPIED_AT_ONCE as u64) as usize;
                let got = from.read_at(piece.from + done, &mut buffer[..want])?;
                if got == 0 {
                    return Err(DiskError::Vanished { path: from.path.clone() });
                }
                self.target().write_all(end, &buffer[..got])?;
                done += got as u64;
                end += got as u64;
            }
        }
        Ok(())
    }

    /// Nothing, at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        loop {
            match self.kernel.pread(self.file.as_fd(), buffer, offset) {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.error(errno, 0)),
            }
        }
    }

    fn size(&self) -> Result<u64, DiskError> {
        let stat = fs::fstat(&self.file).map_err(|errno| self.error(errno, 0))?;
        Ok(stat.st_size.cast_unsigned())
    }

    fn target(&self) -> Target<'_> {
        Target { file: self.file.as_fd(), path: &self.path, kernel: &*self.kernel }
    }

    fn error(&self, errno: Errno, needed: u64) -> DiskError {
        DiskError::new(errno, &self.path, needed, &self.file)
    }
}

impl Drop for PartFile {
    /// Nothing is written by this handle any more, so another program has changed a file that has another
    /// stamp when it is opened next.
    fn drop(&mut self) {
        self.history.note_closed(fs::fstat(&self.file).ok().map(|stat| Stamp::of(&stat)));
    }
}

/// What is known of an unfinished file since its directory was opened; all its handles share it.
#[derive(Debug, Default)]
pub(crate) struct PartHistory {
    least_size: AtomicU64,
    closed: Mutex<Option<Stamp>>,
}

impl PartHistory {
    pub(crate) fn new(size: u64) -> Self {
        Self { least_size: AtomicU64::new(size), closed: Mutex::default() }
    }

    /// A file that is shorter was cut.
    pub(crate) fn least_size(&self) -> u64 {
        self.least_size.load(Ordering::Relaxed)
    }

    fn expect_size(&self, size: u64) {
        self.least_size.fetch_max(size, Ordering::Relaxed);
    }

    pub(crate) fn set_size(&self, size: u64) {
        self.least_size.store(size, Ordering::Relaxed);
    }

    fn note_closed(&self, stamp: Option<Stamp>) {
        *lock(&self.closed) = stamp;
    }

    /// Whether a file of that stamp is as this one was when a handle of it was closed last.
    pub(crate) fn was_closed_as(&self, stamp: Stamp) -> bool {
        *lock(&self.closed) == Some(stamp)
    }
}

/// How bytes that were to go past the page cache were written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Written {
    /// So many of them did.
    pub(crate) past: usize,
    /// This file system has no other way than through it.
    pub(crate) is_refused: bool,
}

/// What a file takes up on its disk.
pub(crate) fn allocated(stat: &fs::Stat) -> u64 {
    stat.st_blocks.cast_unsigned().saturating_mul(BLOCK)
}

/// A file to write to, and its name for messages.
pub(crate) struct Target<'a> {
    pub(crate) file: BorrowedFd<'a>,
    pub(crate) path: &'a Path,
    pub(crate) kernel: &'a dyn Kernel,
}

impl Target<'_> {
    pub(crate) fn write_all(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let fail = |errno, rest: &[u8]| {
            Err(DiskError::new(errno, self.path, rest.len() as u64, self.file))
        };
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > i64::MAX as u64) {
            return fail(Errno::FBIG, bytes);
        }
        let mut rest = bytes;
        let mut interruptions = 0;
        while !rest.is_empty() {
            let place = offset + (bytes.len() - rest.len()) as u64;
            match self.kernel.pwrite(self.file, rest, place) {
                Ok(0) => return fail(Errno::IO, rest),
                Ok(count) => {
                    rest = &rest[count..];
                    interruptions = 0;
                }
                Err(Errno::INTR | Errno::AGAIN) if interruptions < MOST_INTERRUPTIONS => {
                    interruptions += 1;
                    std::thread::yield_now();
                }
                Err(errno) => return fail(errno, rest),
            }
        }
        Ok(())
    }
}

/// The end of a file waits for at most about this much, and a disk that turns has enough to sort.
const FLUSHED_AT_ONCE: u64 = 32 << 20;

/// The kernel's own, for no page may be written both past its cache and through it. Few disks have
/// larger blocks, and those refuse.
fn page() -> usize {
    rustix::param::page_size()
}

/// Less is not worth the way through another thread, and says little of the disk.
const LEAST_DIRECT: usize = 64 << 10;

/// The unit of `st_blocks`, whatever the file system's own blocks are (stat(2)).
const BLOCK: u64 = 512;

const COPIED_AT_ONCE: usize = 256 << 10;
/// In a row, without a byte written: more than any burst of signals.
const MOST_INTERRUPTIONS: u32 = 1_000;

#[cfg(test)]
mod tests {
    use bergamot_types::SafeName;
    use rustix::io::Result;
    use tempfile::TempDir;

    use super::*;
    use crate::Root;
    use crate::files::kernel::Linux;

    /// Answers each call from a script, then performs it.
    #[derive(Debug, Default)]
    struct Faulty {
        writes: Mutex<Vec<Result<usize>>>, // last first; a number is how many bytes it takes
        fallocate: Option<Errno>,
        ftruncate: Option<Errno>,
        fdatasync: Option<Errno>,
    }

    impl Kernel for Faulty {
        fn pwrite(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
            match self.writes.lock().unwrap().pop() {
                Some(Ok(count)) => Linux.pwrite(file, &bytes[..count.min(bytes.len())], offset),
                Some(Err(errno)) => Err(errno),
                None => Linux.pwrite(file, bytes, offset),
            }
        }

        fn fallocate(&self, file: BorrowedFd<'_>, size: u64) -> Result<()> {
            self.fallocate.map_or_else(|| Linux.fallocate(file, size), Err)
        }

        fn ftruncate(&self, file: BorrowedFd<'_>, size: u64) -> Result<()> {
            self.ftruncate.map_or_else(|| Linux.ftruncate(file, size), Err)
        }

        fn fdatasync(&self, file: BorrowedFd<'_>) -> Result<()> {
            self.fdatasync.map_or_else(|| Linux.fdatasync(file), Err)
        }
    }

    fn part(kernel: Faulty) -> (TempDir, PartFile) {
        let temp = TempDir::new().unwrap();
        let root = Root::with_kernel(temp.path(), Arc::new(kernel)).unwrap();
        let part = root.job_dir(&SafeName::from_raw("job")).unwrap().part(7).unwrap();
        (temp, part)
    }

    fn content(temp: &TempDir) -> Vec<u8> {
        std::fs::read(temp.path().join("job/0007.part")).unwrap()
    }

    #[test]
    fn short_and_interrupted_writes_are_taken_up_where_they_ended() {
        let writes = vec![Ok(3), Err(Errno::AGAIN), Ok(1), Err(Errno::INTR), Ok(2)];
        let (temp, part) = part(Faulty { writes: Mutex::new(writes), ..Faulty::default() });
        part.write_at(2, b"abcdefghij").unwrap();
        assert_eq!(content(&temp), b"\0\0abcdefghij");
    }

    #[test]
    fn each_fault_of_the_disk_has_its_code() {
        for (errno, code) in [
            (Errno::NOSPC, "disk.full"),
            (Errno::DQUOT, "disk.full"),
            (Errno::FBIG, "disk.file_too_large"),
            (Errno::ROFS, "disk.readonly"),
            (Errno::ACCESS, "disk.readonly"),
            (Errno::IO, "disk.error"),
            (Errno::STALE, "disk.vanished"),
        ] {
            let writes = Mutex::new(vec![Err(errno)]);
            let (_temp, part) = part(Faulty { writes, ..Faulty::default() });
            let error = part.write_at(0, b"abc").unwrap_err();
            assert_eq!(error.code(), code);
            assert!(error.to_string().contains("job/0007.part"), "{error}");
            part.write_at(0, b"abc").expect("the fault has passed");
        }
    }

    #[test]
    fn a_full_disk_names_what_is_needed_and_free() {
        let writes = Mutex::new(vec![Err(Errno::NOSPC), Ok(4)]);
        let (_temp, part) = part(Faulty { writes, ..Faulty::default() });
        let DiskError::Full { needed, free, .. } = part.write_at(0, b"0123456789").unwrap_err()
        else {
            panic!("not full");
        };
        assert_eq!(needed.0, 6);
        assert!(free.0 > 0);
    }

    #[test]
    fn space_is_reserved_as_well_as_the_file_system_can() {
        for (fallocate, ftruncate, size) in [
            (None, None, 5_000),
            (Some(Errno::OPNOTSUPP), None, 5_000),
            (Some(Errno::NOSYS), None, 5_000),
            (Some(Errno::INVAL), Some(Errno::PERM), 0),
        ] {
            let (temp, part) = part(Faulty { fallocate, ftruncate, ..Faulty::default() });
            part.reserve(5_000).unwrap();
            assert_eq!(content(&temp).len(), size);
            part.write_at(0, b"abc").unwrap();
            part.reserve(2).unwrap();
            assert_eq!(&content(&temp)[..3], b"abc", "never shrunk");
        }
        for (errno, code) in [(Errno::FBIG, "disk.file_too_large"), (Errno::NOSPC, "disk.full")] {
            let (_temp, part) = part(Faulty { fallocate: Some(errno), ..Faulty::default() });
            assert_eq!(part.reserve(5 << 30).unwrap_err().code(), code);
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_what_was_reserved_was_cut() {
        let (temp, part) = part(Faulty::default());
        let cut = |size| {
            let path = temp.path().join("job/0007.part");
            std::fs::File::options().write(true).open(path).unwrap().set_len(size).unwrap();
        };
        part.reserve(5_000).unwrap();
        part.write_at(0, b"abc").unwrap();
        cut(4_999);
        assert_eq!(part.write_at(3, b"def").unwrap_err().code(), "file.changed");
        assert_eq!(
            part.reserve(6_000).unwrap_err().code(),
            "file.changed",
            "it would hide the cut"
        );
        cut(5_000);
        part.set_size(10).unwrap();
        part.check_whole().expect("it has the size that it was given");
    }

    #[test]
    fn a_reservation_that_leaves_the_size_as_it_is_demands_no_more() {
        let (fallocate, ftruncate) = (Some(Errno::INVAL), Some(Errno::PERM));
        let (_temp, part) = part(Faulty { fallocate, ftruncate, ..Faulty::default() });
        part.reserve(5_000).unwrap();
        part.write_at(0, b"abc").unwrap();
        part.write_at(3, b"def").unwrap();
    }

    #[test]
    fn a_place_beyond_all_files_is_refused() {
        let (_temp, part) = part(Faulty::default());
        for offset in [u64::MAX, i64::MAX as u64] {
            assert_eq!(part.write_at(offset, b"a").unwrap_err().code(), "disk.file_too_large");
        }
    }

    #[test]
    fn a_failed_flush_is_an_error() {
        let (_temp, part) = part(Faulty { fdatasync: Some(Errno::IO), ..Faulty::default() });
        assert_eq!(part.sync().unwrap_err().code(), "disk.unsynced");
    }
}
