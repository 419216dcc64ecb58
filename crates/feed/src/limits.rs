//! [`Limits`]: bounds on what is read of a feed.

/// A feed within these is small change; one beyond is no feed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Bytes of the document, decompressed.
    pub size: u64,
    pub items: usize,
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { size: 16 << 20, items: 10_000, depth: 32 }
    }
}
