//! [`NzbFile`]: one file of an NZB.

use std::sync::Arc;

use bergamot_types::{GroupName, UnixTime};

use crate::par2::Par2;
use crate::segments::Segments;
use crate::subject;

/// A file as its poster announced it; nothing here is safe to use as a path.
#[derive(Clone, Debug)]
pub struct NzbFile {
    pub subject: Box<str>,
    pub poster: Box<str>,
    pub date: Option<UnixTime>,
    /// Shared with the files before that name the same.
    pub groups: Arc<[GroupName]>,
    pub segments: Segments,
}

impl NzbFile {
    /// The name in the subject, raw.
    pub fn name(&self) -> Option<&str> {
        subject::file_name(&self.subject)
    }

    /// How many segments the subject claims, `(1/20)`: a hint, because subjects can be wrong.
    pub fn announced(&self) -> Option<u32> {
        subject::announced(&self.subject)
    }

    /// What the file is to a PAR2 set, by its name.
    pub fn par2(&self) -> Option<Par2> {
        self.name().and_then(Par2::of_name)
    }

    /// Encoded bytes, as far as the NZB states them.
    pub fn bytes(&self) -> u64 {
        self.segments.bytes()
    }
}
