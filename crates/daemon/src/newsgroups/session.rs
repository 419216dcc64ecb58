//! [`Session`]: a connection to one server on which requests about newsgroups are carried out, in a task of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use bergamot_api::newsgroup::{Group, GroupQuery};
use bergamot_api::view::Page;
use bergamot_engine::ErrandId;
use bergamot_net::{Recall, Server, SessionError};
use bergamot_newsgroups::{Batch, Fetch, Headers, Overview, Plan};
use bergamot_nntp::Wildmat;
use bergamot_types::{ArticleRange, GroupName, ServerId};
use thiserror::Error;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::newsgroups::connections::SessionRequest;

/// How a request went.
#[derive(Debug)]
pub(crate) struct RequestOutcome {
    pub(crate) result: Result<Answer, RequestError>,
    /// The server was logged in to.
    pub(crate) was_ready: bool,
    pub(crate) received: u64,
}

#[derive(Debug)]
pub(crate) enum Answer {
    Groups(Page<Group>),
    Headers(Box<Batch>),
}

#[derive(Debug, Error)]
pub(crate) enum RequestError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("the server does not have the group")]
    NoSuchGroup,
    #[error("{0}")]
    Pattern(#[from] bergamot_nntp::InvalidWildmat),
}

/// A connection to one server for one request after another; each runs in the order it was sent.
pub(crate) struct Session {
    pub(crate) server: (ServerId, Arc<Server>),
    pub(crate) compress: bool,
    pub(crate) recall: Recall,
    pub(crate) requests: UnboundedReceiver<(ErrandId, SessionRequest)>,
}

/// What a session reports: a request that is over, its own end, or both.
#[derive(Debug)]
pub(crate) enum SessionEvent {
    Returned(ErrandId, RequestOutcome),
    /// The connection is gone; also a request that ended with it.
    Closed(Option<(ErrandId, RequestOutcome)>),
}

impl Session {
    /// Carries out requests until no sender is left, the connection is recalled, or the server
    /// ends it. Requests that were queued and not begun by then are reported as recalled. `Closed` is reported once.
    pub(crate) async fn run(mut self, report: impl Fn(SessionEvent)) {
        let end = self.carry_out(&report).await;
        self.requests.close();
        report(SessionEvent::Closed(end));
        while let Ok((request, _)) = self.requests.try_recv() {
            report(SessionEvent::Returned(request, RequestOutcome::recalled()));
        }
    }

    async fn carry_out(
        &mut self,
        report: &impl Fn(SessionEvent),
    ) -> Option<(ErrandId, RequestOutcome)> {
        let (request, what) = self.requests.recv().await?;
        let (id, server) = self.server.clone();
        let opened = bergamot_net::Session::open(server, self.compress, self.recall.clone()).await;
        let mut connection = match opened {
            Ok(connection) => connection,
            Err(error) => {
                let result = Err(error.into());
                return Some((request, RequestOutcome { result, was_ready: false, received: 0 }));
            }
        };
        let mut next = (request, what);
        let (mut counted, mut is_first) = (0, true);
        loop {
            let (request, what) = next;
            let result = carry_out(&mut connection, id, what, &self.recall).await;
            let received =
                connection.received() - std::mem::replace(&mut counted, connection.received());
            let has_ended = matches!(result, Err(RequestError::Session(SessionError::Ended(_))));
            // A server may close an idle connection: the request is repeated on a new one.
            let result =
                if has_ended && !is_first { Err(SessionError::Recalled.into()) } else { result };
            let outcome = RequestOutcome { result, was_ready: true, received };
            if has_ended || self.recall.is_recalled() {
                return Some((request, outcome));
            }
            report(SessionEvent::Returned(request, outcome));
            is_first = false;
            let job = tokio::select! {
                biased;
                // A recalled connection is closed without QUIT.
                () = self.recall.recalled() => return None,
                job = self.requests.recv() => job,
                _ = connection.wait_for_end() => return None,
            };
            match job {
                Some(job) => next = job,
                None => {
                    connection.close().await;
                    return None;
                }
            }
        }
    }
}

impl RequestOutcome {
    fn recalled() -> Self {
        Self { result: Err(SessionError::Recalled.into()), was_ready: true, received: 0 }
    }
}

async fn carry_out(
    connection: &mut bergamot_net::Session,
    server: ServerId,
    what: SessionRequest,
    recall: &Recall,
) -> Result<Answer, RequestError> {
    match what {
        SessionRequest::Headers(fetch) => headers(connection, server, &fetch, recall).await,
        SessionRequest::List(query) => tokio::select! {
            biased;
            () = recall.recalled() => Err(SessionError::Recalled.into()),
            result = list(connection, &query) => result.map(Answer::Groups),
        },
    }
}

/// What was read of a group so far; all of it holds, wherever the reading breaks off.
#[derive(Debug, Default)]
struct Reading {
    plan: Option<Plan>,
    newer: Headers,
    older: Headers,
    has_all_newer: bool,
}

async fn headers(
    session: &mut bergamot_net::Session,
    server: ServerId,
    fetch: &Fetch,
    recall: &Recall,
) -> Result<Answer, RequestError> {
    let mut reading = Reading::default();
    let result = tokio::select! {
        biased;
        () = recall.recalled() => Err(SessionError::Recalled.into()),
        result = reading.read(session, server, fetch) => result,
    };
    match (result, reading.into_batch()) {
        (Ok(()), Some(batch)) => Ok(Answer::Headers(Box::new(batch))),
        (Err(RequestError::Session(SessionError::Recalled)), Some(batch))
            if !batch.newer.is_empty() =>
        {
            Ok(Answer::Headers(Box::new(batch)))
        }
        (Err(error), _) => Err(error),
        (Ok(()), None) => Err(RequestError::NoSuchGroup),
    }
}

