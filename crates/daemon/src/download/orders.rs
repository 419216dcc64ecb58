//! What the engine's orders mean out here.

use std::sync::Arc;

use bergamot_engine::{ConnectionId, Event, Failure, HealthAction, Notice, Order, Ticket};
use bergamot_jobs::failure::health_text;
use bergamot_jobs::machine::{Disk, Event as JobEvent};
use bergamot_net::{Connection, Fetch};
use bergamot_nzb::better_name;
use bergamot_queue::{FileKey, Layout};
use bergamot_store::Finished;
use bergamot_types::{ByteCount, JobId, MessageId, SafeName, ServerId, Shown};
use bergamot_writer::{Piece, Task};
use tracing::{debug, info, warn};

use crate::clock;
use crate::download::disk_work::AtDisk;
use crate::download::network::OpenConnection;
use crate::event::Happening;
use crate::run::Daemon;
use crate::service_thread::vital_task;
use crate::spool::retractions::HeldOrder;
use crate::views::loss_text;

impl Daemon {
    pub(crate) fn carry_out(&mut self, order: Order) {
        match order {
            Order::Admit { connection, ticket, reserve } => {
                if let Some(known) = self.network.connections.get(&connection) {
                    known.handle.admit(ticket.0, reserve);
                }
            }
            Order::Connect { connection, server } => self.connect(connection, server),
            Order::DeleteFiles { job } => self.report_to_jobs(JobEvent::FilesUnwanted(job)),
            Order::Discard { ticket } => drop(self.network.decoded.remove(&ticket)),
            Order::Disconnect { connection } => {
                if let Some(known) = self.network.connections.get_mut(&connection) {
                    known.handle.hang_up();
                }
            }
            Order::FailJob { job, failure } => self.fail_job(job, failure),
            Order::Fetch { connection, ticket, id, groups, limit, patience, .. } => {
                let fetch = Fetch { ticket: ticket.0, id, groups, limit, patience };
                if let Some(known) = self.network.connections.get(&connection) {
                    // A connection that ended meanwhile reports so, and the engine takes it back.
                    let _ = known.handle.fetch(fetch);
                }
            }
            Order::FinishFile { file, layout } => self.finish_file(file, layout),
            Order::JobDownloaded { job, verified } => {
                self.drive_post(bergamot_post::Event::JobDownloaded { job, verified });
            }
            Order::Lend { connection, credit } => {
                if let Some(known) = self.network.connections.get(&connection) {
                    known.handle.lend(credit);
                }
            }
            Order::Note(note) => self.note(note),
            Order::Persist { number, records } => self.state.clerk.persist(number, &records),
            Order::Probed { job, census } => self.on_probed(job, census),
            Order::RecallErrand { errand } => self.recall_errand(errand),
            Order::Reserve { file, size } => {
                let task = Task::Reserve { file: file.file, size: ByteCount(size) };
                self.at_disk(file.job, AtDisk::Reserve(file), task);
            }
            Order::Revoke { connection } => {
                if let Some(known) = self.network.connections.get(&connection) {
                    known.handle.revoke();
                }
            }
            Order::StartErrand { errand, server } => self.start_errand(errand, server),
            Order::Stat { connection, ticket, id } => {
                if let Some(known) = self.network.connections.get(&connection) {
                    known.handle.stat(ticket.0, id);
                }
            }
            Order::Tell(notice) => self.tell_people(notice),
            Order::Write { ticket, file, offset } => self.write(ticket, file, offset),
        }
    }

    fn connect(&mut self, connection: ConnectionId, server: ServerId) {
        let Some(configured) = self.network.servers.get(server).cloned() else { return };
        let outbox = self.outbox.clone();
        let (handle, running) =
            Connection::prepare(configured, self.network.pool.clone(), move |report| {
                outbox.tell(Happening::Connection { connection, report });
            });
        vital_task("connection", &self.outbox, running);
        self.network
            .connections
            .insert(connection, OpenConnection { handle, server, ready: false });
    }

