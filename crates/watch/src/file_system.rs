//! [`is_local`]: whether a directory is on a local file system.

use std::path::Path;

use rustix::fs::statfs;

/// Whether every write there goes through this kernel, so that inotify reports all of them. Shares and what
/// other programs provide are not of that kind, nor is what we do not know.
pub(crate) fn is_local(path: &Path) -> bool {
    statfs(path).is_ok_and(|stat| LOCAL.contains(&(stat.f_type as u32)))
}

/// The numbers of `linux/magic.h`.
const LOCAL: [u32; 13] = [
    0x9123_683e, // btrfs
    0xca45_1a4e, // bcachefs
    0x2011_bab0, // exFAT
    0x0000_ef53, // ext2 to ext4
    0xf2f5_2010, // F2FS
    0x3153_464a, // JFS
    0x0000_4d44, // FAT
    0x7366_746e, // NTFS, that of the kernel
    0x794c_7630, // overlay
    0x8584_58f6, // ramfs
    0x0102_1994, // tmpfs
    0x5846_5342, // XFS
    0x2fc1_2fc1, // ZFS
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_local() {
        assert!(!is_local(Path::new("/proc/self")));
        assert!(!is_local(Path::new("/no/such/folder")));
    }
}
