//! [`Warning`]: what was corrected while reading.

use std::fmt;

/// One kind of problem that did not stop the reading.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Warning {
    pub problem: Problem,
    /// Where it was first seen.
    pub line: u64,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Problem {
    /// A group that is no group name, or one too many; left out.
    BadGroup,
    /// A segment that cannot be asked for; it counts as unavailable.
    BadMessageId,
    /// A segment without a usable number; numbered after the one before, or after all others.
    BadNumber,
    /// An id given more than once under one number, or more alternates than are kept; dropped.
    DuplicateSegment,
    /// Bytes that are not text in the file's encoding; replaced.
    InvalidBytes,
    /// Meta data too many or too long; left out.
    MetaDropped,
    /// The declared encoding is not known; read as UTF-8.
    UnknownEncoding,
    /// An entity that is not known; kept as written.
    UnknownEntity,
}

impl Problem {
    pub fn code(self) -> &'static str {
        match self {
            Self::BadGroup => "nzb.bad_group",
            Self::BadMessageId => "nzb.bad_message_id",
            Self::BadNumber => "nzb.bad_number",
            Self::DuplicateSegment => "nzb.duplicate_segment",
            Self::InvalidBytes => "nzb.invalid_bytes",
            Self::MetaDropped => "nzb.meta_dropped",
            Self::UnknownEncoding => "nzb.unknown_encoding",
            Self::UnknownEntity => "nzb.unknown_entity",
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} times, first near line {})", self.problem.code(), self.count, self.line)
    }
}

/// One entry per kind, however often it happens.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Warnings {
    pub(crate) fn add(&mut self, problem: Problem, line: u64, count: u64) {
        match self.0.iter_mut().find(|warning| warning.problem == problem) {
            _ if count == 0 => {}
            Some(warning) => warning.count += count,
            None => self.0.push(Warning { problem, line, count }),
        }
    }

    pub(crate) fn into_list(self) -> Vec<Warning> {
        self.0
    }
}
