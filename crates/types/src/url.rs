//! [`Url`]: an `http` or `https` address; owns the address parsed by the `url` crate and hides keys in it.
//!
//! `url` parses and joins as browsers do (the URL Standard). What is checked here in addition: length,
//! control characters (the standard drops some silently), host names that DNS cannot hold, and port 0.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use thiserror::Error;
use url::{ParseError, Position};

use crate::Secret;

/// An `http` or `https` address without a fragment, parsed once.
///
/// Keys of accounts are often part of addresses: `Display` and `Debug` show neither login nor query, nor a
/// path segment that looks like a key. [`Url::reveal`] returns all of it, for the records.
#[derive(Clone, Eq, PartialEq)]
pub struct Url {
    address: Box<url::Url>, // without login and fragment; boxed, for enums that hold one
    login: Option<Login>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scheme {
    Http,
    Https,
}

/// The name and password before the host, decoded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Login {
    pub name: String,
    pub password: Secret,
}

/// Why a text is not accepted as an address. No message repeats the text: it may contain a key.
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

impl From<ParseError> for InvalidUrl {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::InvalidPort => Self::Port,
            ParseError::RelativeUrlWithoutBase | ParseError::RelativeUrlWithCannotBeABaseBase => {
                Self::Scheme
            }
            ParseError::Overflow => Self::TooLong,
            _ => Self::Host,
        }
    }
}

impl Url {
    pub fn parse(text: &str) -> Result<Self, InvalidUrl> {
        let text = text.trim();
        check_characters(text)?;
        check_host_text(text)?;
        // The standard reads `http:x`, `http:///x` and `http:\\x` as `http://x`: rather typing errors.
        let (_, rest) = text.split_once("://").ok_or(InvalidUrl::Scheme)?;
        let address = url::Url::parse(text)?;
        if is_web(&address) && rest.starts_with(['/', '\\']) {
            return Err(InvalidUrl::Host);
        }
        Self::new(address)
    }

    /// The target of a redirect from here. The login is kept on the same server only; one in the redirect
    /// itself is dropped.
    pub fn join(&self, location: &str) -> Result<Self, InvalidUrl> {
        let location = location.trim();
        check_characters(location)?;
        check_host_text(location)?;
        let mut next = Self::new(self.address.join(location)?)?;
        next.login = self.login.clone().filter(|_| next.same_server(self));
        Ok(next)
    }

    fn new(mut address: url::Url) -> Result<Self, InvalidUrl> {
        if !is_web(&address) {
            return Err(InvalidUrl::Scheme);
        }
        let login = Login::of(&address);
        let host = address.host_str().ok_or(InvalidUrl::Host)?;
        let name = host.strip_suffix('.').unwrap_or(host);
        if name.len() > LONGEST_HOST || name.split('.').any(str::is_empty) {
            return Err(InvalidUrl::Host);
        }
        // Browsers and resolvers accept more in a name than DNS does.
        let is_literal = name.starts_with('[');
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        if !is_literal && !name.bytes().all(is_name) {
            return Err(InvalidUrl::Host);
        }
        if name.len() < host.len() {
            let name = name.to_owned();
            address.set_host(Some(&name))?;
        }
        if address.port() == Some(0) {
            return Err(InvalidUrl::Port);
        }
        // Neither fails: an http address has a host.
        let _ = (address.set_username(""), address.set_password(None));
        address.set_fragment(None);
        let url = Self { address: Box::new(address), login };
        if url.target().len() > LONGEST { Err(InvalidUrl::TooLong) } else { Ok(url) }
    }

    pub fn scheme(&self) -> Scheme {
        if self.address.scheme() == "https" { Scheme::Https } else { Scheme::Http }
    }

