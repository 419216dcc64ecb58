//! The engine's orders, what connections and the writer report, and the engine's notices: `Daemon` gives each
//! to the part that it concerns. Runs in the main loop.

use std::collections::VecDeque;

use bergamot_api::Event as News;
use bergamot_engine::{
    ConnectionId, Event as EngineEvent, Failure, HealthAction, Notice, Order, Ticket,
};
use bergamot_jobs::failure::{JobFailure, health_text};
use bergamot_net::{Buffer, Fetch, Report};
use bergamot_nzb::better_name;
use bergamot_post as post;
use bergamot_queue::{
    Cause, Ending, FileKey, JobState, Layout, Permille, SegmentState, Stage, Step,
};
use bergamot_storage::VolumeId;
use bergamot_store::Finished;
use bergamot_types::{JobId, SafeName, Shown};
use bergamot_writer::{DiskError, Done, Outcome};
use tracing::{debug, info, warn};

use crate::clock;
use crate::download::disk_work::DiskTask;
use crate::download::open_job::OpenJob;
use crate::jobs::life_cycle::announce;
use crate::post::move_job::Move;
use crate::run::Daemon;
use crate::views::{loss_text, quota_text};

impl Daemon {
    pub(crate) fn carry_out(&mut self, order: Order) {
        match order {
            Order::Admit { connection, ticket, reserve } => {
                if let Some(known) = self.network.connection(connection) {
                    known.admit(ticket.0, reserve);
                }
            }
            Order::Connect { connection, server } => self.network.connect(connection, server),
            Order::DeleteFiles { job } => self.discard(job, false),
            Order::Discard { ticket } => drop(self.network.take_decoded(ticket)),
            Order::Disconnect { connection } => self.network.hang_up(connection),
            Order::FailJob { job, failure } => self.fail_job(job, failure),
            Order::Fetch { connection, ticket, id, groups, limit, patience, .. } => {
                let fetch = Fetch { ticket: ticket.0, id, groups, limit, patience };
                self.network.fetch(connection, fetch);
            }
            Order::FinishFile { file, layout } => self.finish_file(file, layout),
            Order::JobDownloaded { job, verified } => {
                self.drive_post(post::Event::JobDownloaded { job, verified });
            }
            Order::Lend { connection, credit } => {
                if let Some(known) = self.network.connection(connection) {
                    known.lend(credit);
                }
            }
            Order::Note(note) => {
                let identity = self.disk.on_note(&note);
                self.state.note(clock::now().instant, note, identity);
            }
            Order::Persist { number, records } => self.state.state_thread.persist(number, &records),
            Order::Probed { job, census } => self.on_probed(job, census),
            Order::RecallErrand { errand } => self.newsgroups.sessions().recall(errand),
            Order::Reserve { file, size } => self.disk.reserve(file, size),
            Order::Revoke { connection } => {
                if let Some(known) = self.network.connection(connection) {
                    known.revoke();
                }
            }
            Order::StartErrand { errand, server } => {
                let configured = self.network.servers().get(server).cloned();
                let compress = self.settings.config().groups.compress;
                let sessions = self.newsgroups.sessions();
                let event = sessions.start(errand, server, configured, compress);
                self.engine_events.extend(event);
            }
            Order::Stat { connection, ticket, id } => {
                if let Some(known) = self.network.connection(connection) {
                    known.stat(ticket.0, id);
                }
            }
            Order::Tell(notice) => self.on_notice(notice),
            Order::Write { ticket, file, offset } => self.write(ticket, file, offset),
        }
    }

    fn write(&mut self, ticket: Ticket, file: FileKey, offset: u64) {
        let Some(bytes) = self.network.take_decoded(ticket) else { return };
        if !self.disk.write(ticket, file, offset, bytes) {
            // The job is gone; so is its place on the disk.
            self.engine_events.push_back(EngineEvent::Written { ticket, result: Ok(()) });
        }
    }

