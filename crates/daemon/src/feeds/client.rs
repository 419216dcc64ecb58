//! Fetches and reads feeds over HTTP, in the task of a feed or of a request.

use bergamot_feed::{Failure, FailureKind, Fetch, Headers, Limits, Outcome, Reply};
use bergamot_net::http::{Client, HttpError, Reach, Request, Response};
use bergamot_types::{UnixTime, Url};

/// Fetches a feed, parses the response and classifies errors.
pub(crate) async fn fetch(client: &Client, now: UnixTime, fetch: Fetch) -> Reply {
    // The configured URL may be a private address; a redirect to a private address has to be allowed separately.
    let reach = if fetch.allow_private { Reach::Anywhere } else { Reach::FirstAnywhere };
    let request = Request {
        reach,
        etag: fetch.etag.as_deref(),
        last_modified: fetch.last_modified.as_deref(),
        ..Request::new(&fetch.url)
    };
    let answer = client.get(request).await;
    let judge = fetch.judge;
    reply(&fetch.url, answer, move |reply| reply.judged(now, &judge)).await
}

/// The same for a URL from a client, which is not trusted.
pub(crate) async fn look(client: &Client, url: &Url, reach: Reach) -> Reply {
    let answer = client.get(Request { reach, ..Request::new(url) }).await;
    reply(url, answer, |reply| reply).await
}

async fn reply(
    url: &Url,
    answer: Result<Response, HttpError>,
    then: impl FnOnce(Reply) -> Reply + Send + 'static,
) -> Reply {
    let response = match answer {
        Ok(response) => response,
        Err(error) => return Reply::failed(failure(&error)),
    };
    // A feed may have megabytes; the loop's threads have others to serve.
    let read = move || {
        let headers = headers(&response);
        then(Reply::read(response.status(), headers, response.body(), &Limits::default()))
    };
    let mut reply = tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| {
        let (code, message) = ("feed.unread".into(), "it could not be read".into());
        Reply::failed(Failure { kind: FailureKind::Lasting, code, message })
    });
    if let Outcome::Failed(failure) = &mut reply.outcome {
        failure.message = url.hide(&failure.message).into();
    }
    reply
}

/// What a server says of its limits, among others.
pub(crate) fn headers(response: &Response) -> Headers {
    let limit = response.rate_limit();
    Headers {
        etag: response.etag().map(|text| text.into()),
        last_modified: response.last_modified().map(|text| text.into()),
        retry_after: response.retry_after().map(|text| text.into()),
        rate_limit_remaining: limit.remaining.map(Into::into),
        rate_limit_reset: limit.reset.map(Into::into),
    }
}

fn failure(error: &HttpError) -> Failure {
    let kind = if error.is_passing() { FailureKind::Transient } else { FailureKind::Lasting };
    Failure { kind, code: error.code().into(), message: error.to_string().into() }
}
