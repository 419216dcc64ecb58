//! What is known of a job.

use std::sync::Arc;

use bergamot_queue::{DupeMode, Ending, Held, JobState};
use bergamot_types::{ByteCount, JobId, Secret, UnixTime};
use serde::{Deserialize, Serialize};

use crate::file_choices::FileChoices;
use crate::fingerprint::Fingerprint;
use crate::kin::Kin;
use crate::outcome::Outcome;
use crate::parameters::Parameters;
use crate::plain;
use crate::sealed::{Unsealed, seal, unseal};
use crate::version1;

/// One job's record, as it lies in the spool.
///
/// There may be a hundred thousand of them in memory, so texts have no room to grow, what repeats is
/// shared, and what only ended jobs have is boxed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Record {
    #[serde(with = "plain")]
    pub id: JobId,
    pub name: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// Nobody has said what it is, so the category that its NZB brings may.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority_is_open: bool,
    /// Its place among jobs of the same priority: the least is next.
    pub rank: i64,
    #[serde(with = "plain")]
    pub added: UnixTime,
    /// Where the NZB came from, to recognise it after a crash between spooling and marking it.
    pub source: Arc<str>,
    pub fingerprint: Fingerprint,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "plain::optional")]
    pub password: Option<Secret>,
    /// It was added by a version that puts a checksum behind its NZB.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nzb_is_sealed: bool,
    /// Where it was fetched from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub paused: bool,
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    #[serde(default, skip_serializing_if = "is_default")]
    pub dupe: Dupe,
    pub contents: Contents,
    /// Few jobs have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_choices: Option<Box<FileChoices>>,
    /// Few jobs have any of this, either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kin: Option<Box<Kin>>,
    /// Its directory below the incomplete one, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<Box<str>>,
    pub life: JobState,
    /// How often a daemon died that had it in hand.
    #[serde(default, skip_serializing_if = "is_default")]
    pub starts: u32,
    /// How often it came back by itself after the disk had failed it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub returns: u32,
    /// Since when it is held because articles of its post may still be on their way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// Files that were finished before there was a journal; later ones are in there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<FinishedFile>,
    /// There when its life has ended, and only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Box<Outcome>>,
}

/// Each has its own place from the start, so that a hundred thousand of them are never there twice.
pub type Records = Vec<Box<Record>>;

/// By what other jobs it is a duplicate of, and what that means.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Dupe {
    pub key: Box<str>,
    pub score: i32,
    pub mode: DupeMode,
}

/// What the NZB held when it was added.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Contents {
    /// Of all files, encoded, as the NZB claims.
    #[serde(with = "plain")]
    pub bytes: ByteCount,
    #[serde(with = "plain")]
    pub par2_bytes: ByteCount,
    pub files: u32,
    pub par2_files: u32,
    pub articles: u32,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "plain::optional")]
    pub oldest_post: Option<UnixTime>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "plain::optional")]
    pub newest_post: Option<UnixTime>,
}

/// A file of the job that lies finished in the job's directory.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FinishedFile {
    /// Its place in the NZB.
    pub index: u32,
    pub name: String,
    pub verified: bool,
}

impl Record {
    /// A job that was just added, at the bottom of the queue.
    pub fn new(id: JobId, name: &str, added: UnixTime, source: &str, print: Fingerprint) -> Self {
        Self {
            id,
            name: name.into(),
            category: None,
            priority: 0,
            priority_is_open: false,
            rank: i64::from(id.0),
            added,
            source: source.into(),
            fingerprint: print,
            password: None,
            nzb_is_sealed: true,
            url: None,
            paused: false,
            parameters: Parameters::default(),
            dupe: Dupe::default(),
            contents: Contents::default(),
            file_choices: None,
            kin: None,
            directory: None,
            life: JobState::Queued,
            starts: 0,
            returns: 0,
            held: None,
            finished: Vec::new(),
            outcome: None,
        }
    }

    /// Makes it history.
    pub fn end(&mut self, outcome: Outcome) {
        self.life = JobState::Ended;
        self.outcome = Some(Box::new(outcome));
    }

    pub fn ending(&self) -> Option<Ending> {
        self.outcome.as_ref().map(|outcome| outcome.ending)
    }

