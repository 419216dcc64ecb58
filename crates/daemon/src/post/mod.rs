//! Carries out the orders of [`Post`](bergamot_post::Post): what follows the download of a job. Runs in
//! the main loop; a file for each step has the drivers of its tasks.

pub(crate) mod move_job;

use std::collections::VecDeque;

use bergamot_api::Event as News;
use bergamot_engine::Event as EngineEvent;
use bergamot_jobs::machine::Event as JobEvent;
use bergamot_post::{Event, Order, Task};
use bergamot_queue::{Permille, Stage};
use bergamot_types::JobId;
use tracing::warn;

use crate::clock;
use crate::run::Daemon;

impl Daemon {
    /// Tells the machine what happened to a job, and the engine what follows from it.
    pub(crate) fn tell_post(&mut self, event: Event) {
        self.drive_post(event);
        self.run();
    }

    /// The same while the engine's orders are carried out: it is told when it has no more of them.
    pub(crate) fn drive_post(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            self.post.handle(clock::now().instant, event);
            while let Some(order) = self.post.poll_order() {
                events.extend(self.process(order));
            }
        }
    }

    /// Returns what the machine is to hear of it at once.
    fn process(&mut self, order: Order) -> Vec<Event> {
        match order {
            Order::JobProcessed { job, result } => {
                self.events.push_back(EngineEvent::JobProcessed { job, result });
            }
            Order::Postponed { job, stage, again_in } => {
                let why = self.disk.disk_errors.text().unwrap_or("the disk is in trouble");
                match stage {
                    Stage::Moving => warn!(%job, ?again_in, "cannot be moved yet: {why}"),
                    stage => warn!(%job, ?again_in, "{stage} is tried again: {why}"),
                }
            }
            Order::Stage { job, stage, progress } => self.on_stage(job, stage, progress),
            Order::Start { ticket, job, task } => match task {
                Task::Move { verified } => return self.start_move(ticket, job, verified),
                Task::WriteJournal => self.write_journal(ticket, job),
            },
        }
        Vec::new()
    }

    fn on_stage(&mut self, job: JobId, stage: Stage, progress: Permille) {
        self.report_to_jobs(JobEvent::Stage { job, stage });
        self.observers.hub.publish(News::JobStage { job, stage, progress: progress.0 });
    }
}
