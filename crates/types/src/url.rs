//! An address on the web.

use core::net::Ipv6Addr;
use std::fmt::{self, Write};

use thiserror::Error;

use crate::Secret;

/// An `http` or `https` address, parsed once.
///
/// What is in it goes into a request as it is, so it holds no blank and no control character. Keys of
/// accounts are often part of addresses: printed it shows neither login nor query, nor what else in
/// it looks like a key. [`Url::reveal`] gives all of it, for the records.
#[derive(Clone, Eq, PartialEq)]
pub struct Url {
    scheme: Scheme,
    login: Option<Login>,
    host: String, // in lower case; an IPv6 address without its brackets
    port: u16,
    target: String, // path and query, in ASCII
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scheme {
    Http,
    Https,
}

/// The name and password before the host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Login {
    pub name: String,
    pub password: Secret,
}

/// Why a text is no address for us. None of these says what the text was: it may hold a key.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum InvalidUrl {
    #[error("the URL holds a control character")]
    ControlCharacter,
    #[error("the URL names no usable host")]
    Host,
    #[error("the URL's port is no number from 1 to 65535")]
    Port,
    #[error("only http and https URLs are fetched")]
    Scheme,
    #[error("the URL is longer than {LONGEST} bytes")]
    TooLong,
}

impl InvalidUrl {
    pub fn code(self) -> &'static str {
        match self {
            Self::Scheme => "url.forbidden",
            Self::ControlCharacter | Self::Host | Self::Port | Self::TooLong => "url.invalid",
        }
    }
}

impl Url {
    pub fn parse(text: &str) -> Result<Self, InvalidUrl> {
        let text = text.trim();
        check_characters(text)?;
        let (scheme, rest) = text.split_once("://").ok_or(InvalidUrl::Scheme)?;
        let scheme = Scheme::parse(scheme)?;
        let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Login::parse(login), place),
            None => (None, authority),
        };
        let (host, port) = parse_place(place)?;
        let port = port.unwrap_or(scheme.port());
        Ok(Self { scheme, login, host, port, target: target_of(target)? })
    }

    /// Where a redirect from here leads to. A login is taken along to the same server only; one that
    /// the redirect brings itself is not ours to use.
    pub fn join(&self, location: &str) -> Result<Self, InvalidUrl> {
        let location = location.trim();
        check_characters(location)?;
        let mut next = if let Some(rest) = location.strip_prefix("//") {
            Self::parse(&format!("{}://{rest}", self.scheme))?
        } else if has_scheme(location) {
            Self::parse(location)?
        } else {
            Self { target: self.relative(location)?, ..self.clone() }
        };
        next.login = self.login.clone().filter(|_| next.same_server(self));
        Ok(next)
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// As names are looked up: an IPv6 address is without its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Path and query, as they are asked for. They may hold a key.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What the `Host` header says.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        if *port == self.scheme.port() { host } else { format!("{host}:{port}") }
    }

    /// The last part of the path, decoded; none if that is empty, or a key rather than a name.
    pub fn file_name(&self) -> Option<String> {
        let name = self.path().rsplit('/').next().filter(|part| !looks_like_a_key(part))?;
        Some(percent_decoded(name)).filter(|name| !name.trim().is_empty())
    }

    /// All of it, with what is secret: for records that are read again, and for nobody else.
    pub fn reveal(&self) -> String {
        let login = self.login.as_ref().map_or(String::new(), Login::reveal);
        format!("{}://{login}{}{}", self.scheme, self.authority(), self.target)
    }

    /// What a server said, without what it quotes of the keys in this address.
    pub fn hide(&self, text: &str) -> String {
        let query = &self.target[self.path().len()..];
        let values = query.split(['?', '&', ';']).filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            (names_a_key(name) || looks_like_a_key(value)).then_some(value)
        });
        let parts = self.path().split('/').filter(|part| looks_like_a_key(part));
        let login = self.login.iter().map(|login| login.password.reveal().to_owned());
        let secrets = values.chain(parts).map(percent_decoded).chain(login);
        secrets
            .filter(|secret| secret.len() >= SHORTEST_HIDDEN)
            .fold(text.to_owned(), |text, it| text.replace(&it, "***"))
    }

    pub fn same_server(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// Some indexers write their parameters behind the path without a question mark.
    fn path(&self) -> &str {
        let end = self.target.find(['?', '&', ';']).unwrap_or(self.target.len());
        &self.target[..end]
    }

    fn relative(&self, location: &str) -> Result<String, InvalidUrl> {
        let path = self.target.split('?').next().unwrap_or_default();
        let base = match location.as_bytes().first() {
            Some(b'/') => "",
            Some(b'?') => path,
            Some(b'#') | None => return Ok(self.target.clone()),
            _ => &path[..=path.rfind('/').unwrap_or(0)],
        };
        let target = target_of(&format!("{base}{location}"))?;
        Ok(without_dots(&target))
    }
}

