//! [`TlsSettings`]: the TLS configuration of one server.

pub(crate) mod certificate;
pub(crate) mod pinned;
pub(crate) mod tls_stream;

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use thiserror::Error;

use crate::tls::pinned::Pinned;

#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Whether the certificate of the server is verified.
    pub verify: bool,
    /// Certificates in PEM that are trusted beside the usual ones.
    pub extra_roots: Option<Vec<u8>>,
    /// The only suites to be offered, by their rustls names; empty offers all.
    pub ciphers: Vec<String>,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self { verify: true, extra_roots: None, ciphers: Vec::new() }
    }
}

/// How a connection is encrypted, for display.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TlsAgreement {
    /// As in `TLS 1.3`.
    pub version: String,
    /// By the name that the settings have for it.
    pub cipher: String,
}

/// Why TLS settings make no configuration.
#[derive(Debug, Error)]
pub enum TlsSetupError {
    #[error("the CA file holds a certificate that cannot be used: {0}")]
    BadRoot(String),
    #[error("the CA file holds no certificate")]
    NoRoots,
    #[error("there is no cipher {name}; known are {known}")]
    UnknownCipher { name: String, known: String },
    #[error("the ciphers {0} fit no version of TLS")]
    UselessCiphers(String),
}

/// The names of all cipher suites that can be configured.
pub fn cipher_names() -> Vec<String> {
    let suites = aws_lc_rs::default_provider().cipher_suites;
    suites.iter().map(|suite| format!("{:?}", suite.suite())).collect()
}

pub(crate) fn client_config(settings: &TlsSettings) -> Result<Arc<ClientConfig>, TlsSetupError> {
    let provider = Arc::new(provider(&settings.ciphers)?);
    // The first random byte takes 30 ms to seed the generator, which the first handshake would wait
    // for. Should there be none, that will tell.
    let _ = provider.secure_random.fill(&mut [0]);
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|_| TlsSetupError::UselessCiphers(settings.ciphers.join(", ")))?;
    let config = if settings.verify {
        let trusted = extra_certificates(settings.extra_roots.as_deref())?;
        let roots = Arc::new(roots(&trusted)?);
        let authorities = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
        // Only a store without any root is refused, and the usual ones are always there.
        let authorities = authorities.map_err(|_| TlsSetupError::NoRoots)?;
        let verifier = Arc::new(Pinned { authorities, trusted });
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        let verifier = Arc::new(Unverified(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    };
    Ok(Arc::new(config))
}

fn provider(ciphers: &[String]) -> Result<CryptoProvider, TlsSetupError> {
    let mut provider = aws_lc_rs::default_provider();
    if ciphers.is_empty() {
        return Ok(provider);
    }
    let known = cipher_names();
    if let Some(name) =
        ciphers.iter().find(|name| !known.iter().any(|k| k.eq_ignore_ascii_case(name)))
    {
        return Err(TlsSetupError::UnknownCipher { name: name.clone(), known: known.join(", ") });
    }
    provider.cipher_suites.retain(|suite| {
        let name = format!("{:?}", suite.suite());
        ciphers.iter().any(|wanted| wanted.eq_ignore_ascii_case(&name))
    });
    Ok(provider)
}

fn extra_certificates(pem: Option<&[u8]>) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let Some(pem) = pem else { return Ok(Vec::new()) };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|error| TlsSetupError::BadRoot(error.to_string()))?;
    if certificates.is_empty() { Err(TlsSetupError::NoRoots) } else { Ok(certificates) }
}

fn roots(extra: &[CertificateDer<'static>]) -> Result<RootCertStore, TlsSetupError> {
    let mut store = RootCertStore::empty();
    store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for certificate in extra {
        let added = store.add(certificate.clone());
        added.map_err(|error| TlsSetupError::BadRoot(error.to_string()))?;
    }
    Ok(store)
}

/// Takes any certificate, for servers whose owner turned verification off. The handshake itself is
/// still checked, so the server does hold the key it shows.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_are_known_by_their_rustls_names() {
        let with = |ciphers: &[&str]| {
            let ciphers = ciphers.iter().map(|name| (*name).to_owned()).collect();
            client_config(&TlsSettings { ciphers, ..TlsSettings::default() })
        };
        assert!(with(&["TLS13_AES_128_GCM_SHA256"]).is_ok());
        let error = with(&["ROT13"]).unwrap_err().to_string();
        assert!(error.contains("ROT13") && error.contains("TLS13_AES_128_GCM_SHA256"), "{error}");
    }

    #[test]
    fn a_ca_file_without_a_certificate_is_an_error() {
        let settings =
            TlsSettings { extra_roots: Some(b"hello".to_vec()), ..TlsSettings::default() };
        assert!(matches!(client_config(&settings), Err(TlsSetupError::NoRoots)));
    }
}