    fn write(&mut self, ticket: Ticket, file: FileKey, offset: u64) {
        let Some(bytes) = self.network.decoded.remove(&ticket) else { return };
        let task = Task::Write { file: file.file, offset, bytes };
        if !self.at_disk(file.job, AtDisk::Write { ticket, file }, task) {
            // The job is gone; so is its place on the disk.
            self.events.push_back(Event::Written { ticket, result: Ok(()) });
        }
    }

    fn finish_file(&mut self, file: FileKey, layout: Layout) {
        // Should the end come between its name and the note of that, its parts tell whose name it is.
        self.write_notes_of(file.job);
        let name = self.name_of(file);
        let (size, pieces) = match layout {
            Layout::InPlace { size } => (size, Vec::new()),
            Layout::Pieces(pieces) => {
                let size = pieces.iter().map(|piece| piece.length).sum();
                let piece = |piece: &bergamot_queue::Piece| Piece {
                    from: piece.offset,
                    length: piece.length,
                };
                (size, pieces.iter().map(piece).collect())
            }
        };
        let sums = if pieces.is_empty() { self.disk.sums.of_whole(file, size) } else { Vec::new() };
        let what = AtDisk::FinishFile { file, read_back: !sums.is_empty() };
        let task = Task::FinishFile { file: file.file, size: ByteCount(size), pieces, sums, name };
        self.at_disk(file.job, what, task);
    }

    /// The unobfuscated one of subject and yEnc name, else yEnc's.
    fn name_of(&self, file: FileKey) -> SafeName {
        let known = self.engine.job(file.job).and_then(|job| job.files().get(file.file as usize));
        let subject = known.and_then(|known| known.listed().name.as_deref());
        let inside = known.and_then(|known| known.name_inside());
        match better_name(subject, inside) {
            Some(name) => SafeName::from_raw(name),
            None => SafeName::from_raw(&format!("file {}", file.file + 1)),
        }
    }

    pub(crate) fn note_finished(&mut self, file: FileKey, name: &str, read_back: bool) {
        let files = self.engine.job(file.job).map(|job| job.files());
        let verified = files.and_then(|files| files.get(file.file as usize)).is_some_and(|known| {
            (0..known.segment_count()).all(|segment| {
                known.segment(segment) == bergamot_queue::SegmentState::Written { verified: true }
            })
        });
        debug!(job = %file.job, name = %Shown(name), verified, "file finished");
        self.disk.sums.forget_file(file);
        let mut status = None;
        if let Some(open) = self.disk.open_jobs.get_mut(&file.job) {
            open.is_read_back &= read_back;
            status = open.directory.finished_status(file.file);
        }
        self.note_named(file, Finished { name: name.to_owned(), verified, read_back, status });
    }

    fn fail_job(&mut self, job: JobId, failure: Failure) {
        let errors = &self.disk.disk_errors;
        let disk = Disk { failure: errors.last(), error: errors.text().map(str::to_owned) };
        self.report_to_jobs(JobEvent::Failed { job, failure, disk });
    }

    fn on_beyond_repair(&mut self, job: JobId, left: &str, action: HealthAction) {
        match action {
            HealthAction::Delete => info!(%job, "to be deleted, for it cannot be repaired: {left}"),
            HealthAction::None => warn!(%job, "cannot be repaired: {left}"),
            HealthAction::Park => debug!(%job, "cannot be repaired: {left}"),
            HealthAction::Pause => {
                warn!(%job, "paused, for it cannot be repaired: {left}");
                self.report_to_jobs(JobEvent::JobPaused(job));
            }
        }
    }

    /// `false` if the job is gone.
    pub(crate) fn at_disk(
        &mut self,
        job: JobId,
        what: AtDisk,
        task: Task<bergamot_net::Buffer>,
    ) -> bool {
        let Some(directory) = self.disk.open_jobs.get(&job).map(|known| known.directory.clone())
        else {
            return false;
        };
        let order = HeldOrder { directory, what, task };
        if let Some(HeldOrder { directory, what, task }) = self.disk.retractions.hold(job, order) {
            self.submit(directory, what, task);
        }
        true
    }

