//! `wait` and `add --wait`: waits for jobs to end.

use std::collections::BTreeSet;

use bergamot_types::Shown;
use serde_json::{Value, json};

use crate::client::response::{Job, read};
use crate::client::session::{Form, Session};
use crate::commands::job::list::{name, state_words};
use crate::exit::Exit;
use crate::failure::Failure;

/// Returns when all have ended; the failure is that of the first that did not do well.
pub(crate) fn wait(session: &mut Session, jobs: &[u32]) -> Result<(), Failure> {
    // Subscribe before the first request, so that no event between the two is missed.
    let events = session.events()?;
    let mut waiting: BTreeSet<u32> = jobs.iter().copied().collect();
    let mut worst = Exit::Ok;
    look_at(session, &mut waiting, &mut worst, None)?;
    if !waiting.is_empty() {
        for event in events {
            let concerned = match concerned(&event?) {
                Concerned::Everybody => None,
                Concerned::Job(job) if waiting.contains(&job) => Some(job),
                Concerned::Job(_) | Concerned::Nobody => continue,
            };
            look_at(session, &mut waiting, &mut worst, concerned)?;
            if waiting.is_empty() {
                break;
            }
        }
    }
    match (waiting.is_empty(), worst) {
        (false, _) => Err(Failure::Gone),
        (true, Exit::Ok) => Ok(()),
        (true, exit) => Err(Failure::ImportOutput(exit)),
    }
}

#[derive(Debug, Eq, PartialEq)]
enum Concerned {
    Everybody,
    Job(u32),
    Nobody,
}

/// Progress events do not concern the end of a job.
fn concerned(delivery: &Value) -> Concerned {
    if delivery.get("gap").is_some() {
        return Concerned::Everybody;
    }
    let event = &delivery["event"];
    let job = event["job"].as_u64().and_then(|job| u32::try_from(job).ok());
    match (event["is"].as_str(), job) {
        (Some("job-state" | "job-removed"), Some(job)) => Concerned::Job(job),
        _ => Concerned::Nobody,
    }
}

/// Looks whether one of the jobs, or any, has ended.
fn look_at(
    session: &mut Session,
    waiting: &mut BTreeSet<u32>,
    worst: &mut Exit,
    only: Option<u32>,
) -> Result<(), Failure> {
    let looked: Vec<_> = only.map_or_else(|| waiting.iter().copied().collect(), |job| vec![job]);
    for id in looked {
        let exit = match session.ask("job.get", json!({ "job": id })) {
            Ok(answer) => told(session, &answer)?,
            Err(failure) if failure.exit() == Exit::NoSuchJob => {
                crate::print_error(&failure.message().unwrap_or_default());
                Some(Exit::NoSuchJob)
            }
            Err(failure) => return Err(failure),
        };
        let Some(exit) = exit else { continue };
        waiting.remove(&id);
        if *worst == Exit::Ok {
            *worst = exit;
        }
    }
    Ok(())
}

/// Prints how a job ended, if it has.
fn told(session: &mut Session, answer: &Value) -> Result<Option<Exit>, Failure> {
    let job: Job = read(answer)?;
    let Some(exit) = job.state.exit() else { return Ok(None) };
    match session.out.form {
        Form::Quiet => {}
        Form::Json => session.out.json(answer)?,
        Form::Page => {
            let style = session.out.style;
            let (tint, state) = state_words(&job.state, job.paused);
            let name = name(&job);
            let text = format!("{} {name}: {}{}\n", job.id, style.tint(tint, &state), detail(&job));
            session.out.text(&text)?;
        }
    }
    Ok(Some(exit))
}

/// Where its files are, or why there are none.
pub(crate) fn detail(job: &Job) -> String {
    let reason = job.ended.as_ref().and_then(|ended| ended.reason.as_deref());
    match (job.state.exit(), reason) {
        (Some(Exit::Ok), _) => format!(", in {}", Shown(&job.destination)),
        (_, Some(reason)) => format!(" ({})", Shown(reason)),
        (_, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ends_and_gaps_are_worth_a_look() {
        let event = |kind: &str| json!({ "sequence": 1, "event": { "is": kind, "job": 7 } });
        assert_eq!(concerned(&event("job-state")), Concerned::Job(7));
        assert_eq!(concerned(&event("job-removed")), Concerned::Job(7));
        assert_eq!(concerned(&event("job-progress")), Concerned::Nobody);
        assert_eq!(concerned(&json!({ "gap": { "first": 1, "last": 3 } })), Concerned::Everybody);
        assert_eq!(concerned(&json!(null)), Concerned::Nobody);
    }
}
