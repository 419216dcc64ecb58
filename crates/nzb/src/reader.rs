//! The parser of an NZB: one pass over its elements. Pure.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::sync::Arc;

use bergamot_types::{GroupName, UnixTime};
use bergamot_xml::{Broken, Capture, Failure, Place, Step, Text, Walk, attributes, cut, resolve};
use quick_xml::events::BytesStart;

use crate::error::NzbError;
use crate::file::NzbFile;
use crate::limits::Limits;
use crate::nzb::{Meta, Nzb};
use crate::segments::{Entry, Segments};
use crate::source;
use crate::warning::{Problem, Warnings};

/// Reads an NZB, plain or gzipped, to its end.
pub fn read(input: impl BufRead, limits: &Limits) -> Result<Nzb, NzbError> {
    let source = source::open(input)?;
    let token_limit = limits.attribute as u64 * TOKEN_FACTOR;
    let text = Text::new(source, limits.size, token_limit).map_err(broken_source)?;
    let mut reading = Reading::new(Walk::new(text, limits.depth), limits);
    let mut buffer = Vec::new();
    while let Some(step) = reading.walk.next(&mut buffer).map_err(|it| reading.broken(it))? {
        match step {
            Step::Root(tag) => reading.on_root(&tag)?,
            Step::Start(tag) => reading.on_start(&tag)?,
            Step::End => reading.on_end()?,
            Step::Text(text) => reading.on_text(&text),
        }
    }
    reading.finish()
}

/// What is known between two events.
struct Reading<'a> {
    walk: Walk<'a>,
    limits: &'a Limits,
    open: Option<OpenFile>,
    capture: Option<Capture<Wanted>>,
    meta: Meta,
    files: Vec<NzbFile>,
    segments: usize,   // of the files closed
    alternates: usize, // the same
    groups: usize,     // kept, those shared counted once
    warnings: Warnings,
}

struct OpenFile {
    depth: usize,
    groups: Vec<GroupName>,
    file: NzbFile,
}

enum Wanted {
    Group,
    Meta { kind: String },
    Segment(Entry),
}

impl<'a> Reading<'a> {
    fn new(walk: Walk<'a>, limits: &'a Limits) -> Self {
        Self {
            walk,
            limits,
            open: None,
            capture: None,
            meta: Meta::default(),
            files: Vec::new(),
            segments: 0,
            alternates: 0,
            groups: 0,
            warnings: Warnings::default(),
        }
    }

    fn on_start(&mut self, tag: &BytesStart<'_>) -> Result<(), NzbError> {
        self.check_attributes(tag)?;
        match (self.walk.element(), self.open.is_some()) {
            ("file", false) => self.open_file(tag)?,
            ("group", true) => self.capture(Wanted::Group),
            ("meta", false) => {
                let kind = self.attribute(tag, "type").to_ascii_lowercase();
                self.capture(Wanted::Meta { kind: cut(&kind, LONGEST_KIND).to_owned() });
            }
            ("segment", true) => {
                let entry = self.segment_entry(tag);
                self.capture(Wanted::Segment(entry));
            }
            _ => {}
        }
        Ok(())
    }

    fn on_root(&mut self, tag: &BytesStart<'_>) -> Result<(), NzbError> {
        self.check_attributes(tag)?;
        match self.walk.element() {
            "nzb" => Ok(()),
            "error" => Err(NzbError::Indexer {
                code: cut(&self.attribute(tag, "code"), LONGEST_KEPT_ERROR).to_owned(),
                description: cut(&self.attribute(tag, "description"), LONGEST_KEPT_ERROR)
                    .to_owned(),
            }),
            other => Err(NzbError::NotNzb { line: self.walk.line(), found: format!("<{other}>") }),
        }
    }

    fn on_end(&mut self) -> Result<(), NzbError> {
        if let Some(capture) = self.capture.take_if(|capture| capture.has_ended(&self.walk)) {
            return self.on_captured(capture);
        }
        if self.open.as_ref().is_some_and(|open| open.depth > self.walk.depth()) {
            self.settle_open();
            self.number_from_one();
            return self.close_file();
        }
        Ok(())
    }

    fn on_text(&mut self, text: &str) {
        if let Some(capture) = &mut self.capture {
            capture.push(text);
        }
    }

