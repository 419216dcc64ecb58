//! Jobs that were made of others.
//!
//! What joins and splits jobs is decided by one record each, so that a sudden end leaves it done or not
//! done: a job is joined to another when the record of that one says so, and files have left a job when
//! the record of the one that they became says so. What the other records say is put right afterwards,
//! or at the next start ([`put_right`]).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bergamot_queue::FileOrder;
use bergamot_types::{ByteCount, JobId};
use serde::{Deserialize, Serialize};

use super::file_choices::FileChoices;
use super::fingerprint::Fingerprint;
use super::serde_plain;
use super::{Contents, Record, Records};

/// What a job has to do with others.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Kin {
    /// Jobs that are part of this one: the files of their NZBs come behind its own, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Joined>,
    /// The job whose files these were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A job that is none of its own any more.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Joined {
    /// Its NZB still has its number.
    #[serde(with = "serde_plain")]
    pub job: JobId,
    pub fingerprint: Fingerprint,
    pub source: Arc<str>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Origin {
    #[serde(with = "serde_plain")]
    pub job: JobId,
    /// By their places in that one.
    pub files: Vec<u32>,
}

impl Record {
    pub fn joined(&self) -> &[Joined] {
        self.kin.as_ref().map_or(&[], |kin| &kin.joined)
    }

    /// Whose NZBs make up its own, one behind the other.
    pub fn nzbs(&self) -> Vec<JobId> {
        std::iter::once(self.id).chain(self.joined().iter().map(|joined| joined.job)).collect()
    }

    /// How many files its NZBs list, with those that are another job's now.
    pub fn listed_files(&self) -> u32 {
        let given_away = self.file_choices.as_ref().map_or(0, |it| it.given_away().len());
        self.contents.files.saturating_add(given_away as u32)
    }

    /// Takes in all of `other`, whose files, `behind` of them, come behind the `listed` ones that it has.
    pub fn join(&mut self, other: &Record, listed: u32, behind: u32) {
        let kin = self.kin.get_or_insert_default();
        kin.joined.push(Joined {
            job: other.id,
            fingerprint: other.fingerprint,
            source: other.source.clone(),
        });
        kin.joined.extend(other.joined().iter().cloned());
        self.contents = self.contents.with(&other.contents);
        let choices = other.file_choices.as_deref().cloned().unwrap_or_default();
        self.choose(|own| own.append(listed, &choices, behind));
        if other.paused && !self.paused {
            let is_own = |file: &u32| choices.given_away().binary_search(file).is_err();
            let files = (0..behind).filter(is_own).map(|file| listed + file);
            self.choose(|own| files.for_each(|file| own.pause(file)));
        }
        if self.password.is_none() {
            self.password.clone_from(&other.password);
        }
    }

    /// Its files that became `other` are its own no longer; whether that is news.
    pub fn give_away_to(&mut self, other: &Record) -> bool {
        let origin = other.kin.as_ref().and_then(|kin| kin.origin.as_ref());
        let Some(origin) = origin.filter(|origin| origin.job == self.id) else { return false };
        let is_gone = |choices: &FileChoices| choices.has_given_away(&origin.files);
        if self.file_choices.as_deref().is_some_and(is_gone) {
            return false;
        }
        self.choose(|own| origin.files.iter().for_each(|file| own.give_away(*file)));
        self.contents = self.contents.without(&other.contents);
        true
    }
}

impl FileChoices {
    /// With those of other files, `count` of them, behind the `listed` ones.
    fn append(&mut self, listed: u32, others: &Self, count: u32) {
        let order = FileOrder::new(listed, self.order());
        let behind = FileOrder::new(count, others.order());
        let behind = behind.files().iter().map(|file| listed + file);
        let order: Vec<u32> = order.files().iter().copied().chain(behind).collect();
        self.set_order(FileOrder::new(listed + count, &order).told());
        others.paused().iter().for_each(|file| self.pause(listed + file));
        others.dropped().iter().for_each(|file| self.drop(listed + file));
        others.given_away().iter().for_each(|file| self.give_away(listed + file));
    }
}

impl Contents {
    fn with(self, other: &Self) -> Self {
        let dates = |own: Option<_>, others: Option<_>| own.into_iter().chain(others);
        Self {
            bytes: ByteCount(self.bytes.0.saturating_add(other.bytes.0)),
            par2_bytes: ByteCount(self.par2_bytes.0.saturating_add(other.par2_bytes.0)),
            files: self.files.saturating_add(other.files),
            par2_files: self.par2_files.saturating_add(other.par2_files),
            articles: self.articles.saturating_add(other.articles),
            oldest_post: dates(self.oldest_post, other.oldest_post).min(),
            newest_post: dates(self.newest_post, other.newest_post).max(),
        }
    }

    /// When the rest was posted is not known, so that stays.
    fn without(self, other: &Self) -> Self {
        Self {
            bytes: ByteCount(self.bytes.0.saturating_sub(other.bytes.0)),
            par2_bytes: ByteCount(self.par2_bytes.0.saturating_sub(other.par2_bytes.0)),
            files: self.files.saturating_sub(other.files),
            par2_files: self.par2_files.saturating_sub(other.par2_files),
            articles: self.articles.saturating_sub(other.articles),
            ..self
        }
    }
}

/// What a sudden end has left undone between jobs.
#[derive(Debug, Default)]
pub struct Undone {
    /// Records that say what they did not.
    pub changed: Vec<JobId>,
    /// Jobs that are part of another.
    pub joined: Vec<Record>,
    /// Jobs that were being made of files of others, and lack their NZBs: nobody was promised any.
    pub unborn: Vec<JobId>,
}

