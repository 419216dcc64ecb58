//! [`Http`]: answers one HTTP/1.1 request; one instance, shared by the tasks of all connections.
//!
//! The order of checks is fixed: origin, credentials, path, and only then the body. Not a byte of the body is read before
//! the client is authenticated.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bergamot_api::Control;
use bergamot_api::view::Readiness;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::time::{Instant, sleep};

use crate::access::{Access, Caller};
use crate::call::fault::Fault;
use crate::call::service::{CallContext, Params, Service};
use crate::codec::chunked_reply::{Beginning, ChunkedReply};
use crate::codec::json_rpc::Envelope;
use crate::codec::reply::Format;
use crate::codec::shape::Shape;
use crate::codec::xml_rpc;
use crate::event_hub::Position;
use crate::http::auth::{self, Credentials};
use crate::http::body::{Answer, BodyBudget, BodyError, BodyReader, RequestBudgets};
use crate::http::login_throttle::{LONGEST_WAIT, LoginThrottle};
use crate::http::origin_check::{self, Rejected};
use crate::http::route::{Endpoint, Protocol, Route, query_pairs, query_params};
use crate::metrics::{self, Flavour, MetricsAccess};
use crate::settings::Settings;
use crate::shutdown::ShutdownSignal;
use crate::socket::connection_limit;

/// What all requests over HTTP share.
pub(crate) struct Http<C> {
    pub(crate) settings: Settings,
    pub(crate) service: Arc<Service<C>>,
    pub(crate) throttle: LoginThrottle,
    pub(crate) bodies: RequestBudgets,
    pub(crate) unauthenticated: BodyBudget,
    pub(crate) stopped: ShutdownSignal,
}

/// The peer of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    Tcp(SocketAddr),
    /// Authenticated by the kernel (`SO_PEERCRED`).
    Unix(Caller),
}

/// A connection: its peer, and its slot within the limit.
pub(crate) struct Connection<'a> {
    pub(crate) peer: Peer,
    pub(crate) slot: &'a connection_limit::Slot,
}

/// Why credentials are rejected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unproven {
    /// Too many logins wait to be compared.
    TooMany,
    Wrong,
}

pub(crate) type Reply = Response<Answer>;

impl<C: Control> Http<C> {
    pub(crate) async fn answer(
        &self,
        connection: &Connection<'_>,
        request: Request<Incoming>,
    ) -> Reply {
        // The body is not read, so nothing may follow it.
        let is_last = request.headers().contains_key(header::TRANSFER_ENCODING);
        let reply = self.answer_request(connection, request).await;
        if is_last { closing(reply) } else { reply }
    }

