//! [`DiskTrouble`]: the class of a disk error, which decides what is done about it. Pure.

/// Why the disk did not do what it was told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DiskTrouble {
    /// No room. It lasts until the free space has grown.
    Full,
    /// May pass: read-only, an error of the device.
    Transient,
    /// Will not pass: the directory is gone, the file is too large for the file system.
    Permanent,
    /// What the file held is lost, though its writes had succeeded. An fsync that is repeated would
    /// succeed and prove nothing: the kernel reports lost pages once.
    Unsynced,
}
