//! [`Versions`]: which state of each job's record is in memory, which is on the disk, and which was promised
//! to be there. Pure.

use bergamot_jobs::{JobList, Record};
use bergamot_types::JobId;

use crate::job_days::index::ById;
use crate::job_days::spool::Spool;
use crate::violation::{Checked, violated};

#[derive(Debug, Default)]
pub(crate) struct Versions(ById<Known>);

#[derive(Debug)]
struct Known {
    version: u64,
    /// The last states, the current one behind.
    states: Vec<(u64, Box<Record>)>,
    /// The last that was promised to be on the disk.
    promised: Option<(u64, Box<Record>)>,
}

impl Versions {
    /// Takes note of a state that is new.
    pub(crate) fn observe(&mut self, record: &Record) {
        let known = self.0.entry(record.id).or_insert_with(|| Known {
            version: 0,
            states: vec![(0, Box::new(record.clone()))],
            promised: None,
        });
        let is_same = known.states.last().is_some_and(|(_, last)| is_same(last, record));
        if !is_same {
            known.version += 1;
            known.states.push((known.version, Box::new(record.clone())));
            if known.states.len() > MOST_STATES {
                known.states.remove(0);
            }
        }
    }

    pub(crate) fn observe_all(&mut self, list: &JobList) {
        list.history().chain(list.queued()).for_each(|record| self.observe(record));
    }

    pub(crate) fn current(&self, job: JobId) -> u64 {
        self.0.get(&job).map_or(0, |known| known.version)
    }

    /// Of a record that is to be written. One that was never observed is older than the current one.
    pub(crate) fn of(&self, record: &Record) -> u64 {
        let Some(known) = self.0.get(&record.id) else { return 0 };
        let mut states = known.states.iter().rev();
        let found = states.find(|(_, state)| is_same(state, record));
        found.map_or(known.version.saturating_sub(1), |(version, _)| *version)
    }

    /// A caller got the acknowledgement that this version is on the disk.
    pub(crate) fn on_promised(&mut self, spool: &Spool, job: JobId, version: u64) -> Checked {
        // It may be gone again, or part of another.
        let Some(stored) = spool.stored(job) else { return Ok(()) };
        let Some(known) = self.0.get_mut(&job) else { return Ok(()) };
        let state = known.states.iter().find(|(other, _)| *other == version);
        let is_there = stored.version >= version
            || state.is_some_and(|(_, state)| is_same(state, &stored.record));
        if !is_there {
            let on_disk = stored.version;
            return violated!(
                "job {job}: version {version} is said to be on the disk, which has {on_disk}: {:?} {:?}",
                state.map(|(_, state)| state),
                stored.record
            );
        }
        if let Some((version, state)) = state
            && known.promised.as_ref().is_none_or(|(before, _)| before < version)
        {
            known.promised = Some((*version, state.clone()));
        }
        Ok(())
    }

    /// Another process begins with what is on the disk.
    pub(crate) fn restart(&mut self, spool: &Spool) -> Checked {
        for (job, known) in &mut self.0 {
            let Some(stored) = spool.stored(*job) else { continue };
            let (version, record) = (stored.version, &stored.record);
            if let Some((promised, state)) = &known.promised
                && *promised > version
                && !is_same(state, record)
            {
                return violated!(
                    "job {job}: version {promised} was promised, and {version} is there after a restart: {state:?} {record:?}"
                );
            }
            known.version = version;
            known.states = vec![(version, Box::new(record.clone()))];
            known.promised.take_if(|(promised, _)| *promised > version);
        }
        self.0.retain(|job, _| spool.stored(*job).is_some());
        Ok(())
    }

    /// All that is in memory is on the disk.
    pub(crate) fn check_written(&self, list: &JobList, spool: &Spool) -> Checked {
        for record in list.history().chain(list.queued()) {
            check_stored(record, spool)?;
        }
        Ok(())
    }
}

pub(super) fn check_stored(record: &Record, spool: &Spool) -> Checked {
    match spool.stored(record.id) {
        None => violated!("job {} is only in memory", record.id),
        Some(stored) if !is_same(&stored.record, record) => violated!(
            "job {} is on the disk as\n{:?}\nand in memory as\n{record:?}",
            record.id,
            stored.record
        ),
        Some(_) => Ok(()),
    }
}

/// But for what the process that reads it makes anew.
pub(super) fn is_same(one: &Record, other: &Record) -> bool {
    let place = |it: &Record| (it.priority, it.rank, it.paused, it.priority_is_open);
    place(one) == place(other)
        && one.outcome == other.outcome
        && one.name == other.name
        && one.category == other.category
        && one.fingerprint == other.fingerprint
        && one.contents == other.contents
        && one.dupe == other.dupe
        && (one.returns, one.held) == (other.returns, other.held)
        && one.directory == other.directory
        && one.file_choices == other.file_choices
        && one.kin == other.kin
        && one.parameters == other.parameters
        && one.password == other.password
        && one.finished == other.finished
}

const MOST_STATES: usize = 16;
