//! Parses the date formats of feeds and HTTP headers. Pure.

use bergamot_types::UnixTime;
use chrono::{NaiveDate, NaiveTime};

/// Reads RFC 3339 and RFC 822 dates and the three kinds of HTTP dates, with the variations that publishers
/// take: no weekday or a wrong one, no seconds, no zone, blanks instead of a `T`.
pub fn parse_date(text: &str) -> Option<UnixTime> {
    let text = text.trim();
    if text.len() > LONGEST_DATE {
        return None;
    }
    let starts_with_year = text.len() >= 10 && text.as_bytes()[4] == b'-';
    let time = if starts_with_year { year_first(text) } else { worded(text) }?;
    PLAUSIBLE.contains(&time).then_some(UnixTime(time))
}

/// As in RSS, in UTC: `Mon, 16 Nov 2026 14:36:34 +0000`.
pub(crate) fn rfc822(time: UnixTime) -> String {
    let date = chrono::DateTime::from_timestamp(time.0, 0).unwrap_or_default();
    date.format("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

/// `2026-11-16T14:36:34.5+01:00`
fn year_first(text: &str) -> Option<i64> {
    let date = NaiveDate::parse_from_str(text.get(..10)?, "%Y-%m-%d").ok()?;
    let rest = text[10..].trim_start_matches(['T', 't', ' ']);
    let zone_at = rest.find(|c: char| c.is_ascii_alphabetic() || matches!(c, '+' | '-' | ' '));
    let (clock, zone) = rest.split_at(zone_at.unwrap_or(rest.len()));
    seconds(date, if clock.is_empty() { "00:00" } else { clock }, zone.trim())
}

/// `Mon, 16 Nov 2026 14:36:34 +0000`, `Monday, 16-Nov-26 14:36:34 GMT`, `Mon Nov 16 14:36:34 2026`
fn worded(text: &str) -> Option<i64> {
    let (mut day, mut month, mut year, mut clock, mut zone) = (None, None, None, None, "");
    for word in text.split(|c: char| c.is_whitespace() || c == ',') {
        if word.contains(':') {
            clock = Some(word);
        } else if clock.is_some() && !word.starts_with(|c: char| c.is_ascii_digit()) {
            zone = if zone.is_empty() { word } else { zone };
        } else {
            for part in word.split('-') {
                match part.parse::<u32>() {
                    Ok(number) if day.is_none() && number < 32 => day = Some(number),
                    Ok(number) => year = year.or(Some(full_year(number))),
                    Err(_) => month = month.or_else(|| month_of(part)),
                }
            }
        }
    }
    let date = NaiveDate::from_ymd_opt(i32::try_from(year?).ok()?, month?, day?)?;
    seconds(date, clock.unwrap_or("00:00"), zone)
}

fn seconds(date: NaiveDate, clock: &str, zone: &str) -> Option<i64> {
    let clock = clock.split('.').next().unwrap_or_default(); // fractions are dropped
    let time = NaiveTime::parse_from_str(clock, "%H:%M:%S")
        .or_else(|_| NaiveTime::parse_from_str(clock, "%H:%M"))
        .ok()?;
    Some(date.and_time(time).and_utc().timestamp() - offset(zone))
}

/// East of Greenwich; what is unknown counts as UTC, as RFC 2822 (section 4.3) has it.
fn offset(zone: &str) -> i64 {
    let hours = |hours: i64| hours * 3600;
    match zone.to_ascii_uppercase().as_str() {
        "EDT" => hours(-4),
        "CDT" | "EST" => hours(-5),
        "CST" | "MDT" => hours(-6),
        "MST" | "PDT" => hours(-7),
        "PST" => hours(-8),
        "CET" => hours(1),
        "CEST" => hours(2),
        zone => numbered_offset(zone).unwrap_or(0),
    }
}

fn numbered_offset(zone: &str) -> Option<i64> {
    let digits: String = zone.get(1..)?.chars().filter(|c| *c != ':').collect();
    let number: i64 = digits.parse().ok().filter(|number| (0..=1400).contains(number))?;
    let east = (number / 100 * 60 + number % 100) * 60;
    match zone.as_bytes()[0] {
        b'+' => Some(east),
        b'-' => Some(-east),
        _ => None,
    }
}

fn month_of(word: &str) -> Option<u32> {
    let head = word.get(..3)?.to_ascii_lowercase();
    (1..).zip(MONTHS).find(|(_, name)| *name == head).map(|(number, _)| number)
}

fn full_year(number: u32) -> u32 {
    match number {
        0..=69 => 2000 + number,
        70..=99 => 1900 + number,
        _ => number,
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const LONGEST_DATE: usize = 64;
/// From the first newsgroups to the year 2100.
const PLAUSIBLE: std::ops::Range<i64> = 315_532_800..4_102_444_800;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        const THEN: i64 = 1_794_839_794; // 2026-11-16 14:36:34 UTC
        for (text, expected) in [
            ("Mon, 16 Nov 2026 14:36:34 +0000", Some(THEN)),
            ("Mon, 16 Nov 2026 14:36:34 GMT", Some(THEN)),
            ("16 Nov 2026 14:36:34 GMT", Some(THEN)),
            ("Tue, 16 Nov 2026 14:36:34 Z", Some(THEN)),
            ("Mon,16 November 2026 15:36:34 +0100", Some(THEN)),
            ("Mon, 16 Nov 2026 09:36:34 EST", Some(THEN)),
            ("Mon, 16 Nov 26 14:36 UT", Some(THEN - 34)),
            ("Monday, 16-Nov-26 14:36:34 GMT", Some(THEN)),
            ("Mon Nov 16 14:36:34 2026", Some(THEN)),
            ("2026-11-16T14:36:34Z", Some(THEN)),
            ("2026-11-16T14:36:34.250Z", Some(THEN)),
            ("2026-11-16t16:06:34+01:30", Some(THEN)),
            ("2026-11-16T06:36:34-0800", Some(THEN)),
            ("2026-11-16 14:36:34", Some(THEN)),
            ("2026-11-16 14:36:34 +0000", Some(THEN)),
            ("2026-11-16", Some(THEN - 14 * 3600 - 36 * 60 - 34)),
            ("  2026-11-16T14:36:34Z\n", Some(THEN)),
            ("2026-11-16T14:36:34+9999", Some(THEN)),
            ("", None),
            ("yesterday", None),
            ("2026-13-40", None),
            ("32 Nov 2026 14:36:34 GMT", None),
            ("Mon, 16 Nov 2026 25:36:34 GMT", None),
            ("Thu, 01 Jan 1970 00:00:00 GMT", None),
            ("9999-01-01T00:00:00Z", None),
            ("äöü-äöü-äöü", None),
        ] {
            assert_eq!(parse_date(text), expected.map(UnixTime), "{text:?}");
        }
        assert_eq!(rfc822(UnixTime(THEN)), "Mon, 16 Nov 2026 14:36:34 +0000");
    }
}
