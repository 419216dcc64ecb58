//! Translates an NZB into a job of the queue. Pure but for the reading of the spool.

use std::io::BufReader;

use bergamot_jobs::{Fingerprint, Record};
use bergamot_nzb::{Limits, Nzb, NzbError, Segments};
use bergamot_store::{Spool, StoreError};
use bergamot_types::JobId;
use sha2::{Digest, Sha256};

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

/// A damaged NZB is reported as damaged, whatever error its parser returned.
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
