//! Modes that control the daemon as a whole: pauses, the rate limit and shutdown.

use std::time::Duration;

use bergamot_api::request::{Part, Pause};
use bergamot_api::{Control, Refusal};
use bergamot_types::ByteRate;

use crate::call::fault::Fault;
use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::mode::{Answer, Call, done};

pub(super) async fn pause<C: Control>(call: Call<'_, C>) -> Answer {
    paused(&call, Part::Download, None).await
}

pub(super) async fn pause_post<C: Control>(call: Call<'_, C>) -> Answer {
    paused(&call, Part::Post, None).await
}

pub(super) async fn pause_for<C: Control>(call: Call<'_, C>) -> Answer {
    let minutes: u64 = call.params.value()?.trim().parse().map_err(|_| SabError::ExpectsInteger)?;
    match minutes {
        0 => resume(call).await,
        _ => {
            let minutes = minutes.min(LONGEST_PAUSE);
            paused(&call, Part::Download, Some(Duration::from_secs(minutes * 60))).await
        }
    }
}

async fn paused<C: Control>(call: &Call<'_, C>, part: Part, lasting: Option<Duration>) -> Answer {
    let author = call.caller.name.clone();
    call.control.pause(Pause { parts: vec![part], lasting, author }).await?;
    done()
}

pub(super) async fn resume<C: Control>(call: Call<'_, C>) -> Answer {
    call.control.resume(vec![Part::Download]).await?;
    done()
}

pub(super) async fn resume_post<C: Control>(call: Call<'_, C>) -> Answer {
    call.control.resume(vec![Part::Post]).await?;
    done()
}

pub(super) async fn limit_speed<C: Control>(call: Call<'_, C>) -> Answer {
    let value = call.params.text("value");
    let line = call.control.config().await?.facts.rate_limit;
    call.control.limit(speed(value, line)?).await?;
    done()
}

/// None is no limit. Small numbers are percents, larger ones bytes a second.
fn speed(text: &str, line: u64) -> Result<Option<ByteRate>, SabError> {
    let text = text.trim();
    let wrong = || SabError::Fault(Fault::parameter(format!("{text:?} is no rate")));
    let (digits, factor) = match text.char_indices().next_back() {
        None => return Ok(None),
        Some((at, 'k' | 'K')) => (&text[..at], Some(1 << 10)),
        Some((at, 'm' | 'M')) => (&text[..at], Some(1 << 20)),
        Some((at, 'g' | 'G')) => (&text[..at], Some(1 << 30)),
        Some((at, '%')) => (&text[..at], None),
        Some(_) => (text, Some(1)),
    };
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    if !number.is_finite() || number < 0.0 {
        return Err(wrong());
    }
    let rate = match factor {
        Some(factor) if factor > 1 || number > 100.0 => number * f64::from(factor),
        // 100 % is no limit, whatever the bandwidth.
        _ if number == 0.0 || number >= 100.0 => 0.0,
        _ if line == 0 => {
            let why = "a percentage needs the rate of the line in download.rate".to_owned();
            return Err(Refusal::Impossible(why).into());
        }
        _ => line as f64 * number / 100.0,
    };
    Ok(Some(ByteRate(rate as u64)).filter(|rate| rate.0 > 0))
}

pub(super) async fn scan<C: Control>(call: Call<'_, C>) -> Answer {
    call.control.scan().await?;
    done()
}

pub(super) async fn read_feeds<C: Control>(call: Call<'_, C>) -> Answer {
    call.control.fetch_feeds(None).await?;
    done()
}

pub(super) async fn unblock_server<C: Control>(call: Call<'_, C>) -> Answer {
    let name = call.params.value()?;
    let servers = call.control.servers().await?;
    let server = servers.iter().find(|server| server.name == name || server.host == name);
    let server = server.ok_or(SabError::NoSuchItem)?;
    call.control.switch_servers(vec![(server.id, true)]).await?;
    done()
}

pub(super) async fn shut_down<C: Control>(call: Call<'_, C>) -> Answer {
    call.control.shut_down().await?;
    done()
}

pub(super) async fn restart<C: Control>(call: Call<'_, C>) -> Answer {
    call.control.reload().await?;
    done()
}

/// In minutes, a year.
const LONGEST_PAUSE: u64 = 365 * 24 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_share_of_the_line_or_stands_for_itself() {
        let rate = |text, line| speed(text, line).expect("a rate").map(|rate| rate.0);
        assert_eq!([rate("50", 1000), rate("25%", 1000)], [Some(500), Some(250)]);
        assert_eq!(
            [rate("400K", 0), rate("1.5M", 9), rate("1000000", 9)],
            [Some(409_600), Some(1_572_864), Some(1_000_000)]
        );
        assert_eq!([rate("0", 9), rate("", 9), rate("100", 0)], [None, None, None]);
        for (text, line) in [("fast", 9), ("-5", 9), ("NaN", 9), ("é", 9), ("50", 0)] {
            assert!(speed(text, line).is_err(), "{text}");
        }
    }
}
