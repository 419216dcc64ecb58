//! [`Authority`]: a certificate authority for tests, which also issues faulty certificates.

use std::fmt;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, Error,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Issues certificates for `localhost`, `127.0.0.1` and `::1`.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// What a certificate is like. All but the first have exactly one flaw.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Quality {
    Good,
    /// Made out to the bare name `127.0.0.1`, without the list of alternative names that counts.
    AddressWithoutName,
    /// An authority's own certificate, used as a server's.
    AuthorityAsServer,
    Expired,
    NotYetValid,
    SelfSigned,
    /// From an authority nobody knows, though it has the same name.
    UnknownAuthority,
    WrongHost,
}

impl Quality {
    pub const ALL: [Quality; 8] = [
        Quality::Good,
        Quality::AddressWithoutName,
        Quality::AuthorityAsServer,
        Quality::Expired,
        Quality::NotYetValid,
        Quality::SelfSigned,
        Quality::UnknownAuthority,
        Quality::WrongHost,
    ];
}

/// A certificate and its key: who a server says it is.
pub struct Identity {
    certificate: CertificateDer<'static>,
    pem: String,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    pub fn new() -> Result<Self, Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, "newsd test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// The authority's certificate, for a client's `ca_file`.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    pub fn der(&self) -> &CertificateDer<'static> {
        self.issuer.der()
    }

    pub fn issue(&self, quality: Quality) -> Result<Identity, Error> {
        let key = KeyPair::generate()?;
        let params = params_of(quality)?;
        let certificate = match quality {
            Quality::SelfSigned => params.self_signed(&key)?,
            Quality::UnknownAuthority => params.signed_by(&key, &Authority::new()?.issuer)?,
            _ => params.signed_by(&key, &self.issuer)?,
        };
        Ok(Identity::new(&certificate, &key))
    }
}

impl Identity {
    /// As `openssl req -x509` makes it: signed by its own key, and marked as an authority's.
    pub fn self_signed(quality: Quality) -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        let mut params = params_of(quality)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self::new(&params.self_signed(&key)?, &key))
    }

    fn new(certificate: &Certificate, key: &KeyPair) -> Self {
        let secret = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        Self { certificate: certificate.der().clone(), pem: certificate.pem(), key: secret }
    }

    /// The certificate, for a client's `ca_file`.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The settings of a TLS server that is this one.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        Ok(Arc::new(config))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

fn params_of(quality: Quality) -> Result<CertificateParams, Error> {
    let names: &[&str] = match quality {
        Quality::AddressWithoutName => &[],
        Quality::WrongHost => &["news.example.com"],
        _ => &["localhost", "127.0.0.1", "::1"],
    };
    let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "127.0.0.1");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    match quality {
        Quality::AuthorityAsServer => {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        Quality::Expired => {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        Quality::NotYetValid => params.not_before = date_time_ymd(3001, 1, 1),
        _ => {}
    }
    Ok(params)
}
