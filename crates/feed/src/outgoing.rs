//! [`write_rss`]: finished downloads as an RSS 2.0 feed for other programs. Pure.

use std::fmt::Write;

use bergamot_types::{ByteCount, UnixTime};

use crate::date::rfc822;

/// The title, link and date of the feed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Channel {
    pub title: String,
    pub link: String,
    pub description: String,
    /// The most items it has.
    pub size: usize,
}

impl Default for Channel {
    fn default() -> Self {
        Self {
            title: "bergamot: finished downloads".to_owned(),
            link: "https://localhost/".to_owned(),
            description: "What bergamot has downloaded, the newest first.".to_owned(),
            size: 100,
        }
    }
}

/// One download that ended well.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finished {
    /// The same as long as the job exists, and given to no other.
    pub guid: String,
    pub title: String,
    pub description: String,
    pub category: Option<String>,
    pub size: ByteCount,
    pub at: UnixTime,
}

/// The newest first, at most as many as the channel has room for.
pub fn write_rss(channel: &Channel, mut items: Vec<Finished>) -> String {
    items.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.guid.cmp(&a.guid)));
    items.truncate(channel.size);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str("<rss version=\"2.0\">\n<channel>\n");
    element(&mut out, "title", &channel.title);
    element(&mut out, "link", &channel.link);
    element(&mut out, "description", &channel.description);
    element(&mut out, "generator", "bergamot");
    if let Some(newest) = items.first() {
        element(&mut out, "lastBuildDate", &rfc822(newest.at));
    }
    for item in &items {
        write_item(&mut out, item);
    }
    out.push_str("</channel>\n</rss>\n");
    out
}

fn write_item(out: &mut String, item: &Finished) {
    out.push_str("<item>\n");
    element(out, "title", &item.title);
    let guid = escaped(&item.guid);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<guid isPermaLink=\"false\">{guid}</guid>");
    element(out, "pubDate", &rfc822(item.at));
    element(out, "description", &item.description);
    if let Some(category) = &item.category {
        element(out, "category", category);
    }
    out.push_str("</item>\n");
}

fn element(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "<{name}>{}</{name}>", escaped(text));
}

/// Control characters have no place in XML 1.0, not even escaped.
fn escaped(text: &str) -> String {
    let allowed = |c: char| match c {
        '\t' | '\n' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => !c.is_control(),
    };
    let clean: String = text.chars().map(|c| if allowed(c) { c } else { '\u{fffd}' }).collect();
    quick_xml::escape::escape(clean).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::limits::Limits;

    #[test]
    fn what_is_written_can_be_read_back() {
        let finished = |number: i64| Finished {
            guid: format!("bergamot:job:{number}"),
            title: format!("<{number}> & \u{1}\u{202e} \"ä漢\" ]]>"),
            description: "2 GB in 3 files".to_owned(),
            category: (number % 2 == 0).then(|| "tv & more".to_owned()),
            size: ByteCount(5),
            at: UnixTime(1_794_839_794 + number),
        };
        let channel = Channel { size: 3, ..Channel::default() };
        let text = write_rss(&channel, [1, 5, 3, 2, 4].map(finished).into());
        let document = document::read(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(&*document.title, "bergamot: finished downloads");
        let guids: Vec<_> = document.items.iter().map(|item| &*item.guid).collect();
        assert_eq!(guids, ["bergamot:job:5", "bergamot:job:4", "bergamot:job:3"]);
        assert_eq!(&*document.items[0].title, "<5> & \u{fffd}\u{202e} \"ä漢\" ]]>");
        assert_eq!(document.items[0].published, Some(UnixTime(1_794_839_799)));
        assert_eq!(*document.items[1].categories, ["tv & more".into()]);
        assert!(text.contains("<guid isPermaLink=\"false\">bergamot:job:5</guid>"));
    }
}
