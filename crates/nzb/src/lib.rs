//! Reads and writes NZB files, in one streaming pass and within bounds: [`read`], [`Nzb`]. Pure.
//!
//! An NZB is untrusted: it may be compressed under any name, in any encoding, with invalid entities, or a
//! decompression bomb. [`read`] parses it in one pass with a fixed bound on everything it keeps, and accepts
//! common mistakes: only a file that is truncated, empty, hostile or no NZB is refused. Corrections are
//! listed in [`Nzb::warnings`].
//!
//! [`write()`] writes an NZB for posts that were found without one; [`rewrite`] writes some files of an NZB
//! as a new one. [`Zip`] finds NZBs in archives of them, and [`Zip::read`] unpacks one.
//!
//! Names stay as they were written; the crate that creates files makes them safe.

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