impl Reading {
    async fn read(
        &mut self,
        session: &mut bergamot_net::Session,
        server: ServerId,
        fetch: &Fetch,
    ) -> Result<(), RequestError> {
        let Some(numbers) = session.group(&fetch.group).await? else {
            return Err(RequestError::NoSuchGroup);
        };
        let plan = *self.plan.insert(fetch.plan(server, numbers.range));
        read_range(session, plan.newer, &mut self.newer).await?;
        self.has_all_newer = true;
        read_range(session, plan.older, &mut self.older).await
    }

    /// Older headers count only when all of them are there, for they come the oldest first.
    fn into_batch(self) -> Option<Batch> {
        let plan = self.plan?;
        let older = if self.has_all_newer { self.older } else { Headers::default() };
        Some(plan.batch(self.newer, older))
    }
}

/// Numbers outside the requested range are ignored.
async fn read_range(
    session: &mut bergamot_net::Session,
    range: Option<ArticleRange>,
    headers: &mut Headers,
) -> Result<(), RequestError> {
    let Some(range) = range else { return Ok(()) };
    let each = |line: &[u8]| {
        let overview = Overview::parse(line).filter(|overview| range.contains(overview.number));
        if let Some(overview) = overview {
            headers.push(&overview);
        }
    };
    Ok(session.over(range, each).await?)
}

async fn list(
    session: &mut bergamot_net::Session,
    query: &GroupQuery,
) -> Result<Page<Group>, RequestError> {
    let pattern = Wildmat::parse(&pattern_of(&query.pattern))?;
    let mut listing = Listing { query, total: 0, groups: BTreeMap::new() };
    session.list_active(Some(pattern.clone()), |line| listing.add(line)).await?;
    if !listing.groups.is_empty() {
        match session.list_newsgroups(Some(pattern), |line| listing.describe(line)).await {
            // Names alone are better than nothing.
            Ok(()) | Err(SessionError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Page { total: listing.total, items: listing.groups.into_values().collect() })
}

/// What has no star in it is a part of the name.
fn pattern_of(text: &str) -> String {
    match text.trim() {
        "" => "*".to_owned(),
        text if text.contains(['*', '?', ',', '!']) => text.to_owned(),
        text => format!("*{text}*"),
    }
}

/// The first groups behind a name, of however many there are.
struct Listing<'a> {
    query: &'a GroupQuery,
    total: usize,
    groups: BTreeMap<String, Group>,
}

impl Listing<'_> {
    /// `name last first y`
    fn add(&mut self, line: &[u8]) {
        let Some(group) = parse_active(line) else { return };
        self.total += 1;
        if self.query.after.as_ref().is_some_and(|after| group.name <= *after) {
            return;
        }
        self.groups.insert(group.name.clone(), group);
        if self.groups.len() > self.query.limit {
            self.groups.pop_last();
        }
    }

    /// `name`, some blanks, and what it is about.
    fn describe(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let Some((name, about)) = line.split_once(['\t', ' ']) else { return };
        if let Some(group) = self.groups.get_mut(name) {
            let about: String = about.trim().chars().filter(|c| !c.is_control()).collect();
            group.description = Some(about.chars().take(LONGEST_DESCRIPTION).collect());
        }
    }
}

fn parse_active(line: &[u8]) -> Option<Group> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    let name = GroupName::parse(words.next()?).ok()?.to_string();
    let last = words.next()?.parse().ok()?;
    let first = words.next()?.parse().ok()?;
    Some(Group { name, description: None, first, last })
}

const LONGEST_DESCRIPTION: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn query(after: Option<&str>, limit: usize) -> GroupQuery {
        GroupQuery { pattern: String::new(), after: after.map(str::to_owned), limit }
    }

    #[test]
    fn a_part_of_a_name_is_looked_for_and_a_pattern_is_used_as_it_is() {
        let patterns = ["", " ", "binaries", "alt.*", "a,!b"].map(pattern_of);
        assert_eq!(patterns, ["*", "*", "*binaries*", "alt.*", "a,!b"]);
    }

    #[test]
    fn only_a_page_is_kept_of_however_many_groups() {
        let query = query(Some("g.0100"), 3);
        let mut listing = Listing { query: &query, total: 0, groups: BTreeMap::new() };
        for number in (0..1000).rev() {
            listing.add(format!("g.{number:04} 9000000000 1 y").as_bytes());
        }
        for odd in ["", "name", "name x y z", "a\tb"] {
            listing.add(odd.as_bytes());
        }
        listing.describe(b"g.0102\t\tAll about \x1b it");
        listing.describe(b"other\tnothing");
        let found: Vec<_> = listing.groups.into_values().collect();
        let names: Vec<_> = found.iter().map(|group| group.name.as_str()).collect();
        assert_eq!((listing.total, names), (1000, vec!["g.0101", "g.0102", "g.0103"]));
        assert_eq!(found[1].description.as_deref(), Some("All about  it"));
        assert_eq!((found[0].first, found[0].last), (1, 9_000_000_000));
    }
}
