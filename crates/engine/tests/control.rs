//! What people may change while it runs.

use bergamot_engine::{
    DiskTrouble, Event, FORCE_PRIORITY, Failure, HealthAction, Hold, Settings, Trouble,
};
use bergamot_limit::{Effect, Rule, Timetable, Weekdays};
use bergamot_queue::{FileKey, MoreFiles};
use bergamot_testkit::fixtures::rules::{Reply, World, job, server};
use bergamot_types::{ByteRate, JobId};

fn world(connections: usize) -> World {
    World::of(vec![server(1).connections(connections)])
}

fn place(job: u32, priority: i32, rank: i64) -> Event {
    Event::JobPlaced { job: JobId(job), priority, rank }
}

fn file(job: u32, file: u32) -> FileKey {
    FileKey { job: JobId(job), file }
}

fn completed(world: &World) -> Vec<u32> {
    world.disk.completed.iter().map(|(job, _)| *job).collect()
}

#[test]
fn jobs_go_by_priority_then_rank_then_age_and_can_be_moved() {
    let mut world = world(1);
    for (id, rank) in [(1, 5), (2, 5), (3, 1), (4, 9)] {
        world.add(job(id, &[3]).rank(rank));
    }
    world.happens(place(4, 1, 9));
    world.happens(place(1, 0, 6));
    world.run();
    assert_eq!(completed(&world), [4, 3, 2, 1]);
}

#[test]
fn while_everything_is_paused_only_what_is_forced_goes_on() {
    let mut world = world(4);
    world.add(job(1, &[40]));
    world.run_steps(20);
    world.happens(Event::DownloadPaused);
    world.run_for(100);
    let fetched = world.servers.fetches.len();
    assert!(fetched < 40 && world.engine.reserved().0 == 0, "what was under way has ended");
    assert_eq!(world.engine.hold(), Some(Hold::Paused));
    world.add(job(2, &[10]).priority(FORCE_PRIORITY));
    world.add(job(3, &[10]));
    world.run_for(100);
    assert_eq!((completed(&world), world.servers.fetches.len()), (vec![2], fetched + 10));
    world.happens(place(3, FORCE_PRIORITY + 1, 0));
    world.run_for(100);
    assert_eq!(completed(&world), [2, 3]);
    world.happens(Event::DownloadResumed);
    world.run();
    assert_eq!((completed(&world), world.servers.fetches.len()), (vec![2, 3, 1], 60));
    assert_eq!(world.engine.hold(), None);
}

#[test]
fn nothing_is_fetched_while_what_arrives_cannot_be_put_on_record() {
    let mut world = world(4);
    world.add(job(1, &[40]).priority(FORCE_PRIORITY));
    world.run_steps(20);
    world.happens(Event::StateUnwritable);
    world.run_for(100);
    let fetched = world.servers.fetches.len();
    assert!(fetched < 40 && world.engine.reserved().0 == 0, "what was under way has ended");
    assert_eq!(world.engine.hold(), Some(Hold::Unrecorded));
    world.run_for(3600);
    assert_eq!(world.servers.fetches.len(), fetched);
    world.happens(Event::StateWritable);
    world.run();
    assert_eq!((completed(&world), world.servers.fetches.len()), (vec![1], 40));
}

#[test]
fn what_is_forced_waits_for_the_disk_as_others_do() {
    let mut world = world(1);
    world.disk.trouble = Some(DiskTrouble::Transient);
    world.happens(Event::DownloadPaused);
    world.add(job(1, &[5]).priority(FORCE_PRIORITY));
    world.run_for(20);
    assert_eq!(world.engine.hold(), Some(Hold::Disk));
    world.disk.trouble = None;
    world.run();
    assert_eq!(completed(&world), [1]);
}

#[test]
fn a_server_in_trouble_is_left_alone_while_everything_is_paused() {
    let mut world = world(1);
    world.refuse(1, Trouble::Unreachable);
    world.add(job(1, &[5]));
    world.run_for(60);
    world.happens(Event::DownloadPaused);
    world.run_for(1);
    let dials = world.servers.dials;
    world.run_for(3600);
    assert_eq!(world.servers.dials, dials);
    world.accept(1);
    world.happens(Event::DownloadResumed);
    world.run();
    assert_eq!(completed(&world), [1]);
}

/// Everything goes wrong at first at the only server of the first level.
fn troubled() -> World {
    let servers = vec![server(1), server(2).level(1)];
    let settings = Settings { health_action: HealthAction::Park, ..Settings::default() };
    let mut world = World::with_settings(servers, settings);
    world.rule(|ask| match (ask.server, ask.segment % 3) {
        (1, 0) => Reply::Missing,
        (1, 1) => Reply::Damaged,
        _ => Reply::Good,
    });
    world
}

