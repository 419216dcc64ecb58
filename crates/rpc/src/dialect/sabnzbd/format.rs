//! Sizes, times and ids in SABnzbd's formats.
//!
//! Most numbers are text there, and clients parse that text, so it is formatted exactly alike.

use bergamot_types::{JobId, UnixTime};

/// A number, a blank and a unit: `"678.1 G"`, `"12 K"`, `"0 "`. Clients read the last letter.
pub(super) fn units(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, 0);
    while value > 1023.0 && unit < UNITS.len() - 1 {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit >= FIRST_WITH_DECIMALS);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// The same, ended by the letter for bytes.
pub(super) fn units_of_bytes(bytes: u64) -> String {
    format!("{}B", units(bytes))
}

pub(super) fn kibibytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / 1024.0)
}

pub(super) fn mebibytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / (1u64 << 20) as f64)
}

pub(super) fn gibibytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / (1u64 << 30) as f64)
}

/// `H:MM:SS`, with the days before it if there are any. Without a rate it is zero.
pub(super) fn time_left(bytes: u64, rate: u64) -> String {
    let seconds = bytes.checked_div(rate).unwrap_or(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let clock = format!("{:02}:{:02}", minutes % 60, seconds % 60);
    match days {
        0 => format!("{hours}:{clock}"),
        _ => format!("{days}:{:02}:{clock}", hours % 24),
    }
}

/// In the largest unit that fits, of days, hours and minutes.
pub(super) fn age(posted: Option<UnixTime>, now: UnixTime) -> String {
    let Some(posted) = posted else { return "-".to_owned() };
    let seconds = now.0.saturating_sub(posted.0).max(0);
    match (seconds / 86_400, seconds / 3600) {
        (0, 0) => format!("{}m", seconds / 60),
        (0, hours) => format!("{hours}h"),
        (days, _) => format!("{days}d"),
    }
}

/// How much of it has come.
pub(super) fn percentage(size: u64, left: u64) -> String {
    let done = u128::from(size.saturating_sub(left)) * 100;
    done.checked_div(u128::from(size)).unwrap_or(0).to_string()
}

/// The id of a job in this dialect; it never changes.
pub(super) fn nzo_id(job: JobId) -> String {
    format!("{NZO}{}", job.0)
}

pub(super) fn job_of(nzo_id: &str) -> Option<JobId> {
    nzo_id.trim().strip_prefix(NZO)?.parse().ok().map(JobId)
}

pub(super) fn nzf_id(file: u64) -> String {
    format!("{NZF}{file}")
}

pub(super) fn file_of(nzf_id: &str) -> Option<u64> {
    nzf_id.trim().strip_prefix(NZF)?.parse().ok()
}

pub(super) fn priority_name(priority: i32) -> &'static str {
    match priority {
        FORCE.. => "Force",
        1.. => "High",
        0 => "Normal",
        _ => "Low",
    }
}

/// The number of that name.
pub(super) fn priority_number(priority: i32) -> i32 {
    match priority {
        FORCE.. => 2,
        1.. => 1,
        0 => 0,
        _ => -1,
    }
}

const UNITS: [&str; 6] = ["", "K", "M", "G", "T", "P"];
const FIRST_WITH_DECIMALS: usize = 2;
/// The form of SABnzbd's own ids; clients treat them as opaque, but some read the prefix.
const NZO: &str = "SABnzbd_nzo_";
const NZF: &str = "SABnzbd_nzf_";
/// From here on a job runs even while everything is paused.
pub(super) const FORCE: i32 = 900;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_and_a_decimal_where_sabnzbd_has_one() {
        for (bytes, text) in [
            (0, "0 "),
            (1023, "1023 "),
            (1024, "1 K"),
            (12 << 10, "12 K"),
            (1 << 20, "1.0 M"),
            (1_288_490_189, "1.2 G"),
            (728_107_600_000, "678.1 G"),
            (u64::MAX, "16384.0 P"),
        ] {
            assert_eq!(units(bytes), text);
        }
        assert_eq!(units_of_bytes(0), "0 B");
        assert_eq!(units_of_bytes(1_288_490_189), "1.2 GB");
        assert_eq!((mebibytes(1_572_864), gibibytes(1 << 29)), ("1.50".into(), "0.50".into()));
    }

    #[test]
    fn times_are_of_whole_numbers() {
        assert_eq!(time_left(0, 0), "0:00:00");
        assert_eq!(time_left(5, 0), "0:00:00");
        assert_eq!(time_left(3_725, 1), "1:02:05");
        assert_eq!(time_left(86_400 + 3_725, 1), "1:01:02:05");
        let now = UnixTime(1_800_000_000);
        let ages =
            [30, 120, 7_200, 86_400 * 2895].map(|past| age(Some(UnixTime(now.0 - past)), now));
        assert_eq!(ages, ["0m", "2m", "2h", "2895d"]);
        assert_eq!(age(None, now), "-");
        assert_eq!(age(Some(UnixTime(i64::MAX)), now), "0m");
    }

    #[test]
    fn shares_are_whole_percents() {
        assert_eq!((percentage(0, 0), percentage(3, 2)), ("0".to_owned(), "33".to_owned()));
        assert_eq!(percentage(u64::MAX, 0), "100");
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        assert_eq!(job_of(&nzo_id(JobId(7))), Some(JobId(7)));
        assert_eq!(file_of(&nzf_id(1_000_001)), Some(1_000_001));
        for odd in ["", "7", "SABnzbd_nzo_", "SABnzbd_nzo_-7", "SABnzbd_nzo_99999999999"] {
            assert_eq!(job_of(odd), None, "{odd}");
        }
    }
}
