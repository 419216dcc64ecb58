//! Tests of [`Jobs`] that need no driver: events in, actions out.

use std::sync::Mutex;

use bergamot_engine::Settings as EngineSettings;
use bergamot_nzb::Nzb;
use bergamot_queue::{Propagation, Stage};
use bergamot_storage::{Reserve, Space};
use bergamot_types::{ByteCount, UnixTime};

use super::*;
use crate::admission::Survey;
use crate::record::fingerprint::Fingerprint;
use crate::record::outcome::Outcome;

const GB: u64 = 1 << 30;

/// Every NZB is there, and a fingerprint has the number of its job in each byte.
#[derive(Debug, Default)]
struct PlainSpool(Mutex<i64>);

impl PlainSpool {
    fn next(&self) -> i64 {
        let mut last = self.0.lock().unwrap();
        *last += 1;
        1000 + *last
    }
}

impl SpoolView for PlainSpool {
    fn next_id(&self) -> JobId {
        JobId(self.next() as u32)
    }

    fn next_sequence(&self) -> u64 {
        self.next() as u64
    }

    fn next_rank(&self) -> i64 {
        self.next() << 20
    }

    fn stay_below(&self, _: i64) {}

    fn copies(&self, print: Fingerprint) -> Vec<JobId> {
        vec![JobId(print.0[0].into())]
    }

    fn has_nzb(&self, _: JobId) -> bool {
        true
    }
}

/// The machine with an engine that gets all events the machine sends it. Callers are numbers.
struct World {
    jobs: Jobs<u32>,
    engine: Engine,
    now: Now,
}

impl World {
    /// With jobs of these numbers in the queue; the volumes have room.
    fn new(jobs: &[u32]) -> Self {
        Self::with(settings(), jobs.iter().map(|id| Box::new(record(*id))).collect())
    }

    fn with(settings: Settings, records: Records) -> Self {
        let now = Now { instant: Instant::now(), date: UnixTime(1_800_000_000) };
        let engine = Engine::new(now.instant, EngineSettings::default());
        let jobs = Jobs::new(now, settings, Arc::new(PlainSpool::default()), records);
        let mut world = Self { jobs, engine, now };
        world.jobs.resume_queue(now, &world.engine, &[]);
        world
    }

    /// Passes the event to the machine, and returns its actions.
    fn tell(&mut self, event: Event) -> Vec<Action<u32>> {
        self.jobs.handle(self.now, &self.engine, event);
        self.actions()
    }

    fn edit(&mut self, job: u32, edit: &Edit) -> Vec<Action<u32>> {
        for edited in self.jobs.edit(self.now, &self.engine, &[JobId(job)], edit) {
            edited.unwrap();
        }
        self.actions()
    }

    fn actions(&mut self) -> Vec<Action<u32>> {
        let mut actions = Vec::new();
        while let Some(action) = self.jobs.poll_action() {
            match action {
                Action::Tell(event) => {
                    self.engine.handle(self.now, event);
                    while self.engine.poll_order().is_some() {}
                }
                other => actions.push(other),
            }
        }
        self.jobs.list().check();
        actions
    }

    /// Makes the others part of the first.
    fn merge(&mut self, jobs: &[u32]) -> Vec<Action<u32>> {
        let jobs: Vec<_> = jobs.iter().copied().map(JobId).collect();
        self.jobs.merge(self.now, &self.engine, &jobs).unwrap();
        let files = jobs[1..].iter().map(|job| crate::engine_job::new_files(nzb(job.0)));
        let merged = Ok::<_, EditRefusal>(MergedFiles { listed: 2, files: files.collect() });
        self.jobs.end_merge(self.now, &self.engine, &jobs, merged).unwrap();
        self.actions()
    }

    fn survey(&mut self) -> Vec<Action<u32>> {
        let space = Space { free: ByteCount(GB), total: ByteCount(GB) };
        let volumes = vec![("/i".into(), Ok((VolumeId(1), space)))];
        let volumes = volumes.into_iter().chain([("/c".into(), Ok((VolumeId(1), space)))]);
        let survey = Survey { volumes: volumes.collect(), ..Survey::default() };
        self.tell(Event::Surveyed(Box::new(survey)))
    }

    /// Its write has ended well.
    fn written(&mut self, job: u32, is_over: bool) -> Vec<Action<u32>> {
        self.tell(Event::Written { job: JobId(job), is_over, result: Ok(()) })
    }

    /// All that may be loaded is, and is in the engine.
    fn load_all(&mut self) {
        self.actions();
        for action in self.survey() {
            if let Action::Load { job, number, .. } = action {
                let loaded = self.ready(job.0);
                self.tell(Event::Loaded { job, number, loaded });
            }
        }
    }

