//! One HTTP request and its answer on a connection of its own, within limits of size and time.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_types::{Shown, Url};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper_util::rt::TokioIo;

use super::client::Request;
use super::error::HttpError;
use super::inflate::{Body, InflateError};
use super::route::Stream;

/// An answer whose body was not read yet. A task drives its connection until it is dropped.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    incoming: Incoming,
    _driver: Driver,
}

/// Aborts the task that drives a connection when the caller that waits for its answer is dropped.
struct Driver(tokio::task::JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(super) async fn ask(
    stream: Stream,
    url: &Url,
    request: &Request<'_>,
) -> Result<Answer, HttpError> {
    let failed = |error| failure(url, &error);
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MOST_HEAD).max_headers(MOST_HEADERS);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(failed)?;
    // Errors of the connection reach the caller through the pending answer.
    let driver = Driver(tokio::spawn(async { drop(connection.await) }));
    let answer = sender.send_request(head(url, request)?).await.map_err(failed)?;
    let (parts, incoming) = answer.into_parts();
    let status = parts.status.as_u16();
    Ok(Answer { status, headers: parts.headers, incoming, _driver: driver })
}

impl Answer {
    /// All of the body, of which there may be `most` bytes when it is unpacked.
    pub(super) async fn read(
        mut self,
        url: &Url,
        most: usize,
        keep_packed: bool,
    ) -> Result<Vec<u8>, HttpError> {
        let host = || url.host().to_owned();
        let inflate_error = |inflate_error| match inflate_error {
            InflateError::Damaged => HttpError::Gzip { host: host() },
            InflateError::TooLarge => HttpError::TooLarge { host: host(), most },
        };
        let mut body = self.body(url, most, keep_packed)?;
        let mut is_empty = true;
        while let Some(frame) = self.incoming.frame().await {
            let frame = frame.map_err(|error| failure(url, &error))?;
            if let Some(bytes) = frame.data_ref() {
                is_empty &= bytes.is_empty();
                body.take(bytes).map_err(inflate_error)?;
            }
        }
        // Answers without a body may still have a `Content-Encoding`.
        if is_empty { Ok(Vec::new()) } else { body.finish().map_err(inflate_error) }
    }

    fn body(&self, url: &Url, most: usize, keep_packed: bool) -> Result<Body, HttpError> {
        let encoding = self.headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
        match encoding.unwrap_or_default().to_ascii_lowercase().trim_ascii() {
            b"" | b"identity" => Ok(Body::plain(most)),
            b"gzip" | b"x-gzip" if keep_packed => Ok(Body::plain(most)),
            b"gzip" | b"x-gzip" => Ok(Body::gzip(most)),
            other => Err(HttpError::Encoding {
                host: url.host().to_owned(),
                encoding: Shown(&String::from_utf8_lossy(other)).to_string(),
            }),
        }
    }
}

fn head(url: &Url, request: &Request<'_>) -> Result<hyper::Request<Empty<Bytes>>, HttpError> {
    let mut head = hyper::Request::new(Empty::new());
    let refused = |_| HttpError::Target { host: url.host().to_owned() };
    *head.uri_mut() = url.target().parse().map_err(refused)?;
    let mut put = |name: HeaderName, value: &str| {
        // A validator that is no valid header value is left out.
        if let Ok(value) = HeaderValue::from_str(value) {
            head.headers_mut().insert(name, value);
        }
    };
    put(header::HOST, &url.authority());
    put(header::USER_AGENT, USER_AGENT);
    put(header::ACCEPT, "*/*");
    put(header::ACCEPT_ENCODING, "gzip");
    put(header::CONNECTION, "close");
    if let Some(etag) = request.etag {
        put(header::IF_NONE_MATCH, etag);
    }
    if let Some(date) = request.last_modified {
        put(header::IF_MODIFIED_SINCE, date);
    }
    if let Some(login) = url.login() {
        let pair = STANDARD.encode(format!("{}:{}", login.name, login.password.reveal()));
        put(header::AUTHORIZATION, &format!("Basic {pair}"));
    }
    Ok(head)
}

fn failure(url: &Url, error: &hyper::Error) -> HttpError {
    let host = url.host().to_owned();
    if error.is_parse() {
        return HttpError::Malformed { host, cause: error.to_string() };
    }
    HttpError::Cut { host }
}

const USER_AGENT: &str = concat!("bergamot/", env!("CARGO_PKG_VERSION"));

/// Status line and headers, of which eight KiB are usual at most. hyper reads ahead a little more
/// before it looks at this.
const MOST_HEAD: usize = 64 << 10;

const MOST_HEADERS: usize = 100;
