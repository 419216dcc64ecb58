//! [`new_job`]: a job of the queue as the engine takes it, from its record and its NZB. Pure.

use bergamot_nzb::{Nzb, NzbFile, Par2};
use bergamot_queue::{Alternates, NewFile, NewJob};
use bergamot_types::ByteCount;

use crate::record::file_choices::FileChoices;
use crate::record::{Contents, Record};

/// Without what was downloaded before.
pub fn new_job(record: &Record, nzb: Nzb, wants_extras: bool) -> NewJob {
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
        paused_files: choices.map_or(Vec::new(), |choices| choices.paused().to_vec()),
        dropped: choices.map_or(Vec::new(), FileChoices::left_out),
        order: choices.map_or(Vec::new(), |choices| choices.order().to_vec()),
        wants_extras,
        ..NewJob::new(record.id, files)
    }
}

pub fn new_files(nzb: Nzb) -> Vec<NewFile> {
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

/// What is kept of an NZB in the record of its job.
pub fn contents(nzb: &Nzb) -> Contents {
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

#[cfg(test)]
mod tests {
    use bergamot_nzb::Limits;
    use bergamot_types::{JobId, UnixTime};

    use super::*;
    use crate::record::fingerprint::Fingerprint;

    fn wants_volumes(names: &[&str]) -> bool {
        let file = |name: &&str| format!("<file subject='\"{name}\"'></file>");
        let text = format!("<nzb>{}</nzb>", names.iter().map(file).collect::<String>());
        let nzb = bergamot_nzb::read(text.as_bytes(), &Limits::default()).unwrap();
        let record = Record::new(JobId(1), "a", UnixTime(0), "", Fingerprint::default());
        new_job(&record, nzb, false).wants_extras
    }

    #[test]
    fn volumes_are_wanted_where_there_is_nothing_else() {
        assert!(wants_volumes(&["a.par2", "a.vol0+1.par2"]));
        assert!(!wants_volumes(&["a.par2", "a.vol0+1.par2", "a.rar"]));
    }
}
