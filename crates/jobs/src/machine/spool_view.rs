//! [`SpoolView`]: the queries of [`Jobs`](super::Jobs) to the spool. Answered at once, from memory; called on the
//! thread of the machine.

use std::fmt;

use bergamot_types::JobId;

use crate::record::fingerprint::Fingerprint;

/// Numbers are drawn by threads that take in NZBs as well, so they are not the machine's own.
pub trait SpoolView: fmt::Debug + Send + Sync {
    fn next_id(&self) -> JobId;
    /// The next position in the history.
    fn next_sequence(&self) -> u64;
    /// A rank below all others.
    fn next_rank(&self) -> i64;
    /// Ranks that are drawn from here on are below that one.
    fn stay_below(&self, rank: i64);
    /// Jobs with the same articles.
    fn copies(&self, fingerprint: Fingerprint) -> Vec<JobId>;
    fn has_nzb(&self, job: JobId) -> bool;
}
