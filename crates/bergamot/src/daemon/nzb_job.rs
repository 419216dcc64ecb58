//! From an NZB to a job of the queue.

use bergamot_nzb::{Nzb, NzbFile, Par2};
use bergamot_queue::{NewFile, NewJob};
use bergamot_store::Record;
use sha2::{Digest, Sha256};

/// The same articles have the same fingerprint, whatever the NZB and its files are called.
pub(crate) fn fingerprint(nzb: &Nzb) -> String {
    let mut hasher = Sha256::new();
    nzb.fingerprint(|bytes| hasher.update(bytes));
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn new_job(record: &Record, nzb: Nzb, wants_extras: bool) -> NewJob {
    NewJob {
        id: record.id,
        priority: record.priority,
        files: nzb.files.into_iter().map(new_file).collect(),
        finished: record.finished.iter().map(|file| (file.index, file.verified)).collect(),
        wants_extras,
    }
}

fn new_file(file: NzbFile) -> NewFile {
    let name = file.name().map(str::to_owned);
    let is_extra = matches!(file.par2(), Some(Par2::Volume { .. }));
    let highest = file.segments.highest() as usize;
    let unlisted = highest.saturating_sub(file.segments.len());
    let (ids, entries) = file.segments.into_parts();
    NewFile {
        name,
        posted: file.date,
        groups: file.groups,
        ids,
        numbers: entries.iter().map(|entry| entry.number).collect(),
        bytes: entries.iter().map(|entry| entry.bytes).collect(),
        unlisted: u32::try_from(unlisted).unwrap_or(u32::MAX),
        is_extra,
    }
}