#[test]
fn pausing_and_resuming_anything_at_any_moment_loses_nothing() {
    type Events = fn() -> [Event; 2];
    let pauses: [(&str, Events); 4] = [
        ("everything", || [Event::DownloadPaused, Event::DownloadResumed]),
        ("a job", || [Event::JobPaused(JobId(1)), Event::JobResumed(JobId(1))]),
        ("a file", || [Event::FilePaused(file(1, 0)), Event::FileResumed(file(1, 0))]),
        ("the other", || [Event::FilePaused(file(1, 1)), Event::FileResumed(file(1, 1))]),
    ];
    for (what, events) in pauses {
        for steps in 0..60 {
            let mut world = troubled();
            world.add(job(1, &[7, 5]));
            world.add(job(2, &[12]));
            world.run_steps(steps);
            let [pause, resume] = events();
            world.happens(pause);
            world.run_for(100);
            assert_eq!(world.engine.reserved().0, 0, "{what} after {steps}");
            world.happens(resume);
            world.run();
            let ended = (world.disk.completed.len(), world.host.failed.len());
            assert_eq!(ended, (2, 0), "{what} after {steps}");
        }
    }
}

#[test]
fn nothing_of_a_paused_file_is_fetched_and_its_job_waits() {
    let mut world = world(2);
    world.add(job(1, &[5, 5]));
    world.happens(Event::FilePaused(file(1, 0)));
    world.run_for(3600);
    assert!(completed(&world).is_empty() && world.servers.fetches.len() < 10);
    assert!(world.engine.job(JobId(1)).is_some_and(|job| job.files()[0].is_paused()));
    world.happens(Event::FileResumed(file(1, 0)));
    world.run();
    assert_eq!((completed(&world), world.servers.fetches.len()), (vec![1], 10));
}

#[test]
fn a_file_dropped_at_any_moment_leaves_a_job_that_completes() {
    for steps in 0..40 {
        let mut world = troubled();
        world.add(job(1, &[7, 5]));
        world.run_steps(1 + steps);
        world.happens(Event::FileDropped(file(1, 0)));
        world.run();
        assert_eq!((completed(&world), world.host.failed.len()), (vec![1], 0), "after {steps}");
        assert_eq!(world.engine.reserved().0, 0, "after {steps}");
    }
}

#[test]
fn a_job_that_gets_more_files_while_it_runs_completes_with_all_of_them() {
    for steps in 0..12 {
        let mut world = world(1);
        world.add(job(1, &[5, 2]));
        world.run_steps(steps);
        let files = world.more(job(1, &[5, 2, 3, 1]), 2);
        let more = MoreFiles { files, paused: vec![3], order: vec![2], ..MoreFiles::default() };
        world.happens(Event::FilesAdded { job: JobId(1), more });
        world.run_for(3600);
        assert!(completed(&world).is_empty(), "one of them is paused, after {steps}");
        world.happens(Event::FileResumed(file(1, 3)));
        world.happens(Event::FilesOrdered { job: JobId(1), order: vec![3] });
        world.run();
        assert_eq!(
            (completed(&world), world.servers.fetches.len()),
            (vec![1], 11),
            "after {steps}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_had_may_be_dropped_to_save_its_job() {
    let mut world = world(1);
    world.rule(|ask| if ask.file == 0 { Reply::Missing } else { Reply::Good });
    world.add(job(1, &[2, 2]));
    world.happens(Event::FilePaused(file(1, 1)));
    world.run_for(10);
    world.happens(Event::FileDropped(file(1, 0)));
    world.happens(Event::FileResumed(file(1, 1)));
    world.run();
    assert_eq!((completed(&world), world.host.failed.len()), (vec![1], 0));
}

#[test]
fn a_job_all_of_whose_files_are_dropped_fails() {
    let mut world = world(1);
    world.add(job(1, &[20, 20]));
    world.run_steps(5);
    world.happens(Event::FileDropped(file(1, 0)));
    world.happens(Event::FileDropped(file(1, 1)));
    world.run();
    assert_eq!(world.host.failed, [(1, Failure::Incomplete)]);
}

#[test]
fn the_last_word_on_the_rate_counts() {
    let slow = Rule {
        days: Weekdays::DAILY,
        from: "00:00".parse().expect("a time"),
        to: "00:00".parse().expect("a time"),
        effect: Effect::Limit(ByteRate(500_000)),
    };
    for (rules, by_itself) in [(vec![], 900_000), (vec![slow], 500_000)] {
        let mut settings = Settings::default();
        settings.rates.rate = ByteRate(900_000);
        settings.timetable = Timetable::new(Default::default(), rules);
        let mut world = World::with_settings(vec![server(1)], settings);
        for (wish, rate) in [
            (None, Some(by_itself)),
            (Some(ByteRate(70_000)), Some(70_000)),
            (Some(ByteRate(0)), None),
            (None, Some(by_itself)),
        ] {
            world.happens(Event::RateChanged(wish));
            world.run_for(0);
            assert_eq!(world.engine.rate(), rate.map(ByteRate), "{wish:?}");
        }
    }
}
