//! How long to wait before the next call to a host: Retry-After, API limits, back-off.

use std::time::Duration;

use bergamot_types::{SplitMix, UnixTime};

use super::reply::Headers;
use crate::date::parse_date;
use crate::document::Allowance;

/// The wait in `Retry-After`, in seconds or as a date. `None` if it is not valid.
pub fn retry_after(text: &str, now: UnixTime) -> Option<Duration> {
    let text = text.trim();
    let seconds = match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => seconds.clamp(0.0, LONGEST_WAIT.as_secs_f64()) as u64,
        Ok(_) => return None,
        Err(_) => until(parse_date(text)?, now).as_secs(),
    };
    Some(Duration::from_secs(seconds).clamp(SHORTEST_WAIT, LONGEST_WAIT))
}

/// How long to wait because few or no calls are left: until the count begins anew.
pub(super) fn wait_for_calls(headers: &Headers, now: UnixTime) -> Option<Duration> {
    let left: f64 = headers.rate_limit_remaining.as_deref()?.trim().parse().ok()?;
    if left > NEAR_ZERO as f64 {
        return None;
    }
    let reset = headers.rate_limit_reset.as_deref().and_then(|text| reset(text, now));
    Some(reset.unwrap_or(UNKNOWN_WAIT).clamp(SHORTEST_WAIT, LONGEST_WAIT))
}

/// The same by the limits that an indexer reports in its document, for calls and for grabs.
pub(super) fn waits_of(allowance: &Allowance, now: UnixTime) -> [Option<Duration>; 2] {
    let wait = |left: Option<u64>, oldest: Option<UnixTime>| {
        (left? <= NEAR_ZERO).then(|| {
            let free = oldest.map(|oldest| until(UnixTime(oldest.0.saturating_add(DAY)), now));
            free.unwrap_or(UNKNOWN_WAIT).clamp(SHORTEST_WAIT, LONGEST_WAIT)
        })
    };
    [
        wait(allowance.calls_left, allowance.oldest_call),
        wait(allowance.grabs_left, allowance.oldest_grab),
    ]
}

/// A minute, doubled with every failure up to an hour, and up to a quarter more by chance.
pub(super) fn back_off(failures: u32, chance: &mut SplitMix) -> Duration {
    let doublings = failures.saturating_sub(1).min(MOST_DOUBLINGS);
    let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    pause + Duration::from_millis(chance.up_to(pause.as_millis() as u64 / 4))
}

/// Some servers write a date as seconds since 1970, others how many seconds are left.
fn reset(text: &str, now: UnixTime) -> Option<Duration> {
    let Ok(number) = text.trim().parse::<f64>() else {
        return parse_date(text).map(|date| until(date, now));
    };
    match number {
        number if !number.is_finite() => None,
        number if number >= FIRST_DATE => Some(until(UnixTime(number as i64), now)),
        number => Some(Duration::from_secs(number.max(0.0) as u64)),
    }
}

fn until(date: UnixTime, now: UnixTime) -> Duration {
    Duration::from_secs(date.0.saturating_sub(now.0).max(0).unsigned_abs())
}

pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// If the server does not report a time.
const UNKNOWN_WAIT: Duration = Duration::from_secs(60 * 60);
/// One call is left unused for the user.
const NEAR_ZERO: u64 = 1;
/// 2001; no count of seconds is that long.
const FIRST_DATE: f64 = 1e9;
const DAY: i64 = 24 * 60 * 60;
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
const MOST_DOUBLINGS: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_794_839_794); // Mon, 16 Nov 2026 14:36:34 GMT

    #[test]
    fn retry_after_is_honoured_within_reason() {
        for (text, expected) in [
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("1.5", Some(1)),
            ("0", Some(1)),
            ("-30", Some(1)),
            ("315360000", Some(86_400)),
            ("99999999999999999999999", Some(86_400)),
            ("Mon, 16 Nov 2026 14:46:34 GMT", Some(600)),
            ("Mon, 16 Nov 2026 14:00:00 GMT", Some(1)),
            ("Sun, 16 Nov 2036 14:36:34 GMT", Some(86_400)),
            ("soon", None),
            ("", None),
            ("NaN", None),
            ("inf", None),
        ] {
            assert_eq!(retry_after(text, NOW), expected.map(Duration::from_secs), "{text:?}");
        }
    }

    #[test]
    fn calls_that_run_out_wait_for_the_reset() {
        for (left, reset, expected) in [
            ("100", "60", None),
            ("2", "60", None),
            ("1", "60", Some(60)),
            ("0", "60", Some(60)),
            ("0", "1794839894", Some(100)),
            ("0", "1794830000", Some(1)),
            ("0", "Mon, 16 Nov 2026 14:46:34 GMT", Some(600)),
            ("0", "1e30", Some(86_400)),
            ("0", "soon", Some(3_600)),
            ("-5", "10", Some(10)),
            ("many", "10", None),
        ] {
            let headers = Headers {
                rate_limit_remaining: Some(left.into()),
                rate_limit_reset: Some(reset.into()),
                ..Headers::default()
            };
            let found = wait_for_calls(&headers, NOW);
            assert_eq!(found, expected.map(Duration::from_secs), "{left} {reset}");
        }
    }

    #[test]
    fn pauses_double_from_a_minute_to_an_hour() {
        let mut chance = SplitMix::seeded(1);
        for (failures, least) in [(0, 60), (1, 60), (2, 120), (3, 240), (7, 3_600), (900, 3_600)] {
            let pause = back_off(failures, &mut chance);
            let least = Duration::from_secs(least);
            assert!(pause >= least && pause <= least * 5 / 4, "{failures} {pause:?}");
        }
    }
}
