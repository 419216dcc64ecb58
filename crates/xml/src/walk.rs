//! [`Walk`]: the elements of a document in order, with bounds on depth and size.

use std::borrow::Cow;
use std::{fmt, io};

use bergamot_types::Shown;
use quick_xml::events::{BytesStart, Event};

use crate::tag::cut;
use crate::text::{Failure, Text};

/// Iterates over the elements of a document, with the current path and line.
pub struct Walk<'a> {
    reader: quick_xml::Reader<Text<'a>>,
    element: String, // that began last, in lower case
    depth: usize,
    deepest: usize,
    has_begun: bool,
    has_content: bool,
}

impl fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").field("place", &self.place()).finish_non_exhaustive()
    }
}

/// What comes next.
#[derive(Debug)]
pub enum Step<'b> {
    /// All other elements are inside it.
    Root(BytesStart<'b>),
    Start(BytesStart<'b>),
    End,
    /// With references unresolved.
    Text(Cow<'b, str>),
}

/// Why there is nothing more to be had of a document.
#[derive(Debug)]
pub enum Broken {
    Empty,
    /// A few lines of entities can unfold to gigabytes. Document types without them do no harm: those of NZBs
    /// name an external file, which is not used.
    Entities,
    /// A bound of the text.
    Limit(Failure),
    Malformed(Malformed),
    Source(io::Error),
    /// Before or behind the root.
    Text,
    TooDeep,
    Truncated,
}

/// Why a text is no XML. The parser repeats names and bytes of the text in its errors; here they are
/// escaped, since errors reach logs and terminals.
#[derive(Debug)]
pub struct Malformed(quick_xml::Error);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(&self.0.to_string()).fmt(f)
    }
}

impl std::error::Error for Malformed {}

impl From<io::Error> for Malformed {
    fn from(error: io::Error) -> Self {
        Self(error.into())
    }
}

/// Where in the text something happened.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Place {
    pub line: u64,
    /// The element that began last.
    pub element: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element.as_str() {
            "" => write!(f, "line {}", self.line),
            element => write!(f, "line {}, near <{}>", self.line, Shown(element)),
        }
    }
}

impl<'a> Walk<'a> {
    pub fn new(text: Text<'a>, deepest: usize) -> Self {
        let mut reader = quick_xml::Reader::from_reader(text);
        reader.config_mut().allow_dangling_amp = true;
        reader.config_mut().expand_empty_elements = true;
        let element = String::new();
        Self { reader, element, depth: 0, deepest, has_begun: false, has_content: false }
    }

    /// None at the end of the root. The data read is in the buffer.
    pub fn next<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Option<Step<'b>>, Broken> {
        if self.has_begun && self.depth == 0 {
            return Ok(None);
        }
        buffer.clear();
        self.reader.get_mut().start_token();
        let event = match self.reader.read_event_into(buffer) {
            Ok(event) => event,
            Err(error) => return Err(self.broken(error)),
        };
        self.step(event).map(Some)
    }

    fn step<'b>(&mut self, event: Event<'b>) -> Result<Step<'b>, Broken> {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                Ok(Step::End)
            }
            Event::Text(text) => self.text(text.into_inner()),
            Event::CData(text) => self.text(text.replace('&', "&amp;").into()),
            Event::GeneralRef(name) => self.text(format!("&{};", &*name).into()),
            Event::DocType(text) if text.to_ascii_uppercase().contains("<!ENTITY") => {
                Err(Broken::Entities)
            }
            Event::Eof if self.has_begun || self.has_content => Err(Broken::Truncated),
            Event::Eof => Err(Broken::Empty),
            Event::Empty(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::DocType(_)
            | Event::PI(_) => {
                self.has_content = true;
                Ok(Step::Text("".into()))
            }
        }
    }

    fn begin<'b>(&mut self, tag: BytesStart<'b>) -> Result<Step<'b>, Broken> {
        self.element.clear();
        self.element.extend(tag.local_name().as_ref().chars().take(LONGEST_ELEMENT));
        self.element.make_ascii_lowercase();
        self.depth += 1;
        if self.depth > self.deepest {
            return Err(Broken::TooDeep);
        }
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(Step::Start(tag));
        }
        Ok(Step::Root(tag))
    }

    fn text<'b>(&self, text: Cow<'b, str>) -> Result<Step<'b>, Broken> {
        match self.depth == 0 && !text.trim_ascii().is_empty() {
            true => Err(Broken::Text),
            false => Ok(Step::Text(text)),
        }
    }

    fn broken(&self, error: quick_xml::Error) -> Broken {
        let text = self.reader.get_ref();
        match (text.failure(), error) {
            (Some(failure), _) => Broken::Limit(failure),
            (None, quick_xml::Error::Io(error)) => match error.kind() {
                io::ErrorKind::UnexpectedEof => Broken::Truncated,
                kind => Broken::Source(io::Error::new(kind, error)),
            },
            (None, quick_xml::Error::Syntax(_)) if text.is_at_end() => Broken::Truncated,
            (None, error) => Broken::Malformed(Malformed(error)),
        }
    }

    pub fn line(&self) -> u64 {
        self.reader.get_ref().line()
    }

    /// The element that began last, in lower case and without a prefix.
    pub fn element(&self) -> &str {
        &self.element
    }

    /// How many elements are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    pub fn place(&self) -> Place {
        Place { line: self.line(), element: self.element.clone() }
    }

    /// The text, read to its end: data after the root element counts against the limits, too.
    pub fn into_text(self) -> Text<'a> {
        let mut text = self.reader.into_inner();
        text.drain();
        text
    }
}

