//! Describes why a certificate is not trusted, in words and dates.

use std::io;

use chrono::{DateTime, SecondsFormat};
use rustls::CertificateError;
use rustls::pki_types::UnixTime;

/// Includes the time of this machine: a wrong clock is the usual reason.
pub(crate) fn described(error: &CertificateError) -> String {
    match error {
        CertificateError::ExpiredContext { time, not_after } => format!(
            "it expired at {}, and the clock of this machine says {}",
            date(*not_after),
            date(*time)
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "it is not valid yet: it begins at {}, and the clock of this machine says {}",
            date(*not_before),
            date(*time)
        ),
        error => error.to_string(),
    }
}

/// Of a handshake that failed.
pub(crate) fn of_handshake(error: &io::Error) -> Option<String> {
    match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(cause) => Some(described(cause)),
        _ => None,
    }
}

/// RFC 3339 in UTC.
fn date(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).ok();
    match seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0)) {
        Some(date) => date.to_rfc3339_opts(SecondsFormat::Secs, true),
        None => format!("{} s after 1970", time.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_dates() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let expired =
            CertificateError::ExpiredContext { time: at(1_800_000_000), not_after: at(0) };
        assert_eq!(
            described(&expired),
            "it expired at 1970-01-01T00:00:00Z, and the clock of this machine says \
             2027-01-15T08:00:00Z"
        );
        let early = CertificateError::NotValidYetContext { time: at(0), not_before: at(86_400) };
        assert!(described(&early).contains("not valid yet: it begins at 1970-01-02T00:00:00Z"));
        assert!(described(&early).ends_with("says 1970-01-01T00:00:00Z"));
        assert!(date(at(u64::MAX)).ends_with("s after 1970"));
    }
}
