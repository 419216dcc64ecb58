//! Feeds as they come, and what passes for one.

use std::time::Duration;

use bergamot_feed::{Allowance, Document, DocumentError, Item, Limits, PageRange, read};
use bergamot_types::{ByteCount, UnixTime, Url};
use proptest::prelude::*;

fn document(text: &str) -> Document {
    read(text.as_bytes(), &Limits::default()).expect("a feed")
}

fn refusal(bytes: &[u8]) -> DocumentError {
    read(bytes, &Limits::default()).expect_err("no feed")
}

fn reveal(item: &Item) -> Option<String> {
    item.url.as_ref().map(Url::reveal)
}

const NEWZNAB: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:newznab="http://www.newznab.com/DTD/2010/feeds/attributes/">
<channel>
  <atom:link href="https://indexer.example/api" rel="self" type="application/rss+xml"/>
  <title>An Indexer</title>
  <description>Feed &amp; more</description>
  <ttl>15</ttl>
  <image><title>not the title</title><link>https://indexer.example/logo</link></image>
  <newznab:apilimits apiCurrent="90" apiMax="100" grabCurrent="50" grabMax="50" apiOldestTime="Mon, 16 Nov 2026 10:00:00 +0000"/>
  <newznab:response offset="0" total="1234"/>
  <item>
    <title>Some.Show.S02E07.1080p &amp; more</title>
    <guid isPermaLink="true">https://indexer.example/details/abc</guid>
    <link>https://indexer.example/getnzb/abc.nzb&amp;i=1&amp;r=KEY</link>
    <comments>https://indexer.example/details/abc#comments</comments>
    <pubDate>Mon, 16 Nov 2026 14:36:34 +0000</pubDate>
    <category>TV &gt; HD</category>
    <description><![CDATA[<b>Some</b> & more]]></description>
    <media:title>not this one</media:title>
    <enclosure url="https://indexer.example/getnzb/abc.nzb?r=KEY" length="2000000000" type="application/x-nzb"/>
    <newznab:attr name="category" value="5000"/>
    <newznab:attr name="category" value="5040"/>
    <newznab:attr name="size" value="2100000000"/>
    <newznab:attr name="season" value="S02"/>
    <newznab:attr name="episode" value="E07"/>
    <newznab:attr name="grabs" value="12"/>
    <newznab:attr name="usenetdate" value="Sun, 15 Nov 2026 14:36:34 +0000"/>
  </item>
  <item><title><![CDATA[Second & last 3x04]]></title><link>http://indexer.example/2</link></item>
  <item><description>without any name</description></item>
</channel>
</rss>"#;

#[test]
fn a_newznab_feed_is_read_with_all_it_says() {
    let document = document(NEWZNAB);
    assert_eq!(&*document.title, "An Indexer");
    assert_eq!(document.ttl, Some(Duration::from_secs(15 * 60)));
    assert_eq!(document.range, Some(PageRange { offset: 0, total: 1234 }));
    let oldest_call = Some(UnixTime(1_794_823_200));
    let allowance =
        Allowance { calls_left: Some(10), grabs_left: Some(0), oldest_call, oldest_grab: None };
    assert_eq!(document.allowance, allowance);
    let [first, second] = &document.items[..] else { panic!("{document:?}") };
    assert_eq!(&*first.title, "Some.Show.S02E07.1080p & more");
    assert_eq!(&*first.guid, "https://indexer.example/details/abc");
    assert_eq!(reveal(first).as_deref(), Some("https://indexer.example/getnzb/abc.nzb?r=KEY"));
    assert_eq!(first.size, Some(ByteCount(2_100_000_000)));
    assert_eq!(*first.categories, ["TV > HD".into(), "5000".into(), "5040".into()]);
    assert_eq!(first.published, Some(UnixTime(1_794_839_794)));
    assert_eq!((first.season, first.episode), (Some(2), Some(7)));
    assert_eq!(first.attribute("grabs"), Some("12"));
    assert_eq!(&*second.title, "Second & last 3x04");
    assert_eq!(&*second.guid, "http://indexer.example/2");
    assert_eq!((second.season, second.episode), (Some(3), Some(4)));
}

#[test]
fn atom_and_rss_1_are_read_too() {
    let atom = document(
        r#"<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Atoms</title>
        <link rel="self" href="https://a.example/feed"/>
        <entry><id>urn:1</id><title>One</title><updated>2026-11-16T14:36:35Z</updated>
          <published>2026-11-16T14:36:34Z</published><category term="linux"/>
          <link rel="alternate" href="https://a.example/1"/>
          <link rel="enclosure" href="https://a.example/1.nzb" length="7" type="application/x-nzb"/>
          <author><name>x</name></author></entry>
        <entry><id>urn:2</id><title>Two</title><link href="https://a.example/2"/>
          <updated>2026-11-16T14:36:35Z</updated></entry></feed>"#,
    );
    assert_eq!(&*atom.title, "Atoms");
    assert_eq!(&*atom.items[0].guid, "urn:1");
    assert_eq!(reveal(&atom.items[0]).as_deref(), Some("https://a.example/1.nzb"));
    assert_eq!(atom.items[0].size, Some(ByteCount(7)));
    assert_eq!(atom.items[0].published, Some(UnixTime(1_794_839_794)));
    assert_eq!(*atom.items[0].categories, ["linux".into()]);
    assert_eq!(reveal(&atom.items[1]).as_deref(), Some("https://a.example/2"));
    assert_eq!(atom.items[1].published, Some(UnixTime(1_794_839_795)));

    let rss1 = document(
        r#"<rdf:RDF xmlns:rdf="x" xmlns="http://purl.org/rss/1.0/" xmlns:dc="y">
        <channel><title>Old</title><link>http://o.example</link></channel>
        <item rdf:about="http://o.example/1"><title>One</title><link>http://o.example/1</link>
        <dc:date>2026-11-16T14:36:34Z</dc:date></item></rdf:RDF>"#,
    );
    assert_eq!(&*rss1.title, "Old");
    assert_eq!(rss1.items[0].published, Some(UnixTime(1_794_839_794)));
}