    fn broken(&self, broken: Broken) -> NzbError {
        let (at, line, limit) = (self.place(), self.walk.line(), self.limits.attribute);
        match broken {
            Broken::Empty => NzbError::Empty,
            Broken::Entities => NzbError::DtdEntities { line },
            Broken::Limit(Failure::Size) => NzbError::TooLarge { limit: self.limits.size },
            Broken::Limit(Failure::Tag) => {
                NzbError::AttributeTooLong { at, limit, length: limit * TOKEN_FACTOR as usize }
            }
            Broken::Limit(Failure::Words) => {
                NzbError::TextTooLong { at, limit: limit as u64 * TOKEN_FACTOR }
            }
            Broken::Malformed(error) => NzbError::Malformed { at, source: Box::new(error) },
            Broken::Source(error) => broken_source(error),
            Broken::Text => NzbError::NotNzb { line, found: "text".to_owned() },
            Broken::TooDeep => NzbError::TooDeep { at, limit: self.limits.depth },
            Broken::Truncated => NzbError::Truncated { at },
        }
    }

    fn check_attributes(&self, tag: &BytesStart<'_>) -> Result<(), NzbError> {
        let limit = self.limits.attribute;
        if tag.len() <= limit {
            return Ok(());
        }
        let longest = attributes(tag).map(|(_, value)| value.len()).max().unwrap_or(0);
        match longest > limit {
            true => Err(NzbError::AttributeTooLong { at: self.place(), limit, length: longest }),
            false => Ok(()),
        }
    }

    fn attribute(&mut self, tag: &BytesStart<'_>, key: &str) -> String {
        let found = attributes(tag).find(|(name, _)| name.eq_ignore_ascii_case(key));
        let value = found.map_or(Cow::Borrowed(""), |(_, value)| value);
        self.resolved(&value)
    }

    fn resolved(&mut self, raw: &str) -> String {
        let (text, unknown) = resolve(raw);
        self.warnings.add(Problem::UnknownEntity, self.walk.line(), unknown);
        text.into_owned()
    }

    fn capture(&mut self, what: Wanted) {
        self.capture.get_or_insert_with(|| Capture::new(&self.walk, what));
    }

    fn on_captured(&mut self, capture: Capture<Wanted>) -> Result<(), NzbError> {
        let text = self.resolved(&capture.raw);
        match capture.what {
            Wanted::Group => self.on_group(&text),
            Wanted::Meta { kind } => {
                let fits = !capture.is_overlong;
                let value = text.trim();
                let kept = value.is_empty() || fits && self.meta.add(&kind, value.to_owned());
                self.warnings.add(Problem::MetaDropped, self.walk.line(), u64::from(!kept));
            }
            Wanted::Segment(entry) => return self.on_segment(entry, &text),
        }
        Ok(())
    }

    fn on_group(&mut self, text: &str) {
        let Some(open) = &mut self.open else { return };
        match GroupName::parse(text) {
            Ok(group) if open.groups.contains(&group) => {}
            Ok(group) if open.groups.len() < MOST_GROUPS => open.groups.push(group),
            _ => self.warnings.add(Problem::BadGroup, self.walk.line(), 1),
        }
    }

    fn segment_entry(&mut self, tag: &BytesStart<'_>) -> Entry {
        let mut entry = Entry { number: NO_NUMBER, bytes: 0 };
        for (key, value) in attributes(tag) {
            match key {
                "bytes" => entry.bytes = value.trim().parse().unwrap_or(0),
                "number" => entry.number = value.trim().parse().unwrap_or(NO_NUMBER),
                _ => {}
            }
        }
        entry
    }

