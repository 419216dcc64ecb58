//! A job that cannot be made whole says so long before its last article, and what is wanted happens.

use std::fs;
use std::sync::Arc;

use bergamot_newsd::{Fault, Faults, Generated, Options, Rule};
use bergamot_tests::{FaultyServerTest, ids, post};

/// So many that those which two connections may have asked for ahead hardly count.
const ARTICLES: u32 = 2000;

/// A server that lacks every other article of the post.
fn half_missing(post: &Arc<Generated>) -> Options {
    let lacking = ids(post).into_iter().step_by(2);
    let faults = Faults::none().with(Rule::new(Fault::Missing).only(lacking));
    Options { articles: post.clone(), faults, ..Options::default() }
}

fn test(action: &str, post: &Arc<Generated>) -> FaultyServerTest {
    let head = format!("[download]\nhealth_check = \"{action}\"");
    FaultyServerTest::start(&head, [(half_missing(post), "connections = 2")])
}

/// Far fewer were asked for than there are; a few more than were needed to know were under way.
fn assert_early(test: &FaultyServerTest) {
    let asked = test.news.tally(0).commands("BODY");
    assert!(asked < u64::from(ARTICLES) / 2, "{asked} of {ARTICLES} articles were asked for");
}

#[test]
fn a_job_that_is_half_missing_fails_early_and_what_there_is_stays() {
    let post = post(1, "job.bin", ARTICLES);
    let mut test = test("park", &post);
    let line = test.fails("job", &post.nzb());
    assert!(line.contains("job.health: health 84."), "{line}");
    assert!(line.contains("less than 85.0 % cannot be repaired"), "{line}");
    assert_early(&test);
    assert!(!test.home.inventory("incomplete/job").is_empty());
    let after = test.end();
    assert!(after.news.tally(0).fired(Fault::Missing) > 50);
    let records: String = fs::read_dir(after.home.join("state/spool"))
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    assert!(records.contains("job.health: health 84."), "it is on record");
}

#[test]
fn a_job_that_is_to_be_deleted_takes_its_own_files_with_it_and_no_others() {
    let post = post(1, "job.bin", ARTICLES);
    let mut test = test("delete", &post);
    fs::create_dir_all(test.home.join("incomplete/other")).unwrap();
    fs::write(test.home.join("incomplete/other/file"), "mine").unwrap();
    let line = test.fails("job", &post.nzb());
    assert!(line.contains("job.health: "), "{line}");
    assert_early(&test);
    let after = test.end();
    assert!(!after.home.join("incomplete/job").exists());
    assert_eq!(fs::read(after.home.join("incomplete/other/file")).unwrap(), b"mine");
}

#[test]
fn a_job_that_is_to_be_paused_waits_while_others_complete() {
    let post = post(1, "job.bin", ARTICLES);
    let mut test = test("pause", &post);
    test.home.drop_nzb("job.nzb", post.nzb());
    test.daemon.wait_for(&["WARN paused, for it cannot be repaired: health 84."]);
    let after = test.end();
    let asked = after.news.tally(0).commands("BODY");
    assert!(asked < u64::from(ARTICLES) / 2, "{asked} of {ARTICLES} articles were asked for");
    assert!(!after.said(&["WARN failed"]));
    assert!(after.home.join("incomplete/job").exists());
}

#[test]
fn a_job_that_is_to_go_on_is_asked_for_to_its_last_article() {
    let post = post(1, "job.bin", ARTICLES);
    let mut test = test("none", &post);
    let line = test.fails("job", &post.nzb());
    assert!(line.contains("job.incomplete") && line.contains("articles lost: 1000"), "{line}");
    let after = test.end();
    after.assert_said(&["WARN cannot be repaired: health 84."]);
    let asked = after.news.tally(0).commands("BODY");
    assert!(asked >= u64::from(ARTICLES), "{asked}");
}
