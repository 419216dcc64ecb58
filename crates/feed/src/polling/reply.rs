//! [`Reply`]: the answer of a server to a feed's call.

use bergamot_types::UnixTime;

use super::judge::{Finding, Judge};
use crate::document::{self, Document, DocumentError};
use crate::limits::Limits;

/// The answer to one call.
#[derive(Debug)]
pub struct Reply {
    pub headers: Headers,
    pub outcome: Outcome,
    /// About each item of the document, once it was judged.
    pub(super) findings: Vec<Finding>,
}

#[derive(Debug)]
pub enum Outcome {
    Document(Document),
    Failed(Failure),
    NotModified,
}

/// The headers that matter, as they came.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Headers {
    pub etag: Option<Box<str>>,
    pub last_modified: Option<Box<str>>,
    pub retry_after: Option<Box<str>>,
    pub rate_limit_remaining: Option<Box<str>>,
    pub rate_limit_reset: Option<Box<str>>,
}

/// Why a call brought nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    pub kind: FailureKind,
    /// `area.reason`
    pub code: Box<str>,
    /// Fit to be shown: without keys, without control characters.
    pub message: Box<str>,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FailureKind {
    /// No further request to that host before the configuration changes or the daemon restarts.
    Denied,
    /// It will not come back.
    Gone,
    /// Asking again at once would not help.
    Lasting,
    /// The host has requested a pause for all its feeds.
    Limited,
    Transient,
}

impl Reply {
    /// Reads the body where there is one to read.
    pub fn read(status: u16, headers: Headers, body: &[u8], limits: &Limits) -> Self {
        let outcome = match (status, failure_of_status(status, &headers)) {
            (304, _) => Outcome::NotModified,
            (_, Some(failure)) => Outcome::Failed(failure),
            (_, None) => match document::read(body, limits) {
                Ok(document) => Outcome::Document(document),
                Err(error) => Outcome::Failed(failure_of(&error)),
            },
        };
        Self { headers, outcome, findings: Vec::new() }
    }

    pub fn failed(failure: Failure) -> Self {
        let outcome = Outcome::Failed(failure);
        Self { headers: Headers::default(), outcome, findings: Vec::new() }
    }

    /// Does in advance what takes time; without it, the machine does it when it gets the reply.
    pub fn judged(mut self, now: UnixTime, judge: &Judge) -> Self {
        if let Outcome::Document(document) = &self.outcome {
            self.findings = document.items.iter().map(|item| judge.finding(now, item)).collect();
        }
        self
    }
}

/// None if the body is worth reading.
pub fn failure_of_status(status: u16, headers: &Headers) -> Option<Failure> {
    let kind = match status {
        200..=299 => return None,
        401 | 403 => FailureKind::Denied,
        410 => FailureKind::Gone,
        429 => FailureKind::Limited,
        503 if headers.retry_after.is_some() => FailureKind::Limited,
        408 | 425 | 500.. => FailureKind::Transient,
        _ => FailureKind::Lasting,
    };
    let code = match kind {
        FailureKind::Denied => "feed.denied",
        FailureKind::Gone => "feed.gone",
        FailureKind::Limited => "feed.limited",
        FailureKind::Lasting | FailureKind::Transient => "feed.status",
    };
    let message = format!("the server answered with status {status}").into();
    Some(Failure { kind, code: code.into(), message })
}

/// The numbers of Newznab's errors: 1xx is about the account, 500 and 501 about limits.
fn failure_of(error: &DocumentError) -> Failure {
    let kind = match error {
        DocumentError::Indexer { code, .. } => match code.trim().parse::<u32>() {
            Ok(100..=199) => FailureKind::Denied,
            Ok(500 | 501) => FailureKind::Limited,
            Ok(900..) => FailureKind::Transient,
            _ => FailureKind::Lasting,
        },
        DocumentError::Truncated { .. } => FailureKind::Transient,
        _ => FailureKind::Lasting,
    };
    Failure { kind, code: error.code().into(), message: error.to_string().into() }
}
