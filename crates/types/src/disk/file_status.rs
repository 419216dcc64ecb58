//! [`FileIdentity`], [`FileStatus`]: what identifies a file and its content to the kernel.

use crate::amount::ByteCount;

/// Which file it is. It is the same as long as the file is, but remounts and network shares may give it
/// other numbers.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
}

impl FileIdentity {
    /// That of no file.
    pub const NONE: Self = Self { device: 0, inode: 0 };
}

/// Which file it is, and how large.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FileStatus {
    pub identity: FileIdentity,
    pub size: ByteCount,
}
