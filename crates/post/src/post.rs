//! [`Post`]: takes each downloaded job through its steps. It owns the step, the open task and the wait
//! of every such job; pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use bergamot_queue::{Cause, Permille, Stage};
use bergamot_types::{DiskTrouble, JobId};
use tracing::trace;

use crate::event::Event;
use crate::order::{Order, Ticket};
use crate::steps::{Download, Next, STEPS, Step, Task};

/// Decides what is done with a job after its download; without files, threads or a clock.
///
/// Drive it like this:
/// 1. call [`handle`](Self::handle) with the time, which never goes back, and one [`Event`],
/// 2. call [`poll_order`](Self::poll_order) until it returns `None`, and carry out what it returns in
///    that order; do not call `handle` before,
/// 3. arm one timer for [`poll_timeout`](Self::poll_timeout), replacing the last one, and tell
///    [`Event::Timeout`] when it fires.
///
/// `Event::JobDownloaded` is answered by exactly one `Order::JobProcessed`, unless `JobRemoved` of the
/// job comes first; after either nothing more is ordered of the job, until it is downloaded again. A
/// `JobDownloaded` of a job that is being processed is ignored.
///
/// `Order::Start` is answered by exactly one `Event::TaskEnded` with its ticket, and `Event::Progress`
/// any number of times before it. A job has one open task at most. After `JobRemoved` the answer is a
/// late one and may be left out, but for that of `Task::Move`: the job counts as being moved
/// ([`is_moving`](Self::is_moving)) until it comes. `Order::{JobProcessed, Postponed, Stage}` are not
/// answered.
///
/// Late and repeated answers: what is told of a ticket that is not open, or of a job that is unknown,
/// is ignored. Tickets are never used again.
///
/// `Order::Stage` comes before the first task of each step, when its progress changes, and with
/// [`Permille::ALL`] when the step is done; not when a step begins again after `Order::Postponed`.
///
/// Bounds: one step, one open task and one deadline for each job between `JobDownloaded` and
/// `JobProcessed` or `JobRemoved`. How many tasks run at a time is the driver's limit.
#[derive(Debug, Default)]
pub struct Post {
    jobs: BTreeMap<JobId, Processing>,
    /// Tasks that go on though their job was removed.
    left_over: BTreeMap<Ticket, JobId>,
    last_ticket: u64,
    orders: VecDeque<Order>,
}

/// A job between its download and its end.
#[derive(Debug)]
struct Processing {
    download: Download,
    next_step: usize, // index in STEPS of the one behind this
    step: Box<dyn Step>,
    progress: Permille,
    since: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Running { ticket: Ticket, task: Task },
    Waiting { until: Instant },
}

/// What users may know of a job that is being processed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Status {
    pub stage: Stage,
    pub progress: Permille,
    /// When the stage began.
    pub since: Instant,
}

impl Post {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn handle(&mut self, now: Instant, event: Event) {
        trace!(?event, "event");
        match event {
            Event::JobDownloaded { job, verified } => {
                if !self.jobs.contains_key(&job) {
                    self.begin_step(now, job, Download { verified }, 0);
                }
            }
            Event::JobRemoved(job) => self.on_removed(job),
            Event::Progress { ticket, progress } => self.on_progress(ticket, progress),
            Event::TaskEnded { ticket, result } => self.on_task_ended(now, ticket, result),
            Event::Timeout => self.on_time(now),
        }
    }

