//! [`Batch`]: the headers that one fetch of a group returned.

use crate::cache::Extent;
use crate::headers::Headers;

#[derive(Clone, Debug)]
pub struct Batch {
    /// How far the headers of the group reach with this.
    pub extent: Extent,
    /// What was kept of the group counts no more.
    pub anew: bool,
    pub newer: Headers,
    pub older: Headers,
}
