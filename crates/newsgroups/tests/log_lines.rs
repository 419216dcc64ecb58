//! The debug lines of a group's refresh. Their messages, field names and formats of numbers are an
//! interface: programs of users read them, so they are compared literally.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bergamot_newsgroups::{Batch, Due, Extent, Headers, Need, Newsgroups, Overview, Settings};
use bergamot_types::{ArticleRange, GroupName, MessageId, ServerId};
use tracing::Level;

#[test]
fn the_five_lines_of_a_refresh_are_literally_those_that_are_documented() {
    let log = Log::default();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .with_max_level(Level::DEBUG)
        .with_writer(move || lines.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, refresh_a_group);
    let written = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<_> = written.lines().map(str::trim_start).collect();
    assert_eq!(
        lines,
        [
            "DEBUG Spawning background refresh task group=comp.lang.rust",
            "DEBUG Triggering incremental update group=comp.lang.rust",
            "DEBUG Found new articles group=comp.lang.rust count=3",
            "DEBUG Group refresh scheduled group=comp.lang.rust rps=0.50 period_secs=20.3",
            "DEBUG Triggering incremental update group=comp.lang.rust",
            "DEBUG Group refresh scheduled group=comp.lang.rust rps=0.50 period_secs=20.3",
            "DEBUG Group inactive, stopping refresh task group=comp.lang.rust",
        ]
    );
}

/// 150 requests at one moment are a rate of 0.5 a second over the window of five minutes. The first
/// look finds three articles, the second none, and by the third the window has passed.
fn refresh_a_group() {
    let (begin, group) = (Instant::now(), GroupName::parse("comp.lang.rust").unwrap());
    let mut groups = Newsgroups::new(Settings::default());
    for waiter in 0..150 {
        groups.request(begin, &group, Need::Known, waiter);
    }
    assert!(matches!(groups.due(begin, &group), Due::Fetch(_)));
    groups.handle_fetched(begin, &group, Ok(batch(1, 3)));
    let later = begin + Duration::from_secs(2);
    assert!(matches!(groups.due(later, &group), Due::Fetch(_)));
    groups.handle_fetched(later, &group, Ok(batch(4, 0)));
    assert_eq!(groups.due(begin + Duration::from_secs(400), &group), Due::Stop);
}

fn batch(first: u64, count: u64) -> Batch {
    let read = ArticleRange { first: 1, last: first + count - 1 };
    let mut newer = Headers::default();
    for number in first..first + count {
        newer.push(&Overview {
            number,
            subject: "hello".into(),
            poster: "ann".into(),
            date: None,
            id: MessageId::parse(&format!("{number}@x")).unwrap(),
            bytes: 1,
        });
    }
    let extent = Extent { server: ServerId(1), offered: read, read, is_full: false };
    Batch { extent, anew: false, newer, older: Headers::default() }
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
