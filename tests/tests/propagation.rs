//! A job of a recent post that lacks articles is held for a while, and one of an older post is not.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bergamot_newsd::{Fault, Faults, Generated, Options, Rule};
use bergamot_tests::{FaultyServerTest, ids, post};

/// The NZB of a post that was made so many seconds ago.
fn posted(post: &Generated, seconds_ago: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (before, rest) = post.nzb().split_once("date=\"").map(owned).expect("it has a date");
    let (_, after) = rest.split_once('"').expect("the date ends");
    format!("{before}date=\"{}\"{after}", now - seconds_ago)
}

fn owned((one, other): (&str, &str)) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

/// A server that lacks half of the articles the first `asks` times it is asked for them.
fn lacking(post: &Arc<Generated>, asks: Option<u32>) -> Options {
    let rule = Rule::new(Fault::Missing).only(ids(post).into_iter().step_by(2));
    let rule = match asks {
        Some(asks) => rule.first_asks(asks),
        None => rule,
    };
    Options { articles: post.clone(), faults: Faults::none().with(rule), ..Options::default() }
}

fn head(health_check: &str, hold: &str) -> String {
    format!("[download]\nhealth_check = \"{health_check}\"\npropagation_hold = \"{hold}\"")
}

// P-33
#[test]
fn a_recent_post_is_asked_for_again_and_then_fails_as_propagating_whatever_the_health_check_says() {
    for health_check in ["park", "delete", "pause", "none"] {
        let post = post(1, "job.bin", 40);
        let mut test =
            FaultyServerTest::start(&head(health_check, "3 s"), [(lacking(&post, None), "")]);
        let line = test.fails("job", &posted(&post, 60));
        assert!(line.contains("job.propagating: "), "{health_check}: {line}");
        let asked = test.news.tally(0).asked(&ids(&post)[0]);
        assert!((2..=5).contains(&asked), "{health_check}: asked for {asked} times");
        test.end().assert_said(&["WARN put back: job.propagating"]);
    }
}

#[test]
fn what_arrives_during_the_hold_completes_the_job() {
    let post = post(2, "job.bin", 40);
    // Asked for once more, whatever time the first attempt took.
    let mut test = FaultyServerTest::start(&head("park", "3 s"), [(lacking(&post, Some(1)), "")]);
    test.home.drop_nzb("job.nzb", posted(&post, 60));
    test.arrives("job", &post);
    let after = test.end();
    after.assert_said(&["WARN put back: job.propagating"]);
    assert_eq!(
        after.news.tally(0).asked(&ids(&post)[1]),
        1,
        "what was there is not asked for again"
    );
}

#[test]
fn a_hold_does_not_begin_anew_with_the_daemon() {
    let post = post(3, "job.bin", 40);
    let mut test = FaultyServerTest::start(&head("park", "1 h"), [(lacking(&post, None), "")]);
    test.home.drop_nzb("job.nzb", posted(&post, 60));
    for asks in 1..=4 {
        test.daemon.wait_for(&["WARN put back: job.propagating"]);
        assert_eq!(test.news.tally(0).asked(&ids(&post)[0]), asks);
        test = test.restart();
    }
    let line = test.daemon.wait_failed("job");
    assert!(line.contains("job.propagating: "), "{line}");
    test.end();
}

#[test]
fn an_older_post_fails_at_once() {
    let post = post(4, "job.bin", 40);
    let mut test = FaultyServerTest::start(&head("none", "10 min"), [(lacking(&post, None), "")]);
    let line = test.fails("job", &posted(&post, 2 * 60 * 60));
    assert!(line.contains("job.incomplete: "), "{line}");
    assert_eq!(test.news.tally(0).asked(&ids(&post)[0]), 1);
    test.end();
}