    fn ready(&self, job: u32) -> Loaded {
        let mut record = self.jobs.list().record(JobId(job)).unwrap().clone();
        record.directory.get_or_insert(format!("directory {job}").into());
        let (finished, written) = (Vec::new(), Vec::new());
        let ready = Ready { record, nzb: nzb(job), finished, written, is_proven: false };
        Loaded::Ready(Box::new(ready))
    }
}

fn settings() -> Settings {
    Settings {
        directories: JobDirectories {
            incomplete: "/i".into(),
            complete: "/c".into(),
            categories: Vec::new(),
        },
        accept_duplicates: false,
        wants_par2_volumes: false,
        propagation_delay: Duration::ZERO,
        propagation: Propagation { age: Duration::ZERO, hold: Duration::ZERO },
        reserve: Reserve::Bytes(ByteCount(0)),
        keep: Duration::from_secs(86_400),
        most_kept: 1000,
        feeds_only: false,
        server_names: Default::default(),
    }
}

fn record(id: u32) -> Record {
    let print = Fingerprint([id as u8; 16]);
    let mut record = Record::new(JobId(id), "a", UnixTime(0), "", print);
    record.contents.files = 2;
    record.rank = i64::from(id) << 20;
    record
}

/// In the history.
fn ended(id: u32, ending: Ending) -> Record {
    let mut record = record(id);
    let outcome = Outcome::new(ending, UnixTime(1_799_999_999), "");
    record.end(Outcome { sequence: id.into(), ..outcome });
    record
}

/// Two files of an article each.
fn nzb(job: u32) -> Nzb {
    let file = |index| {
        format!(
            "<file subject='\"{index}.bin\"'><segments>\
             <segment bytes='1000' number='1'>{index}@{job}</segment></segments></file>"
        )
    };
    let text = format!("<nzb>{}{}</nzb>", file(0), file(1));
    bergamot_nzb::read(text.as_bytes(), &Default::default()).unwrap()
}

fn closes(actions: &[Action<u32>], job: u32) -> bool {
    actions.iter().any(|action| matches!(action, Action::Close(other) if other.0 == job))
}

#[test]
fn a_job_leaves_the_queue_before_the_history_may_forget_it() {
    let mut world = World::with(
        Settings { most_kept: 0, ..settings() },
        vec![Box::new(record(1)), Box::new(record(2))],
    );
    world.load_all();
    for job in [1, 2] {
        world.edit(job, &Edit::Delete(Delete::Park));
    }
    assert!(closes(&world.written(2, true), 2));
    assert!(world.jobs.list().is_queued(JobId(1)), "its end is not on disk");
    assert!(closes(&world.written(1, true), 1));
    assert!(world.jobs.list().record(JobId(1)).is_none());
}

#[test]
fn files_of_an_unwanted_load_are_deleted_once() {
    for delete in [Delete::ToHistory, Delete::Finally] {
        let mut world = World::new(&[1]);
        world.actions();
        let loads = world.survey();
        let [Action::Load { job, number, .. }, ..] = loads[..] else { panic!("{loads:?}") };
        let loaded = world.ready(1);
        world.edit(1, &Edit::Delete(delete));
        let actions = world.tell(Event::Loaded { job, number, loaded });
        assert!(matches!(actions[..], [Action::DropLoaded(_)]), "{actions:?}");
    }
}

#[test]
fn a_job_that_ends_while_it_is_loaded_does_not_keep_the_directory_on_record() {
    let mut world = World::new(&[1]);
    world.actions();
    let loads = world.survey();
    let [Action::Load { job, number, .. }, ..] = loads[..] else { panic!("{loads:?}") };
    world.edit(1, &Edit::Delete(Delete::Park));
    let loaded = world.ready(1);
    let actions = world.tell(Event::Loaded { job, number, loaded });
    assert!(matches!(actions[..], [Action::DeleteFiles(_), Action::DropLoaded(_)]), "{actions:?}");
    let written = world.written(1, true);
    let writes =
        |action: &Action<u32>| matches!(action, Action::Write(it) if it.directory.is_none());
    assert!(written.iter().any(writes), "behind the one that names the directory: {written:?}");
}

#[test]
fn nothing_is_due_while_a_survey_is_waited_for() {
    let mut world = World::new(&[1]);
    world.load_all();
    world.now.instant = world.jobs.poll_timeout().unwrap();
    let actions = world.tell(Event::Timeout);
    assert!(matches!(actions[..], [Action::Survey(_)]), "{actions:?}");
    assert_eq!(world.jobs.poll_timeout(), None);
    world.survey();
    assert!(world.jobs.poll_timeout().is_some());
}

