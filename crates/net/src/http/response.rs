//! [`Response`]: the answer to a fetch, with its body.

use std::borrow::Cow;
use std::fmt;

use bergamot_types::Url;
use hyper::HeaderMap;
use hyper::header;

use super::disposition;
use super::error::HttpError;

/// A whole answer of any status but those that were followed as redirects.
#[derive(Clone)]
pub struct Response {
    pub(super) status: u16,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// The headers about rate limits, not parsed yet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RateLimit {
    pub remaining: Option<String>,
    pub reset: Option<String>,
}

impl Response {
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Where the answer came from, behind all redirects.
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn body(&self) -> &[u8] {
        &self.body
    }

    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// An error unless the status is 200 or the like.
    pub fn check_status(&self) -> Result<(), HttpError> {
        let (host, status) = (self.url.host().to_owned(), self.status);
        if (200..300).contains(&status) { Ok(()) } else { Err(HttpError::Status { host, status }) }
    }

    pub fn etag(&self) -> Option<Cow<'_, str>> {
        self.header(header::ETAG.as_str())
    }

    pub fn last_modified(&self) -> Option<Cow<'_, str>> {
        self.header(header::LAST_MODIFIED.as_str())
    }

    /// Seconds or a date, or whatever else the server wrote.
    pub fn retry_after(&self) -> Option<Cow<'_, str>> {
        self.header(header::RETRY_AFTER.as_str())
    }

    pub fn rate_limit(&self) -> RateLimit {
        let first = |names: [&str; 2]| {
            names.into_iter().find_map(|name| self.header(name)).map(Cow::into_owned)
        };
        RateLimit {
            remaining: first(["x-ratelimit-remaining", "ratelimit-remaining"]),
            reset: first(["x-ratelimit-reset", "ratelimit-reset"]),
        }
    }

    pub fn content_type(&self) -> Option<Cow<'_, str>> {
        self.header(header::CONTENT_TYPE.as_str())
    }

    /// The name from `Content-Disposition`; untrusted text.
    pub fn file_name(&self) -> Option<String> {
        disposition::file_name(&self.header(header::CONTENT_DISPOSITION.as_str())?)
    }

    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()))
    }

    /// Names in lower case, and values.
    pub fn headers(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.headers
            .iter()
            .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())))
    }
}

/// Headers and body are left out: they are long, and may hold what is not to be shown.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, url, .. } = self;
        f.debug_struct("Response")
            .field("status", status)
            .field("url", url)
            .field("length", &self.body.len())
            .finish_non_exhaustive()
    }
}