/// An element whose text is wanted.
#[derive(Debug)]
pub struct Capture<W> {
    pub what: W,
    /// With references unresolved.
    pub raw: String,
    /// There was more of it than is kept.
    pub is_overlong: bool,
    depth: usize,
}

impl<W> Capture<W> {
    pub fn new(walk: &Walk<'_>, what: W) -> Self {
        Self { what, raw: String::new(), is_overlong: false, depth: walk.depth }
    }

    pub fn push(&mut self, text: &str) {
        let kept = cut(text, LONGEST_CAPTURE - self.raw.len());
        self.is_overlong |= kept.len() < text.len();
        self.raw.push_str(kept);
    }

    pub fn has_ended(&self, walk: &Walk<'_>) -> bool {
        self.depth > walk.depth
    }
}

const LONGEST_ELEMENT: usize = 64;
/// No title, message-id, group or password needs more.
const LONGEST_CAPTURE: usize = 4096;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn walk(text: &str) -> Walk<'_> {
        let source = Box::new(Cursor::new(text.as_bytes()));
        Walk::new(Text::new(source, 1 << 20, 1 << 10).unwrap(), 3)
    }

    /// The steps in short, and how it ended.
    fn steps(text: &str) -> (String, Option<Broken>) {
        let (mut walk, mut buffer, mut told) = (walk(text), Vec::new(), String::new());
        loop {
            match walk.next(&mut buffer) {
                Ok(Some(Step::Root(_))) => told += &format!("root {} ", walk.element()),
                Ok(Some(Step::Start(_))) => told += &format!("{}{} ", walk.element(), walk.depth()),
                Ok(Some(Step::End)) => told += "end ",
                Ok(Some(Step::Text(text))) => told += text.trim(),
                Ok(None) => return (told, None),
                Err(broken) => return (told, Some(broken)),
            }
        }
    }

    #[test]
    fn a_document_is_walked_through_in_order() {
        let (told, broken) = steps("<!DOCTYPE x><A>1<p:B>&lt;</p:B><![CDATA[&]]><c/></A> <d>");
        assert_eq!(told, "root a 1b2 &lt;end &amp;c2 end end ");
        assert!(broken.is_none(), "what lies behind it is not its business");
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(matches!(steps(" ").1, Some(Broken::Empty)));
        assert!(matches!(steps("<a><b>").1, Some(Broken::Truncated)));
        assert!(matches!(steps("<a><b").1, Some(Broken::Truncated)));
        assert!(matches!(steps("words").1, Some(Broken::Text)));
        assert!(matches!(steps("<a><b><c><d>").1, Some(Broken::TooDeep)));
        assert!(matches!(steps("<!DOCTYPE a [<!entity b \"c\">]><a/>").1, Some(Broken::Entities)));
        let long = format!("<a b='{}'>", "c".repeat(200 << 10));
        assert!(matches!(steps(&long).1, Some(Broken::Limit(Failure::Tag))));
        assert!(matches!(steps("<a></b>").1, Some(Broken::Malformed(_))));
    }

    #[test]
    fn what_is_told_of_malformed_xml_is_safe_to_show() {
        let Some(Broken::Malformed(error)) = steps("<a></b\u{1b}[31m\u{202e}\n>").1 else {
            panic!("it is malformed")
        };
        let told = error.to_string();
        assert!(told.contains("b\\u{1b}[31m\\u{202e}"), "{told}");
        assert!(!told.contains(|c: char| c.is_control() || c == '\u{202e}'), "{told:?}");
    }

    #[test]
    fn a_capture_keeps_what_is_reasonable() {
        let mut walk = walk("<a><b>");
        let mut buffer = Vec::new();
        walk.next(&mut buffer).unwrap();
        let mut capture = Capture::new(&walk, ());
        capture.push("x");
        assert!(!capture.is_overlong && !capture.has_ended(&walk));
        capture.push(&"y".repeat(5_000));
        assert_eq!((capture.raw.len(), capture.is_overlong), (LONGEST_CAPTURE, true));
    }
}
