//! [`usual_interval`]: how often to poll a source that brings news at its own pace.

use std::time::Duration;

use bergamot_types::UnixTime;

/// The usual pause between two looks, from when the last things came, in any order.
///
/// That is the mean gap of the last five, and as long as there is no gap to go by an hour.
pub fn usual_interval(times: &[UnixTime]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let recent = &times[times.len().saturating_sub(ITEMS_COUNTED)..];
    let [oldest, .., newest] = recent else { return FIRST_INTERVAL };
    let span = newest.0.saturating_sub(oldest.0).unsigned_abs();
    Duration::from_secs(span / (recent.len() as u64 - 1)).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)
}

/// The same where nothing came for months: twice as long with every further week of silence.
pub fn stretched_interval(usual: Duration, newest: UnixTime, now: UnixTime) -> Duration {
    let silent_days = now.days_since(newest);
    let Some(beyond) = silent_days.checked_sub(PATIENCE_DAYS) else { return usual };
    let doublings = (1 + beyond / DAYS_A_STEP).min(MOST_DOUBLINGS) as u32;
    usual.saturating_mul(1 << doublings).min(LONGEST_INTERVAL).max(usual)
}

/// When nothing is known yet.
pub const FIRST_INTERVAL: Duration = Duration::from_secs(60 * 60);
pub const SHORTEST_INTERVAL: Duration = Duration::from_secs(10 * 60);
pub const LONGEST_INTERVAL: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// More would only remember a pace that is no longer kept.
pub const ITEMS_COUNTED: usize = 5;

const PATIENCE_DAYS: u64 = 90;
const DAYS_A_STEP: u64 = 7;
/// From the shortest interval to the longest it is ten.
const MOST_DOUBLINGS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;

    #[test]
    fn the_interval_is_the_mean_gap_of_the_last_five() {
        for (ages, expected) in [
            (&[][..], 60 * MINUTE),
            (&[5 * DAY], 60 * MINUTE),
            (&[0, 2 * HOUR], 2 * HOUR),
            (&[0, HOUR, 2 * HOUR, 5 * HOUR, 8 * HOUR], 2 * HOUR),
            (&[0, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 400 * DAY], HOUR),
            (&[3 * HOUR, 0, 2 * HOUR, HOUR], HOUR),
            (&[0, 0, 0, 0, 0], 10 * MINUTE),
            (&[0, MINUTE], 10 * MINUTE),
            (&[0, 10 * MINUTE - 1], 10 * MINUTE),
            (&[0, 10 * MINUTE + 1], 10 * MINUTE + 1),
            (&[0, 7 * DAY - 1], 7 * DAY - 1),
            (&[0, 30 * DAY], 7 * DAY),
        ] {
            let times: Vec<_> = ages.iter().map(|age| UnixTime(1_000 * DAY - age)).collect();
            assert_eq!(usual_interval(&times), seconds(expected), "{ages:?}");
        }
        assert_eq!(
            usual_interval(&[UnixTime(i64::MIN), UnixTime(i64::MAX)]),
            LONGEST_INTERVAL,
            "dates of strangers may be anything"
        );
    }

    #[test]
    fn after_ninety_silent_days_it_stretches_step_by_step_to_a_week() {
        for (usual, silent, expected) in [
            (HOUR, 0, HOUR),
            (HOUR, 90 * DAY - 1, HOUR),
            (HOUR, 90 * DAY, 2 * HOUR),
            (HOUR, 97 * DAY, 4 * HOUR),
            (HOUR, 104 * DAY, 8 * HOUR),
            (HOUR, 1_000 * DAY, 7 * DAY),
            (10 * MINUTE, i64::MAX, 7 * DAY),
            (7 * DAY, 95 * DAY, 7 * DAY),
            (HOUR, -5 * DAY, HOUR),
        ] {
            let now = UnixTime(silent);
            let found = stretched_interval(seconds(usual), UnixTime(0), now);
            assert_eq!(found, seconds(expected), "{usual} {silent}");
        }
    }

    fn seconds(count: i64) -> Duration {
        Duration::from_secs(count.unsigned_abs())
    }
}
