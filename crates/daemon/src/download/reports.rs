//! What connections and the disk have to say.

use bergamot_engine::{ConnectionId, Event, Ticket};
use bergamot_jobs::machine::Event as JobEvent;
use bergamot_net::{Buffer, Report};
use bergamot_nntp::Reply;
use bergamot_storage::VolumeId;
use bergamot_types::ByteCount;
use bergamot_writer::{DiskError, Done, Outcome};
use tracing::{debug, field, info, warn};

use crate::download::disk_work::AtDisk;
use crate::download::error_class;
use crate::jobs::actions::log_completed;
use crate::run::Daemon;

impl Daemon {
    pub(crate) fn on_report(&mut self, connection: ConnectionId, report: Report) {
        let event = match report {
            Report::Ended { why, unanswered } => {
                let Some(known) = self.network.connections.remove(&connection) else { return };
                if self.network.connections.is_empty() {
                    self.network.pool.clear(); // nothing will come for a while
                }
                debug!(server = self.name(known.server), %connection, code = why.code(), "{why}");
                let trouble = error_class::of_connection(&why, known.ready);
                self.network.troubles.insert(known.server, why.to_string());
                let unanswered = unanswered.into_iter().map(Ticket).collect();
                Event::Ended { connection, trouble, unanswered }
            }
            Report::Fetched { ticket, bytes, outcome } => {
                self.observers.progress.on_bytes(bytes.as_ref().len());
                self.count_article(connection, bytes.as_ref().len(), outcome.fault.is_none());
                if let Some(fault) = &outcome.fault {
                    let server =
                        self.network.connections.get(&connection).map(|known| known.server);
                    let server = server.map(|id| self.name(id));
                    let id = self.engine.article(Ticket(ticket)).map(field::display);
                    debug!(server, id, code = fault.code(), "{fault}");
                }
                self.network.decoded.insert(Ticket(ticket), bytes);
                Event::fetched(Ticket(ticket), outcome)
            }
            Report::Missing { ticket, reply } => {
                // What was only asked about does not count.
                if let Some(id) = self.engine.article(Ticket(ticket)) {
                    debug!(%id, %reply, "missing");
                    self.count_article(connection, 0, false);
                }
                Event::Missing { ticket: Ticket(ticket) }
            }
            Report::Present { ticket } => Event::Present { ticket: Ticket(ticket) },
            Report::Progress { ticket, received } => {
                Event::Progress { ticket: Ticket(ticket), received: ByteCount(received) }
            }
            Report::Ready => {
                if let Some(known) = self.network.connections.get_mut(&connection) {
                    known.ready = true;
                    let server = known.server;
                    if self.network.greeted.insert(server) {
                        info!(server = self.name(server), "connected");
                    }
                }
                Event::Connected { connection }
            }
            Report::CreditWanted => Event::CreditWanted { connection },
            Report::CreditReturned(bytes) => {
                Event::CreditReturned { connection, bytes: ByteCount(bytes) }
            }
            Report::Refused { ticket, reply } => {
                let id = self.engine.article(Ticket(ticket)).map(field::display);
                debug!(id, %reply, "refused");
                if let Some(known) = self.network.connections.get(&connection) {
                    self.network.troubles.insert(known.server, format!("it answered {reply}"));
                }
                if reply.wants_group() {
                    self.warn_of_wanted_group(connection, &reply);
                }
                Event::Refused { ticket: Ticket(ticket) }
            }
        };
        self.tell_engine(event);
    }

    pub(crate) fn on_disk(&mut self, done: Done<Buffer>) {
        let Some(what) = self.disk.at_disk.remove(&done.ticket) else { return };
        drop(done.bytes); // back to the pool
        if let Err(error) = &done.result {
            debug!(code = error.code(), "{error}");
        }
        let trouble = |result: &Result<Outcome, bergamot_writer::DiskError>| match result {
            Ok(_) => Ok(()),
            Err(error) => Err(error.trouble()),
        };
        let result = trouble(&done.result);
        if let Err(error) = done.result.as_ref() {
            self.disk.disk_errors.note(error);
            if matches!(error, DiskError::Full { .. }) {
                self.report_to_jobs(JobEvent::VolumeFull(self.volume_of(&what)));
            }
        }
        match (what, done.result) {
            (AtDisk::DeleteFiles { mut record, and_record }, result) => {
                let job = record.id;
                if let Err(error) = &result {
                    warn!(%job, code = error.code(), "its files could not be deleted: {error}");
                }
                match (and_record, result) {
                    (true, Ok(_)) => {
                        // Another job may have a directory of that name by now.
                        record.directory = None;
                        self.state.keeper.remove(*record);
                    }
                    (true, Err(_)) => self.state.keeper.remove(*record),
                    (false, result) => {
                        let result =
                            result.map(drop).map_err(|error| error_class::store_failure(&error));
                        self.report_to_jobs(JobEvent::FilesDeleted { job, result });
                    }
                }
            }
            (AtDisk::FinishFile { file, read_back }, named) => {
                match named {
                    Ok(Outcome::Named(name)) => self.note_finished(file, name.as_str(), read_back),
                    Err(DiskError::Changed { .. } | DiskError::Vanished { .. }) => {
                        self.note_distrusted(file);
                    }
                    _ => {}
                }
                self.tell_engine(Event::FileFinished { file, result });
            }
            (AtDisk::Move(moved), outcome) => self.on_moved(moved, outcome),
            (AtDisk::Write { ticket, file }, written) => {
                if let Err(DiskError::Changed { .. }) = written {
                    self.note_distrusted(file);
                }
                self.tell_engine(Event::Written { ticket, result });
            }
            (AtDisk::Reserve(_), Ok(Outcome::Done)) => {}
            (AtDisk::Reserve(file), Err(DiskError::FileTooLarge { .. })) => {
                // It will never be whole there, however much of it is fetched.
                self.tell_engine(Event::FileFinished { file, result });
            }
            (AtDisk::Reserve(file), reserved) => {
                if let Err(DiskError::Changed { .. }) = reserved {
                    self.note_distrusted(file);
                }
                self.report_to_jobs(JobEvent::FileGrows(file));
            }
            (AtDisk::Sync { job, number }, Ok(_)) => self.state.scribe.vouch(job, number),
            (AtDisk::Sync { .. }, Err(_)) => {}
            (AtDisk::Settle { job, summary }, settled) => {
                if settled.is_ok() {
                    self.on_settled(&[job]);
                }
                if let (Some(record), Some(summary)) = (self.jobs.list().record(job), summary) {
                    log_completed(record, summary);
                }
            }
        }
        self.run();
    }
}

impl Daemon {
    /// Once for each server: it would say so to every article.
    fn warn_of_wanted_group(&mut self, connection: ConnectionId, reply: &Reply) {
        let Some(known) = self.network.connections.get(&connection) else { return };
        let server = known.server;
        let joins = self.network.servers.get(server).is_some_and(|it| it.settings().join_group);
        if !joins && self.network.group_wanters.insert(server) {
            let server = self.name(server);
            warn!(server, %reply, "needs a newsgroup selected; set join_group = true for it");
        }
    }

    /// Where it was to be written.
    fn volume_of(&self, what: &AtDisk) -> Option<VolumeId> {
        match what {
            AtDisk::Move(moved) => Some(VolumeId(moved.destination.device())),
            _ => self.jobs.incomplete_volume(),
        }
    }
}
