//! History is pruned by number at once, and by age only when the clock can be relied on.

#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::time::{Duration, Instant};

use bergamot_jobs::{Doubt, Expired, Fingerprint, Outcome, Record, Retention};
use bergamot_queue::{Cause, Ending};
use bergamot_types::{JobId, UnixTime};

fn ended(id: u32, ended: i64) -> Record {
    let mut record = Record::new(JobId(id), "", UnixTime(ended), "", Fingerprint::default());
    let ending = Ending::Failed(Cause::Incomplete);
    let outcome = Outcome::new(ending, UnixTime(ended), "job.incomplete: 3 of 9");
    record.end(Outcome { sequence: u64::from(id), ..outcome });
    record
}

fn queued(id: u32, added: i64) -> Record {
    Record::new(JobId(id), "", UnixTime(added), "", Fingerprint::default())
}

/// A retention of 30 days with a clock that can be set.
struct Trial {
    retention: Retention,
    instant: Instant,
    date: i64,
    records: Vec<Record>,
}

impl Trial {
    fn started(date: i64, records: Vec<Record>) -> Self {
        let instant = Instant::now();
        let retention = Retention::new(instant, UnixTime(date), days(30), 100);
        Self { retention, instant, date, records }
    }

    fn run(&mut self, seconds: u64) {
        self.instant += Duration::from_secs(seconds);
        self.date += seconds as i64;
    }

    fn set_clock(&mut self, seconds: i64) {
        self.date += seconds;
    }

    fn check(&mut self) -> Expired {
        self.retention.check(self.instant, UnixTime(self.date), &self.records)
    }

    fn by_age(&mut self) -> Vec<u32> {
        self.check().by_age.into_iter().map(|job| job.0).collect()
    }
}

fn days(days: u64) -> Duration {
    Duration::from_secs(days * DAY as u64)
}

#[test]
fn nothing_is_pruned_by_age_in_the_first_hour() {
    let mut trial = Trial::started(NOW, vec![ended(1, NOW - 40 * DAY), ended(2, NOW - DAY)]);
    let hour = trial.instant + Duration::from_secs(HOUR);
    for seconds in [0, 1, HOUR - 2] {
        trial.run(seconds);
        let expired = trial.check();
        assert!(expired.by_age.is_empty() && expired.by_number.is_empty());
        let postponed = expired.postponed.unwrap();
        assert_eq!((postponed.jobs, postponed.until), (1, hour));
    }
    trial.run(1);
    assert_eq!(trial.by_age(), [1]);
}

#[test]
fn where_nothing_is_old_nothing_is_waited_for() {
    let mut trial = Trial::started(NOW, vec![ended(1, NOW - 20 * DAY), queued(2, NOW)]);
    assert_eq!(trial.check(), Expired::default());
}

#[test]
fn after_a_jump_nothing_is_pruned_until_an_hour_has_confirmed_it() {
    for jump in [DAY + 1, 3650 * DAY] {
        let mut trial = Trial::started(NOW, vec![ended(1, NOW - 29 * DAY - DAY / 2)]);
        trial.run(5 * HOUR);
        assert_eq!(trial.by_age(), [0; 0]);
        trial.set_clock(jump);
        let postponed = trial.check().postponed.unwrap();
        assert_eq!(postponed.doubt, Doubt::Jumped { seconds: jump });
        assert_eq!(postponed.until, trial.instant + Duration::from_secs(HOUR));
        trial.run(HOUR - 1);
        assert!(trial.check().postponed.is_some());
        trial.run(1);
        assert_eq!(trial.by_age(), [1], "an hour has confirmed it");
    }
}

#[test]
fn a_jump_that_is_taken_back_prunes_nothing() {
    let mut trial = Trial::started(NOW, vec![ended(1, NOW - DAY)]);
    trial.run(2 * HOUR);
    trial.set_clock(3650 * DAY);
    assert!(trial.check().by_age.is_empty());
    trial.run(HOUR / 2);
    trial.set_clock(-3650 * DAY);
    for _ in 0..10 {
        trial.run(HOUR);
        assert_eq!(trial.check(), Expired::default());
    }
}

#[test]
fn a_jump_just_before_the_hour_is_over_begins_it_anew() {
    let mut trial = Trial::started(NOW, vec![ended(1, NOW - DAY)]);
    trial.run(HOUR - 1);
    trial.set_clock(90 * DAY);
    trial.run(1);
    assert!(trial.check().by_age.is_empty(), "the hour before does not confirm the new date");
    trial.run(HOUR);
    assert_eq!(trial.by_age(), [1]);
}

#[test]
fn small_steps_do_not_add_up_to_a_jump_unnoticed() {
    let mut trial = Trial::started(NOW, vec![ended(1, NOW)]);
    trial.run(2 * HOUR);
    let mut jumps = 0;
    for _ in 0..80 {
        trial.set_clock(DAY / 2 + HOUR as i64);
        let postponed = trial.check().postponed;
        jumps += u32::from(postponed.is_some());
        assert!(trial.check().by_age.is_empty());
    }
    assert!(jumps > 0);
}

#[test]
fn a_clock_corrected_by_minutes_is_relied_on() {
    let mut trial = Trial::started(NOW, vec![ended(1, NOW - 40 * DAY)]);
    for step in [90, -600, 3600] {
        trial.run(HOUR);
        trial.set_clock(step);
        assert_eq!(trial.by_age(), [1]);
    }
}

#[test]
fn a_clock_before_the_newest_record_is_not_relied_on_however_long_it_runs() {
    for newest in [ended(2, NOW + 1000 * DAY), queued(2, NOW + 1000 * DAY)] {
        let mut trial = Trial::started(NOW, vec![ended(1, NOW - 40 * DAY), newest]);
        for _ in 0..10 {
            trial.run(HOUR);
            let postponed = trial.check().postponed.unwrap();
            assert_eq!((postponed.jobs, postponed.doubt), (1, Doubt::BeforeNewestRecord));
        }
        trial.records.pop();
        assert_eq!(trial.by_age(), [1], "that record is gone");
    }
}

#[test]
fn the_limit_by_number_holds_from_the_start_and_goes_by_order_not_by_date() {
    let records = vec![ended(1, NOW), ended(2, NOW + 900 * DAY), ended(3, NOW - 900), queued(4, 0)];
    let mut trial = Trial::started(NOW, records);
    trial.retention.set(days(30), 2);
    let by_number = |trial: &mut Trial| trial.check().by_number;
    assert_eq!(by_number(&mut trial), [JobId(1)]);
    trial.retention.set(days(30), 0);
    assert_eq!(by_number(&mut trial), [JobId(3), JobId(2), JobId(1)]);
}

#[test]
fn no_date_is_too_far_away() {
    for date in [i64::MIN, 0, i64::MAX] {
        let mut trial = Trial::started(date, vec![ended(1, NOW), ended(2, i64::MIN)]);
        trial.instant += Duration::from_secs(HOUR);
        let _ = trial.check();
        trial.date = date.wrapping_neg();
        let _ = trial.check();
    }
}

const DAY: i64 = 24 * 60 * 60;
const HOUR: u64 = 60 * 60;
const NOW: i64 = 1_800_000_000;
