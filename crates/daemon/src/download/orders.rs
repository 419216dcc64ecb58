//! The engine's orders, what connections and the writer report, and the engine's notices: `Daemon` gives each
//! to the part that it concerns. Runs in the main loop.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bergamot_api::Event as News;
use bergamot_engine::{
    ConnectionId, Event as EngineEvent, Failure, HealthAction, Notice, Order, Ticket,
};
use bergamot_jobs::failure::health_text;
use bergamot_jobs::machine::{Action, Disk, Event as JobEvent, Loaded};
use bergamot_jobs::{Check, Record};
use bergamot_net::{Buffer, Fetch, Report};
use bergamot_nzb::better_name;
use bergamot_post as post;
use bergamot_queue::{FileKey, Layout, Permille, SegmentState, Stage};
use bergamot_storage::VolumeId;
use bergamot_store::Finished;
use bergamot_types::{ByteCount, JobId, SafeName, Shown};
use bergamot_writer::{DiskError, Done, Outcome, Root};
use tracing::{debug, info, warn};

use crate::clock;
use crate::control::call::Waiter;
use crate::disk::directories::Opened;
use crate::disk::space;
use crate::download::disk_work::DiskTask;
use crate::download::error_class::store_failure;
use crate::download::open_job::Summary;
use crate::post::move_job::Move;
use crate::run::Daemon;
use crate::spool::load::{self, path_of};
use crate::spool::load_error::LoadError;
use crate::spool::load_queue::Opening;
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
            Order::DeleteFiles { job } => self.report_to_jobs(JobEvent::FilesUnwanted(job)),
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
            Order::Probed { job, census } => {
                let (probes, mut with) = self.probes();
                probes.on_probed(&mut with, job, census);
            }
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
        // After a crash between the rename and its journal entry, the journaled parts identify the file.
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

    /// Takes back in the journals what no longer holds. Disk orders of those jobs wait for that.
    pub(crate) fn retract(&mut self) {
        while let Some(job) = self.state.next_to_retract() {
            let number = self.disk.begin_retraction(job);
            self.state.retract(job, number);
        }
    }

    fn fail_job(&mut self, job: JobId, failure: Failure) {
        let error = self.disk.last_error().map(str::to_owned);
        let disk = Disk { failure: self.disk.last_failure(), error };
        self.report_to_jobs(JobEvent::Failed { job, failure, disk });
    }

    pub(crate) fn perform(&mut self, action: Action<Waiter>) {
        let keeper = &self.state.record_thread;
        match action {
            Action::Answer { waiter, result } => drop(waiter.send(result)), // the caller may be gone
            Action::Changed(change) => self.publish(change),
            Action::Close(job) => self.close(job),
            Action::DeleteFiles(record) => keeper.delete_files(*record),
            Action::DeleteOpenFiles(record) => self.delete_open_files(record, false),
            Action::DropJournal(job) => keeper.drop_journal(job),
            Action::DropLoaded(job) => self.disk.drop_loaded(job),
            Action::Fetch(job) => {
                let (fetches, mut context) = self.fetches();
                fetches.plan(&mut context, job);
            }
            Action::ForgetCrashes(job) => keeper.forget_crashes(job),
            Action::ForgetJournal(job) => keeper.forget_journal(job),
            Action::Load { job, number, category } => {
                self.load_queue.open(job, number, category, self.settings.jobs());
            }
            Action::Open(job) => {
                if let Some(journal) = self.disk.open_loaded(job) {
                    self.state.open_journal(job, journal);
                }
            }
            Action::Remove(record) => keeper.remove(*record),
            Action::RemoveOpen(record) => self.delete_open_files(record, true),
            Action::RemoveAll(records) => keeper.remove_all(records),
            Action::Settle(record) => self.settle(record),
            Action::StopFetching(job) => {
                let (fetches, mut context) = self.fetches();
                fetches.stop(&mut context, job);
            }
            Action::Survey(request) => {
                space::begin_survey(self.handle.disk_info.clone(), &self.handle.events, request);
            }
            Action::Tell(event) => self.engine_events.push_back(event),
            Action::Write(record) => keeper.update(*record),
        }
    }

    /// What is only needed while a job is downloaded.
    fn close(&mut self, job: JobId) {
        self.state.close_journal(job);
        self.disk.close(job);
        self.observers.forget(job);
    }

    /// Behind all that is still being written to them.
    fn delete_open_files(&mut self, record: Box<Record>, and_record: bool) {
        match self.disk.delete_files(record, and_record) {
            None => {}
            Some(record) if and_record => self.state.record_thread.remove(*record),
            Some(record) => self.state.record_thread.delete_files(*record),
        }
    }

    /// Takes the writer's mark off a job that is on record as complete; then its journal is not needed.
    fn settle(&mut self, record: Box<Record>) {
        let (job, path) = (record.id, record.destination());
        let name = path.and_then(|path| std::path::Path::new(path).file_name()?.to_str());
        let name = name.and_then(SafeName::recorded);
        if !name.is_some_and(|name| self.disk.settle(record, name)) {
            self.state.record_thread.forget_journal(job);
        }
    }

    /// Their journals are not needed any more. One that is tried again has another by now.
    pub(crate) fn on_settled(&self, jobs: &[JobId]) {
        let record = |job: &JobId| self.jobs.list().record(*job);
        let is_over = |job: &&JobId| record(job).is_none_or(|record| record.outcome.is_some());
        jobs.iter().filter(is_over).for_each(|job| self.state.record_thread.forget_journal(*job));
    }

    /// The directories of a job are open, or cannot be opened: those that are are read in, in their order.
    pub(crate) fn on_opened(&mut self, number: u64, opened: Result<Opened, LoadError>) {
        for Opening { number, job, category, opened } in self.load_queue.on_opened(number, opened) {
            let Some(opened) = opened else { continue };
            let list = self.jobs.list();
            let record = list.record(job).filter(|_| list.is_loading(job));
            match record.filter(|record| record.category == category) {
                Some(record) => self.state.record_thread.load(number, record.clone(), opened),
                None => self.tell_jobs(JobEvent::Loaded { job, number, loaded: Loaded::Outdated }),
            }
        }
    }

    pub(crate) fn on_loaded(&mut self, job: JobId, number: u64, loaded: load::Loaded) {
        if !self.jobs.expects_load(job, number) {
            return;
        }
        // That of a job that became part of another is deleted with its record.
        if self.jobs.list().record(job).is_some() {
            self.state.record_thread.directory_known(job);
        }
        let loaded = match loaded {
            load::Loaded::Done(record) => Loaded::Done(record),
            load::Loaded::Failed(record) => Loaded::Failed(record),
            load::Loaded::Held { why } => Loaded::Held { why },
            load::Loaded::Ready(ready) => Loaded::Ready(Box::new(self.disk.keep_loaded(*ready))),
            load::Loaded::Waits { why } => Loaded::Waits { why },
        };
        self.tell_jobs(JobEvent::Loaded { job, number, loaded });
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
            let volume = match &what {
                DiskTask::Move(moved) => Some(VolumeId(moved.destination.device())),
                _ => self.jobs.incomplete_volume(),
            };
            self.report_to_jobs(JobEvent::VolumeFull(volume));
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
                    (false, result) => {
                        let result = result.map(drop).map_err(|error| store_failure(&error));
                        self.report_to_jobs(JobEvent::FilesDeleted { job, result });
                    }
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
                self.report_to_jobs(JobEvent::FileGrows(file));
            }
            (DiskTask::Sync { job, number }, Ok(_)) => self.state.on_synced(job, number),
            (DiskTask::Sync { .. }, Err(_)) => {}
            (DiskTask::Settle { record, summary }, settled) => {
                if settled.is_ok() {
                    self.on_settled(&[record.id]);
                }
                if let Some(summary) = summary {
                    summary.log(&record);
                }
            }
        }
        self.run();
    }

    /// Passes an event to the machine of post-processing, and what follows from it to the engine.
    pub(crate) fn notify_post(&mut self, event: post::Event) {
        self.drive_post(event);
        self.run();
    }

    /// The same while the engine's orders are carried out: its events are queued until there are no more orders.
    pub(crate) fn drive_post(&mut self, event: post::Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            self.post.handle(clock::now().instant, event);
            while let Some(order) = self.post.poll_order() {
                events.extend(self.process(order));
            }
        }
    }

    /// Returns the events for the machine of post-processing that follow at once.
    fn process(&mut self, order: post::Order) -> Vec<post::Event> {
        match order {
            post::Order::JobProcessed { job, result } => {
                self.engine_events.push_back(EngineEvent::JobProcessed { job, result });
            }
            post::Order::Postponed { job, stage, again_in } => {
                self.report_to_jobs(JobEvent::StepTask { job, is_in_task: false });
                let why = self.disk.last_error().unwrap_or("the disk is in trouble");
                match stage {
                    Stage::Moving => warn!(%job, ?again_in, "cannot be moved yet: {why}"),
                    stage => warn!(%job, ?again_in, "{stage} is tried again: {why}"),
                }
            }
            post::Order::Stage { job, stage, progress } => self.on_stage(job, stage, progress),
            post::Order::Start { ticket, job, task } => {
                self.report_to_jobs(JobEvent::StepTask { job, is_in_task: true });
                match task {
                    post::Task::Move { verified } => return self.start_move(ticket, job, verified),
                    post::Task::WriteJournal => self.state.report_journal(job, ticket),
                }
            }
        }
        Vec::new()
    }

    fn on_stage(&mut self, job: JobId, stage: Stage, progress: Permille) {
        self.report_to_jobs(JobEvent::Stage { job, stage });
        self.observers.hub().publish(News::JobStage { job, stage, progress: progress.0 });
    }

    /// A job that has ended meanwhile is not moved.
    fn start_move(&mut self, ticket: post::Ticket, job: JobId, verified: bool) -> Vec<post::Event> {
        let record = self.jobs.list().record(job).filter(|it| it.outcome.is_none());
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
            self.on_named(job, check, destination, &name);
        }
        self.notify_post(post::Event::TaskEnded { ticket, result });
    }

    /// The files of a job are at the destination, under that name.
    fn on_named(&mut self, job: JobId, check: Check, destination: Arc<Root>, name: &SafeName) {
        let totals = self.engine.job(job).map(|job| job.totals()).unwrap_or_default();
        let started = self.jobs.list().active(job).map(|active| active.started);
        let took = started.map_or(Duration::ZERO, |started| clock::now().instant - started);
        let summary = Summary { size: ByteCount(totals.bytes_done), took, check };
        let (path, volume) = (path_of(&destination, name), VolumeId(destination.device()));
        self.disk.set_moved(job, destination, summary);
        self.tell_jobs(JobEvent::Moved { job, check, destination: path, volume });
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
                    self.report_to_jobs(JobEvent::ServerWorks);
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
                self.report_to_jobs(JobEvent::JobPaused(job));
            }
        }
    }
}
