//! [`Index`]: which jobs a spool holds, by number and by fingerprint; in memory, behind the lock of the spool.

use std::collections::BTreeMap;
use std::sync::Arc;

use bergamot_jobs::{Fingerprint, Joined, Record};
use bergamot_types::JobId;

#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) last_id: u32,
    pub(super) last_sequence: u64,
    pub(super) present: BTreeMap<JobId, Fingerprint>,
    pub(super) parts: BTreeMap<JobId, Part>, // jobs that belong to others
    pub(super) fingerprints: BTreeMap<(Fingerprint, JobId), Arc<str>>, // with their sources
}

/// A job that is part of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) of: JobId,
    pub(super) fingerprint: Fingerprint,
}

impl Index {
    /// Built in one go: a `BTreeMap` that is collected takes half the memory of one that grew.
    pub(super) fn of(records: &[Box<Record>], last_id: u32) -> Self {
        let known = records.iter().filter(|record| record.stands_in_the_way());
        let known = known.map(|record| ((record.fingerprint, record.id), record.source.clone()));
        let sequences = records.iter().filter_map(|record| Some(record.outcome.as_ref()?.sequence));
        let mut index = Self {
            last_id,
            last_sequence: sequences.max().unwrap_or(0),
            present: records.iter().map(|record| (record.id, record.fingerprint)).collect(),
            parts: BTreeMap::new(),
            fingerprints: known.collect(),
        };
        records.iter().for_each(|record| index.learn_parts(record));
        index
    }

    pub(super) fn learn(&mut self, record: &Record) {
        self.present.insert(record.id, record.fingerprint);
        let sequence = record.outcome.as_ref().map_or(0, |outcome| outcome.sequence);
        self.last_sequence = self.last_sequence.max(sequence);
        let key = (record.fingerprint, record.id);
        match record.stands_in_the_way() {
            true => drop(self.fingerprints.insert(key, record.source.clone())),
            false => drop(self.fingerprints.remove(&key)),
        }
        self.learn_parts(record);
    }

    /// A new job with the articles of a merged job counts as a duplicate of the job it was merged into.
    pub(super) fn learn_parts(&mut self, record: &Record) {
        for Joined { job, fingerprint, source } in record.joined() {
            self.parts.insert(*job, Part { of: record.id, fingerprint: *fingerprint });
            self.fingerprints.remove(&(*fingerprint, *job));
            let key = (*fingerprint, record.id);
            match record.stands_in_the_way() {
                true => drop(self.fingerprints.insert(key, source.clone())),
                false => drop(self.fingerprints.remove(&key)),
            }
        }
    }

    pub(super) fn parts_of(&self, job: JobId) -> Vec<JobId> {
        self.parts.iter().filter(|(_, part)| part.of == job).map(|(part, _)| *part).collect()
    }

    pub(super) fn forget(&mut self, job: JobId) {
        for part in self.parts_of(job) {
            if let Some(part) = self.parts.remove(&part) {
                self.fingerprints.remove(&(part.fingerprint, job));
            }
        }
        if let Some(print) = self.present.remove(&job) {
            self.fingerprints.remove(&(print, job));
        }
    }
}