    async fn answer_request(
        &self,
        connection: &Connection<'_>,
        request: Request<Incoming>,
    ) -> Reply {
        if size_of_headers(request.headers()) > LARGEST_HEADERS {
            return closing(empty(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        let mut allowed_origin = None;
        let reply = match self.admitted(&connection.peer, &request) {
            Ok(origin) => {
                allowed_origin = origin;
                self.answer_admitted(connection, request, allowed_origin.is_some()).await
            }
            Err(barred) => refused(&barred),
        };
        with_headers(reply, allowed_origin)
    }

    /// No web page can reach the Unix socket.
    fn admitted(
        &self,
        peer: &Peer,
        request: &Request<Incoming>,
    ) -> Result<Option<String>, Rejected> {
        match peer {
            Peer::Tcp(_) => {
                origin_check::check(&self.settings, request.method(), request.headers())
            }
            Peer::Unix(_) => Ok(None),
        }
    }

    async fn answer_admitted(
        &self,
        connection: &Connection<'_>,
        request: Request<Incoming>,
        from_allowed_origin: bool,
    ) -> Reply {
        let route = Route::of(request.uri().path());
        match (request.method(), &route.endpoint) {
            (&Method::OPTIONS, _) if from_allowed_origin => empty(StatusCode::NO_CONTENT),
            (&Method::GET | &Method::HEAD, Endpoint::Health) => plain(StatusCode::OK, "ok\n"),
            (&Method::GET | &Method::HEAD, Endpoint::Ready) => {
                connection.slot.on_health_check();
                self.readiness().await
            }
            (&Method::GET, Endpoint::Metrics)
                if self.settings.metrics.access == MetricsAccess::Open =>
            {
                self.metrics(request.headers()).await
            }
            (&Method::GET | &Method::POST, Endpoint::Sab) => {
                self.answer_sab(connection, route.credentials, request).await
            }
            (&Method::GET | &Method::POST, _) => {
                match self.caller(connection, route.credentials, request.headers()).await {
                    Ok(caller) => {
                        self.answer_caller(connection, &caller, route.endpoint, request).await
                    }
                    Err(reply) => *reply,
                }
            }
            _ => {
                let mut reply = empty(StatusCode::METHOD_NOT_ALLOWED);
                let allowed = HeaderValue::from_static("GET, POST");
                reply.headers_mut().insert(header::ALLOW, allowed);
                closing(reply)
            }
        }
    }

    /// Without a server the daemon is ready: a server is added over this interface.
    async fn readiness(&self) -> Reply {
        match self.service.control.readiness().await {
            Ok(Readiness::Broken { thread }) => plain(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("not ready: internal.panic: the thread {thread} has died; stopping\n"),
            ),
            Ok(Readiness::StateUnwritable) => plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "not ready: the state directory cannot be written to\n",
            ),
            Ok(Readiness::NoServers) => {
                plain(StatusCode::OK, "ready, but no server is configured\n")
            }
            Ok(Readiness::Ready) => plain(StatusCode::OK, "ready\n"),
            Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "not ready: stopping\n"),
        }
    }

    async fn metrics(&self, headers: &HeaderMap) -> Reply {
        let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        let flavour = Flavour::wanted(accept.unwrap_or_default());
        match self.service.control.measure().await {
            Ok(measured) => {
                let requests = self.service.counts.requests();
                let compat = &self.settings.metrics.compat;
                let text = metrics::write(&measured, &requests, compat, flavour);
                whole(text, flavour.content_type())
            }
            Err(_) => empty(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// The caller, or the response instead. (Boxed: it is large and rare.)
    async fn caller(
        &self,
        connection: &Connection<'_>,
        in_url: Option<Credentials>,
        headers: &HeaderMap,
    ) -> Result<Caller, Box<Reply>> {
        let address = match &connection.peer {
            Peer::Unix(caller) => return Ok(caller.clone()),
            Peer::Tcp(address) => address.ip().to_canonical(),
        };
        if let Some(caller) = auth::caller_without_password(&self.settings, headers, address) {
            return Ok(caller);
        }
        match auth::credentials(in_url, headers) {
            Some(given) => self.checked(connection, &given, address).await,
            None => Err(Box::new(unauthorized())),
        }
    }

    async fn checked(
        &self,
        connection: &Connection<'_>,
        given: &Credentials,
        address: IpAddr,
    ) -> Result<Caller, Box<Reply>> {
        self.proven(connection, given, address).await.map_err(|unproven| {
            Box::new(match unproven {
                Unproven::TooMany => too_many(LONGEST_WAIT),
                Unproven::Wrong => unauthorized(),
            })
        })
    }

    /// The one function that compares secrets.
    pub(crate) async fn proven(
        &self,
        connection: &Connection<'_>,
        given: &Credentials,
        address: IpAddr,
    ) -> Result<Caller, Unproven> {
        if let Some(wait) = self.throttle.wait(Instant::now(), address, given) {
            if !connection.slot.on_wait() {
                return Err(Unproven::TooMany);
            }
            sleep(wait).await;
            // A replaced login is answered only now: answered at once, a guesser would retry at once.
            if !connection.slot.on_waited() {
                return Err(Unproven::TooMany);
            }
        }
        match auth::caller(&self.settings, given, address) {
            Some(caller) => {
                self.throttle.on_success(given);
                Ok(caller)
            }
            None => {
                self.throttle.on_failure(Instant::now(), address, given);
                tracing::warn!(%address, "wrong login");
                Err(Unproven::Wrong)
            }
        }
    }

    async fn answer_caller(
        &self,
        connection: &Connection<'_>,
        caller: &Caller,
        endpoint: Endpoint,
        request: Request<Incoming>,
    ) -> Reply {
        if request.method() == Method::GET && !connection.slot.on_call() {
            return busy();
        }
        match (endpoint, request.method()) {
            (Endpoint::Events, &Method::GET) => self.events(caller, request.headers()),
            (Endpoint::Feed, &Method::GET) => self.feed(caller).await,
            (Endpoint::Metrics, &Method::GET)
                if self.settings.metrics.access != MetricsAccess::Off =>
            {
                match caller.access {
                    Access::Add => empty(StatusCode::FORBIDDEN),
                    Access::Restricted | Access::Control => self.metrics(request.headers()).await,
                }
            }
            (Endpoint::Rpc(protocol, Some(method)), &Method::GET) => {
                let query = request.uri().query().unwrap_or_default();
                self.called_by_get(caller, protocol, &method, query).await
            }
            (Endpoint::Rpc(Protocol::JsonP, _) | Endpoint::Events, _) => {
                closing(empty(StatusCode::METHOD_NOT_ALLOWED))
            }
            (Endpoint::Rpc(protocol, _), &Method::POST) => {
                self.called_by_post(connection, caller, protocol, request).await
            }
            _ => closing(empty(StatusCode::NOT_FOUND)),
        }
    }

    fn events(&self, caller: &Caller, headers: &HeaderMap) -> Reply {
        if caller.access < Access::Restricted {
            return empty(StatusCode::FORBIDDEN);
        }
        let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
        let since = last.and_then(|id| id.rsplit_once('/')).and_then(|(boot, sequence)| {
            Some(Position { boot: boot.to_owned(), sequence: sequence.parse().ok()? })
        });
        let watcher = self.service.hub.watch(since.as_ref());
        let mut reply = Response::new(Answer::events(watcher, self.stopped.clone()));
        set_type(&mut reply, "text/event-stream");
        reply
    }

    async fn feed(&self, caller: &Caller) -> Reply {
        if caller.access < Access::Restricted {
            return empty(StatusCode::FORBIDDEN);
        }
        match self.service.control.rss().await {
            Ok(text) => whole(text.into_bytes(), "application/rss+xml; charset=utf-8"),
            Err(_) => empty(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    async fn called_by_get(
        &self,
        caller: &Caller,
        protocol: Protocol,
        method: &str,
        query: &str,
    ) -> Reply {
        let mut pairs = query_pairs(query);
        let callback = match protocol {
            Protocol::JsonP if pairs.is_empty() => None,
            Protocol::JsonP => Some(pairs.remove(0).1),
            Protocol::Json | Protocol::Xml => None,
        };
        if protocol == Protocol::JsonP && !callback.as_deref().is_some_and(is_function_name) {
            return plain(StatusCode::BAD_REQUEST, "the callback is no name of a function\n");
        }
        let format = if protocol == Protocol::Xml { Format::Xml } else { Format::Json };
        let asked = CallContext { caller, format, by_get: true };
        let outcome =
            self.service.call(&asked, method, Params::Parsed(query_params(method, pairs))).await;
        let (answer, kind) = match (protocol, callback) {
            (Protocol::Xml, _) => (xml_rpc::response(outcome), XML_TYPE),
            (_, None) => (Envelope::bare(method).around(outcome), JSON_TYPE),
            (_, Some(callback)) => {
                let answer = Envelope::bare(method).around(outcome);
                (answer.between(format!("{callback}(").as_bytes(), b")"), "application/javascript")
            }
        };
        let pieces = ChunkedReply::of(|mut chunks| async {
            chunks.put(answer).await?;
            Ok(chunks)
        });
        sent(pieces, kind).await
    }

    async fn called_by_post(
        &self,
        connection: &Connection<'_>,
        caller: &Caller,
        protocol: Protocol,
        request: Request<Incoming>,
    ) -> Reply {
        if is_compressed(request.headers()) {
            return closing(empty(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let slot = connection.slot;
        if !slot.on_body(caller.is_authenticated) {
            return busy();
        }
        let shape = if protocol == Protocol::Xml { Shape::xml() } else { Shape::json() };
        let body = BodyReader::new(request.into_body(), slot);
        let held = match self.bodies.read(body, shape).await {
            Ok(held) => held,
            Err(error) => return unread(&error, protocol),
        };
        if !slot.on_call() {
            return busy();
        }
        let (service, caller) = (self.service.clone(), caller.clone());
        let is_xml = protocol == Protocol::Xml;
        let (format, kind) =
            if is_xml { (Format::Xml, XML_TYPE) } else { (Format::Json, JSON_TYPE) };
        let pieces = ChunkedReply::of(move |mut chunks| async move {
            let text = &held.bytes;
            let asked = CallContext { caller: &caller, format, by_get: false };
            match format {
                Format::Json => service.answer_body(&asked, text, &mut chunks).await?,
                Format::Xml => service.answer_xml(&asked, text, &mut chunks).await?,
            }
            Ok(chunks)
        });
        sent(pieces, kind).await
    }
}

/// Short responses announce their length; long ones are sent in chunks.
async fn sent(pieces: ChunkedReply<'static>, kind: &'static str) -> Reply {
    let answer = match pieces.beginning().await {
        Ok(Beginning::Nothing) => return empty(StatusCode::NO_CONTENT),
        Ok(Beginning::Whole(text)) => Answer::Whole(text),
        Ok(Beginning::Long(first, more)) => Answer::Long { first, more: Box::new(more) },
        Err(_) => return closing(empty(StatusCode::SERVICE_UNAVAILABLE)),
    };
    let mut reply = Response::new(answer);
    set_type(&mut reply, kind);
    reply
}

/// The reader of HTTP looks only now and then whether it has too much.
fn size_of_headers(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

pub(crate) fn is_compressed(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity")
}

fn is_function_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
    !text.is_empty() && text.len() <= LONGEST_CALLBACK && text.chars().all(good)
}

fn unread(error: &BodyError, protocol: Protocol) -> Reply {
    match error {
        BodyError::Broken => closing(empty(StatusCode::BAD_REQUEST)),
        BodyError::NoRoom => busy(),
        BodyError::TooSlow => closing(empty(StatusCode::REQUEST_TIMEOUT)),
        BodyError::Shape(excess) => {
            let fault = Err(Fault::from(*excess));
            closing(match protocol {
                Protocol::Xml => whole(xml_rpc::response(fault).text, XML_TYPE),
                _ => whole(Envelope::unknown().around(fault).text, JSON_TYPE),
            })
        }
        BodyError::TooLarge(limit) => {
            let answer = Envelope::unknown().around(Err(Fault::TooLarge { limit: *limit }));
            let mut reply = whole(answer.text, JSON_TYPE);
            *reply.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            closing(reply)
        }
    }
}

/// All slots or all memory for requests are in use.
pub(crate) fn busy() -> Reply {
    closing(empty(StatusCode::SERVICE_UNAVAILABLE))
}

pub(crate) fn too_many(wait: Duration) -> Reply {
    let mut reply = empty(StatusCode::TOO_MANY_REQUESTS);
    let seconds = HeaderValue::from(wait.as_secs());
    reply.headers_mut().insert(header::RETRY_AFTER, seconds);
    closing(reply)
}

/// The end of such a request is ambiguous.
pub(crate) fn ambiguous() -> Reply {
    closing(empty(StatusCode::BAD_REQUEST))
}

/// Clients take a 401 for a wrong password, and nothing else.
fn unauthorized() -> Reply {
    let mut reply = empty(StatusCode::UNAUTHORIZED);
    let challenge = HeaderValue::from_static(r#"Basic realm="bergamot", charset="UTF-8""#);
    reply.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    closing(reply)
}

fn refused(barred: &Rejected) -> Reply {
    let status = match barred {
        Rejected::NoHost => StatusCode::BAD_REQUEST,
        Rejected::Host(_) | Rejected::Origin(_) => StatusCode::FORBIDDEN,
    };
    closing(plain(status, format!("{barred}\n")))
}

pub(crate) fn whole(text: Vec<u8>, kind: &'static str) -> Reply {
    let mut reply = Response::new(Answer::Whole(text.into()));
    set_type(&mut reply, kind);
    reply
}

pub(crate) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Answer::Whole(text.into()));
    *reply.status_mut() = status;
    set_type(&mut reply, "text/plain; charset=utf-8");
    reply
}

pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Answer::Whole(Bytes::new()));
    *reply.status_mut() = status;
    reply
}

/// The rest of what was sent is not worth reading.
pub(crate) fn closing(mut reply: Reply) -> Reply {
    reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}

fn set_type(reply: &mut Reply, kind: &'static str) {
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
}

/// Responses must not be cached, sniffed or framed.
fn with_headers(mut reply: Reply, allowed_origin: Option<String>) -> Reply {
    let headers = reply.headers_mut();
    for (name, value) in SAFETY {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let origin = allowed_origin.and_then(|origin| HeaderValue::try_from(origin).ok());
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        for (name, value) in CROSS_ORIGIN {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }
    reply
}

pub(crate) const JSON_TYPE: &str = "application/json";
const XML_TYPE: &str = "text/xml";
const SAFETY: [(&str, &str); 5] = [
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];
const CROSS_ORIGIN: [(&str, &str); 3] = [
    ("access-control-allow-headers", "Authorization, Content-Type, X-Authorization"),
    ("access-control-allow-methods", "GET, POST, OPTIONS"),
    ("access-control-max-age", "86400"),
];
pub(crate) const LARGEST_HEADERS: usize = 64 << 10;
const LONGEST_CALLBACK: usize = 64;
