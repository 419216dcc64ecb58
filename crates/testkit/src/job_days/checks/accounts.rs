//! [`Accounts`]: the fate of every job that was ever added, and the jobs whose files may be deleted. Pure.

use std::collections::BTreeSet;

use bergamot_jobs::{JobList, Record};
use bergamot_types::JobId;

use crate::job_days::index::ById;
use crate::job_days::spool::Spool;
use crate::violation::{Checked, violated};

#[derive(Debug, Default)]
pub(crate) struct Accounts {
    fates: ById<Fate>,
    /// Jobs whose files may be deleted: by a user, or because of the health of the job.
    deletions: BTreeSet<JobId>,
    /// Jobs that users have removed altogether.
    removals: BTreeSet<JobId>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fate {
    /// It is on the disk, and not yet reported to the machine.
    Arriving,
    Present,
    /// It may still be on the disk.
    Leaving,
    /// Its removal was acknowledged.
    Gone,
}

impl Accounts {
    pub(crate) fn on_added(&mut self, job: JobId) {
        self.fates.insert(job, Fate::Arriving);
    }

    /// The job was reported to the machine.
    pub(crate) fn on_told(&mut self, job: JobId) {
        self.fates.insert(job, Fate::Present);
    }

    pub(crate) fn allow_deletion(&mut self, job: JobId) {
        self.deletions.insert(job);
    }

    pub(crate) fn allow_removal(&mut self, job: JobId) {
        self.removals.insert(job);
    }

    pub(crate) fn check_deletion(&self, record: &Record, known: Option<&Record>) -> Checked {
        let job = record.id;
        let is_wanted = self.deletions.contains(&job);
        // Another directory than it has was made for an attempt to load it that is of no use.
        if record.directory.is_some()
            && !is_wanted
            && known.is_some_and(|known| known.directory == record.directory)
        {
            return violated!("the files of job {job} are deleted, and no user wants that");
        }
        let has = |known: &Record| known.outcome.is_none() && known.directory == record.directory;
        match record.directory.is_some() && known.is_some_and(has) {
            true => violated!("the files of job {job} are deleted, which is queued"),
            false => Ok(()),
        }
    }

    pub(crate) fn on_removal(&mut self, job: JobId) -> Checked {
        if !self.removals.contains(&job) {
            return violated!("job {job} is removed, and no user wants that");
        }
        self.on_leaving(job);
        Ok(())
    }

    /// By a user, by retention, or as a part of another.
    pub(crate) fn on_leaving(&mut self, job: JobId) {
        self.fates.insert(job, Fate::Leaving);
    }

    /// It is on its way out, for whatever reason.
    pub(crate) fn is_leaving(&self, job: JobId) -> bool {
        self.fates.get(&job) == Some(&Fate::Leaving)
    }

    pub(crate) fn on_removal_promised(&mut self, job: JobId) {
        self.fates.insert(job, Fate::Gone);
    }

    /// What the next process finds: exactly the jobs that were not removed.
    pub(crate) fn restart(&mut self, spool: &Spool) -> Checked {
        for (job, fate) in &mut self.fates {
            let is_there = spool.stored(*job).is_some();
            match (&fate, is_there) {
                (Fate::Arriving | Fate::Present, false) => return violated!("job {job} is lost"),
                (Fate::Arriving, true) => *fate = Fate::Present,
                (Fate::Gone, true) => {
                    return violated!("job {job} was removed, and is there again");
                }
                (Fate::Leaving, true) => *fate = Fate::Present,
                (Fate::Leaving, false) => *fate = Fate::Gone,
                (Fate::Present, true) | (Fate::Gone, false) => {}
            }
        }
        match spool.all().find(|it| !self.fates.contains_key(&it.record.id)) {
            None => Ok(()),
            Some(stored) => violated!("job {} comes from nowhere", stored.record.id),
        }
    }

    /// Nothing is on the disk but what the list has, and jobs whose removal has failed: they are there again
    /// after a restart.
    pub(crate) fn check_end(&self, list: &JobList, spool: &Spool) -> Checked {
        let is_known = |job| list.record(job).is_some() || self.is_leaving(job);
        match spool.all().find(|stored| !is_known(stored.record.id)) {
            None => Ok(()),
            Some(stored) => violated!("job {} is only on the disk", stored.record.id),
        }
    }

    /// The list has every job that was added and not removed, and no other.
    pub(crate) fn check(&self, list: &JobList) -> Checked {
        for (job, fate) in &self.fates {
            let is_there = list.record(*job).is_some();
            match (fate, is_there) {
                (Fate::Present, false) => return violated!("job {job} is not in the list"),
                (Fate::Arriving | Fate::Leaving | Fate::Gone, true) => {
                    return violated!("job {job} is in the list, and removed");
                }
                _ => {}
            }
        }
        Ok(())
    }
}
