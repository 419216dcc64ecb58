//! [`Kernel`]: the few system calls whose failures a test cannot provoke, as a trait.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::os::fd::BorrowedFd;

use rustix::fs::{self, FallocateFlags, OFlags, RenameFlags};
use rustix::io::{self, Result};

/// Each method is the call itself; tests override one to make a full, old or odd file system.
pub(crate) trait Kernel: Debug + Send + Sync {
    fn pwrite(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
        io::pwrite(file, bytes, offset)
    }

    fn pread(&self, file: BorrowedFd<'_>, bytes: &mut [u8], offset: u64) -> Result<usize> {
        io::pread(file, bytes, offset)
    }

    /// How to open a file in order to write to it past the page cache.
    fn direct(&self) -> OFlags {
        OFlags::DIRECT
    }

    fn pwrite_directly(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
        io::pwrite(file, bytes, offset)
    }

    fn fallocate(&self, file: BorrowedFd<'_>, size: u64) -> Result<()> {
        fs::fallocate(file, FallocateFlags::empty(), 0, size)
    }

    fn ftruncate(&self, file: BorrowedFd<'_>, size: u64) -> Result<()> {
        fs::ftruncate(file, size)
    }

    fn fdatasync(&self, file: BorrowedFd<'_>) -> Result<()> {
        fs::fdatasync(file)
    }

    fn rename_exclusive(
        &self,
        from: (BorrowedFd<'_>, &OsStr),
        to: (BorrowedFd<'_>, &OsStr),
    ) -> Result<()> {
        fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE)
    }

    fn rename(&self, from: (BorrowedFd<'_>, &OsStr), to: (BorrowedFd<'_>, &OsStr)) -> Result<()> {
        fs::renameat(from.0, from.1, to.0, to.1)
    }

    /// Whether the file system may give a file another inode number once it has forgotten the old one:
    /// FUSE without `use_ino`, Windows shares without server inodes, FAT.
    fn renumbers_inodes(&self, on: BorrowedFd<'_>) -> bool {
        fs::fstatfs(on).is_ok_and(|disk| RENUMBERING.contains(&(disk.f_type as u32)))
    }

    fn unlink(&self, folder: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        fs::unlinkat(folder, name, fs::AtFlags::empty())
    }
}

/// FUSE, CIFS, SMB2, SMB, FAT and exFAT (statfs(2), linux/magic.h).
const RENUMBERING: [u32; 6] = [0x6573_5546, 0xFF53_4D42, 0xFE53_4D42, 0x517B, 0x4D44, 0x2011_BAB0];

#[derive(Debug)]
pub(crate) struct Linux;

impl Kernel for Linux {}
