//! Read NZB files, streaming and bounded.
//!
//! An NZB comes from a stranger and may be anything: gzip under any name, any encoding, broken
//! entities, a bomb. [`read`] takes it in one pass with a fixed bound on everything it keeps, and
//! is generous with what posters get wrong: only a file that is cut, empty, hostile or no NZB at
//! all is refused. What was put right on the way is told in [`Nzb::warnings`].
//!
//! [`write()`] is the way back, for posts that were found without an NZB; [`rewrite`] makes some files of
//! an NZB one of their own.
//! [`Zip`] finds NZBs in archives of them, and [`Zip::read`] unpacks one.
//!
//! Names stay as they were written; making them safe is the business of whoever creates files.

#![forbid(unsafe_code)]

mod error;
mod file;
mod label;
mod limits;
mod name;
mod nzb;
mod par2;
mod reader;
mod segments;
mod source;
mod subject;
mod warning;
mod writer;
mod zip;

pub use bergamot_xml::Place;
pub use error::NzbError;
pub use file::NzbFile;
pub use label::Label;
pub use limits::Limits;
pub use name::{better_name, is_obfuscated};
pub use nzb::{Meta, Nzb};
pub use par2::Par2;
pub use reader::read;
pub use segments::{Entry, MOST_ALTERNATES, Segment, SegmentParts, Segments};
pub use subject::{Counter, counters, file_name};
pub use warning::{Problem, Warning};
pub use writer::{WrittenFile, WrittenSegment, rewrite, write};
pub use zip::{Member, Zip, ZipError};
