//! The drivers of the tasks of a move: the journal is written, then the writer moves the job's directory.
//! Runs in the main loop.

use std::sync::Arc;

use bergamot_jobs::Check;
use bergamot_jobs::machine::Event as JobEvent;
use bergamot_post::{Event, Ticket};
use bergamot_storage::VolumeId;
use bergamot_types::{DiskTrouble, JobId, SafeName};
use bergamot_writer::{DiskError, Outcome, Root, Task};

use crate::download::disk_work::AtDisk;
use crate::run::Daemon;
use crate::spool::load::path_of;

/// A move that the writer was told to do.
#[derive(Debug)]
pub(crate) struct Move {
    ticket: Ticket,
    job: JobId,
    check: Check,
    pub(crate) destination: Arc<Root>,
}

impl Daemon {
    /// Answered when all that was noted of the job so far is in its journal.
    pub(super) fn write_journal(&mut self, ticket: Ticket, job: JobId) {
        self.write_notes_of(job);
        self.state.scribe.report(job, ticket);
    }

    pub(crate) fn on_journal_written(&mut self, ticket: Ticket) {
        self.tell_post(Event::TaskEnded { ticket, result: Ok(()) });
    }

    /// A job that has ended meanwhile is not moved.
    pub(super) fn start_move(&mut self, ticket: Ticket, job: JobId, verified: bool) -> Vec<Event> {
        let record = self.jobs.list().record(job).filter(|it| it.outcome.is_none());
        let (Some(record), Some(known)) = (record, self.disk.open_jobs.get(&job)) else {
            return vec![Event::JobRemoved(job), Event::TaskEnded { ticket, result: Ok(()) }];
        };
        let check = Check::of(verified, known.is_read_back);
        let destination = known.destination.clone();
        let name = SafeName::from_raw(&record.name);
        let task = Task::FinishJob { job, destination: destination.clone(), name };
        self.at_disk(job, AtDisk::Move(Move { ticket, job, check, destination }), task);
        Vec::new()
    }

    pub(crate) fn on_moved(&mut self, moved: Move, outcome: Result<Outcome, DiskError>) {
        let Move { ticket, job, check, destination } = moved;
        let result: Result<(), DiskTrouble> = match &outcome {
            Ok(_) => Ok(()),
            Err(error) => Err(error.trouble()),
        };
        if let Ok(Outcome::Named(name)) = outcome {
            self.note_moved(job, check);
            let (path, volume) = (path_of(&destination, &name), VolumeId(destination.device()));
            if let Some(open) = self.disk.open_jobs.get_mut(&job) {
                open.destination = destination;
            }
            self.tell_jobs(JobEvent::Moved { job, check, destination: path, volume });
        }
        self.tell_post(Event::TaskEnded { ticket, result });
    }
}
