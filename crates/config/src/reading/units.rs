//! Parses and prints durations and sizes with their units. Pure.

use std::time::Duration;

use bergamot_types::ByteCount;

/// `"90 s"`, `"1.5 h"`; a unit is required.
pub fn time(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let unit = unit.trim().to_ascii_lowercase();
    let (_, length) = TIME_UNITS.iter().find(|(names, _)| names.contains(&unit.as_str()))?;
    Duration::try_from_secs_f64(number * length.as_secs_f64()).ok()
}

/// `"3000 days"`; whole days, and a unit is required.
pub(crate) fn days(text: &str) -> Option<i64> {
    let seconds = time(text).filter(|time| time.subsec_nanos() == 0)?.as_secs();
    seconds.is_multiple_of(DAY.as_secs()).then(|| i64::try_from(seconds / DAY.as_secs()).ok())?
}

/// `"40 MiB"`, `"750 KB"`; a unit is required.
pub(crate) fn size(text: &str) -> Option<ByteCount> {
    let has_unit = text.trim_end().ends_with(|c: char| c.is_ascii_alphabetic());
    text.parse().ok().filter(|_| has_unit)
}

/// In the largest unit that divides it.
pub fn show_time(time: Duration) -> String {
    let fits =
        |length: &Duration| time >= *length && time.as_nanos().is_multiple_of(length.as_nanos());
    let unit = TIME_UNITS.iter().rev().find(|(_, length)| fits(length));
    match unit {
        Some((names, length)) => format!("{} {}", time.as_nanos() / length.as_nanos(), names[0]),
        None => format!("{} s", time.as_secs_f64()),
    }
}

/// In the largest binary unit that divides it.
pub(crate) fn show_size(bytes: u64) -> String {
    let fits = |(_, length): &&(&str, u64)| bytes >= *length && bytes.is_multiple_of(*length);
    let (name, length) = SIZE_UNITS.iter().rev().find(fits).unwrap_or(&("B", 1));
    format!("{} {name}", bytes / length)
}

const DAY: Duration = Duration::from_secs(86_400);
/// The first name is the one that is shown.
const TIME_UNITS: &[(&[&str], Duration)] = &[
    (&["ms", "millisecond", "milliseconds"], Duration::from_millis(1)),
    (&["s", "sec", "second", "seconds"], Duration::from_secs(1)),
    (&["min", "m", "minute", "minutes"], Duration::from_secs(60)),
    (&["h", "hour", "hours"], Duration::from_secs(3600)),
    (&["d", "day", "days"], DAY),
];
const SIZE_UNITS: &[(&str, u64)] =
    &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        for (text, milliseconds) in [
            ("90 s", 90_000),
            ("5 min", 300_000),
            ("2 h", 7_200_000),
            ("250ms", 250),
            (" 1.5 Minutes ", 90_000),
            ("1 day", 86_400_000),
        ] {
            assert_eq!(time(text), Some(Duration::from_millis(milliseconds)), "{text:?}");
        }
        for text in
            ["", "5", "s", "-5 s", "5 fortnights", "1.2.3 s", "1e3 s", "9".repeat(400).as_str()]
        {
            assert_eq!(time(text), None, "{text:?}");
        }
    }

    #[test]
    fn days_are_whole() {
        assert_eq!(days("3000 days"), Some(3000));
        assert_eq!(days("48 h"), Some(2));
        assert_eq!(days("1.5 d"), None);
        assert_eq!(days("3000"), None);
    }

    #[test]
    fn sizes_need_a_unit() {
        assert_eq!(size("40 MiB"), Some(ByteCount(40 << 20)));
        assert_eq!(size("750 kB"), Some(ByteCount(750_000)));
        assert_eq!(size("40"), None);
        assert_eq!(size("40 parsec"), None);
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for text in ["250 ms", "90 s", "5 min", "2 h", "1 d"] {
            assert_eq!(show_time(time(text).unwrap()), text);
        }
        for text in ["0 B", "1000 B", "30 KiB", "4 MiB", "64 GiB", "1024 TiB"] {
            assert_eq!(show_size(size(text).unwrap().0), text);
        }
    }
}
