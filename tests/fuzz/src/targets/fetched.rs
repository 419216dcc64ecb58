//! What comes from the web.

use std::io::Read;

use bergamot_feed::Rules;
use bergamot_nzb::{Label, Limits, Zip};
use bergamot_types::{UnixTime, Url};

pub(super) fn nzb(bytes: &[u8]) {
    let limits = Limits { size: 1 << 20, ..Limits::default() };
    let text = String::from_utf8_lossy(bytes);
    let _ = Label::parse(&text, |name| name == "tv");
    if let Ok(nzb) = bergamot_nzb::read(bytes, &limits) {
        for file in &nzb.files {
            let _ = (file.name(), nzb.bytes(), nzb.segments());
        }
    }
}

pub(super) fn zip(bytes: &[u8]) {
    let Ok(zip) = Zip::open(bytes) else { return };
    for member in zip.members().iter().take(20) {
        let _ = (member.is_nzb(), member.file_name());
        if let Ok(content) = zip.read(member) {
            let mut unpacked = Vec::new();
            let _ = content.take(1 << 16).read_to_end(&mut unpacked);
        }
    }
}

pub(super) fn feed(bytes: &[u8]) {
    let limits = bergamot_feed::Limits::default();
    if let Ok(document) = bergamot_feed::read(bytes, &limits) {
        let rules = Rules::parse("Accept: size:>1MB\nReject: age:>30d").ok();
        for item in &document.items {
            let _ = rules.as_ref().map(|rules| rules.judge(item, NOW));
        }
    }
}

/// Rules, and an item to hold them against, with an empty line between them.
pub(super) fn feed_rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (rules, title) = text.split_once("\n\n").unwrap_or((&text, "Some.Show.S01E02.1080p"));
    let Ok(rules) = Rules::parse(rules) else { return };
    let feed = format!(
        "<rss><channel><item><title><![CDATA[{}]]></title><guid>1</guid></item></channel></rss>",
        title.replace("]]>", "")
    );
    if let Ok(document) = bergamot_feed::read(feed.as_bytes(), &bergamot_feed::Limits::default()) {
        for item in &document.items {
            let _ = rules.judge(item, NOW);
        }
    }
}

pub(super) fn url(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let base = Url::parse("https://ann:pw@host/a/b?c").expect("it is one");
    for url in [Url::parse(&text), base.join(&text)].into_iter().flatten() {
        assert!(url.target().starts_with('/'));
        assert!(url.target().bytes().all(|byte| byte.is_ascii_graphic()));
        let _ = (url.to_string(), url.file_name(), url.authority());
        // A login that is encoded anew may be longer than an address may be.
        if let Ok(again) = Url::parse(&url.reveal()) {
            assert_eq!(again, url);
        }
    }
}

pub(super) fn http_headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = bergamot_net::http::file_name(&text);
    if let Some(pause) = bergamot_feed::retry_after(&text, NOW) {
        assert!((1..=24 * 60 * 60).contains(&pause.as_secs()));
    }
    let _ = bergamot_feed::parse_date(&text);
}

const NOW: UnixTime = UnixTime(1_800_000_000);
