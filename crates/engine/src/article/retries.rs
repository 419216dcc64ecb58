//! [`Retries`]: articles that did not come at the first request, and where each waits. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Instant;

use bergamot_queue::{FileKey, SegmentKey};
use bergamot_types::{JobId, ServerId};

use super::Troubled;
use super::suspicion::Suspects;

/// Bounded by the segments of all jobs: each is in `troubled` at most once, and in one entry of
/// `queues` for each server.
#[derive(Debug)]
pub(crate) struct Retries {
    pub(crate) troubled: HashMap<SegmentKey, Troubled>,
    /// Articles that each server may be asked for again, in order.
    pub(crate) queues: BTreeMap<ServerId, VecDeque<SegmentKey>>,
    /// Articles that wait for a server that is passed over, or to be resumed.
    pub(crate) parked: Vec<SegmentKey>,
    /// Articles that wait out the back-off after a broken connection.
    pub(crate) delayed: BTreeSet<(Instant, SegmentKey)>,
    pub(crate) suspects: Suspects,
    /// Not before this time `parked` is searched for an article to probe a server with.
    pub(crate) next_probe_search: Option<Instant>,
    /// The minute by the calendar in which all of them were routed last.
    pub(crate) routed_at: i64,
}

impl Retries {
    pub(crate) fn new(servers: impl Iterator<Item = ServerId>) -> Self {
        Self {
            troubled: HashMap::new(),
            queues: servers.map(|server| (server, VecDeque::new())).collect(),
            parked: Vec::new(),
            delayed: BTreeSet::new(),
            suspects: Suspects::default(),
            next_probe_search: None,
            routed_at: 0,
        }
    }

    pub(crate) fn forget_job(&mut self, job: JobId) {
        self.troubled.retain(|key, _| key.job != job);
        self.suspects.forget_job(job);
        self.parked.retain(|key| key.job != job);
        self.delayed.retain(|(_, key)| key.job != job);
    }

    pub(crate) fn forget_file(&mut self, file: FileKey) {
        self.troubled.retain(|key, _| key.file_key() != file);
        self.suspects.forget_file(file);
        self.parked.retain(|key| key.file_key() != file);
        self.delayed.retain(|(_, key)| key.file_key() != file);
    }
}
