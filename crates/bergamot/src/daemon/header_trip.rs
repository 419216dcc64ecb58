//! One errand about newsgroups, from the connection to the last line.

use std::collections::BTreeMap;
use std::sync::Arc;

use bergamot_groups::{Batch, Fetch, Headers, Overview, Plan};
use bergamot_net::{ErrandError, Recall, Server};
use bergamot_nntp::Wildmat;
use bergamot_rpc::newsgroup::{Group, GroupQuery};
use bergamot_rpc::view::Page;
use bergamot_types::{ArticleRange, GroupName, ServerId};
use thiserror::Error;

use super::errands::Errand;

/// How an errand went.
#[derive(Debug)]
pub(super) struct Trip {
    pub(super) result: Result<Brought, TripError>,
    /// Somebody was there to talk to.
    pub(super) was_ready: bool,
    pub(super) received: u64,
}

#[derive(Debug)]
pub(super) enum Brought {
    Groups(Page<Group>),
    Headers(Box<Batch>),
}

#[derive(Debug, Error)]
pub(super) enum TripError {
    #[error(transparent)]
    Errand(#[from] ErrandError),
    #[error("the server does not have the group")]
    NoSuchGroup,
    #[error("{0}")]
    Pattern(#[from] bergamot_nntp::InvalidWildmat),
}

pub(super) async fn travel(
    (id, server): (ServerId, Arc<Server>),
    what: Errand,
    compress: bool,
    recall: Recall,
) -> Trip {
    let mut errand = match bergamot_net::Errand::open(server, compress, recall.clone()).await {
        Ok(errand) => errand,
        Err(error) => return Trip { result: Err(error.into()), was_ready: false, received: 0 },
    };
    let result = match what {
        Errand::Headers(fetch) => headers(&mut errand, id, &fetch, &recall).await,
        Errand::List(query) => tokio::select! {
            biased;
            () = recall.recalled() => Err(ErrandError::Recalled.into()),
            result = list(&mut errand, &query) => result.map(Brought::Groups),
        },
    };
    let received = errand.received();
    // Whoever recalls it does not wait for a goodbye.
    if !recall.is_recalled() && !matches!(result, Err(TripError::Errand(ErrandError::Ended(_)))) {
        errand.close().await;
    }
    Trip { result, was_ready: true, received }
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
    errand: &mut bergamot_net::Errand,
    server: ServerId,
    fetch: &Fetch,
    recall: &Recall,
) -> Result<Brought, TripError> {
    let mut reading = Reading::default();
    let result = tokio::select! {
        biased;
        () = recall.recalled() => Err(ErrandError::Recalled.into()),
        result = reading.read(errand, server, fetch) => result,
    };
    match (result, reading.into_batch()) {
        (Ok(()), Some(batch)) => Ok(Brought::Headers(Box::new(batch))),
        (Err(TripError::Errand(ErrandError::Recalled)), Some(batch)) if !batch.newer.is_empty() => {
            Ok(Brought::Headers(Box::new(batch)))
        }
        (Err(error), _) => Err(error),
        (Ok(()), None) => Err(TripError::NoSuchGroup),
    }
}

impl Reading {
    async fn read(
        &mut self,
        errand: &mut bergamot_net::Errand,
        server: ServerId,
        fetch: &Fetch,
    ) -> Result<(), TripError> {
        let Some(numbers) = errand.group(&fetch.group).await? else {
            return Err(TripError::NoSuchGroup);
        };
        let plan = *self.plan.insert(fetch.plan(server, numbers.range));
        read_range(errand, plan.newer, &mut self.newer).await?;
        self.has_all_newer = true;
        read_range(errand, plan.older, &mut self.older).await
    }

    /// Older headers count only when all of them are there, for they come the oldest first.
    fn into_batch(self) -> Option<Batch> {
        let plan = self.plan?;
        let older = if self.has_all_newer { self.older } else { Headers::default() };
        Some(plan.batch(self.newer, older))
    }
}

/// Numbers that were not asked for are not listened to.
async fn read_range(
    errand: &mut bergamot_net::Errand,
    range: Option<ArticleRange>,
    headers: &mut Headers,
) -> Result<(), TripError> {
    let Some(range) = range else { return Ok(()) };
    let each = |line: &[u8]| {
        let overview = Overview::parse(line).filter(|overview| range.contains(overview.number));
        if let Some(overview) = overview {
            headers.push(&overview);
        }
    };
    Ok(errand.over(range, each).await?)
}

async fn list(
    errand: &mut bergamot_net::Errand,
    query: &GroupQuery,
) -> Result<Page<Group>, TripError> {
    let pattern = Wildmat::parse(&pattern_of(&query.pattern))?;
    let mut listing = Listing { query, total: 0, groups: BTreeMap::new() };
    errand.list_active(Some(pattern.clone()), |line| listing.add(line)).await?;
    if !listing.groups.is_empty() {
        match errand.list_newsgroups(Some(pattern), |line| listing.describe(line)).await {
            // Names alone are better than nothing.
            Ok(()) | Err(ErrandError::Refused { .. }) => {}
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
