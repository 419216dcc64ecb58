//! Job records as the spool holds them: one checksummed JSON text each.

use bergamot_jobs::{FileChoices, Record};

use crate::disk::checksummed::{Unsealed, seal, unseal};
use crate::version1;

/// The text of the record's file.
pub fn encode(record: &Record) -> String {
    let body = serde_json::to_string(record).expect("a record has only what JSON can hold");
    seal(WORD, version_of(record), &body)
}

/// The oldest version that can hold all of the record. A bergamot that did not know how jobs were merged
/// and split would download files twice, or not at all.
fn version_of(record: &Record) -> u32 {
    let has_given = |choices: &FileChoices| !choices.given_away().is_empty();
    match record.kin.is_some() || record.file_choices.as_deref().is_some_and(has_given) {
        true => VERSION,
        false => VERSION_WITHOUT_KIN,
    }
}

/// A record of this version, or of an older one.
pub(crate) fn decode(bytes: &[u8]) -> Result<Record, Unsealed> {
    let record = match unseal(WORD, VERSION, bytes)? {
        (version1::VERSION, body) => version1::read(body).ok_or(Unsealed::Damaged)?,
        (_, body) => serde_json::from_str::<Record>(body).map_err(|_| Unsealed::Damaged)?,
    };
    match record.life.is_ended() == record.outcome.is_some() {
        true => Ok(record),
        false => Err(Unsealed::Damaged),
    }
}

pub(crate) const VERSION: u32 = 3;

const VERSION_WITHOUT_KIN: u32 = 2;

/// The first word of a record's file.
pub(crate) const WORD: &str = "bergamot-job";

#[cfg(test)]
mod tests {
    use bergamot_jobs::{
        Contents, Dupe, Fingerprint, FinishedFile, Joined, Kin, Mark, Origin, Outcome,
        ServerArticles,
    };
    use bergamot_queue::{Cause, DupeMode, Ending, JobState, Permille, Stage};
    use bergamot_types::{ByteCount, JobId, Secret, UnixTime};

    use super::*;

    fn full() -> Record {
        let print = Fingerprint([0xa5; 16]);
        let mut record =
            Record::new(JobId(7), "a \"name\" = [odd]\n", UnixTime(1_800_000_000), "x.nzb", print);
        record.category = Some("tv".into());
        record.priority = -100;
        record.priority_is_open = true;
        record.password = Some(Secret::new("hunter2"));
        record.url = Some("http://example.org/x.nzb".into());
        record.parameters.set("drone", "17");
        record.parameters.set("*Unpack:", "yes");
        record.dupe = Dupe { key: "key".into(), score: -3, mode: DupeMode::Force };
        record.contents = Contents {
            bytes: ByteCount(u64::MAX),
            par2_bytes: ByteCount(1),
            files: 2,
            par2_files: 1,
            articles: 3,
            oldest_post: Some(UnixTime(-1)),
            newest_post: None,
        };
        record.choose(|choices| {
            choices.pause(4);
            choices.drop(1);
        });
        record.directory = Some("a name".into());
        record.starts = 1;
        record.finished = vec![FinishedFile { index: 3, name: "f.rar".into(), verified: true }];
        record
    }

    fn ended() -> Record {
        let mut record = full();
        let ending = Ending::Failed(Cause::Incomplete);
        let mut outcome = Outcome::new(ending, UnixTime(1_800_000_100), "job.incomplete: 3 of 9");
        outcome.sequence = 12;
        outcome.missing = vec!["a@x".to_owned()];
        outcome.health = Permille(900);
        outcome.mark = Mark::Bad;
        outcome.servers.insert("one".to_owned(), ServerArticles { ok: 6, failed: 3 });
        record.end(outcome);
        record
    }

    #[test]
    fn a_record_comes_back_as_it_went_in() {
        let mut post = full();
        post.life = JobState::Post(Stage::Unpacking);
        let plain = Record::new(JobId(1), "", UnixTime(0), "", Fingerprint::default());
        for record in [plain, full(), post, ended()] {
            assert_eq!(decode(encode(&record).as_bytes()).unwrap(), record);
        }
        assert!(!format!("{:?}", full()).contains("hunter2"));
    }

    #[test]
    fn only_a_record_that_tells_of_other_jobs_is_of_the_newest_version() {
        let mut record = full();
        record.choose(|choices| choices.set_order(&[1]));
        assert!(encode(&record).starts_with("bergamot-job 2 "));
        let mut given = record.clone();
        given.choose(|choices| choices.give_away(0));
        let (source, fingerprint) = ("y.nzb".into(), Fingerprint([1; 16]));
        let joined = vec![Joined { job: JobId(8), fingerprint, source }];
        let origin = Some(Origin { job: JobId(3), files: vec![2] });
        record.kin = Some(Box::new(Kin { joined, origin }));
        for record in [given, record] {
            assert!(encode(&record).starts_with("bergamot-job 3 "));
            assert_eq!(decode(encode(&record).as_bytes()).unwrap(), record);
        }
    }

    #[test]
    fn no_flipped_byte_and_no_cut_goes_unnoticed() {
        let sealed = encode(&ended()).into_bytes();
        for at in 0..sealed.len() {
            assert!(decode(&sealed[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = sealed.clone();
                flipped[at] ^= 1 << bit;
                assert!(decode(&flipped).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn a_record_whose_parts_contradict_each_other_is_damaged() {
        let mut record = ended();
        record.life = JobState::Queued;
        assert!(matches!(decode(encode(&record).as_bytes()), Err(Unsealed::Damaged)));
    }
}
