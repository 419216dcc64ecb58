//! [`Results`]: the result of an edit for each of several jobs.

use bergamot_api::request::Edit;
use bergamot_api::{Control, Refusal};
use bergamot_types::JobId;
use serde::Serialize;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;

#[derive(Serialize)]
struct Results {
    results: Vec<JobResult>,
}

#[derive(Serialize)]
struct JobResult {
    job: u32,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Applies the edits to all jobs, one after the other; the first refusal of each job is reported.
pub(crate) async fn edit_all<C: Control>(
    call: Call<'_, C>,
    jobs: Vec<u32>,
    edits: Vec<Edit>,
) -> Result<Reply, Fault> {
    let jobs = checked(jobs)?;
    let mut outcomes: Vec<Result<(), Refusal>> = vec![Ok(()); jobs.len()];
    for edit in edits {
        let latest = call.control.edit(jobs.clone(), edit).await?;
        for (outcome, latest) in outcomes.iter_mut().zip(latest) {
            if outcome.is_ok() {
                *outcome = latest;
            }
        }
    }
    answer_all(&call, jobs, outcomes)
}

pub(crate) fn answer_all<C: Control>(
    call: &Call<'_, C>,
    jobs: Vec<JobId>,
    outcomes: Vec<Result<(), Refusal>>,
) -> Result<Reply, Fault> {
    let results =
        jobs.into_iter().zip(outcomes).map(|(job, outcome)| job_result(job, outcome)).collect();
    call.answer(&Results { results })
}

fn job_result(job: JobId, outcome: Result<(), Refusal>) -> JobResult {
    let fault = outcome.err().map(Fault::Refused);
    JobResult {
        job: job.0,
        ok: fault.is_none(),
        code: fault.as_ref().map(Fault::code),
        error: fault.as_ref().map(Fault::to_string),
    }
}

/// Each job once, in the order given.
pub(crate) fn checked(jobs: Vec<u32>) -> Result<Vec<JobId>, Fault> {
    if jobs.len() > MOST_JOBS {
        return Err(Fault::TooMany { count: jobs.len(), limit: MOST_JOBS });
    }
    let mut seen = std::collections::HashSet::new();
    Ok(jobs.into_iter().filter(|job| seen.insert(*job)).map(JobId).collect())
}

/// More than any client selects; the daemon's loop applies them in one step.
pub(crate) const MOST_JOBS: usize = 10_000;