#[test]
fn a_caller_that_waits_for_a_job_is_answered_when_another_has_taken_it_in() {
    let mut world = World::new(&[1, 2]);
    world.edit(2, &Edit::SetName("b".to_owned()));
    assert_eq!(world.jobs.await_write(JobId(2), 7), None);
    world.merge(&[1, 2]);
    assert!(world.written(2, false).is_empty(), "it is of no use any more");
    let actions = world.written(1, false);
    let is_answer = |it: &Action<u32>| matches!(it, Action::Answer { waiter: 7, result: Ok(()) });
    assert_eq!(actions.iter().filter(|action| is_answer(action)).count(), 1, "{actions:?}");
}

#[test]
fn a_copy_of_a_job_that_was_just_joined_is_refused() {
    let mut world = World::new(&[1, 2]);
    world.merge(&[1, 2]);
    let copy = Record { fingerprint: Fingerprint([2; 16]), ..record(3) };
    let useless = world.jobs.add(world.now, &world.engine, copy);
    assert_eq!(useless, [JobId(3)], "the spool has no record of the merge yet");
}

#[test]
fn an_older_record_that_is_being_written_does_not_undo_an_end_that_loading_found() {
    let mut world = World::new(&[1]);
    world.edit(1, &Edit::SetName("b".to_owned()));
    let loads = world.survey();
    let [Action::Load { job, number, .. }, ..] = loads[..] else { panic!("{loads:?}") };
    let mut done = world.jobs.list().record(job).unwrap().clone();
    done.end(Outcome::new(Ending::Completed { verified: true }, UnixTime(0), ""));
    world.tell(Event::Loaded { job, number, loaded: Loaded::Done(Box::new(done)) });
    let actions = world.written(1, false);
    let ends = |action: &Action<u32>| matches!(action, Action::Write(it) if it.outcome.is_some());
    assert!(actions.iter().any(ends), "{actions:?}");
}

#[test]
fn a_caller_that_waits_for_a_job_is_answered_when_the_history_forgets_it() {
    for result in [Ok(()), Err(StoreFailure { code: "state.full", message: String::new() })] {
        let old = ended(1, Ending::Failed(bergamot_queue::Cause::Incomplete));
        let records = vec![Box::new(old), Box::new(record(2))];
        let mut world = World::with(Settings { most_kept: 1, ..settings() }, records);
        world.edit(2, &Edit::Delete(Delete::Park));
        world.edit(1, &Edit::SetName("b".to_owned()));
        world.edit(1, &Edit::SetName("c".to_owned()));
        assert_eq!(world.jobs.await_write(JobId(1), 7), None);
        world.written(2, true);
        assert!(world.jobs.list().record(JobId(1)).is_none(), "one is kept");
        let actions = world.tell(Event::Written { job: JobId(1), is_over: true, result });
        assert!(matches!(actions[..], [Action::Answer { waiter: 7, .. }]), "{actions:?}");
    }
}

#[test]
fn a_job_is_deleted_while_its_move_waits_to_be_tried_again_and_not_during_the_move() {
    let mut world = World::new(&[1]);
    world.load_all();
    let job = JobId(1);
    world.tell(Event::Stage { job, stage: Stage::Moving });
    world.tell(Event::StepTask { job, is_in_task: true });
    let delete = Edit::Delete(Delete::ToHistory);
    let refused = world.jobs.edit(world.now, &world.engine, &[job], &delete);
    assert_eq!(refused, [Err(EditRefusal::BeingMoved(job))]);
    world.tell(Event::StepTask { job, is_in_task: false });
    let actions = world.edit(1, &delete);
    assert!(actions.iter().any(|action| matches!(action, Action::DeleteOpenFiles(_))));
}

#[test]
fn directories_of_other_settings_are_surveyed_before_a_job_goes_there() {
    let mut world = World::new(&[1]);
    world.load_all();
    let mut other = settings();
    other.directories.complete = "/other".into();
    world.tell(Event::SettingsChanged(Box::new(other)));
    world.jobs.add(world.now, &world.engine, record(2));
    let actions = world.actions();
    let surveyed = |action: &Action<u32>| match action {
        Action::Survey(request) => request.directories.contains(&"/other".into()),
        _ => false,
    };
    assert!(actions.iter().any(surveyed), "{actions:?}");
}

#[test]
fn a_job_that_the_history_forgets_at_once_is_settled_all_the_same() {
    let settings = Settings { most_kept: 0, ..settings() };
    let mut world = World::with(settings, vec![Box::new(record(1))]);
    world.load_all();
    let (check, volume) = (crate::Check::Crc, VolumeId(1));
    let destination = "/c/a".to_owned();
    world.tell(Event::Moved { job: JobId(1), check, destination, volume });
    let actions = world.written(1, true);
    let settled = |action: &Action<u32>| match action {
        Action::Settle(record) => record.destination() == Some("/c/a"),
        _ => false,
    };
    assert!(actions.iter().any(settled), "{actions:?}");
    assert!(world.jobs.list().record(JobId(1)).is_none());
}
