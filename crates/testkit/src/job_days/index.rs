//! [`Index`]: what the spool of a simulated day answers at once, as [`SpoolView`]. Behind a lock, as the
//! machine demands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bergamot_jobs::machine::SpoolView;
use bergamot_jobs::queue_order::GAP;
use bergamot_jobs::{Fingerprint, Record};
use bergamot_types::JobId;

#[derive(Clone, Debug, Default)]
pub(crate) struct Index(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    last_id: u32,
    last_sequence: u64,
    rank: i64,
    prints: BTreeSet<(Fingerprint, JobId)>,
    nzbs: BTreeSet<JobId>,
}

impl Index {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers are never given twice; all else is what the disk has.
    pub(crate) fn restart<'a>(
        &self,
        records: impl Iterator<Item = &'a Record>,
        nzbs: impl Iterator<Item = JobId>,
    ) -> Self {
        let last_id = self.known().last_id;
        let index = Self::default();
        index.known().last_id = last_id;
        index.known().nzbs = nzbs.collect();
        records.for_each(|record| index.learn(record));
        index
    }

    pub(crate) fn learn(&self, record: &Record) {
        let mut known = self.known();
        let sequence = record.outcome.as_ref().map_or(0, |outcome| outcome.sequence);
        known.last_sequence = known.last_sequence.max(sequence);
        let own = (record.fingerprint, record.id);
        let parts = record.joined().iter().map(|joined| (joined.fingerprint, record.id));
        for print in std::iter::once(own).chain(parts) {
            match record.stands_in_the_way() {
                true => known.prints.insert(print),
                false => known.prints.remove(&print),
            };
        }
        for joined in record.joined() {
            known.prints.remove(&(joined.fingerprint, joined.job));
        }
    }

    pub(crate) fn forget(&self, job: JobId) {
        self.known().prints.retain(|(_, other)| *other != job);
    }

    pub(crate) fn set_nzb(&self, job: JobId, is_there: bool) {
        let mut known = self.known();
        match is_there {
            true => known.nzbs.insert(job),
            false => known.nzbs.remove(&job),
        };
    }
}

impl SpoolView for Index {
    fn next_id(&self) -> JobId {
        let mut known = self.known();
        known.last_id += 1;
        JobId(known.last_id)
    }

    fn next_sequence(&self) -> u64 {
        let mut known = self.known();
        known.last_sequence += 1;
        known.last_sequence
    }

    fn next_rank(&self) -> i64 {
        let mut known = self.known();
        known.rank += GAP;
        known.rank
    }

    fn stay_below(&self, rank: i64) {
        let mut known = self.known();
        known.rank = known.rank.max(rank);
    }

    fn copies(&self, fingerprint: Fingerprint) -> Vec<JobId> {
        let all = (fingerprint, JobId(0))..=(fingerprint, JobId(u32::MAX));
        self.known().prints.range(all).map(|(_, job)| *job).collect()
    }

    fn has_nzb(&self, job: JobId) -> bool {
        self.known().nzbs.contains(&job)
    }
}

/// By id, in their order.
pub(crate) type ById<T> = BTreeMap<JobId, T>;
