//! [`Route`]: the endpoint and the credentials in the path of a request. Pure functions.

use bergamot_types::percent_decode;

use crate::call::registry::{Dialect, dialect_of};
use crate::codec::json::Json;
use crate::http::auth::Credentials;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Route {
    /// `/user:password/…`, as some clients have it.
    pub(crate) credentials: Option<Credentials>,
    pub(crate) endpoint: Endpoint,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Endpoint {
    Events,
    Feed,
    Health,
    Metrics,
    Nowhere,
    Ready,
    /// With the method, where the path names one.
    Rpc(Protocol, Option<String>),
    /// What clients of SABnzbd call.
    Sab,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Protocol {
    Json,
    JsonP,
    Xml,
}

impl Route {
    pub(crate) fn of(path: &str) -> Self {
        let mut credentials = None;
        let mut parts = path.split('/').skip(1).filter(|part| !part.is_empty()).peekable();
        // Both prefixes occur, in either order.
        while let Some(part) = parts.peek() {
            let decoded = percent_decode(part);
            if matches!(*part, "nzbget" | "sabnzbd") {
                parts.next();
            } else if credentials.is_none() && decoded.contains(&b':') {
                credentials = Credentials::login(&decoded);
                parts.next();
            } else {
                break;
            }
        }
        let endpoint = match (parts.next(), parts.next(), parts.next()) {
            (Some("api"), None, None) => Endpoint::Sab,
            (Some("events"), None, None) => Endpoint::Events,
            (Some("rss" | "feed"), None, None) => Endpoint::Feed,
            (Some("healthz"), None, None) => Endpoint::Health,
            (Some("metrics"), None, None) => Endpoint::Metrics,
            (Some("readyz"), None, None) => Endpoint::Ready,
            (Some("jsonrpc"), method, None) => rpc(Protocol::Json, method),
            (Some("jsonprpc"), method, None) => rpc(Protocol::JsonP, method),
            (Some("xmlrpc"), method, None) => rpc(Protocol::Xml, method),
            _ => Endpoint::Nowhere,
        };
        Self { credentials, endpoint }
    }
}

fn rpc(protocol: Protocol, method: Option<&str>) -> Endpoint {
    Endpoint::Rpc(protocol, method.map(text))
}

/// Parameters of a call by GET; the names count only in the native dialect.
pub(crate) fn query_params(method: &str, pairs: Vec<(String, String)>) -> Json<'static> {
    let values = pairs.into_iter().map(|(name, text)| (name, value(text)));
    match dialect_of(method) {
        Dialect::Native => Json::Object(values.map(|(name, value)| (name.into(), value)).collect()),
        Dialect::Nzbget => Json::List(values.map(|(_, value)| value).collect()),
    }
}

/// Names and values; a value may stand alone.
pub(crate) fn query_pairs(query: &str) -> Vec<(String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty()).take(MOST_PAIRS);
    parts
        .map(|part| part.split_once('=').unwrap_or(("", part)))
        .map(|(name, value)| (text(name), text(&value.replace('+', " "))))
        .collect()
}

fn value(text: String) -> Json<'static> {
    match text.as_str() {
        "true" => Json::Bool(true),
        "false" => Json::Bool(false),
        digits => match digits.parse::<i64>() {
            Ok(number) => Json::Integer(number.into()),
            Err(_) => Json::Text(text.into()),
        },
    }
}

fn text(encoded: &str) -> String {
    String::from_utf8_lossy(&percent_decode(encoded)).into_owned()
}

/// No method takes more.
const MOST_PAIRS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_paths_leads_to_its_place() {
        let rpc = |method: Option<&str>| Endpoint::Rpc(Protocol::Json, method.map(str::to_owned));
        for path in [
            "/jsonrpc",
            "/nzbget/jsonrpc",
            "/a:b/jsonrpc",
            "/nzbget/a:b/jsonrpc/",
            "/a%3Ab/nzbget/jsonrpc",
        ] {
            let route = Route::of(path);
            assert_eq!(route.endpoint, rpc(None), "{path}");
            let expected = path.contains('a').then(|| Credentials::login(b"a:b")).flatten();
            assert_eq!(route.credentials, expected, "{path}");
        }
        for path in ["/api", "/api/", "/sabnzbd/api", "/sabnzbd/api/", "/a:b/sabnzbd/api"] {
            assert_eq!(Route::of(path).endpoint, Endpoint::Sab, "{path}");
        }
        assert_eq!(Route::of("/jsonrpc/status").endpoint, rpc(Some("status")));
        assert_eq!(Route::of("/a:b%2Fc/xmlrpc").credentials, Credentials::login(b"a:b/c"));
        for path in
            ["/", "", "/nzbget", "/jsonrpc/a/b", "/etc/passwd", "/../jsonrpc", "/a:b/c:d/jsonrpc"]
        {
            assert_eq!(Route::of(path).endpoint, Endpoint::Nowhere, "{path}");
        }
    }

    #[test]
    fn queries_are_read_by_place_or_by_name() {
        let json = |method: &str, query: &str| {
            serde_json::to_string(&query_params(method, query_pairs(query))).expect("JSON")
        };
        assert_eq!(json("history", "hidden=true"), "[true]");
        assert_eq!(json("listfiles", "0&=0&id=7"), "[0,0,7]");
        assert_eq!(json("log", "a+b%20c%"), r#"["a b c%"]"#);
        assert_eq!(json("job.get", "job=5"), r#"{"job":5}"#);
    }
}
