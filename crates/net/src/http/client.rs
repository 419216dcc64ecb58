//! [`Client`]: fetches a URL and follows redirects; owns the TLS configuration.

use std::sync::Arc;
use std::time::Duration;

use bergamot_types::{Scheme, Url};
use hyper::header;
use rustls::ClientConfig;
use tokio::time::timeout;
use tracing::debug;

use super::error::HttpError;
use super::exchange::{self, Answer};
use super::reach::Reach;
use super::response::Response;
use super::route;
use crate::tls::{TlsSettings, TlsSetupError, client_config};

/// Cheap to clone. Connections are not reused, because requests are minutes apart.
#[derive(Clone, Debug)]
pub struct Client {
    tls: Arc<ClientConfig>,
}

/// What to fetch. `Request::new` sets everything but the address to what is usual.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub url: &'a Url,
    pub reach: Reach,
    /// The version that the caller has; the answer 304 means that it is still current.
    pub etag: Option<&'a str>,
    pub last_modified: Option<&'a str>,
    /// How many bytes the body may have, unpacked.
    pub most: usize,
    /// Leave a compressed body compressed, for a caller that decompresses it as a stream.
    pub keep_packed: bool,
    /// How long all of it may take, redirects included.
    pub limit: Duration,
}

impl<'a> Request<'a> {
    pub fn new(url: &'a Url) -> Self {
        Self {
            url,
            reach: Reach::Public,
            etag: None,
            last_modified: None,
            most: MOST_BODY,
            keep_packed: false,
            limit: TIME_LIMIT,
        }
    }
}

impl Client {
    pub fn new(settings: &TlsSettings) -> Result<Self, TlsSetupError> {
        Ok(Self { tls: client_config(settings)? })
    }

    /// The answer may be of any status; only redirects are followed.
    pub async fn get(&self, request: Request<'_>) -> Result<Response, HttpError> {
        let limit = request.limit;
        let host = || request.url.host().to_owned();
        let answer = timeout(limit, self.follow(&request)).await;
        answer.unwrap_or_else(|_| Err(HttpError::Timeout { host: host(), limit }))
    }

    async fn follow(&self, request: &Request<'_>) -> Result<Response, HttpError> {
        let mut way = vec![request.url.clone()];
        loop {
            let url = way.last().expect("a way begins somewhere").clone();
            let stream = route::connect(&url, request.url, request.reach, &self.tls).await?;
            let answer = exchange::ask(stream, &url, request).await?;
            debug!(%url, status = answer.status, "answered");
            match redirect(&url, &answer)? {
                None => return finish(url, answer, request).await,
                Some(next) => {
                    check_way(&url, &next, &way)?;
                    way.push(next);
                }
            }
        }
    }
}

async fn finish(url: Url, answer: Answer, request: &Request<'_>) -> Result<Response, HttpError> {
    let (status, headers) = (answer.status, answer.headers.clone());
    // The body of an error response only explains the error.
    let (most, keep_packed) = match status {
        200..300 => (request.most, request.keep_packed),
        _ => (request.most.min(MOST_EXPLANATION), false),
    };
    let body = answer.read(&url, most, keep_packed).await?;
    Ok(Response { status, url, headers, body })
}

fn redirect(url: &Url, answer: &Answer) -> Result<Option<Url>, HttpError> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = answer.headers.get(header::LOCATION) else { return Ok(None) };
    let location = String::from_utf8_lossy(location.as_bytes());
    let failed = |error| HttpError::RedirectTarget { host: url.host().to_owned(), error };
    url.join(&location).map(Some).map_err(failed)
}

/// Whether a redirect from `url` to `next` may be followed, given the redirects so far.
fn check_way(url: &Url, next: &Url, way: &[Url]) -> Result<(), HttpError> {
    let host = url.host().to_owned();
    if (url.scheme(), next.scheme()) == (Scheme::Https, Scheme::Http) {
        return Err(HttpError::Downgrade { host, to: next.host().to_owned() });
    }
    if way.contains(next) {
        return Err(HttpError::RedirectLoop { host });
    }
    if way.len() > MOST_REDIRECTS {
        return Err(HttpError::Redirects { host, most: MOST_REDIRECTS });
    }
    Ok(())
}

const MOST_REDIRECTS: usize = 5;

/// A feed of 10,000 items has some 10 MiB.
const MOST_BODY: usize = 16 << 20;

const MOST_EXPLANATION: usize = 64 << 10;

/// Indexers search while we wait.
const TIME_LIMIT: Duration = Duration::from_secs(30);
