//! [`Credentials`] of an HTTP request, and the [`Caller`] they belong to. Pure functions of the settings.

use std::net::IpAddr;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName};

use crate::access::{Access, Caller};
use crate::call::bounds;
use crate::settings::Settings;

/// What a request presents to authenticate.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Credentials {
    /// As bytes, for Sonarr writes ISO 8859-1 and others UTF-8.
    Login {
        name: Vec<u8>,
        password: Vec<u8>,
    },
    Token(Vec<u8>),
}

/// Those of the URL count before all others, those of `X-Authorization` before `Authorization`.
pub(crate) fn credentials(url: Option<Credentials>, headers: &HeaderMap) -> Option<Credentials> {
    url.or_else(|| from_header(headers, &X_AUTHORIZATION))
        .or_else(|| from_header(headers, &AUTHORIZATION))
}

fn from_header(headers: &HeaderMap, name: &HeaderName) -> Option<Credentials> {
    let text = headers.get(name)?.to_str().ok()?;
    let (scheme, rest) = text.trim().split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(Credentials::Token(rest.trim().as_bytes().to_vec()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let login = bounds::base64(rest.trim()).ok()?;
    Credentials::login(&login)
}

impl Credentials {
    /// Of `name:password`.
    pub(crate) fn login(text: &[u8]) -> Option<Self> {
        let colon = text.iter().position(|byte| *byte == b':')?;
        let (name, password) = (text[..colon].to_vec(), text[colon + 1..].to_vec());
        Some(Self::Login { name, password })
    }

    /// The account under which failures are counted; a token names none.
    pub(crate) fn account(&self) -> Option<&[u8]> {
        match self {
            Self::Login { name, .. } => Some(name),
            Self::Token(_) => None,
        }
    }
}

/// The one check of all secrets. Every secret is compared to its end, whichever matches.
pub(crate) fn caller(settings: &Settings, given: &Credentials, address: IpAddr) -> Option<Caller> {
    let mut best: Option<(Access, String)> = None;
    let mut take = |access: Access, name: &str| {
        if best.as_ref().is_none_or(|(known, _)| *known < access) {
            best = Some((access, name.to_owned()));
        }
    };
    match given {
        Credentials::Login { name, password } => {
            for user in &settings.users {
                let named = user.name.is_empty() | same_text(name, &user.name);
                if same_text(password, user.password.reveal()) & named {
                    take(user.access, &user.name);
                }
            }
        }
        Credentials::Token(secret) => {
            for token in &settings.tokens {
                if same_text(secret, token.secret.reveal()) {
                    take(token.access, "token");
                }
            }
        }
    }
    best.map(|(access, name)| Caller {
        access,
        name: format!("{name} over HTTP from {address}"),
        is_authenticated: true,
    })
}

/// Where full control takes no password, this machine is trusted; but not what a proxy on it passes on.
pub(crate) fn caller_without_password(
    settings: &Settings,
    headers: &HeaderMap,
    address: IpAddr,
) -> Option<Caller> {
    let is_direct = !headers.keys().any(|name| is_of_proxy(name.as_str()));
    let trusted = !settings.guards_control() && address.is_loopback() && is_direct;
    trusted.then(|| Caller {
        access: Access::Control,
        name: format!("HTTP from {address}"),
        is_authenticated: false,
    })
}

fn is_of_proxy(name: &str) -> bool {
    let begins = ["forwarded", "x-forwarded", "x-original-forwarded"];
    OF_PROXIES.contains(&name) || begins.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether the bytes are that text, in UTF-8 or in ISO 8859-1.
fn same_text(given: &[u8], expected: &str) -> bool {
    let latin: String = given.iter().map(|byte| char::from(*byte)).collect();
    let expected = expected.as_bytes();
    same_bytes(given, expected) | same_bytes(latin.as_bytes(), expected)
}

/// Takes as long for a wrong guess as for one that is nearly right. An empty secret is none.
fn same_bytes(given: &[u8], expected: &[u8]) -> bool {
    if expected.is_empty() {
        return false;
    }
    let differences = given.iter().enumerate().fold(0, |differences, (place, byte)| {
        differences | (byte ^ expected[place % expected.len()])
    });
    std::hint::black_box(differences) == 0 && given.len() == expected.len()
}

const X_AUTHORIZATION: HeaderName = HeaderName::from_static("x-authorization");
/// Headers that proxies add, beside those that begin like `Forwarded` (RFC 7239) and what it replaces.
const OF_PROXIES: [&str; 14] = [
    "cdn-loop",
    "cf-connecting-ip",
    "client-ip",
    "fastly-client-ip",
    "proxy-connection",
    "true-client-ip",
    "via",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-original-host",
    "x-original-url",
    "x-real-ip",
    "x-remote-ip",
];

#[cfg(test)]
mod tests {
    use bergamot_types::Secret;
    use hyper::header::HeaderValue;

    use super::*;
    use crate::settings::{Token, User};

    fn settings() -> Settings {
        let user = |name: &str, password: &str, access| User {
            name: name.to_owned(),
            password: Secret::new(password),
            access,
        };
        Settings {
            users: vec![
                user("ann", "pässword", Access::Control),
                user("", "any", Access::Add),
                user("off", "", Access::Control),
            ],
            tokens: vec![Token { secret: Secret::new("t0k"), access: Access::Restricted }],
            ..Settings::default()
        }
    }

    fn access(given: &Credentials) -> Option<Access> {
        let address = IpAddr::from([127, 0, 0, 1]);
        caller(&settings(), given, address).map(|caller| caller.access)
    }

    fn login(text: &[u8]) -> Option<Access> {
        access(&Credentials::login(text).expect("there is a colon"))
    }

    #[test]
    fn passwords_match_in_both_encodings_and_only_in_full() {
        assert_eq!(login("ann:pässword".as_bytes()), Some(Access::Control));
        assert_eq!(login(b"ann:p\xe4ssword"), Some(Access::Control));
        assert_eq!(login(b"whoever:any"), Some(Access::Add));
        for wrong in
            ["ann:pässwor", "ann:pässwordd", "ann:", ":", "off:", "bob:pässword", "ann:anyany"]
        {
            assert_eq!(login(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(access(&Credentials::Token(b"t0k".to_vec())), Some(Access::Restricted));
        assert_eq!(access(&Credentials::Token(Vec::new())), None);
    }

    #[test]
    fn the_url_counts_before_the_headers() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic YTpi"));
        let of = |text: &[u8]| Credentials::login(text);
        assert_eq!(credentials(None, &headers), of(b"a:b"));
        headers.insert(X_AUTHORIZATION, HeaderValue::from_static("basic Yzpk"));
        assert_eq!(credentials(None, &headers), of(b"c:d"));
        assert_eq!(credentials(of(b"e:f"), &headers), of(b"e:f"));
        headers.clear();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        assert_eq!(credentials(None, &headers), Some(Credentials::Token(b"x".to_vec())));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Negotiate x"));
        assert_eq!(credentials(None, &headers), None);
    }

    #[test]
    fn without_a_password_only_this_machine_itself_is_let_in() {
        let open = Settings::default();
        let mut headers = HeaderMap::new();
        let local = IpAddr::from([127, 0, 0, 1]);
        assert!(caller_without_password(&open, &headers, local).is_some());
        assert!(caller_without_password(&open, &headers, [10, 0, 0, 1].into()).is_none());
        assert!(caller_without_password(&settings(), &headers, local).is_none());
        let tokens = vec![Token { secret: Secret::new("nzb"), access: Access::Add }];
        let key_alone = Settings { tokens, ..Settings::default() };
        let caller = caller_without_password(&key_alone, &headers, local);
        assert_eq!(caller.map(|caller| caller.access), Some(Access::Control));
        assert!(caller_without_password(&key_alone, &headers, [10, 0, 0, 1].into()).is_none());
        headers.insert("user-agent", HeaderValue::from_static("curl"));
        assert!(caller_without_password(&open, &headers, local).is_some());
        for name in [
            "Via",
            "Forwarded",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Forwarded-Proto",
            "X-Forwarded-Port",
            "X-Real-IP",
            "CF-Connecting-IP",
            "True-Client-IP",
        ] {
            let mut headers = headers.clone();
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.insert(name.clone(), HeaderValue::from_static("127.0.0.1"));
            assert!(caller_without_password(&open, &headers, local).is_none(), "{name}");
        }
    }
}