    fn on_segment(&mut self, mut entry: Entry, id: &str) -> Result<(), NzbError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let segments = &mut open.file.segments;
        if entry.number as usize > self.limits.segments {
            self.warnings.add(Problem::BadNumber, self.walk.line(), 1);
            entry.number = segments.highest().saturating_add(1);
        }
        if segments.repeats_last(entry, id) {
            self.warnings.add(Problem::DuplicateSegment, self.walk.line(), 1);
            return Ok(());
        }
        if segments.push(entry, id).is_err() {
            self.warnings.add(Problem::BadMessageId, self.walk.line(), 1);
        }
        // Repeated ones must not count, but finding them takes a sort: so only now and then.
        if self.segments + segments.count() > self.limits.segments + self.limits.segments / 8 {
            self.settle_open();
            return self.check_segments();
        }
        Ok(())
    }

    fn settle_open(&mut self) {
        let Some(open) = &mut self.open else { return };
        let segments = &mut open.file.segments;
        if segments.are_all_zero() {
            self.warnings.add(Problem::BadNumber, self.walk.line(), segments.number_zeros());
        }
        let dropped = segments.settle(self.limits.alternates.saturating_sub(self.alternates));
        self.warnings.add(Problem::DuplicateSegment, self.walk.line(), dropped);
    }

    /// Articles number themselves from 1, and some NZBs list them from 0.
    fn number_from_one(&mut self) {
        let Some(open) = &mut self.open else { return };
        let announced = open.file.announced();
        let segments = &mut open.file.segments;
        if segments.begins_at_zero(announced) {
            segments.shift_by_one();
            return;
        }
        self.warnings.add(Problem::BadNumber, self.walk.line(), segments.number_zeros());
        self.settle_open();
    }

    fn check_segments(&self) -> Result<(), NzbError> {
        let open = self.open.as_ref().map_or(0, |open| open.file.segments.count());
        match self.segments + open > self.limits.segments {
            true => {
                let (at, limit) = (self.place(), self.limits.segments);
                Err(NzbError::TooManySegments { at, limit })
            }
            false => Ok(()),
        }
    }

    fn open_file(&mut self, tag: &BytesStart<'_>) -> Result<(), NzbError> {
        if self.files.len() == self.limits.files {
            let (at, limit) = (self.place(), self.limits.files);
            return Err(NzbError::TooManyFiles { at, limit });
        }
        let file = NzbFile {
            subject: cut(&self.attribute(tag, "subject"), LONGEST_SUBJECT).into(),
            poster: cut(&self.attribute(tag, "poster"), LONGEST_POSTER).into(),
            date: date(&self.attribute(tag, "date")),
            groups: Arc::default(),
            segments: Segments::new(),
        };
        self.open = Some(OpenFile { depth: self.walk.depth(), groups: Vec::new(), file });
        Ok(())
    }

    fn close_file(&mut self) -> Result<(), NzbError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut file = open.file;
        file.groups = self.shared_groups(open.groups);
        file.segments.shrink_to_fit();
        self.segments += file.segments.count();
        self.alternates += file.segments.alternate_count();
        self.files.push(file);
        self.check_segments()
    }

    /// Most NZBs name the same groups for all of their files.
    fn shared_groups(&mut self, groups: Vec<GroupName>) -> Arc<[GroupName]> {
        if let Some(last) = self.files.last().filter(|last| *last.groups == *groups) {
            return last.groups.clone();
        }
        if self.groups + groups.len() > MOST_GROUPS_OF_ALL {
            self.warnings.add(Problem::BadGroup, self.walk.line(), groups.len() as u64);
            return Arc::default();
        }
        self.groups += groups.len();
        groups.into()
    }

    fn finish(mut self) -> Result<Nzb, NzbError> {
        let text = self.walk.into_text();
        if text.failure() == Some(Failure::Size) {
            return Err(NzbError::TooLarge { limit: self.limits.size });
        }
        if self.files.is_empty() {
            return Err(NzbError::NoFiles);
        }
        self.warnings.add(Problem::InvalidBytes, 1, u64::from(text.has_invalid_bytes()));
        self.warnings.add(Problem::UnknownEncoding, 1, u64::from(text.has_unknown_encoding()));
        let warnings = self.warnings.into_list();
        let nzb = Nzb { meta: self.meta, files: self.files, warnings };
        let (declared, limit) = (nzb.bytes(), self.limits.declared);
        if declared > limit {
            return Err(NzbError::DeclaresTooMuch { limit, declared });
        }
        Ok(nzb)
    }

    fn place(&self) -> Place {
        self.walk.place()
    }
}

/// Seconds since 1970, if it can be the date of an article.
fn date(text: &str) -> Option<UnixTime> {
    text.trim().parse().ok().filter(|time| PLAUSIBLE.contains(time)).map(UnixTime)
}

fn broken_source(error: io::Error) -> NzbError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            NzbError::Truncated { at: Place { line: 1, element: String::new() } }
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => NzbError::CorruptGzip(error),
        _ => NzbError::Unreadable(error),
    }
}

/// Stands for a number that is missing or cannot be read: above every limit.
const NO_NUMBER: u32 = u32::MAX;
/// A tag may have several attributes at their limit before it is too long as a whole.
const TOKEN_FACTOR: u64 = 4;
const LONGEST_KIND: usize = 64;
const LONGEST_KEPT_ERROR: usize = 256;
/// A header line has at most 998 bytes (RFC 5536, section 2.2).
const LONGEST_SUBJECT: usize = 1024;
const LONGEST_POSTER: usize = 256;
/// Groups of one file; the number posters really use is below ten.
const MOST_GROUPS: usize = 64;
const MOST_GROUPS_OF_ALL: usize = 1 << 16;
/// From the first newsgroups to the year 2100.
const PLAUSIBLE: std::ops::Range<i64> = 315_532_800..4_102_444_800;
