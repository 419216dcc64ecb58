//! Fetches against a web server that answers as it is told.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bergamot_net::TlsSettings;
use bergamot_net::http::{Client, HttpError, Reach, Request, Response};
use bergamot_newsd::certs::{Authority, Quality};
use bergamot_types::Url;
use bergamot_webd::{Answer, Site};
use flate2::Compression;
use flate2::write::GzEncoder;

fn client() -> Client {
    Client::new(&TlsSettings::default()).expect("the defaults are sound")
}

fn url(text: &str) -> Url {
    Url::parse(text).expect("it is a URL")
}

/// The test's server is on the loopback, which nobody may be led to.
fn anywhere(url: &Url) -> Request<'_> {
    Request { reach: Reach::Anywhere, ..Request::new(url) }
}

async fn get(site: &Site, path: &str) -> Result<Response, HttpError> {
    client().get(anywhere(&url(&site.url(path)))).await
}

async fn code(site: &Site, path: &str) -> &'static str {
    get(site, path).await.expect_err("it fails").code()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

#[tokio::test]
async fn a_page_comes_with_what_the_headers_say_of_it() {
    let site = Site::start(|_| {
        Answer::new(200)
            .header("ETag", "\"7\"")
            .header("Last-Modified", "Mon, 16 Nov 2026 12:00:00 GMT")
            .header("Content-Type", "application/x-nzb")
            .header("Content-Disposition", "attachment; filename=\"a b.nzb\"")
            .header("X-RateLimit-Remaining", "3")
            .header("X-DNZB-Category", "tv")
            .body("hello")
    })
    .unwrap();
    let answer = get(&site, "/a?apikey=hush").await.unwrap();
    assert_eq!((answer.status(), answer.body()), (200, b"hello".as_slice()));
    assert_eq!(answer.etag().as_deref(), Some("\"7\""));
    assert_eq!(answer.last_modified().as_deref(), Some("Mon, 16 Nov 2026 12:00:00 GMT"));
    assert_eq!(answer.content_type().as_deref(), Some("application/x-nzb"));
    assert_eq!(answer.file_name().as_deref(), Some("a b.nzb"));
    assert_eq!(answer.rate_limit().remaining.as_deref(), Some("3"));
    assert!(answer.headers().any(|(name, value)| name == "x-dnzb-category" && value == "tv"));
    let asked = &site.requests()[0];
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("GET", "/a?apikey=hush"));
    assert_eq!(asked.header("host"), Some(site.address().to_string().as_str()));
    assert!(asked.header("user-agent").unwrap().starts_with("bergamot/"));
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let site = Site::start(|request| match request.header("if-none-match") {
        Some("\"7\"") => Answer::new(304).header("Content-Encoding", "gzip"),
        _ => Answer::new(200).body("new"),
    })
    .unwrap();
    let url = url(&site.url("/"));
    let request = Request {
        etag: Some("\"7\""),
        last_modified: Some("Mon, 16 Nov 2026 12:00:00 GMT"),
        ..anywhere(&url)
    };
    let answer = client().get(request).await.unwrap();
    assert_eq!((answer.status(), answer.body()), (304, b"".as_slice()));
    let asked = &site.requests()[0];
    assert_eq!(asked.header("if-modified-since"), Some("Mon, 16 Nov 2026 12:00:00 GMT"));
    let answer = client().get(Request { etag: Some("\"8\""), ..request }).await.unwrap();
    assert_eq!((answer.status(), answer.body()), (200, b"new".as_slice()));
}

#[tokio::test]
async fn gzip_and_chunks_are_put_together() {
    let text = b"hello ".repeat(10_000);
    let packed = gzipped(&text);
    let site = Site::start(move |_| {
        Answer::new(200).header("Content-Encoding", "gzip").body(packed.clone()).chunked()
    })
    .unwrap();
    assert!(get(&site, "/").await.unwrap().body() == text);
}

