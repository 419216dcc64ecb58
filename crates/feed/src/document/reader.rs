//! The parser of a feed document: one pass over its elements. Pure.

use std::borrow::Cow;
use std::io::Cursor;
use std::time::Duration;

use bergamot_types::{ByteCount, UnixTime, Url};
use bergamot_xml::{Broken, Capture, Failure, Step, Text, Walk, attributes, cut, resolve};
use quick_xml::events::BytesStart;

use super::error::DocumentError;
use super::item::{Item, season_and_episode};
use super::{Allowance, Document, PageRange};
use crate::date::parse_date;
use crate::limits::Limits;

/// Reads RSS 2.0, RSS 1.0 and Atom, with what Newznab adds, to the end. A document that breaks off returns an
/// error: half a feed would look like one whose other items were removed.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Document, DocumentError> {
    let text = Text::new(Box::new(Cursor::new(bytes)), limits.size, LONGEST_TOKEN);
    let text = text.map_err(|_| DocumentError::Empty)?;
    let mut reading = Reading::new(Walk::new(text, limits.depth), limits);
    let mut buffer = Vec::new();
    while let Some(step) = reading.walk.next(&mut buffer).map_err(|it| reading.broken(it))? {
        match step {
            Step::Root(tag) => reading.on_root(&tag)?,
            Step::Start(tag) => reading.on_start(&tag)?,
            Step::End => reading.on_end(),
            Step::Text(text) => reading.on_text(&text),
        }
    }
    let Reading { walk, document, .. } = reading;
    match walk.into_text().failure() {
        Some(Failure::Size) => Err(DocumentError::TooLarge { limit: limits.size }),
        _ => Ok(document),
    }
}

/// What is known between two events.
struct Reading<'a> {
    walk: Walk<'a>,
    limits: &'a Limits,
    channel: Option<usize>, // its depth
    open: Option<Draft>,
    capture: Option<Capture<Wanted>>,
    document: Document,
}

/// An item that has begun.
#[derive(Default)]
struct Draft {
    depth: usize,
    item: Item,
    link: Option<Url>,
    enclosure: Option<Enclosure>,
    usenet_date: Option<UnixTime>,
}

struct Enclosure {
    url: Url,
    length: Option<u64>,
    is_nzb: bool,
}

#[derive(Clone, Copy)]
enum Wanted {
    Category,
    ChannelTitle,
    Guid,
    Link,
    Published,
    Title,
    TimeToLive,
    Updated,
}

impl<'a> Reading<'a> {
    fn new(walk: Walk<'a>, limits: &'a Limits) -> Self {
        let document = Document::default();
        Self { walk, limits, channel: None, open: None, capture: None, document }
    }

    fn on_start(&mut self, tag: &BytesStart<'_>) -> Result<(), DocumentError> {
        let prefix = tag.name().prefix().map_or("", |prefix| prefix.into_inner());
        let is_foreign = !matches!(prefix, "" | "atom" | "dc" | "rss");
        match self.walk.element() {
            "item" | "entry" if self.open.is_none() => self.open_item()?,
            "channel" => self.channel = Some(self.walk.depth()),
            "attr" => self.on_newznab(tag),
            "response" => self.on_range(tag),
            "apilimits" => self.on_allowance(tag),
            _ if is_foreign => {}
            _ if self.is_child_of(self.open.as_ref().map(|open| open.depth)) => {
                self.on_item_child(tag);
            }
            "title" if self.is_child_of(self.channel) => self.capture(Wanted::ChannelTitle),
            "ttl" if self.is_child_of(self.channel) => self.capture(Wanted::TimeToLive),
            _ => {}
        }
        Ok(())
    }

    fn is_child_of(&self, parent: Option<usize>) -> bool {
        parent.is_some_and(|parent| self.walk.depth() == parent + 1)
    }

    fn on_root(&mut self, tag: &BytesStart<'_>) -> Result<(), DocumentError> {
        match self.walk.element() {
            "rss" | "rdf" => Ok(()),
            "feed" => {
                self.channel = Some(1);
                Ok(())
            }
            "error" => Err(DocumentError::Indexer {
                code: cut(&attribute(tag, "code"), LONGEST_KEPT_ERROR).to_owned(),
                description: cut(&attribute(tag, "description"), LONGEST_KEPT_ERROR).to_owned(),
            }),
            other => {
                let (line, found) = (self.walk.line(), format!("<{other}>"));
                Err(DocumentError::NotAFeed { line, found })
            }
        }
    }