    fn finish_file(&mut self, file: FileKey, layout: Layout) {
        // Should the end come between its name and the note of that, its parts tell whose name it is.
        self.state.write_notes_of(file.job);
        let name = self.name_of(file);
        self.disk.finish_file(file, layout, name);
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
            let is_verified =
                |segment| known.segment(segment) == SegmentState::Written { verified: true };
            (0..known.segment_count()).all(is_verified)
        });
        debug!(job = %file.job, name = %Shown(name), verified, "file finished");
        let status = self.disk.on_finished(file, read_back);
        let finished = Finished { name: name.to_owned(), verified, read_back, status };
        self.state.note_named(clock::now().instant, file, finished);
    }

    /// Takes the writer's mark off a job that is on record as complete.
    pub(crate) fn settle(&mut self, job: JobId, open: OpenJob) {
        let name = self.jobs.record(job).and_then(|record| record.destination());
        let name = name.and_then(|path| std::path::Path::new(path).file_name()?.to_str());
        if let Some(name) = name.and_then(SafeName::recorded) {
            self.disk.settle(job, open, name);
        }
    }

    /// Takes back in the journals what no longer holds. Disk orders of those jobs wait for that.
    pub(crate) fn retract(&mut self) {
        while let Some(job) = self.state.next_to_retract() {
            let number = self.disk.begin_retraction(job);
            self.state.retract(job, number);
        }
    }

    fn fail_job(&mut self, job: JobId, failure: Failure) {
        let JobFailure { cause, reason, missing } = JobFailure::new(
            failure,
            self.engine.job(job),
            self.jobs.record(job),
            self.disk.last_error(),
            self.settings.config().download.propagation,
            clock::now().date,
        );
        if let Some(rest) = self.rest_after(job, cause) {
            return self.put_back(job, rest, cause, &reason);
        }
        let mut outcome = self.outcome(job, Ending::Failed(cause), &reason);
        outcome.missing = missing;
        self.end_as(job, outcome);
        if cause == Cause::ServersDown {
            self.plan_retry_after_outage(job);
        }
        self.engine_events.push_back(EngineEvent::JobRemoved(job));
    }

    pub(crate) fn on_report(&mut self, connection: ConnectionId, report: Report) {
        let received = self.network.on_report(&self.engine, connection, report);
        let Some(received) = received else { return };
        if let Some(article) = received.article {
            let server = article.server.map(|id| self.network.name(id));
            self.observers.count_article(server, article.bytes, article.good);
        }
        self.notify_engine(received.event);
    }

    pub(crate) fn on_disk(&mut self, done: Done<Buffer>) {
        let Some((what, outcome)) = self.disk.on_done(done) else { return };
        let result = match &outcome {
            Ok(_) => Ok(()),
            Err(error) => Err(error.trouble()),
        };
        if let Err(DiskError::Full { .. }) = &outcome {
            self.on_full(match &what {
                DiskTask::Move(moved) => Some(VolumeId(moved.destination.device())),
                _ => self.incomplete_volume(),
            });
        }
        match (what, outcome) {
            (DiskTask::DeleteFiles { mut record, and_record }, result) => {
                let job = record.id;
                if let Err(error) = &result {
                    warn!(%job, code = error.code(), "its files could not be deleted: {error}");
                }
                match (and_record, result) {
                    (true, Ok(_)) => {
                        // Another job may have a directory of that name by now.
                        record.directory = None;
                        self.state.record_thread.remove(*record);
                    }
                    (true, Err(_)) => self.state.record_thread.remove(*record),
                    (false, Ok(_)) => self.note_discarded(job),
                    (false, Err(_)) => {} // once more at the next start
                }
            }
            (DiskTask::FinishFile { file, read_back }, named) => {
                match named {
                    Ok(Outcome::Named(name)) => self.note_finished(file, name.as_str(), read_back),
                    Err(DiskError::Changed { .. } | DiskError::Vanished { .. }) => {
                        self.state.note_distrusted(clock::now().instant, file);
                    }
                    _ => {}
                }
                self.notify_engine(EngineEvent::FileFinished { file, result });
            }
            (DiskTask::Move(moved), outcome) => self.on_moved(moved, outcome),
            (DiskTask::Write { ticket, file }, written) => {
                if let Err(DiskError::Changed { .. }) = written {
                    self.state.note_distrusted(clock::now().instant, file);
                }
                self.notify_engine(EngineEvent::Written { ticket, result });
            }
            (DiskTask::Reserve(_), Ok(Outcome::Done)) => {}
            (DiskTask::Reserve(file), Err(DiskError::FileTooLarge { .. })) => {
                // It will never be whole there, however much of it is fetched.
                self.notify_engine(EngineEvent::FileFinished { file, result });
            }
            (DiskTask::Reserve(file), reserved) => {
                if let Err(DiskError::Changed { .. }) = reserved {
                    self.state.note_distrusted(clock::now().instant, file);
                }
                self.note_growing(file);
            }
            (DiskTask::Sync { job, number }, Ok(_)) => self.state.on_synced(job, number),
            (DiskTask::Sync { .. }, Err(_)) => {}
            (DiskTask::Settle { job, summary }, settled) => {
                if settled.is_ok() {
                    self.on_settled(&[job]);
                }
                if let (Some(record), Some(summary)) = (self.jobs.record(job), summary) {
                    announce(record, summary);
                }
            }
        }
    }

    /// Tells the machine of post-processing what happened to a job, and the engine what follows from it.
    pub(crate) fn notify_post(&mut self, event: post::Event) {
        self.drive_post(event);
        self.run_engine();
    }

    /// The same while the engine's orders are carried out: it is told when it has no more of them.
    pub(crate) fn drive_post(&mut self, event: post::Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            self.post.handle(clock::now().instant, event);
            while let Some(order) = self.post.poll_order() {
                events.extend(self.process(order));
            }
        }
    }

    /// Returns what the machine is to hear of it at once.
    fn process(&mut self, order: post::Order) -> Vec<post::Event> {
        match order {
            post::Order::JobProcessed { job, result } => {
                self.engine_events.push_back(EngineEvent::JobProcessed { job, result });
            }
            post::Order::Postponed { job, stage, again_in } => {
                let why = self.disk.last_error().unwrap_or("the disk is in trouble");
                match stage {
                    Stage::Moving => warn!(%job, ?again_in, "cannot be moved yet: {why}"),
                    stage => warn!(%job, ?again_in, "{stage} is tried again: {why}"),
                }
            }
            post::Order::Stage { job, stage, progress } => self.on_stage(job, stage, progress),
            post::Order::Start { ticket, job, task } => match task {
                post::Task::Move { verified } => return self.start_move(ticket, job, verified),
                post::Task::WriteJournal => self.state.report_journal(job, ticket),
            },
        }
        Vec::new()
    }

    fn on_stage(&mut self, job: JobId, stage: Stage, progress: Permille) {
        let is_new = |life| life != JobState::Post(stage);
        let record = self.jobs.record(job).filter(|record| record.outcome.is_none());
        if record.is_some_and(|record| is_new(record.life)) {
            self.jobs.step(job, Step::Enter(stage));
            self.publish_state(job);
        }
        self.observers.hub().publish(News::JobStage { job, stage, progress: progress.0 });
    }

    /// A job that has ended meanwhile is not moved.
    fn start_move(&mut self, ticket: post::Ticket, job: JobId, verified: bool) -> Vec<post::Event> {
        let record = self.jobs.record(job).filter(|it| it.outcome.is_none());
        let name = record.map(|record| SafeName::from_raw(&record.name));
        let is_begun = name.is_some_and(|name| self.disk.move_job(ticket, job, verified, name));
        match is_begun {
            true => Vec::new(),
            false => {
                let result = Ok(());
                vec![post::Event::JobRemoved(job), post::Event::TaskEnded { ticket, result }]
            }
        }
    }

    fn on_moved(&mut self, moved: Move, outcome: Result<Outcome, DiskError>) {
        let Move { ticket, job, check, destination } = moved;
        let result = match &outcome {
            Ok(_) => Ok(()),
            Err(error) => Err(error.trouble()),
        };
        if let Ok(Outcome::Named(name)) = outcome {
            self.note_completed(job, check, destination, &name);
        }
        self.notify_post(post::Event::TaskEnded { ticket, result });
    }

    /// Its files are on their way to the destination, or will be as soon as the journal is written.
    pub(crate) fn is_being_moved(&self, job: JobId) -> bool {
        self.post.is_moving(job)
    }

    fn on_notice(&mut self, notice: Notice) {
        match notice {
            Notice::AlternateChosen { job, id, before } => {
                debug!(%job, %id, %before, "asking for another id of the segment");
            }
            Notice::ArticleLost { job, id, verdict } => {
                let what = loss_text::loss(&verdict, |server| self.network.name(server));
                self.disk.log_loss(job, &id, &what);
            }
            Notice::ArticleRefused { job, id, server, why } => {
                debug!(%job, %id, server = self.network.name(server), "not accepted: {why}");
            }
            Notice::BeyondRepair { job, health, critical, action } => {
                self.on_beyond_repair(job, &health_text(health, critical), action);
            }
            Notice::CeilingLowered { server, to } => {
                warn!(
                    server = self.network.name(server),
                    connections = to,
                    "the server allows fewer connections"
                );
            }
            Notice::DiskPaused { again_in } => {
                let why = self.disk.last_error().unwrap_or("the disk is in trouble");
                match again_in {
                    Some(again_in) => warn!(?again_in, "paused: {why}"),
                    None => warn!("paused until there is room: {why}"),
                }
                self.publish_disk(Some(why.to_owned()));
            }
            Notice::DiskResumed => {
                info!("the disk works again");
                self.publish_disk(None);
            }
            Notice::QuotaReached { server, until } => {
                let server = server.map(|id| self.network.name(id));
                quota_text::log_reached(self.settings.zone(), server, until);
                self.publish_quotas();
            }
            Notice::QuotaRenewed { server } => {
                quota_text::log_renewed(server.map(|id| self.network.name(id)));
                self.publish_quotas();
            }
            Notice::ScheduleChanged { effect, until } => {
                self.observers.on_hold_changed();
                quota_text::log_schedule(self.settings.zone(), effect, until);
            }
            Notice::ServerRests { server, trouble, again_in } => {
                let error = self.network.last_error(server).unwrap_or("?");
                let why = format!("{}: {error}", loss_text::trouble_text(trouble));
                self.network.log_rest(server, trouble, &why, again_in.as_secs_f32().ceil());
                self.observers.publish_server(&self.network, server, Some(why));
            }
            Notice::ServerWorks { server } => {
                if self.network.log_recovery(server) {
                    self.observers.publish_server(&self.network, server, None);
                    self.retry_jobs_failed_by_outage();
                }
            }
        }
    }

    fn on_beyond_repair(&mut self, job: JobId, left: &str, action: HealthAction) {
        match action {
            HealthAction::Delete => info!(%job, "to be deleted, for it cannot be repaired: {left}"),
            HealthAction::None => warn!(%job, "cannot be repaired: {left}"),
            HealthAction::Park => debug!(%job, "cannot be repaired: {left}"),
            HealthAction::Pause => {
                warn!(%job, "paused, for it cannot be repaired: {left}");
                self.jobs.set_paused(job, true);
                self.record(job);
                self.load_next();
            }
        }
    }
}