    /// In lower case, for a name lookup: an IPv6 address is without its brackets.
    pub fn host(&self) -> &str {
        let host = self.address.host_str().unwrap_or_default();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    pub fn port(&self) -> u16 {
        self.address.port().unwrap_or(match self.scheme() {
            Scheme::Http => 80,
            Scheme::Https => 443,
        })
    }

    pub fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Path and query, for the request line. They may hold a key.
    pub fn target(&self) -> &str {
        &self.address[Position::BeforePath..Position::AfterQuery]
    }

    /// For the `Host` header.
    pub fn authority(&self) -> String {
        self.address[Position::BeforeHost..Position::AfterPort].to_owned()
    }

    /// The last segment of the path, decoded; none if that is empty, or a key rather than a name.
    pub fn file_name(&self) -> Option<String> {
        let name = self.path().rsplit('/').next().filter(|part| !looks_like_a_key(part))?;
        Some(percent_decoded(name)).filter(|name| !name.trim().is_empty())
    }

    /// All of it, with its secrets: for records that are parsed again.
    pub fn reveal(&self) -> String {
        let login = self.login.as_ref().map_or(String::new(), Login::reveal);
        format!("{}://{login}{}{}", self.scheme(), self.authority(), self.target())
    }

    /// A message of the server with the keys of this address replaced.
    pub fn hide(&self, text: &str) -> String {
        let query = &self.target()[self.path().len()..];
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
        let server = |url: &Self| (url.scheme(), url.host().to_owned(), url.port());
        server(self) == server(other)
    }

    /// Some indexers write their parameters behind the path without a question mark.
    fn path(&self) -> &str {
        let target = self.target();
        &target[..target.find(['?', '&', ';']).unwrap_or(target.len())]
    }
}

fn is_web(address: &url::Url) -> bool {
    matches!(address.scheme(), "http" | "https")
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
    fn of(address: &url::Url) -> Option<Self> {
        let (name, password) = (address.username(), address.password());
        if name.is_empty() && password.is_none() {
            return None;
        }
        let password = Secret::new(percent_decoded(password.unwrap_or_default()));
        Some(Self { name: percent_decoded(name), password })
    }

    fn reveal(&self) -> String {
        let encode = |text| utf8_percent_encode(text, OUTSIDE_LOGIN);
        format!("{}:{}@", encode(&self.name), encode(self.password.reveal()))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = if self.login.is_some() { "***@" } else { "" };
        write!(f, "{}://{login}{}", self.scheme(), self.authority())?;
        let path = self.path();
        for (index, part) in path.split('/').enumerate() {
            let separator = if index > 0 { "/" } else { "" };
            write!(f, "{separator}{}", if looks_like_a_key(part) { "***" } else { part })?;
        }
        if path.len() < self.target().len() { f.write_str("?***") } else { Ok(()) }
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

/// Names in other scripts must be given in their `xn--` form, as they are registered: `url` is built without
/// the tables to convert them, and asserts in debug builds that it never has to.
fn check_host_text(text: &str) -> Result<(), InvalidUrl> {
    let scheme = text.find([':', '/', '\\', '?', '#']).filter(|end| text[*end..].starts_with(':'));
    let rest = &text[scheme.map_or(0, |end| end + 1)..];
    let authority = rest.trim_start_matches(['/', '\\']);
    if scheme.is_none() && rest.len() - authority.len() < 2 {
        return Ok(()); // a relative reference has no host
    }
    let authority = authority.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let is_plain = host.bytes().all(|byte| byte.is_ascii() && byte != b'%');
    if is_plain { Ok(()) } else { Err(InvalidUrl::Host) }
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
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The bytes of a percent-encoded text; an invalid escape stands for itself.
pub fn percent_decode(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
}

/// What is encoded in a name or password: all but the unreserved characters (RFC 3986, section 2.3).
const OUTSIDE_LOGIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

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

    #[test]
    fn hosts_in_other_scripts_are_given_in_their_registered_form() {
        assert_eq!(url("http://XN--bcher-kva.example/").host(), "xn--bcher-kva.example");
        for text in ["http://bücher.example/", "http://B%C3%BCcher.example/", "http://A\u{3002}b/"]
        {
            assert_eq!(Url::parse(text), Err(InvalidUrl::Host), "{text}");
            assert_eq!(url("http://x/").join(text), Err(InvalidUrl::Host), "{text}");
        }
        assert_eq!(url("https://x/").join("//B\u{fc}/"), Err(InvalidUrl::Host));
    }

    #[test]
    fn numeric_hosts_are_the_address_they_stand_for() {
        assert_eq!(url("http://0x7f.1/").host(), "127.0.0.1");
        assert_eq!(url("http://2130706433/").host(), "127.0.0.1");
        assert_eq!(Url::parse("http://256.0.0.1/"), Err(InvalidUrl::Host));
    }

    proptest! {
        #[test]
        fn no_host_panics(host in "(xn--)?[a-zA-Z0-9%@:\\[\\]./\\\\ü-]{0,24}") {
            let base = url("http://x/");
            let _ = (Url::parse(&format!("http://{host}/")), base.join(&host));
            let _ = (base.join(&format!("https:{host}")), base.join(&format!("//{host}")));
        }

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