    pub(crate) fn submit(
        &mut self,
        dir: Arc<bergamot_writer::JobDir>,
        what: AtDisk,
        task: Task<bergamot_net::Buffer>,
    ) {
        self.disk.last_disk_order += 1;
        let ticket = self.disk.last_disk_order;
        self.disk.at_disk.insert(ticket, what);
        self.disk.writer.submit(bergamot_writer::Order { ticket, dir, task });
    }

    fn tell_people(&mut self, notice: Notice) {
        match notice {
            Notice::AlternateChosen { job, id, before } => {
                debug!(%job, %id, %before, "asking for another id of the segment");
            }
            Notice::ArticleLost { job, id, verdict } => {
                let what = loss_text::loss(&verdict, |server| self.name(server));
                self.tell_of_loss(job, &id, &what);
            }
            Notice::ArticleRefused { job, id, server, why } => {
                debug!(%job, %id, server = self.name(server), "not accepted: {why}");
            }
            Notice::BeyondRepair { job, health, critical, action } => {
                self.on_beyond_repair(job, &health_text(health, critical), action);
            }
            Notice::CeilingLowered { server, to } => {
                warn!(
                    server = self.name(server),
                    connections = to,
                    "the server allows fewer connections"
                );
            }
            Notice::DiskPaused { again_in } => {
                let why = self.disk.disk_errors.text().unwrap_or("the disk is in trouble");
                match again_in {
                    Some(again_in) => warn!(?again_in, "paused: {why}"),
                    None => warn!("paused until there is room: {why}"),
                }
                self.tell_disk(Some(why.to_owned()));
            }
            Notice::DiskResumed => {
                info!("the disk works again");
                self.tell_disk(None);
            }
            Notice::QuotaReached { server, until } => {
                self.tell_of_quota(server, until);
                self.tell_quotas();
            }
            Notice::QuotaRenewed { server } => {
                self.tell_of_renewal(server);
                self.tell_quotas();
            }
            Notice::ScheduleChanged { effect, until } => {
                self.observers.held_since = clock::now().date;
                self.tell_of_schedule(effect, until);
            }
            Notice::ServerRests { server, trouble, again_in } => {
                let why = self.network.troubles.get(&server).map_or("?", String::as_str);
                let seconds = again_in.as_secs_f32().ceil();
                let spoken = loss_text::spoken(trouble);
                let text = format!("{spoken}: {why}; tried again in {seconds} s");
                self.tell_server(server, Some(format!("{spoken}: {why}")));
                match self.network.outages.rests(clock::now().instant, server, trouble) {
                    true => warn!(server = self.name(server), "{text}"),
                    false => debug!(server = self.name(server), "{text}"),
                }
            }
            Notice::ServerWorks { server }
                if self.network.outages.only_greets(server, self.logs_in(server)) => {}
            Notice::ServerWorks { server } => {
                self.tell_server(server, None);
                match self.network.outages.works(server) {
                    true => info!(server = self.name(server), "works again"),
                    false => debug!(server = self.name(server), "works again"),
                }
                self.report_to_jobs(JobEvent::ServerWorks);
            }
        }
    }

    fn logs_in(&self, server: ServerId) -> bool {
        let known = self.network.servers.get(server);
        known.is_some_and(|known| known.settings().conversation.login.is_some())
    }

    fn tell_of_loss(&mut self, job: JobId, id: &MessageId, what: &str) {
        let Some(known) = self.disk.open_jobs.get_mut(&job) else { return };
        known.losses_logged += 1;
        match known.losses_logged {
            1..=LOSSES_TOLD => warn!(%job, %id, "{what}"),
            _ => debug!(%job, %id, "{what}"),
        }
        if known.losses_logged == LOSSES_TOLD {
            warn!(%job, "further articles that are lost are only counted");
        }
    }
}

/// A post that was taken down would fill the log with its articles.
const LOSSES_TOLD: u32 = 20;