    fn open_item(&mut self) -> Result<(), DocumentError> {
        if self.document.items.len() == self.limits.items {
            return Err(DocumentError::TooManyItems { limit: self.limits.items });
        }
        self.open = Some(Draft { depth: self.walk.depth(), ..Draft::default() });
        Ok(())
    }

    fn on_item_child(&mut self, tag: &BytesStart<'_>) {
        let Some(open) = &mut self.open else { return };
        match self.walk.element() {
            "category" => {
                let term = attribute(tag, "term");
                open.add_category(&term);
                self.capture(Wanted::Category);
            }
            "enclosure" => open.on_enclosure(tag, "url"),
            "guid" | "id" => self.capture(Wanted::Guid),
            "link" => {
                match attribute(tag, "rel").as_str() {
                    "enclosure" => open.on_enclosure(tag, "href"),
                    "" | "alternate" => open.set_link(&attribute(tag, "href")),
                    _ => return,
                }
                self.capture(Wanted::Link);
            }
            "pubdate" | "published" | "date" => self.capture(Wanted::Published),
            "title" => self.capture(Wanted::Title),
            "updated" => self.capture(Wanted::Updated),
            _ => {}
        }
    }

    fn on_newznab(&mut self, tag: &BytesStart<'_>) {
        if let Some(open) = &mut self.open {
            open.on_attribute(&attribute(tag, "name"), &attribute(tag, "value"));
        }
    }

    fn on_range(&mut self, tag: &BytesStart<'_>) {
        let number = |key| attribute(tag, key).trim().parse().ok();
        if let (Some(offset), Some(total)) = (number("offset"), number("total")) {
            self.document.range = Some(PageRange { offset, total });
        }
    }

    fn on_allowance(&mut self, tag: &BytesStart<'_>) {
        let number = |key| attribute(tag, key).trim().parse::<u64>().ok();
        let left = |most, used| Some(number(most)?.saturating_sub(number(used)?));
        self.document.allowance = Allowance {
            calls_left: left("apimax", "apicurrent"),
            grabs_left: left("grabmax", "grabcurrent"),
            oldest_call: parse_date(&attribute(tag, "apioldesttime")),
            oldest_grab: parse_date(&attribute(tag, "graboldesttime")),
        };
    }

    fn on_end(&mut self) {
        if let Some(capture) = self.capture.take_if(|capture| capture.has_ended(&self.walk)) {
            self.on_captured(capture);
        }
        let depth = self.walk.depth();
        if let Some(open) = self.open.take_if(|open| open.depth > depth) {
            self.document.items.extend(open.finish());
        }
        self.channel.take_if(|channel| *channel > depth);
    }

    fn on_text(&mut self, text: &str) {
        if let Some(capture) = &mut self.capture {
            capture.push(text);
        }
    }

    fn capture(&mut self, what: Wanted) {
        self.capture.get_or_insert_with(|| Capture::new(&self.walk, what));
    }

    fn on_captured(&mut self, capture: Capture<Wanted>) {
        let text = resolve(&capture.raw).0;
        let text = text.trim();
        match (capture.what, &mut self.open) {
            (Wanted::ChannelTitle, _) => self.document.title = cut(text, LONGEST_TITLE).into(),
            (Wanted::TimeToLive, _) => self.document.ttl = minutes(text),
            (_, None) => {}
            (Wanted::Category, Some(open)) => open.add_category(text),
            (Wanted::Guid, Some(open)) => open.item.guid = cut(text, LONGEST_GUID).into(),
            (Wanted::Link, Some(open)) => open.set_link(text),
            (Wanted::Published, Some(open)) => {
                open.item.published = parse_date(text).or(open.item.published);
            }
            (Wanted::Title, Some(open)) => open.item.title = cut(text, LONGEST_TITLE).into(),
            (Wanted::Updated, Some(open)) => {
                open.item.published = open.item.published.or(parse_date(text));
            }
        }
    }

    fn broken(&self, broken: Broken) -> DocumentError {
        let (at, line) = (self.walk.place(), self.walk.line());
        match broken {
            Broken::Empty => DocumentError::Empty,
            Broken::Entities => DocumentError::DtdEntities { line },
            Broken::Limit(Failure::Size) => DocumentError::TooLarge { limit: self.limits.size },
            Broken::Limit(Failure::Tag | Failure::Words) => {
                DocumentError::TokenTooLong { at, limit: LONGEST_TOKEN }
            }
            Broken::Malformed(error) => DocumentError::Malformed { at, source: Box::new(error) },
            Broken::Source(error) => {
                DocumentError::Malformed { at, source: Box::new(error.into()) }
            }
            Broken::Text => DocumentError::NotAFeed { line, found: "text".to_owned() },
            Broken::TooDeep => DocumentError::TooDeep { at, limit: self.limits.depth },
            Broken::Truncated => DocumentError::Truncated { at },
        }
    }
}

