//! How long a server wants to be left alone: the `Retry-After` header (RFC 9110, section 10.2.3).

use std::time::Duration;

use bergamot_types::UnixTime;
use chrono::DateTime;

/// The pause that the header asks for, within reason; none if it says nothing that can be read.
pub fn retry_after(header: &str, now: UnixTime) -> Option<Duration> {
    let header = header.trim();
    let seconds = match header.parse::<i128>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let date = DateTime::parse_from_rfc2822(header).ok()?;
            i128::from(date.timestamp()) - i128::from(now.0)
        }
    };
    let seconds = seconds.clamp(SHORTEST.as_secs().into(), LONGEST.as_secs().into());
    Some(Duration::from_secs(u64::try_from(seconds).ok()?))
}

const SHORTEST: Duration = Duration::from_secs(1);

/// Whoever asks for years has a bug.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_held_within_a_day() {
        let now = UnixTime(1_794_830_400); // Mon, 16 Nov 2026 12:00:00 GMT
        for (header, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(1)),
            ("-5", Some(1)),
            ("315360000", Some(86_400)),
            ("99999999999999999999", Some(86_400)),
            ("Mon, 16 Nov 2026 12:02:00 GMT", Some(120)),
            ("Mon, 16 Nov 2026 11:00:00 GMT", Some(1)),
            ("Sun, 16 Nov 2036 12:00:00 GMT", Some(86_400)),
            ("soon", None),
            ("", None),
            ("1.5", None),
        ] {
            assert_eq!(retry_after(header, now).map(|it| it.as_secs()), seconds, "{header}");
        }
    }
}