    pub fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        let waits = self.jobs.values().filter_map(|known| match known.state {
            State::Waiting { until } => Some(until),
            State::Running { .. } => None,
        });
        waits.min()
    }

    pub fn status(&self, job: JobId) -> Option<Status> {
        let known = self.jobs.get(&job)?;
        let (stage, progress, since) = (known.step.stage(), known.progress, known.since);
        Some(Status { stage, progress, since })
    }

    /// The job's files are on their way to the destination, or will be when its journal is written. Not
    /// while it waits to be moved again.
    pub fn is_moving(&self, job: JobId) -> bool {
        let moves = |known: &Processing| {
            known.step.stage() == Stage::Moving && matches!(known.state, State::Running { .. })
        };
        self.jobs.get(&job).is_some_and(moves) || self.left_over.values().any(|it| *it == job)
    }

    /// The first step from `index` on that has something to do, else the end.
    fn begin_step(&mut self, now: Instant, job: JobId, download: Download, index: usize) {
        let mut steps = STEPS.iter().enumerate().skip(index);
        let found = steps.find_map(|(index, new)| Some((index, new(download)?)));
        let Some((index, mut step)) = found else { return self.end(job, Ok(())) };
        let (stage, progress) = (step.stage(), Permille(0));
        self.orders.push_back(Order::Stage { job, stage, progress });
        let state = self.start(job, step.begin());
        let next_step = index + 1;
        let known = Processing { download, next_step, step, progress, since: now, state };
        self.jobs.insert(job, known);
    }

    fn start(&mut self, job: JobId, task: Task) -> State {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.orders.push_back(Order::Start { ticket, job, task });
        State::Running { ticket, task }
    }

    fn end(&mut self, job: JobId, result: Result<(), Cause>) {
        self.jobs.remove(&job);
        self.orders.push_back(Order::JobProcessed { job, result });
    }

    fn on_removed(&mut self, job: JobId) {
        let removed = self.jobs.remove(&job).map(|known| known.state);
        if let Some(State::Running { ticket, task }) = removed
            && task.outlives_job()
        {
            self.left_over.insert(ticket, job);
        }
    }

    fn on_progress(&mut self, ticket: Ticket, progress: Permille) {
        let Some(job) = self.job_of(ticket) else { return };
        let Some(known) = self.jobs.get_mut(&job) else { return };
        let progress = progress.min(Permille::ALL);
        if std::mem::replace(&mut known.progress, progress) != progress {
            let stage = known.step.stage();
            self.orders.push_back(Order::Stage { job, stage, progress });
        }
    }

    fn on_task_ended(&mut self, now: Instant, ticket: Ticket, result: Result<(), DiskTrouble>) {
        self.left_over.remove(&ticket);
        let Some(job) = self.job_of(ticket) else { return };
        let Some(known) = self.jobs.get_mut(&job) else { return };
        let stage = known.step.stage();
        match known.step.on_task_ended(result) {
            Next::Again(again_in) => {
                known.state = State::Waiting { until: now + again_in };
                known.progress = Permille(0);
                self.orders.push_back(Order::Postponed { job, stage, again_in });
            }
            Next::Done => {
                let (download, next_step) = (known.download, known.next_step);
                self.orders.push_back(Order::Stage { job, stage, progress: Permille::ALL });
                self.begin_step(now, job, download, next_step);
            }
            Next::Failed(cause) => self.end(job, Err(cause)),
            Next::Start(task) => {
                let state = self.start(job, task);
                if let Some(known) = self.jobs.get_mut(&job) {
                    known.state = state;
                }
            }
        }
    }

    fn on_time(&mut self, now: Instant) {
        let is_due = |state: State| matches!(state, State::Waiting { until } if now >= until);
        let due = self.jobs.iter_mut().filter(|(_, known)| is_due(known.state));
        let due: Vec<_> = due.map(|(job, known)| (*job, known.step.begin())).collect();
        for (job, task) in due {
            let state = self.start(job, task);
            if let Some(known) = self.jobs.get_mut(&job) {
                known.state = state;
            }
        }
    }

    /// The job whose open task it is.
    fn job_of(&self, ticket: Ticket) -> Option<JobId> {
        let is_open =
            |state: State| matches!(state, State::Running { ticket: it, .. } if it == ticket);
        self.jobs.iter().find(|(_, known)| is_open(known.state)).map(|(job, _)| *job)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const JOB: JobId = JobId(7);
    const OTHER: JobId = JobId(8);
    const MOVING: Stage = Stage::Moving;
    const DONE: Order = Order::JobProcessed { job: JOB, result: Ok(()) };

    struct World {
        post: Post,
        now: Instant,
    }

    impl World {
        fn new() -> Self {
            Self { post: Post::new(), now: Instant::now() }
        }

        fn tell(&mut self, event: Event) -> Vec<Order> {
            self.post.handle(self.now, event);
            std::iter::from_fn(|| self.post.poll_order()).collect()
        }

        fn downloaded(&mut self, job: JobId) -> Vec<Order> {
            self.tell(Event::JobDownloaded { job, verified: true })
        }

        fn ended(&mut self, ticket: u64, result: Result<(), DiskTrouble>) -> Vec<Order> {
            self.tell(Event::TaskEnded { ticket: Ticket(ticket), result })
        }

        fn wait(&mut self, seconds: u64) -> Vec<Order> {
            self.now += Duration::from_secs(seconds);
            self.tell(Event::Timeout)
        }
    }

    fn stage(progress: u16) -> Order {
        Order::Stage { job: JOB, stage: MOVING, progress: Permille(progress) }
    }

    fn journal(ticket: u64, job: JobId) -> Order {
        Order::Start { ticket: Ticket(ticket), job, task: Task::WriteJournal }
    }

    fn moves(ticket: u64, job: JobId) -> Order {
        Order::Start { ticket: Ticket(ticket), job, task: Task::Move { verified: true } }
    }

    #[test]
    fn a_downloaded_job_is_moved_when_its_journal_is_written() {
        let mut world = World::new();
        assert_eq!(world.downloaded(JOB), [stage(0), journal(1, JOB)]);
        assert!(world.post.is_moving(JOB));
        assert_eq!(world.ended(1, Ok(())), [moves(2, JOB)]);
        assert_eq!(world.ended(2, Ok(())), [stage(1000), DONE]);
        assert!(!world.post.is_moving(JOB));
        assert_eq!((world.post.status(JOB), world.post.poll_timeout()), (None, None));
    }

    #[test]
    fn a_job_that_is_postponed_waits_and_holds_up_no_other() {
        let mut world = World::new();
        world.downloaded(JOB);
        world.ended(1, Ok(()));
        let again_in = Duration::from_secs(5);
        let postponed = Order::Postponed { job: JOB, stage: MOVING, again_in };
        assert_eq!(world.ended(2, Err(DiskTrouble::Transient)), [postponed]);
        assert!(!world.post.is_moving(JOB), "it may be deleted meanwhile");
        assert_eq!(world.post.poll_timeout(), Some(world.now + again_in));
        world.downloaded(OTHER);
        assert_eq!(world.ended(3, Ok(())), [moves(4, OTHER)]);
        assert_eq!(world.wait(4), []);
        assert_eq!(world.wait(1), [journal(5, JOB)]);
        assert_eq!(world.wait(60), [], "one task at a time");
        assert_eq!(world.post.status(JOB).map(|it| it.since), Some(world.now - again_in * 13));
        world.ended(5, Ok(()));
        assert_eq!(world.ended(6, Ok(())), [stage(1000), DONE]);
    }

    #[test]
    fn a_job_that_fails_is_done_with() {
        let mut world = World::new();
        world.downloaded(JOB);
        world.ended(1, Ok(()));
        let failed = Order::JobProcessed { job: JOB, result: Err(Cause::Disk) };
        assert_eq!(world.ended(2, Err(DiskTrouble::Permanent)), [failed]);
        assert_eq!(world.post.status(JOB), None);
    }

    #[test]
    fn progress_is_told_when_it_changes() {
        let mut world = World::new();
        world.downloaded(JOB);
        world.ended(1, Ok(()));
        let progress = |ticket, progress| Event::Progress {
            ticket: Ticket(ticket),
            progress: Permille(progress),
        };
        assert_eq!(world.tell(progress(2, 400)), [stage(400)]);
        assert_eq!(world.tell(progress(2, 400)), []);
        assert_eq!(world.tell(progress(1, 900)), [], "that task is over");
        assert_eq!(world.tell(progress(2, 3000)), [stage(1000)]);
        let status = Status { stage: MOVING, progress: Permille::ALL, since: world.now };
        assert_eq!(world.post.status(JOB), Some(status));
    }

    #[test]
    fn late_and_repeated_answers_are_ignored() {
        let mut world = World::new();
        assert_eq!(world.ended(1, Ok(())), []);
        world.downloaded(JOB);
        assert_eq!(world.downloaded(JOB), []);
        world.ended(1, Ok(()));
        assert_eq!(world.ended(1, Ok(())), []);
        world.ended(2, Ok(()));
        assert_eq!(world.ended(2, Err(DiskTrouble::Permanent)), []);
        // Downloaded again, the answers of the first time are not those of the second.
        world.downloaded(JOB);
        world.tell(Event::JobRemoved(JOB));
        assert_eq!(world.downloaded(JOB), [stage(0), journal(4, JOB)]);
        assert_eq!(world.ended(3, Ok(())), []);
        assert_eq!(world.ended(4, Ok(())), [moves(5, JOB)]);
    }

    #[test]
    fn a_job_that_is_removed_is_not_moved_any_more() {
        let mut world = World::new();
        world.downloaded(JOB);
        world.tell(Event::JobRemoved(JOB));
        assert!(!world.post.is_moving(JOB));
        assert_eq!(world.ended(1, Ok(())), []);
        world.downloaded(JOB);
        world.ended(2, Ok(()));
        world.ended(3, Err(DiskTrouble::Full));
        world.tell(Event::JobRemoved(JOB));
        assert_eq!((world.post.poll_timeout(), world.wait(90)), (None, vec![]));
    }

    #[test]
    fn a_move_that_has_begun_counts_until_it_ends() {
        let mut world = World::new();
        world.downloaded(JOB);
        world.ended(1, Ok(()));
        world.tell(Event::JobRemoved(JOB));
        assert!(world.post.is_moving(JOB) && world.post.status(JOB).is_none());
        assert_eq!(world.ended(2, Ok(())), []);
        assert!(!world.post.is_moving(JOB));
    }
}