impl Draft {
    fn add_category(&mut self, text: &str) {
        let text = cut(text.trim(), LONGEST_CATEGORY);
        let categories = &mut self.item.categories;
        let is_new = !text.is_empty() && !categories.iter().any(|known| **known == *text);
        if is_new && categories.len() < MOST_CATEGORIES {
            categories.push(text.into());
        }
    }

    fn set_link(&mut self, text: &str) {
        if let Ok(url) = Url::parse(text) {
            self.link.get_or_insert(url);
        }
    }

    /// Of several the first that says it is an NZB counts, else the first.
    fn on_enclosure(&mut self, tag: &BytesStart<'_>, key: &str) {
        let Ok(url) = Url::parse(&attribute(tag, key)) else { return };
        let kind = attribute(tag, "type").to_ascii_lowercase();
        let enclosure = Enclosure {
            url,
            length: attribute(tag, "length").trim().parse().ok(),
            is_nzb: kind.contains("nzb"),
        };
        if self.enclosure.as_ref().is_none_or(|known| enclosure.is_nzb && !known.is_nzb) {
            self.enclosure = Some(enclosure);
        }
    }

    fn on_attribute(&mut self, name: &str, value: &str) {
        let name = cut(name.trim(), LONGEST_ATTRIBUTE_NAME).to_ascii_lowercase();
        let value = cut(value.trim(), LONGEST_ATTRIBUTE);
        match name.as_str() {
            "category" => self.add_category(value),
            "episode" => self.item.episode = number_in(value).or(self.item.episode),
            "season" => self.item.season = number_in(value).or(self.item.season),
            "size" => self.item.size = value.parse().ok().map(ByteCount).or(self.item.size),
            "usenetdate" => self.usenet_date = parse_date(value),
            _ => {}
        }
        if self.item.attributes.len() < MOST_ATTRIBUTES && !name.is_empty() {
            self.item.attributes.push((name.into(), value.into()));
        }
    }

    /// None if it has no name at all, by which it could be known again.
    fn finish(self) -> Option<Item> {
        let Self { mut item, link, enclosure, usenet_date, .. } = self;
        let length = enclosure.as_ref().and_then(|enclosure| enclosure.length);
        item.size = item.size.or(length.map(ByteCount)).filter(|size| size.0 > 0);
        item.published = item.published.or(usenet_date);
        item.url = enclosure.map(|enclosure| enclosure.url).or(link);
        if item.season.is_none() && item.episode.is_none() {
            (item.season, item.episode) = season_and_episode(&item.title);
        }
        if item.guid.is_empty() {
            item.guid = item.url.as_ref().map_or(item.title.clone(), |url| url.reveal().into());
        }
        (!item.guid.is_empty()).then_some(item)
    }
}

fn attribute(tag: &BytesStart<'_>, key: &str) -> String {
    let found = attributes(tag).find(|(name, _)| name.eq_ignore_ascii_case(key));
    let value = found.map_or(Cow::Borrowed(""), |(_, value)| value);
    resolve(&value).0.into_owned()
}

/// `5`, `S05`, `E05`
fn number_in(text: &str) -> Option<u32> {
    text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()
}

fn minutes(text: &str) -> Option<Duration> {
    let minutes: u64 = text.parse().ok().filter(|minutes| *minutes > 0)?;
    Some(Duration::from_secs(minutes.saturating_mul(60)))
}

/// Whole articles are sometimes in descriptions.
const LONGEST_TOKEN: u64 = 4 << 20;
const LONGEST_KEPT_ERROR: usize = 256;
const LONGEST_TITLE: usize = 1024;
const LONGEST_GUID: usize = 2048;
const LONGEST_CATEGORY: usize = 128;
const MOST_CATEGORIES: usize = 16;
const LONGEST_ATTRIBUTE_NAME: usize = 32;
const LONGEST_ATTRIBUTE: usize = 256;
/// Indexers write about fifteen.
const MOST_ATTRIBUTES: usize = 40;
