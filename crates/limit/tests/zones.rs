//! Every zone is what another library makes of the same database.

use bergamot_limit::Zone;
use bergamot_types::UnixTime;
use chrono::{DateTime, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

fn theirs(zone: Tz, at: i64) -> String {
    let utc = DateTime::from_timestamp(at, 0).expect("a good time");
    zone.from_utc_datetime(&utc.naive_utc()).format("%F %R").to_string()
}

/// Zones in which clocks show another time than theirs, looked at some 12 times a year.
fn different(from: &str, to: &str) -> Vec<String> {
    let second = |date: &str| format!("{date}T00:00:00Z").parse::<DateTime<chrono::Utc>>();
    let second = |date| second(date).expect("a date").timestamp();
    let mut different = Vec::new();
    for &zone in &TZ_VARIANTS {
        let ours: Zone = zone.name().parse().unwrap_or_else(|error| panic!("{error}"));
        let differs = |at: &i64| ours.written(UnixTime(*at)) != theirs(zone, *at);
        if let Some(at) = (second(from)..second(to)).step_by(2_629_746).find(differs) {
            let (ours, theirs) = (ours.written(UnixTime(at)), theirs(zone, at));
            different.push(format!("{zone}: {ours} and {theirs}"));
        }
    }
    different
}

#[test]
fn what_is_past_is_the_same() {
    assert_eq!(different("1980-01-01", "2026-01-01"), [""; 0]);
}

/// Theirs may be of an older release of the database, and governments change their minds; but what
/// follows from the rules is the same nearly everywhere.
#[test]
fn what_is_to_come_is_nearly_the_same() {
    let different = different("2026-01-01", "2100-01-01");
    assert!(different.len() < TZ_VARIANTS.len() / 20, "{different:#?}");
}