    /// Changes what people want of its files.
    pub fn choose(&mut self, change: impl FnOnce(&mut FileChoices)) {
        let mut choices = self.file_choices.take().unwrap_or_default();
        change(&mut choices);
        self.file_choices = Some(choices).filter(|choices| !choices.is_empty());
    }

    /// Where the finished files lie.
    pub fn destination(&self) -> Option<&str> {
        self.outcome.as_ref()?.destination.as_deref()
    }

    /// Why it failed.
    pub fn reason(&self) -> Option<&str> {
        self.outcome.as_ref().map(|outcome| outcome.reason.as_str()).filter(|text| !text.is_empty())
    }

    /// A job that failed or was deleted does not stand in the way of another try, and what articles
    /// one has whose NZB is still to come, nobody knows.
    pub(crate) fn stands_in_the_way(&self) -> bool {
        let is_known = self.life != JobState::Fetching;
        is_known && matches!(self.ending(), None | Some(Ending::Completed { .. }))
    }

    /// Whether its NZB never came: it can only be fetched, not downloaded.
    pub fn lacks_nzb(&self) -> bool {
        self.url.is_some() && self.fingerprint == Fingerprint::default()
    }

    /// As it lies in the spool.
    pub fn sealed(&self) -> String {
        let body = serde_json::to_string(self).expect("a record has only what JSON can hold");
        seal(WORD, self.version(), &body)
    }

    /// The oldest that can tell all of it. A bergamot that did not know what jobs have to do with each
    /// other would download files twice, or not at all.
    fn version(&self) -> u32 {
        let has_given = |choices: &FileChoices| !choices.given_away().is_empty();
        match self.kin.is_some() || self.file_choices.as_deref().is_some_and(has_given) {
            true => VERSION,
            false => VERSION_WITHOUT_KIN,
        }
    }

    /// Of this version, or of an older one.
    pub(crate) fn unseal(bytes: &[u8]) -> Result<Self, Unsealed> {
        let record = match unseal(WORD, VERSION, bytes)? {
            (version1::VERSION, body) => version1::read(body).ok_or(Unsealed::Damaged)?,
            (_, body) => serde_json::from_str::<Self>(body).map_err(|_| Unsealed::Damaged)?,
        };
        match record.life.is_ended() == record.outcome.is_some() {
            true => Ok(record),
            false => Err(Unsealed::Damaged),
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) const VERSION: u32 = 3;

const VERSION_WITHOUT_KIN: u32 = 2;

/// What records of jobs begin with.
pub(crate) const WORD: &str = "bergamot-job";

#[cfg(test)]
mod tests {
    use bergamot_queue::{Cause, Permille, Stage};

    use super::*;
    use crate::kin::{Joined, Origin};
    use crate::outcome::{Mark, ServerArticles};

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
            assert_eq!(Record::unseal(record.sealed().as_bytes()).unwrap(), record);
        }
        assert!(!format!("{:?}", full()).contains("hunter2"));
    }

    #[test]
    fn only_a_record_that_tells_of_other_jobs_is_of_the_newest_version() {
        let mut record = full();
        record.choose(|choices| choices.set_order(&[1]));
        assert!(record.sealed().starts_with("bergamot-job 2 "));
        let mut given = record.clone();
        given.choose(|choices| choices.give_away(0));
        let (source, fingerprint) = ("y.nzb".into(), Fingerprint([1; 16]));
        let joined = vec![Joined { job: JobId(8), fingerprint, source }];
        let origin = Some(Origin { job: JobId(3), files: vec![2] });
        record.kin = Some(Box::new(Kin { joined, origin }));
        for record in [given, record] {
            assert!(record.sealed().starts_with("bergamot-job 3 "));
            assert_eq!(Record::unseal(record.sealed().as_bytes()).unwrap(), record);
        }
    }

    #[test]
    fn no_flipped_byte_and_no_cut_goes_unnoticed() {
        let sealed = ended().sealed().into_bytes();
        for at in 0..sealed.len() {
            assert!(Record::unseal(&sealed[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = sealed.clone();
                flipped[at] ^= 1 << bit;
                assert!(Record::unseal(&flipped).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn a_record_whose_parts_contradict_each_other_is_damaged() {
        let mut record = ended();
        record.life = JobState::Queued;
        assert!(matches!(Record::unseal(record.sealed().as_bytes()), Err(Unsealed::Damaged)));
    }
}
