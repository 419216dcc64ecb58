//! [`Identity`]: what identifies a file with unchanged content.

use rustix::fs::Stat;

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Identity {
    /// Seconds and nanoseconds; first, so that older files sort before newer ones.
    pub modified: (i64, i64),
    pub device: u64,
    pub inode: u64,
    pub size: u64,
}

impl Identity {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size.cast_unsigned(),
        }
    }

    /// The same file and as long as it was. Its time may differ: many a program that copies sets it
    /// only when all is written.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode, self.size) == (other.device, other.inode, other.size)
    }
}