impl Scheme {
    fn parse(text: &str) -> Result<Self, InvalidUrl> {
        match text {
            _ if text.eq_ignore_ascii_case("http") => Ok(Self::Http),
            _ if text.eq_ignore_ascii_case("https") => Ok(Self::Https),
            _ => Err(InvalidUrl::Scheme),
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

impl Login {
    fn parse(text: &str) -> Option<Self> {
        let (name, password) = text.split_once(':').unwrap_or((text, ""));
        let login =
            Self { name: percent_decoded(name), password: Secret::new(percent_decoded(password)) };
        Some(login).filter(|_| !text.is_empty())
    }

    fn reveal(&self) -> String {
        let (name, password) = (percent_encoded(&self.name), self.password.reveal());
        format!("{name}:{}@", percent_encoded(password))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = if self.login.is_some() { "***@" } else { "" };
        write!(f, "{}://{login}{}", self.scheme, self.authority())?;
        let path = self.path();
        for (place, part) in path.split('/').enumerate() {
            let separator = if place > 0 { "/" } else { "" };
            write!(f, "{separator}{}", if looks_like_a_key(part) { "***" } else { part })?;
        }
        if path.len() < self.target.len() { f.write_str("?***") } else { Ok(()) }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

fn check_characters(text: &str) -> Result<(), InvalidUrl> {
    if text.len() > LONGEST {
        return Err(InvalidUrl::TooLong);
    }
    if text.chars().any(char::is_control) { Err(InvalidUrl::ControlCharacter) } else { Ok(()) }
}

fn has_scheme(text: &str) -> bool {
    let end = text.find([':', '/', '?', '#']);
    end.is_some_and(|end| end > 0 && text[end..].starts_with(':'))
}

/// Host and port.
fn parse_place(text: &str) -> Result<(String, Option<u16>), InvalidUrl> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or(InvalidUrl::Host)?;
            let address: Ipv6Addr = address.parse().map_err(|_| InvalidUrl::Host)?;
            (address.to_string(), port)
        }
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (host_name(host)?, port)
        }
    };
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok((host, None)),
        None => Err(InvalidUrl::Host),
        Some("") => Ok((host, None)),
        Some(number) => match number.parse() {
            Ok(port) if port > 0 => Ok((host, Some(port))),
            _ => Err(InvalidUrl::Port),
        },
    }
}

/// Names in other scripts have to be given in their `xn--` form, as they are registered.
fn host_name(text: &str) -> Result<String, InvalidUrl> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let has_gap = name.split('.').any(str::is_empty);
    if has_gap || name.len() > LONGEST_HOST || !name.bytes().all(is_name) {
        return Err(InvalidUrl::Host);
    }
    Ok(name.to_ascii_lowercase())
}

/// Path and query without the fragment; what a request line cannot hold is encoded.
fn target_of(text: &str) -> Result<String, InvalidUrl> {
    let text = text.split('#').next().unwrap_or_default();
    let mut target = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        target.push('/');
    }
    for byte in text.bytes() {
        match byte {
            b'!'..=b'~'
                if !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{'..=b'}') =>
            {
                target.push(char::from(byte));
            }
            _ => push_encoded(&mut target, byte),
        }
    }
    if target.len() > LONGEST { Err(InvalidUrl::TooLong) } else { Ok(target) }
}

