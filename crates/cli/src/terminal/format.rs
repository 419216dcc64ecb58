//! Amounts, durations and percentages as text. Pure functions.

use bergamot_types::{ByteCount, ByteRate, UnixTime};

pub(crate) fn size(bytes: u64) -> String {
    ByteCount(bytes).to_string()
}

pub(crate) fn rate(bytes: u64) -> String {
    ByteRate(bytes).to_string()
}

/// In its two largest units.
pub(crate) fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => two(minutes, "min", seconds % 60, "s"),
        3600..86_400 => two(hours, "h", minutes % 60, "min"),
        _ => two(days, "d", hours % 24, "h"),
    }
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large} {large_unit}"),
        _ => format!("{large} {large_unit} {small} {small_unit}"),
    }
}

/// The time since then, in its largest unit.
pub(crate) fn ago(now: UnixTime, at: UnixTime) -> String {
    let seconds = u64::try_from(now.0.saturating_sub(at.0)).unwrap_or(0);
    match seconds {
        0..10 => "just now".to_owned(),
        10..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// The time left at this rate; none without a rate.
pub(crate) fn time_left(bytes: u64, rate: u64) -> Option<String> {
    let seconds = bytes.checked_div(rate)?;
    (seconds < ABSURD).then(|| span(seconds))
}

/// Never 100 before everything is there, and none if the total is unknown.
pub(crate) fn percent(remaining: u64, size: u64) -> String {
    if size == 0 {
        return "-".to_owned();
    }
    format!("{} %", thousandths(remaining, size) / 10)
}

/// How much of it is there.
pub(crate) fn thousandths(remaining: u64, size: u64) -> u16 {
    let done = u128::from(size.saturating_sub(remaining)) * 1000;
    done.checked_div(size.into()).map_or(1000, |done| done as u16)
}

/// A bar of so many columns, in steps of an eighth of one.
pub(crate) fn bar(thousandths: u16, columns: usize) -> String {
    let eighths = columns * 8 * usize::from(thousandths.min(1000)) / 1000;
    let part = EIGHTHS[eighths % 8];
    let drawn = eighths / 8 + part.chars().count();
    format!("{}{part}{}", "█".repeat(eighths / 8), "·".repeat(columns - drawn))
}

pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Longer times mean that the download has stalled.
const ABSURD: u64 = 2 * 365 * 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_two_units() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (200, "3 min 20 s"),
            (3600, "1 h"),
            (7_500, "2 h 5 min"),
            (86_400, "1 d"),
            (100_000, "1 d 3 h"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn what_is_over_is_told_roughly() {
        for (seconds, text) in [
            (-5, "just now"),
            (3, "just now"),
            (42, "42 s ago"),
            (150, "2 min ago"),
            (90_000, "1 d ago"),
        ] {
            assert_eq!(ago(UnixTime(1_000_000), UnixTime(1_000_000 - seconds)), text);
        }
    }

    #[test]
    fn the_last_percent_comes_with_the_last_byte() {
        for (remaining, size, text) in [
            (0, 0, "-"),
            (0, 10, "100 %"),
            (1, 1_000_000, "99 %"),
            (10, 10, "0 %"),
            (20, 10, "0 %"),
            (u64::MAX / 2, u64::MAX, "50 %"),
        ] {
            assert_eq!(percent(remaining, size), text, "{remaining} of {size}");
        }
    }

    #[test]
    fn bars_have_the_width_that_is_asked_for() {
        for (thousandths, text) in [
            (0, "····"),
            (500, "██··"),
            (540, "██▏·"),
            (999, "███▉"),
            (1000, "████"),
            (9999, "████"),
        ] {
            assert_eq!(bar(thousandths, 4), text);
        }
        assert_eq!(bar(700, 0), "");
    }

    #[test]
    fn nobody_waits_for_years() {
        assert_eq!(time_left(1000, 0), None);
        assert_eq!(time_left(1000, 10).as_deref(), Some("1 min 40 s"));
        assert_eq!(time_left(u64::MAX, 1), None);
    }
}
