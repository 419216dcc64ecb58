//! Translates an NZB into a job of the queue. Pure but for the reading of the spool.

use std::io::BufReader;

use bergamot_jobs::{Contents, FileChoices, Fingerprint, Record};
use bergamot_nzb::{Limits, Nzb, NzbError, NzbFile, Par2, Segments};
use bergamot_queue::{Alternates, NewFile, NewJob};
use bergamot_store::{Spool, StoreError};
use bergamot_types::{ByteCount, JobId};
use sha2::{Digest, Sha256};

use crate::spool::resume::Recovered;

/// The same articles have the same fingerprint, whatever the NZB and its files are called.
pub(crate) fn fingerprint(nzb: &Nzb) -> Fingerprint {
    let mut hasher = Sha256::new();
    nzb.fingerprint(|bytes| hasher.update(bytes));
    Fingerprint::of_digest(&hasher.finalize()).expect("SHA-256 has 32 bytes")
}

/// Why the NZB of a job cannot be read.
#[derive(Debug)]
pub(crate) enum NzbReadError {
    Nzb(NzbError),
    Store(StoreError),
}

/// All that a job has in the spool. Files that are another job's keep their places, and nothing else.
pub(crate) fn read_nzb(spool: &Spool, record: &Record) -> Result<Nzb, NzbReadError> {
    let mut whole: Option<Nzb> = None;
    for part in record.nzbs() {
        // What other jobs have brought along may be of an older version.
        let must_be_sealed = record.nzb_is_sealed && part == record.id;
        let mut nzb = read_one(spool, part, must_be_sealed)?;
        match &mut whole {
            Some(whole) => whole.files.append(&mut nzb.files),
            None => whole = Some(nzb),
        }
    }
    let mut nzb = whole.unwrap_or_default();
    for file in record.file_choices.iter().flat_map(|choices| choices.given_away()) {
        if let Some(file) = nzb.files.get_mut(*file as usize) {
            file.segments = Segments::default();
        }
    }
    Ok(nzb)
}

/// A damaged NZB is told as such, whatever its parser made of it.
pub(crate) fn read_one(
    spool: &Spool,
    job: JobId,
    must_be_sealed: bool,
) -> Result<Nzb, NzbReadError> {
    let mut file = spool.nzb(job).map_err(NzbReadError::Store)?;
    let nzb = bergamot_nzb::read(BufReader::new(&mut file), &Limits::default());
    file.finish(must_be_sealed).map_err(NzbReadError::Store)?;
    nzb.map_err(NzbReadError::Nzb)
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

pub(crate) fn new_job(
    record: &Record,
    nzb: Nzb,
    recovered: Recovered,
    wants_extras: bool,
) -> NewJob {
    let choices = record.file_choices.as_deref();
    let given_away = choices.map_or(&[][..], |choices| choices.given_away());
    let own = (0..).zip(&nzb.files).filter(|(index, _)| given_away.binary_search(index).is_err());
    // A post of nothing but a PAR2 set is wanted for its own sake.
    let wants_extras = wants_extras || own.map(|(_, file)| file).all(|file| file.par2().is_some());
    let files = new_files(nzb);
    NewJob {
        priority: record.priority,
        rank: record.rank,
        paused: record.paused,
        finished: recovered.finished.iter().map(|it| (it.file.index, it.file.verified)).collect(),
        written: recovered.written,
        paused_files: choices.map_or(Vec::new(), |choices| choices.paused().to_vec()),
        dropped: choices.map_or(Vec::new(), FileChoices::left_out),
        order: choices.map_or(Vec::new(), |choices| choices.order().to_vec()),
        wants_extras,
        ..NewJob::new(record.id, files)
    }
}

pub(crate) fn new_files(nzb: Nzb) -> Vec<NewFile> {
    nzb.files.into_iter().map(new_file).collect()
}

fn new_file(file: NzbFile) -> NewFile {
    let name = file.name().map(str::to_owned);
    let is_extra = matches!(file.par2(), Some(Par2::Volume { .. }));
    let is_par2 = file.par2().is_some();
    // The subject may tell of parts that the NZB does not list at all.
    let highest = file.segments.highest().max(file.announced().unwrap_or(0)) as usize;
    let unlisted = highest.saturating_sub(file.segments.len());
    let parts = file.segments.into_parts();
    NewFile {
        name,
        posted: file.date,
        groups: file.groups,
        ids: parts.ids,
        numbers: parts.entries.iter().map(|entry| entry.number).collect(),
        bytes: parts.entries.iter().map(|entry| entry.bytes).collect(),
        alternates: Alternates::new(parts.alternate_of, parts.alternate_ids),
        unlisted: u32::try_from(unlisted).unwrap_or(u32::MAX),
        is_extra,
        is_par2,
    }
}

#[cfg(test)]
mod tests {
    use bergamot_types::UnixTime;

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