/// `.` and `..` in the path are steps (RFC 3986, section 5.2.4).
fn without_dots(target: &str) -> String {
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let mut parts: Vec<&str> = Vec::new();
    let mut steps = path.split('/').skip(1).peekable();
    while let Some(step) = steps.next() {
        let is_last = steps.peek().is_none();
        match step {
            "." | ".." => {
                if step == ".." {
                    parts.pop();
                }
                if is_last {
                    parts.push("");
                }
            }
            _ => parts.push(step),
        }
    }
    format!("/{}{query}", parts.join("/"))
}

/// Keys are long, have digits and no dots; a name as long as that mostly has some.
fn looks_like_a_key(part: &str) -> bool {
    let part = part.strip_suffix(".nzb").unwrap_or(part);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'%');
    let has_digit = part.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = part.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_dense = has_letter && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let shortest = if is_dense { SHORTEST_DENSE_KEY } else { SHORTEST_KEY };
    part.len() >= shortest && has_digit && part.bytes().all(fits)
}

/// As indexers call them, Newznab's `r` among them.
fn names_a_key(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "r" || ["key", "token", "pass", "auth", "secret"].iter().any(|it| name.contains(it))
}

fn percent_decoded(text: &str) -> String {
    String::from_utf8_lossy(&percent_decode(text)).into_owned()
}

/// The bytes that a text with `%20` and the like stands for; what is no such code stands for itself.
pub fn percent_decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digit = |place: usize| char::from(*behind.get(place)?).to_digit(16);
        let code = (first == b'%').then(|| Some(digit(0)? * 16 + digit(1)?)).flatten();
        match code.and_then(|code| u8::try_from(code).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    bytes
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => push_encoded(&mut encoded, byte),
        }
    }
    encoded
}

fn push_encoded(text: &mut String, byte: u8) {
    write!(text, "%{byte:02X}").expect("a string takes everything");
}

/// Servers take 8 KiB of request line; no indexer comes near that.
const LONGEST: usize = 8 << 10;

/// A name in the domain name system (RFC 1035, section 2.3.4).
const LONGEST_HOST: usize = 253;

