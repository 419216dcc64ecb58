//! [`Web`]: the one HTTP client of the daemon, and why a fetch failed. Shared by the tasks that fetch.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bergamot_feed::{Headers, retry_after};
use bergamot_net::TlsSettings;
use bergamot_net::http::{Client, HttpError, Reach, Request, Response};
use bergamot_queue::Cause;
use bergamot_types::Url;
use tokio::sync::Semaphore;

use crate::clock;
use crate::feeds::client;

/// The one client for all that is fetched. It is made when it is first needed, for the roots it trusts
/// take their memory.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    client: Arc<OnceLock<Client>>,
    nzbs: Arc<Semaphore>, // that are in memory at the same time
}

/// What came of a fetch, and what the server said beside it.
#[derive(Debug)]
pub(crate) struct Fetched<T> {
    pub(crate) headers: Headers,
    pub(crate) result: Result<T, FetchError>,
}

/// Why an NZB did not come.
#[derive(Clone, Debug)]
pub(crate) struct FetchError {
    pub(crate) cause: Cause,
    /// A code and a sentence.
    pub(crate) why: String,
    pub(crate) again: Retry,
    /// The state of the account, where the error is about that rather than about the URL.
    pub(crate) account: Account,
}

/// Whether and when the fetch is retried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Retry {
    Never,
    /// It came, and the disk did not take it; so many bytes have to fit first.
    OnceWritable(u64),
    Soon,
    /// The server has said when.
    After(Duration),
}

/// The state of the account at an indexer; for NZBs of a feed it limits further requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Account {
    Denied,
    Good,
    /// It has used up what it may do, and should wait so long.
    UsedUp(Duration),
}

impl Web {
    pub(crate) fn new() -> Self {
        Self { client: Arc::default(), nzbs: Arc::new(Semaphore::new(MOST_NZBS)) }
    }

    pub(crate) fn client(&self) -> &Client {
        self.client.get_or_init(|| {
            Client::new(&TlsSettings::default()).expect("the usual settings make a configuration")
        })
    }

    /// Fetches an NZB, or whatever comes in its place, and hands it to `unpack`.
    pub(crate) async fn fetch<T: Send + 'static>(
        &self,
        url: &Url,
        reach: Reach,
        unpack: impl FnOnce(Response) -> Result<T, FetchError> + Send + 'static,
    ) -> Fetched<T> {
        let Fetched { headers, result } = self.fetch_openly(url, reach, unpack).await;
        let hidden = |missed: FetchError| FetchError { why: url.hide(&missed.why), ..missed };
        Fetched { headers, result: result.map_err(hidden) }
    }

    /// Servers that refuse a key like to quote it.
    async fn fetch_openly<T: Send + 'static>(
        &self,
        url: &Url,
        reach: Reach,
        unpack: impl FnOnce(Response) -> Result<T, FetchError> + Send + 'static,
    ) -> Fetched<T> {
        let _permit = self.nzbs.acquire().await.expect("it is never closed");
        let request = Request { reach, most: LARGEST_NZB, keep_packed: true, ..Request::new(url) };
        let response = match self.client().get(request).await {
            Ok(response) => response,
            Err(error) => {
                return Fetched { headers: Headers::default(), result: Err(missed(&error)) };
            }
        };
        let headers = client::headers(&response);
        if let Err(error) = response.check_status() {
            return Fetched { headers, result: Err(refused(&error, &response)) };
        }
        let unpacked = tokio::task::spawn_blocking(move || unpack(response)).await;
        let stopping = |_| Err(FetchError::never(Cause::Fetch, "url.stopped: stopping".into()));
        Fetched { headers, result: unpacked.unwrap_or_else(stopping) }
    }
}

impl FetchError {
    pub(crate) fn never(cause: Cause, why: String) -> Self {
        Self { cause, why, again: Retry::Never, account: Account::Good }
    }

    pub(crate) fn soon(why: String) -> Self {
        Self { cause: Cause::Fetch, why, again: Retry::Soon, account: Account::Good }
    }
}

fn missed(error: &HttpError) -> FetchError {
    let hint = match error {
        HttpError::Forbidden { host, .. } => format!("; urls.private_hosts does not name {host}"),
        _ => String::new(),
    };
    let again = if error.is_passing() { Retry::Soon } else { Retry::Never };
    let why = format!("{}: {error}{hint}", error.code());
    FetchError { cause: Cause::Fetch, why, again, account: Account::Good }
}

/// Uses the pause that the server requests (Retry-After), and quotes its error message.
fn refused(error: &HttpError, response: &Response) -> FetchError {
    let mut missed = missed(error);
    if matches!(response.status(), 401 | 403) {
        missed.account = Account::Denied;
    }
    let pause = response.retry_after().and_then(|text| retry_after(&text, clock::now().date));
    let pause = pause.or((response.status() == 429).then_some(USUAL_PAUSE));
    if let (Retry::Soon, Some(pause)) = (missed.again, pause) {
        missed.again = Retry::After(pause);
    }
    let limits = bergamot_nzb::Limits::default();
    if let Err(said @ bergamot_nzb::NzbError::Indexer { .. }) =
        bergamot_nzb::read(response.body(), &limits)
    {
        missed.why = format!("url.newznab: {said} (status {})", response.status());
    }
    missed
}

/// For a server that wants one and does not say how long.
const USUAL_PAUSE: Duration = Duration::from_secs(60);

/// Packed as it comes: a million articles have some 30 MiB.
const LARGEST_NZB: usize = 32 << 20;

const MOST_NZBS: usize = 2;
