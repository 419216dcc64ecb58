//! [`check`]: rejects requests that another web page makes a browser send (CSRF, DNS rebinding).
//!
//! A page can make a browser send requests to any address. The browser adds `Origin`, `Sec-Fetch-Site` and `Host`, which the
//! page cannot forge.

use hyper::Method;
use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};

use crate::settings::Settings;

/// Why a request is rejected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Rejected {
    Host(String),
    NoHost,
    Origin(String),
}

/// The origin that may read the answer, if there is one.
pub(crate) fn check(
    settings: &Settings,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Option<String>, Rejected> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).ok_or(Rejected::NoHost)?;
    if headers.get_all(HOST).iter().count() > 1 || !is_good_host(settings, host) {
        return Err(Rejected::Host(host.chars().take(LONGEST_SHOWN).collect()));
    }
    match headers.get(ORIGIN) {
        Some(origin) => {
            let origin = origin.to_str().unwrap_or("null");
            let listed = settings.allowed_origins.iter().any(|allowed| allowed == origin);
            let own = origin.split_once("://").is_some_and(|(_, at)| at.eq_ignore_ascii_case(host));
            match (listed, own) {
                (true, _) => Ok(Some(origin.to_owned())),
                (false, true) => Ok(None),
                _ => Err(Rejected::Origin(origin.chars().take(LONGEST_SHOWN).collect())),
            }
        }
        None => from_own_page(method, headers).map(|()| None),
    }
}

/// Images and links carry no origin, but browsers send `Sec-Fetch-Site`.
fn from_own_page(method: &Method, headers: &HeaderMap) -> Result<(), Rejected> {
    let site = headers.get(SEC_FETCH_SITE).map(|site| site.as_bytes());
    let typed_into_browser = site == Some(b"none") && method == Method::GET;
    if matches!(site, None | Some(b"same-origin")) || typed_into_browser {
        return Ok(());
    }
    Err(Rejected::Origin("another page".to_owned()))
}

/// An address, a name of this network, or one that is listed. A page cannot give itself such a name.
fn is_good_host(settings: &Settings, host: &str) -> bool {
    let name = without_port(host);
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<std::net::IpAddr>().is_ok()
        || (!name.is_empty() && !name.contains('.') && !name.contains([':', '/', '@']))
        || settings.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(host) => {
                write!(f, "rpc.host: {host:?} is not among the names in control.allowed_hosts")
            }
            Self::NoHost => f.write_str("rpc.host: the request names no host"),
            Self::Origin(origin) => {
                write!(f, "rpc.origin: {origin:?} is not listed in control.allowed_origins")
            }
        }
    }
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const LONGEST_SHOWN: usize = 128;

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn checked(lines: &[(&'static str, &'static str)]) -> Result<Option<String>, Rejected> {
        let settings = Settings {
            allowed_hosts: vec!["news.example".to_owned()],
            allowed_origins: vec!["moz-extension://abc".to_owned()],
            ..Settings::default()
        };
        let headers = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        check(&settings, &Method::POST, &headers)
    }

    #[test]
    fn only_names_that_no_web_page_can_have_are_hosts() {
        for host in
            ["127.0.0.1:6789", "[::1]:6789", "localhost", "nas:6789", "NEWS.example", "10.1.2.3"]
        {
            assert_eq!(checked(&[("host", host)]), Ok(None), "{host}");
        }
        for host in ["evil.example", "evil.example:6789", "", "a@b", "127.0.0.1.evil.example"] {
            assert_eq!(checked(&[("host", host)]), Err(Rejected::Host(host.to_owned())), "{host}");
        }
        assert_eq!(checked(&[]), Err(Rejected::NoHost));
    }

    #[test]
    fn other_pages_are_kept_out() {
        let with = |name, value| checked(&[("host", "nas:6789"), (name, value)]);
        assert_eq!(with("origin", "http://nas:6789"), Ok(None));
        let listed = "moz-extension://abc";
        assert_eq!(with("origin", listed), Ok(Some(listed.to_owned())));
        for origin in ["null", "http://evil.example", "http://nas", "https://nas:67890"] {
            assert!(with("origin", origin).is_err(), "{origin}");
        }
        assert!(with("sec-fetch-site", "same-origin").is_ok());
        for site in ["cross-site", "same-site", "none"] {
            assert!(with("sec-fetch-site", site).is_err(), "{site}");
        }
    }
}