/// The keys of Newznab have 32 characters, those of others as few.
const SHORTEST_KEY: usize = 16;
/// With letters and digits and nothing between them.
const SHORTEST_DENSE_KEY: usize = 10;
/// Hiding less would hide words.
const SHORTEST_HIDDEN: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn what_a_server_quotes_of_our_keys_is_hidden() {
        let url =
            url("https://ann:hunter2@i.example/a1b2c3d4e5/api?t=search&apikey=s3cr%2Ft&q=linux");
        let said = "no account a1b2c3d4e5 with s3cr/t, ann, hunter2: linux search refused";
        assert_eq!(url.hide(said), "no account *** with ***, ann, ***: linux search refused");
        assert_eq!(url.to_string(), "https://***@i.example/***/api?***");
    }

    #[test]
    fn the_parts_are_found() {
        let found = url(" HTTPS://ann:p%40ss@Indexer.Example.:8443/api?t=get&id=1#top ");
        assert_eq!((found.host(), found.port()), ("indexer.example", 8443));
        assert_eq!(found.target(), "/api?t=get&id=1");
        assert_eq!(found.authority(), "indexer.example:8443");
        let login = found.login().unwrap();
        assert_eq!((login.name.as_str(), login.password.reveal()), ("ann", "p@ss"));
        assert_eq!(url("http://x").target(), "/");
        assert_eq!(url("http://x?t=caps").target(), "/?t=caps");
        let v6 = url("http://[::1]:8080/");
        assert_eq!((v6.host(), v6.authority().as_str()), ("::1", "[::1]:8080"));
    }

    #[test]
    fn what_a_request_line_cannot_hold_is_encoded() {
        assert_eq!(url("http://x/a b/ü?q=\"").target(), "/a%20b/%C3%BC?q=%22");
        assert_eq!(url("http://x/a%20b").target(), "/a%20b");
    }

    #[test]
    fn everything_else_is_refused_without_repeating_it() {
        for (text, error) in [
            ("file:///etc/passwd", InvalidUrl::Scheme),
            ("ftp://x/", InvalidUrl::Scheme),
            ("x", InvalidUrl::Scheme),
            ("http:///x", InvalidUrl::Host),
            ("http://a b/", InvalidUrl::Host),
            ("http://a../", InvalidUrl::Host),
            ("http://.a/", InvalidUrl::Host),
            ("http://./", InvalidUrl::Host),
            ("http://[fe80::1%25eth0]/", InvalidUrl::Host),
            ("http://[::1]x/", InvalidUrl::Host),
            ("http://x:0/", InvalidUrl::Port),
            ("http://x:65536/", InvalidUrl::Port),
            ("http://x/\r\nHost: y", InvalidUrl::ControlCharacter),
        ] {
            assert_eq!(Url::parse(text), Err(error), "{text}");
        }
        assert_eq!(
            Url::parse(&format!("http://x/{}", "a".repeat(LONGEST))),
            Err(InvalidUrl::TooLong)
        );
    }

    #[test]
    fn what_is_shown_holds_no_key() {
        let key = "0123456789abcdef0123456789abcdef";
        for (text, shown) in [
            (format!("https://x/api?t=get&apikey={key}"), "https://x/api?***"),
            (format!("https://ann:{key}@x/a"), "https://***@x/a"),
            (format!("https://x/getnzb/7.nzb&i=1&r={key}"), "https://x/getnzb/7.nzb?***"),
            (format!("https://x/rss/{key}/tv"), "https://x/rss/***/tv"),
            (format!("https://x/{key}.nzb"), "https://x/***"),
        ] {
            let url = url(&text);
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains(key));
            assert_eq!(Url::parse(&url.reveal()).unwrap(), url);
        }
    }

    #[test]
    fn redirects_are_followed_as_browsers_do() {
        let from = url("https://ann:pw@x/a/b?c");
        for (location, target) in [
            ("/d", "/d"),
            ("d", "/a/d"),
            ("?e", "/a/b?e"),
            ("../d/./e?f=../g", "/d/e?f=../g"),
            ("../../../d/..", "/"),
            ("#top", "/a/b?c"),
            ("//x/d", "/d"),
            ("https://x:443/d", "/d"),
        ] {
            let next = from.join(location).unwrap();
            assert_eq!(next.target(), target, "{location}");
            assert!(next.login().is_some(), "{location}");
        }
        for location in ["https://y/", "http://x/", "https://x:8443/", "https://eve:pw@y/"] {
            assert_eq!(from.join(location).unwrap().login(), None, "{location}");
        }
        for location in ["file:///etc/passwd", "data:text/xml,x", "javascript:0"] {
            assert_eq!(from.join(location), Err(InvalidUrl::Scheme), "{location}");
        }
    }

    #[test]
    fn the_file_name_is_the_last_part_of_the_path() {
        let name = |text| url(text).file_name();
        assert_eq!(name("http://x/a/Some%20Thing.nzb?r=1").as_deref(), Some("Some Thing.nzb"));
        assert_eq!(name("http://x/getnzb/7.nzb&i=1&r=hush").as_deref(), Some("7.nzb"));
        assert_eq!(name("http://x/50%/%zz").as_deref(), Some("%zz"));
        assert_eq!(name("http://x/"), None);
        assert_eq!(name("http://x/rss/0123456789abcdef0123456789abcdef"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_an_address_or_an_error(text in "\\PC*", location in "\\PC*") {
            let base = url("http://ann:pw@host/a/b");
            for url in [Url::parse(&text), Url::parse(&format!("http://{text}")), base.join(&location)]
                .into_iter()
                .flatten()
            {
                prop_assert!(url.target().starts_with('/'));
                prop_assert!(url.target().bytes().all(|byte| byte.is_ascii_graphic()));
                let again = Url::parse(&url.reveal());
                prop_assert_eq!(again.as_ref(), Ok(&url));
            }
        }
    }
}