#[test]
fn links_that_lead_to_no_nzb_are_none() {
    for link in ["magnet:?xt=1", "file:///etc/passwd", "ftp://x/y", "/relative", "javascript:x", ""]
    {
        let text = format!(
            "<rss><channel><item><title>x</title><link>{link}</link></item></channel></rss>"
        );
        assert_eq!(document(&text).items[0].url, None, "{link}");
    }
}

#[test]
fn what_is_no_feed_is_refused_by_its_name() {
    for (bytes, code, word) in [
        (&b""[..], "feed.malformed", "empty"),
        (b" \n ", "feed.malformed", "empty"),
        (b"<!DOCTYPE html><html><body>Log in</body></html>", "feed.malformed", "<html>"),
        (b"<html>", "feed.malformed", "<html>"),
        (b"{\"error\": 1}", "feed.malformed", "text"),
        (b"<rss><channel><item>", "feed.malformed", "breaks off"),
        (b"<rss><channel><title>x</ti", "feed.malformed", "breaks off"),
        (b"<rss><channel></rss>", "feed.malformed", "no XML"),
        (
            b"<!DOCTYPE r [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><rss>&b;</rss>",
            "feed.malformed",
            "declares entities",
        ),
        (
            b"<?xml version=\"1.0\"?><error code=\"101\" description=\"Account \x1b[31msuspended\"/>",
            "feed.indexer",
            "Account \\u{1b}[31msuspended (error 101)",
        ),
    ] {
        let error = refusal(bytes);
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn encodings_are_read_as_declared() {
    let latin = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><rss><channel><title>\xe4</title></channel></rss>";
    assert_eq!(&*read(latin, &Limits::default()).unwrap().title, "ä");
    let text = "<rss><channel><title>ä</title></channel></rss>";
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(&*read(&utf16, &Limits::default()).unwrap().title, "ä");
    let wrong = b"<?xml version=\"1.0\" encoding=\"utf-8\"?><rss><channel><title>\xe4b</title></channel></rss>";
    assert_eq!(&*read(wrong, &Limits::default()).unwrap().title, "\u{fffd}b");
}

#[test]
fn limits_hold_to_the_item_and_to_the_byte() {
    let feed = |items: usize| {
        let items: String = (0..items).map(|n| format!("<item><guid>{n}</guid></item>")).collect();
        format!("<rss><channel>{items}</channel></rss>")
    };
    let limits = Limits { items: 10, ..Limits::default() };
    assert_eq!(read(feed(10).as_bytes(), &limits).unwrap().items.len(), 10);
    assert_eq!(read(feed(11).as_bytes(), &limits).unwrap_err().code(), "feed.too_many_items");
    let text = feed(3);
    let at = |size: usize| Limits { size: size as u64, ..Limits::default() };
    assert!(read(text.as_bytes(), &at(text.len())).is_ok());
    assert_eq!(read(text.as_bytes(), &at(text.len() - 1)).unwrap_err().code(), "feed.too_large");
    let deep = format!("<rss>{}{}</rss>", "<a>".repeat(40), "</a>".repeat(40));
    assert!(matches!(refusal(deep.as_bytes()), DocumentError::TooDeep { .. }));
    let long = format!("<rss><channel><title>{}", "x".repeat(5 << 20));
    assert!(matches!(refusal(long.as_bytes()), DocumentError::TokenTooLong { .. }));
    let many = "<rss><channel>".to_owned() + &"<item><guid>1</guid></item>".repeat(100_000);
    assert_eq!(refusal(many.as_bytes()).code(), "feed.too_many_items");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes, &Limits::default());
    }

    #[test]
    fn no_cut_and_no_flip_panics_and_no_cut_passes_for_the_whole(
        at in 0..NEWZNAB.len(), flip in 0..NEWZNAB.len(), bit in 0..8u8
    ) {
        let end = NEWZNAB.trim_end().len();
        prop_assert_eq!(read(&NEWZNAB.as_bytes()[..at], &Limits::default()).is_ok(), at == end);
        let mut flipped = NEWZNAB.as_bytes().to_vec();
        flipped[flip] ^= 1 << bit;
        let _ = read(&flipped, &Limits::default());
    }
}