#[tokio::test]
async fn too_much_is_not_read_to_its_end() {
    let bomb = gzipped(&vec![0; 20 << 20]);
    let site = Site::start(move |request| match request.path() {
        "/endless" => Answer::new(200).body(vec![b'x'; 1 << 16]).endless(),
        "/bomb" => Answer::new(200).header("Content-Encoding", "gzip").body(bomb.clone()),
        "/headers" => Answer::new(200).header("X", &"x".repeat(1 << 20)),
        "/many-headers" => (0..200)
            .fold(Answer::new(200), |answer, number| answer.header(&format!("X-{number}"), "")),
        _ => Answer::new(404).body(vec![b'x'; 1 << 20]),
    })
    .unwrap();
    for path in ["/endless", "/bomb", "/error"] {
        assert_eq!(code(&site, path).await, "url.too_large", "{path}");
    }
    for path in ["/headers", "/many-headers"] {
        assert_eq!(code(&site, path).await, "url.malformed", "{path}");
    }
}

#[tokio::test]
async fn the_bound_is_exact() {
    let site = Site::start(|_| Answer::new(200).body("12345")).unwrap();
    let url = url(&site.url("/"));
    assert!(client().get(Request { most: 5, ..anywhere(&url) }).await.is_ok());
    let error = client().get(Request { most: 4, ..anywhere(&url) }).await.unwrap_err();
    assert!(matches!(error, HttpError::TooLarge { most: 4, .. }));
}

#[tokio::test]
async fn a_part_is_never_taken_for_the_whole() {
    let packed = gzipped(b"hello, world");
    let site = Site::start(move |request| match request.path() {
        "/short" => Answer::new(200).body("hello, world").cut_after(5),
        "/gzip" => {
            Answer::new(200).header("Content-Encoding", "gzip").body(&packed[..packed.len() - 3])
        }
        "/chunk" => Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
        "/lengths" => {
            Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc")
        }
        "/zstd" => Answer::new(200).header("Content-Encoding", "zstd").body("x"),
        "/head" => Answer::raw("HTTP/1.1 200 O"),
        "/news" => Answer::raw("200 news.example ready\r\n"),
        _ => Answer::raw(""),
    })
    .unwrap();
    for (path, expected) in [
        ("/short", "url.cut"),
        ("/gzip", "url.damaged"),
        ("/chunk", "url.cut"),
        ("/lengths", "url.malformed"),
        ("/zstd", "url.encoding"),
        ("/head", "url.cut"),
        ("/news", "url.malformed"),
        ("/nothing", "url.cut"),
    ] {
        assert_eq!(code(&site, path).await, expected, "{path}");
    }
}

#[tokio::test]
async fn silence_has_an_end() {
    let site = Site::start(|_| Answer::silence()).unwrap();
    let url = url(&site.url("/"));
    let request = Request { limit: Duration::from_millis(50), ..anywhere(&url) };
    assert_eq!(client().get(request).await.unwrap_err().code(), "url.timeout");
}

#[tokio::test]
async fn redirects_are_followed_within_bounds() {
    let hops = AtomicUsize::new(0);
    let site = Site::start(move |request| match request.path() {
        "/moved" => Answer::redirect(301, "moved-again"),
        "/moved-again" => Answer::redirect(308, "/there"),
        "/for-now" => Answer::redirect(302, "/there"),
        "/circle" => Answer::redirect(302, "/circle"),
        "/file" => Answer::redirect(302, "file:///etc/passwd"),
        "/nowhere" => Answer::redirect(302, "http://"),
        "/without" => Answer::new(302).body("see elsewhere"),
        "/there" => Answer::new(200).body("here"),
        _ => Answer::redirect(307, &format!("/hop{}", hops.fetch_add(1, Ordering::Relaxed))),
    })
    .unwrap();
    let answer = get(&site, "/moved").await.unwrap();
    assert_eq!((answer.body(), answer.url().target()), (b"here".as_slice(), "/there"));
    assert_eq!(get(&site, "/for-now").await.unwrap().url().target(), "/there");
    assert_eq!(get(&site, "/without").await.unwrap().status(), 302);
    assert_eq!(code(&site, "/circle").await, "url.redirects");
    assert_eq!(code(&site, "/file").await, "url.forbidden");
    assert_eq!(code(&site, "/nowhere").await, "url.redirects");
    let before = site.requests().len();
    assert_eq!(code(&site, "/on-and-on").await, "url.redirects");
    assert_eq!(site.requests().len() - before, 6); // the first, and five redirects
}

