//! [`Pinned`] verifies servers by the usual authorities, or by a copy of their own certificate.
//!
//! A self-signed certificate as `openssl req -x509` makes it is marked as that of an authority, and
//! webpki accepts none such from a server, even where the certificate is a trust anchor itself. A user
//! who has copied the certificate of a server into `ca_file` has decided to trust it, so it is accepted
//! if it is equal byte by byte, made out to the name of the server, and within its dates. The signature
//! of the handshake is verified as always, so the server has the key.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) authorities: Arc<WebPkiServerVerifier>,
    /// The certificates of `ca_file`.
    pub(crate) trusted: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let by_authority =
            self.authorities.verify_server_cert(certificate, others, name, ocsp_response, now);
        match by_authority {
            Err(_) if self.trusted.iter().any(|trusted| trusted == certificate) => {
                verify_dates(certificate, now)?;
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

fn verify_dates(certificate: &[u8], time: UnixTime) -> Result<(), CertificateError> {
    let (not_before, not_after) = validity(certificate).ok_or(CertificateError::BadEncoding)?;
    if time < not_before {
        return Err(CertificateError::NotValidYetContext { time, not_before });
    }
    if time > not_after {
        return Err(CertificateError::ExpiredContext { time, not_after });
    }
    Ok(())
}

/// The first and the last moment of a certificate in DER (RFC 5280, section 4.1).
fn validity(certificate: &[u8]) -> Option<(UnixTime, UnixTime)> {
    let (certificate, _) = value(certificate, SEQUENCE)?;
    let (mut fields, _) = value(certificate, SEQUENCE)?;
    if let Some((_version, rest)) = value(fields, VERSION) {
        fields = rest;
    }
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        (_, fields) = value(fields, tag)?; // serial number, algorithm, issuer
    }
    let (dates, _) = value(fields, SEQUENCE)?;
    let (not_before, rest) = date(dates)?;
    let (not_after, _) = date(rest)?;
    Some((not_before, not_after))
}

fn date(bytes: &[u8]) -> Option<(UnixTime, &[u8])> {
    let (text, rest) = value(bytes, GENERALIZED_TIME).or_else(|| value(bytes, UTC_TIME))?;
    let text = std::str::from_utf8(text).ok()?;
    let text = match bytes.first() {
        Some(&UTC_TIME) => {
            let year: u8 = text.get(..2)?.parse().ok()?;
            format!("{}{text}", if year < 50 { "20" } else { "19" })
        }
        _ => text.to_owned(),
    };
    let date = NaiveDateTime::parse_from_str(&text, "%Y%m%d%H%M%SZ").ok()?;
    // What began before 1970 has begun.
    let seconds = u64::try_from(date.and_utc().timestamp()).unwrap_or(0);
    Some((UnixTime::since_unix_epoch(Duration::from_secs(seconds)), rest))
}

/// The content of the first value, if it has that tag, and what follows it.
fn value(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        _ => return None, // longer than any certificate that TLS servers use
    };
    if found == tag { rest.split_at_checked(length) } else { None }
}

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn the_dates_of_a_certificate_are_read() {
        for (first, last, expected) in [
            ((1999, 1, 1), (2049, 12, 31), (915_148_800, 2_524_521_600)),
            ((1960, 1, 1), (2051, 1, 1), (0, 2_556_144_000)),
        ] {
            let mut params = CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
            params.not_before = date_time_ymd(first.0, first.1, first.2);
            params.not_after = date_time_ymd(last.0, last.1, last.2);
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let (begin, end) = validity(certificate.der()).unwrap();
            assert_eq!((begin.as_secs(), end.as_secs()), expected);
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_dates() {
        let params = CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let whole: &[u8] = certificate.der();
        for end in 0..whole.len() {
            let cut = validity(&whole[..end]);
            assert_eq!(cut, None, "the outermost value is cut at {end}");
        }
        assert_eq!(validity(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
