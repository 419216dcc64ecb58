//! From an NZB to a job of the queue.

use bergamot_nzb::{Nzb, NzbFile, Par2};
use bergamot_queue::{NewFile, NewJob};
use bergamot_store::{Contents, Fingerprint, Record};
use bergamot_types::ByteCount;
use sha2::{Digest, Sha256};

use super::recovery::Recovered;

/// The same articles have the same fingerprint, whatever the NZB and its files are called.
pub(crate) fn fingerprint(nzb: &Nzb) -> Fingerprint {
    let mut hasher = Sha256::new();
    nzb.fingerprint(|bytes| hasher.update(bytes));
    Fingerprint::of_digest(&hasher.finalize()).expect("SHA-256 has 32 bytes")
}

pub(crate) fn contents(nzb: &Nzb) -> Contents {
    let par2 = || nzb.files.iter().filter(|file| file.par2().is_some());
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Contents {
        bytes: ByteCount(nzb.bytes()),
        par2_bytes: ByteCount(par2().fold(0, |sum, file| sum.saturating_add(file.bytes()))),
        files: count(nzb.files.len()),
        par2_files: count(par2().count()),
        articles: count(nzb.segments()),
        oldest_post: nzb.files.iter().filter_map(|file| file.date).min(),
        newest_post: nzb.files.iter().filter_map(|file| file.date).max(),
    }
}

pub(super) fn new_job(
    record: &Record,
    nzb: Nzb,
    recovered: Recovered,
    wants_extras: bool,
) -> NewJob {
    // A post of nothing but a PAR2 set is wanted for its own sake.
    let wants_extras = wants_extras || nzb.files.iter().all(|file| file.par2().is_some());
    let files = nzb.files.into_iter().map(new_file).collect();
    let choices = record.file_choices.as_deref();
    NewJob {
        priority: record.priority,
        rank: record.rank,
        paused: record.paused,
        finished: recovered.finished.iter().map(|file| (file.index, file.verified)).collect(),
        written: recovered.written,
        paused_files: choices.map_or(Vec::new(), |choices| choices.paused().to_vec()),
        dropped: choices.map_or(Vec::new(), |choices| choices.dropped().to_vec()),
        wants_extras,
        ..NewJob::new(record.id, files)
    }
}

fn new_file(file: NzbFile) -> NewFile {
    let name = file.name().map(str::to_owned);
    let is_extra = matches!(file.par2(), Some(Par2::Volume { .. }));
    let is_par2 = file.par2().is_some();
    // The subject may tell of parts that the NZB does not list at all.
    let highest = file.segments.highest().max(file.announced().unwrap_or(0)) as usize;
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
        is_par2,
    }
}

#[cfg(test)]
mod tests {
    use bergamot_nzb::Limits;
    use bergamot_types::{JobId, UnixTime};

    use super::*;

    fn wants_volumes(names: &[&str]) -> bool {
        let file = |name: &&str| format!("<file subject='\"{name}\"'></file>");
        let text = format!("<nzb>{}</nzb>", names.iter().map(file).collect::<String>());
        let nzb = bergamot_nzb::read(text.as_bytes(), &Limits::default()).unwrap();
        let record = Record::new(JobId(1), "a", UnixTime(0), "", fingerprint(&nzb));
        new_job(&record, nzb, Recovered::default(), false).wants_extras
    }

    #[test]
    fn volumes_are_wanted_where_there_is_nothing_else() {
        assert!(wants_volumes(&["a.par2", "a.vol0+1.par2"]));
        assert!(!wants_volumes(&["a.par2", "a.vol0+1.par2", "a.rar"]));
    }
}
