//! `pause`, `resume`, `mv`, `retry`, `rm`: edits of the queue.

use std::time::Duration;

use bergamot_types::Shown;
use serde_json::{Value, json};

use crate::arguments::MoveTarget;
use crate::client::response::{JobResult, Results, read};
use crate::client::session::Session;
use crate::commands::explain;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::format;

pub(crate) fn pause(
    session: &mut Session,
    jobs: &[u32],
    time: Option<Duration>,
) -> Result<(), Failure> {
    if !jobs.is_empty() {
        return edit(session, "job.pause", json!({ "jobs": jobs }), "paused");
    }
    let params = json!({ "seconds": time.map(|time| time.as_secs().max(1)) });
    let answer = session.ask("queue.pause", params)?;
    let until = match time {
        Some(time) => format!("for {}", format::span(time.as_secs().max(1))),
        None => "until `bergamot resume`".to_owned(),
    };
    session.out.answer(&answer, |_| Ok(format!("Downloads are paused {until}.\n")))
}

pub(crate) fn resume(session: &mut Session, jobs: &[u32]) -> Result<(), Failure> {
    if !jobs.is_empty() {
        return edit(session, "job.resume", json!({ "jobs": jobs }), "resumed");
    }
    let answer = session.ask("queue.resume", json!({}))?;
    let hindrance = explain::hindrance(session)?;
    session.out.answer(&answer, |_| {
        Ok(match hindrance {
            None => "Downloads are resumed.\n".to_owned(),
            Some(why) => format!("The pause of all downloads has ended. {why}\n"),
        })
    })
}

pub(crate) fn move_job(
    session: &mut Session,
    job: u32,
    place: MoveTarget,
    other: Option<u32>,
) -> Result<(), Failure> {
    let mut params = place_of(place, other)?;
    params["jobs"] = json!([job]);
    edit(session, "job.move", params, "moved")
}

fn place_of(place: MoveTarget, other: Option<u32>) -> Result<Value, Failure> {
    Ok(match (place, other) {
        (MoveTarget::Top, None) => json!({ "to": "top" }),
        (MoveTarget::Bottom, None) => json!({ "to": "bottom" }),
        (MoveTarget::Up, None) => json!({ "by": -1 }),
        (MoveTarget::Down, None) => json!({ "by": 1 }),
        (MoveTarget::Before, Some(other)) => json!({ "before": other }),
        (MoveTarget::After, Some(other)) => json!({ "after": other }),
        (MoveTarget::Before | MoveTarget::After, None) => {
            return Err(Failure::Usage("give the job before or after which to move it".to_owned()));
        }
        (_, Some(_)) => {
            return Err(Failure::Usage(
                "a second job is only used with before and after".to_owned(),
            ));
        }
    })
}

pub(crate) fn retry(session: &mut Session, jobs: &[u32], anew: bool) -> Result<(), Failure> {
    let method = if anew { "job.redownload" } else { "job.retry" };
    edit(session, method, json!({ "jobs": jobs }), "in the queue again")
}

pub(crate) fn remove(
    session: &mut Session,
    jobs: &[u32],
    keep_files: bool,
    forget: bool,
) -> Result<(), Failure> {
    let params = json!({ "jobs": jobs, "keep_files": keep_files, "without_trace": forget });
    let done = match (keep_files, forget) {
        (true, _) => "removed; its files are kept",
        (_, true) => "removed and forgotten",
        _ => "removed",
    };
    edit(session, "job.remove", params, done)
}

/// Edits all jobs and prints the result of each.
fn edit(session: &mut Session, method: &str, params: Value, done: &str) -> Result<(), Failure> {
    let answer = session.ask(method, params)?;
    let Results { results } = read(&answer)?;
    let refused: Vec<_> = results.iter().filter(|result| !result.ok).collect();
    session.out.answer(&answer, |_| Ok(successes(&results, done)))?;
    for result in &refused {
        crate::print_error(&Shown(&result.error).to_string());
    }
    match refused.first() {
        Some(result) => Err(Failure::ImportOutput(Exit::of_error(&result.code))),
        None => Ok(()),
    }
}

fn successes(results: &[JobResult], done: &str) -> String {
    let lines = results.iter().filter(|result| result.ok);
    lines.map(|result| format!("Job {} is {done}.\n", result.job)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_in_full() {
        assert_eq!(place_of(MoveTarget::Up, None).unwrap(), json!({ "by": -1 }));
        assert_eq!(place_of(MoveTarget::After, Some(7)).unwrap(), json!({ "after": 7 }));
        for (place, other) in [(MoveTarget::Before, None), (MoveTarget::Top, Some(7))] {
            assert_eq!(place_of(place, other).unwrap_err().exit(), Exit::Usage);
        }
    }
}
