//! [`Limits`]: bounds on what is read of an NZB.

/// Bounds on one NZB. The values are generous for any real post and small for a bomb.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Bytes after decompression.
    pub size: u64,
    pub files: usize,
    /// Over all files, repeated ones counted once.
    pub segments: usize,
    /// Further ids of segments over all files; those beyond are dropped.
    pub alternates: usize,
    /// Bytes of one attribute as written.
    pub attribute: usize,
    /// Elements within each other.
    pub depth: usize,
    /// The sum of the claimed sizes of all segments.
    pub declared: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            size: 128 << 20,
            files: 100_000,
            segments: 1_000_000,
            alternates: 125_000,
            attribute: 256 << 10,
            depth: 32,
            declared: 16 << 40,
        }
    }
}