/// Takes out of `records`, by id, what is no job, and lets the others say what is so.
pub fn put_right(records: &mut Records, has_nzb: impl Fn(JobId) -> bool) -> Undone {
    let mut undone = Undone::default();
    if records.iter().all(|record| record.kin.is_none()) {
        return undone;
    }
    let places: HashMap<JobId, usize> =
        records.iter().enumerate().map(|(place, record)| (record.id, place)).collect();
    let is_split = |record: &Record| record.kin.as_ref().is_some_and(|kin| kin.origin.is_some());
    let split: Records = records.iter().filter(|record| is_split(record)).cloned().collect();
    for new in split {
        let origin = new.kin.as_ref().and_then(|kin| kin.origin.as_ref()).map(|origin| origin.job);
        let Some(place) = origin.and_then(|origin| places.get(&origin)) else { continue };
        let mut parent = records[*place].clone();
        match parent.give_away_to(&new) {
            true if !has_nzb(new.id) => undone.unborn.push(new.id),
            true => {
                undone.changed.push(parent.id);
                records[*place] = parent;
            }
            false => {}
        }
    }
    records.retain(|record| !undone.unborn.contains(&record.id));
    let joined: HashSet<JobId> =
        records.iter().flat_map(|record| record.joined()).map(|joined| joined.job).collect();
    undone.joined = records
        .extract_if(.., |record| joined.contains(&record.id))
        .map(|record| *record)
        .collect();
    undone
}

#[cfg(test)]
mod tests {
    use bergamot_types::UnixTime;

    use super::*;

    fn record(id: u32, files: u32) -> Record {
        let print = Fingerprint([id as u8; 16]);
        let mut record = Record::new(JobId(id), "a", UnixTime(0), &format!("{id}.nzb"), print);
        record.contents = Contents {
            bytes: ByteCount(u64::from(files) * 100),
            files,
            articles: files * 10,
            oldest_post: Some(UnixTime(i64::from(id))),
            newest_post: Some(UnixTime(i64::from(id) * 10)),
            ..Contents::default()
        };
        record
    }

    fn boxed<const N: usize>(records: [Record; N]) -> Records {
        records.map(Box::new).into()
    }

    /// Files 1 and 3 of job 1 as a job of their own.
    fn split(id: u32) -> Record {
        let mut new = record(id, 2);
        let origin = Origin { job: JobId(1), files: vec![1, 3] };
        new.kin = Some(Box::new(Kin { origin: Some(origin), ..Kin::default() }));
        new
    }

    #[test]
    fn what_was_said_of_files_goes_with_them() {
        let (mut first, mut second, mut third) = (record(1, 3), record(2, 2), record(3, 2));
        first.choose(|choices| {
            choices.pause(0);
            choices.set_order(&[2]);
        });
        third.choose(|choices| choices.drop(1));
        third.paused = true;
        second.choose(|choices| choices.set_order(&[1]));
        second.join(&third, 2, 2);
        first.join(&second, 3, 4);
        assert_eq!(first.nzbs(), [1, 2, 3].map(JobId));
        assert_eq!((first.contents.files, first.contents.bytes), (7, ByteCount(700)));
        assert_eq!(first.contents.newest_post, Some(UnixTime(30)));
        let choices = first.file_choices.unwrap();
        assert_eq!((choices.paused(), choices.dropped()), (&[0, 5][..], &[6][..]));
        assert_eq!(choices.order(), [2, 0, 1, 4]);
    }

    #[test]
    fn a_paused_job_that_is_joined_pauses_only_files_of_its_own() {
        let (mut whole, mut donor) = (record(1, 1), record(2, 4));
        donor.give_away_to(&Record {
            kin: Some(Box::new(Kin {
                origin: Some(Origin { job: JobId(2), files: vec![1] }),
                ..Kin::default()
            })),
            ..record(3, 1)
        });
        donor.paused = true;
        whole.join(&donor, 1, 4);
        let choices = whole.file_choices.unwrap();
        assert_eq!((choices.paused(), choices.given_away()), (&[1, 3, 4][..], &[2][..]));
    }

    #[test]
    fn files_leave_a_job_once() {
        let mut parent = record(1, 5);
        parent.choose(|choices| choices.pause(3));
        assert!(!parent.give_away_to(&record(7, 1)));
        assert!(parent.give_away_to(&split(9)) && !parent.give_away_to(&split(9)));
        assert_eq!((parent.contents.files, parent.listed_files()), (3, 5));
        let choices = parent.file_choices.as_deref().unwrap();
        assert_eq!((choices.given_away(), choices.paused()), (&[1, 3][..], &[][..]));
    }

    #[test]
    fn what_was_left_undone_is_done() {
        let mut whole = record(2, 1);
        whole.join(&record(4, 1), 1, 1);
        let mut records = boxed([record(1, 5), whole, record(4, 1), split(5)]);
        let undone = put_right(&mut records, |_| true);
        let ids: Vec<_> = records.iter().map(|record| record.id.0).collect();
        assert_eq!((ids, undone.joined[0].id), (vec![1, 2, 5], JobId(4)));
        assert_eq!((undone.changed, records[0].contents.files), (vec![JobId(1)], 3));
        let again = put_right(&mut records, |_| true);
        assert!(again.changed.is_empty() && again.joined.is_empty() && again.unborn.is_empty());
    }

    #[test]
    fn a_job_without_its_nzb_takes_nothing_away() {
        let mut records = boxed([record(1, 5), split(5)]);
        let undone = put_right(&mut records, |job| job == JobId(1));
        assert_eq!((undone.unborn, records), (vec![JobId(5)], boxed([record(1, 5)])));
    }
}
