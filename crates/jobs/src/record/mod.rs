//! What is known of a job.

pub(crate) mod file_choices;
pub(crate) mod fingerprint;
pub(crate) mod lineage;
pub(crate) mod outcome;
pub(crate) mod parameters;
pub mod serde_plain;

use std::sync::Arc;

use bergamot_queue::{DupeMode, Ending, Held, JobState};
use bergamot_types::{ByteCount, JobId, Secret, UnixTime};
use serde::{Deserialize, Serialize};

use self::file_choices::FileChoices;
use self::fingerprint::Fingerprint;
use self::lineage::Kin;
use self::outcome::Outcome;
use self::parameters::Parameters;

/// One job's record, as it lies in the spool.
///
/// There may be a hundred thousand of them in memory, so texts have no room to grow, what repeats is
/// shared, and what only ended jobs have is boxed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Record {
    #[serde(with = "serde_plain")]
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
    #[serde(with = "serde_plain")]
    pub added: UnixTime,
    /// Where the NZB came from, to recognise it after a crash between spooling and marking it.
    pub source: Arc<str>,
    pub fingerprint: Fingerprint,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "serde_plain::optional")]
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
    #[serde(with = "serde_plain")]
    pub bytes: ByteCount,
    #[serde(with = "serde_plain")]
    pub par2_bytes: ByteCount,
    pub files: u32,
    pub par2_files: u32,
    pub articles: u32,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "serde_plain::optional")]
    pub oldest_post: Option<UnixTime>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "serde_plain::optional")]
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
    pub fn stands_in_the_way(&self) -> bool {
        let is_known = self.life != JobState::Fetching;
        is_known && matches!(self.ending(), None | Some(Ending::Completed { .. }))
    }

    /// Whether its NZB never came: it can only be fetched, not downloaded.
    pub fn lacks_nzb(&self) -> bool {
        self.url.is_some() && self.fingerprint == Fingerprint::default()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The parameter that names the item of a feed a job was made of.
pub const ITEM: &str = "*feed";

/// The parameter that holds the password of an archive.
pub const PASSWORD: &str = "*Unpack:Password";
