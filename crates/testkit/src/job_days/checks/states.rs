//! Checks that the machine, the engine and the driver agree on what every job is doing. Pure.

use bergamot_engine::Engine;
use bergamot_jobs::{JobList, Record, State};
use bergamot_queue::{FileState, Job, JobState};

use crate::job_days::site::Site;
use crate::violation::{Checked, violated};

/// After all actions of an event.
pub(crate) fn check(site: &Site, engine: &Engine) -> Checked {
    let list = site.jobs.list();
    list.check();
    for record in list.history().chain(list.queued()) {
        check_job(site, engine, record)?;
    }
    if let Some(job) = engine.jobs().find(|job| list.active(job.id()).is_none()) {
        return violated!("job {} is in the engine and not active", job.id());
    }
    if let Some(job) = site.open.keys().find(|job| list.active(**job).is_none()) {
        return violated!("job {job} is open and not active");
    }
    if let Some(job) = site.loaded.keys().next() {
        return violated!("what was loaded for job {job} is neither used nor dropped");
    }
    check_directories(list)
}

fn check_job(site: &Site, engine: &Engine, record: &Record) -> Checked {
    let (job, list) = (record.id, site.jobs.list());
    let (is_active, has_ended) = (list.active(job).is_some(), record.outcome.is_some());
    let known = engine.job(job);
    if is_active && !has_ended && known.is_none() {
        return violated!("job {job} is active and not in the engine");
    }
    if is_active != site.open.contains_key(&job) {
        return violated!("job {job}: active is {is_active}, open is not");
    }
    if has_ended != (record.life == JobState::Ended) {
        return violated!("job {job} is {:?} with the outcome {:?}", record.life, record.outcome);
    }
    let is_in_turn = matches!(record.life, JobState::Downloading | JobState::Post(_));
    if is_in_turn != (is_active && !has_ended) {
        return violated!("job {job} is {:?}, active is {is_active}", record.life);
    }
    if matches!(list.state(job), State::Loading(_)) && has_ended {
        return violated!("job {job} has ended and is being loaded");
    }
    // Of a job that is downloaded the engine waits only for its end.
    match known.filter(|_| record.life == JobState::Downloading) {
        Some(known) => check_engine_job(record, known),
        None => Ok(()),
    }
}

fn check_engine_job(record: &Record, known: &Job) -> Checked {
    let job = record.id;
    let (own, engines) = (record.paused, known.is_paused());
    if own != engines {
        return violated!("job {job} is paused: {own}; in the engine: {engines}");
    }
    if (record.priority, record.rank) != (known.priority(), known.rank()) {
        let engines = (known.priority(), known.rank());
        let own = (record.priority, record.rank);
        return violated!("job {job} has the place {own:?}; in the engine {engines:?}");
    }
    let choices = record.file_choices.as_deref();
    let left_out = choices.map(|choices| choices.left_out()).unwrap_or_default();
    for (index, file) in (0..).zip(known.files()) {
        let is_open = matches!(file.state(), FileState::Wanted | FileState::HeldBack);
        if is_open && left_out.contains(&index) {
            return violated!("file {index} of job {job} is left out, and wanted by the engine");
        }
        let is_paused = choices.is_some_and(|choices| choices.paused().contains(&index));
        if is_open && is_paused && !file.is_paused() {
            return violated!("file {index} of job {job} is paused, and not in the engine");
        }
    }
    Ok(())
}

/// No two jobs have one directory.
fn check_directories(list: &JobList) -> Checked {
    let mut names = std::collections::BTreeMap::new();
    for record in list.history().chain(list.queued()) {
        let Some(name) = record.directory.as_deref() else { continue };
        if let Some(other) = names.insert(name, record.id) {
            return violated!("jobs {other} and {} have the directory {name}", record.id);
        }
    }
    Ok(())
}