#[tokio::test]
async fn a_login_goes_to_its_own_server_only() {
    let other = Site::start(|_| Answer::new(200)).unwrap();
    let elsewhere = other.url("/");
    let site = Site::start(move |request| match request.path() {
        "/near" => Answer::redirect(302, "/here"),
        "/far" => Answer::redirect(302, &elsewhere),
        _ => Answer::new(200),
    })
    .unwrap();
    for path in ["/near", "/far"] {
        let with_login = site.url(path).replace("://", "://ann:hush@");
        client().get(anywhere(&url(&with_login))).await.unwrap();
    }
    let logins: Vec<_> =
        site.requests().iter().map(|request| request.header("authorization").is_some()).collect();
    assert_eq!(logins, [true, true, true]);
    assert_eq!(site.requests()[0].header("authorization"), Some("Basic YW5uOmh1c2g="));
    assert_eq!(other.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn private_addresses_are_not_even_connected_to() {
    let hidden = Site::start(|_| Answer::new(200)).unwrap();
    let inside = hidden.url("/latest/meta-data");
    let site = Site::start(move |_| Answer::redirect(302, &inside)).unwrap();
    let port = hidden.address().port();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "127.1"] {
        let url = url(&format!("http://{host}:{port}/"));
        let error = client().get(Request::new(&url)).await.unwrap_err();
        assert_eq!(error.code(), "url.forbidden", "{host}: {error}");
    }
    let url = url(&site.url("/"));
    let request = Request { reach: Reach::FirstAnywhere, ..Request::new(&url) };
    let error = client().get(request).await.unwrap_err();
    assert!(matches!(error, HttpError::Forbidden { .. }), "{error}");
    assert_eq!((site.requests().len(), hidden.requests().len()), (1, 0));
    assert!(client().get(anywhere(&url)).await.is_ok());
}

#[tokio::test]
async fn certificates_are_checked_and_https_stays_https() {
    let authority = Authority::new().unwrap();
    let trusting =
        TlsSettings { extra_roots: Some(authority.pem().into_bytes()), ..TlsSettings::default() };
    let client = Client::new(&trusting).unwrap();
    let plain = Site::start(|_| Answer::new(200)).unwrap();
    let insecure = plain.url("/");
    for quality in Quality::ALL {
        let config = authority.issue(quality).unwrap().server_config().unwrap();
        let insecure = insecure.clone();
        let site = Site::start_with_tls(config, move |request| match request.path() {
            "/down" => Answer::redirect(302, &insecure),
            _ => Answer::new(200).body("secret"),
        })
        .unwrap();
        let answer = client.get(anywhere(&url(&site.url("/")))).await;
        if quality == Quality::Good {
            assert_eq!(answer.unwrap().body(), b"secret");
            let error = client.get(anywhere(&url(&site.url("/down")))).await.unwrap_err();
            assert_eq!(error.code(), "url.forbidden");
        } else {
            assert_eq!(answer.unwrap_err().code(), "url.tls", "{quality:?}");
            assert!(site.requests().is_empty());
        }
    }
    assert!(plain.requests().is_empty());
    let speaks_no_tls = plain.url("/").replace("http:", "https:");
    let error = client.get(anywhere(&url(&speaks_no_tls))).await.unwrap_err();
    assert_eq!(error.code(), "url.tls");
}

#[tokio::test]
async fn what_went_wrong_names_the_host_and_no_key() {
    let site = Site::start(|_| Answer::new(503).header("Retry-After", "120")).unwrap();
    let address = site.url("/0123456789abcdef0123456789abcdef/api?apikey=hush");
    let url = url(&address.replace("://", "://ann:hush@"));
    let answer = client().get(anywhere(&url)).await.unwrap();
    assert_eq!(answer.retry_after().as_deref(), Some("120"));
    let error = answer.check_status().unwrap_err();
    assert!(error.is_passing());
    drop(site);
    let later = client().get(anywhere(&url)).await.unwrap_err();
    for error in [error, later] {
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(text.contains("127.0.0.1"), "{text}");
            assert!(!text.contains("hush") && !text.contains("0123456789"), "{text}");
        }
    }
}
