//! `job.*`: one or several jobs.

use bergamot_api::Control;
use bergamot_api::request::{Delete, Edit, HistoryEdit, Place};
use bergamot_api::view::{DupeMode, Mark, Parameter};
use bergamot_types::JobId;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::{Format, Reply};
use crate::dialect::file_order::sort_files;
use crate::dialect::native::results::{MOST_JOBS, answer_all, checked, edit_all};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Jobs {
    pub(crate) jobs: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    job: u32,
}

pub(crate) async fn get<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let One { job } = call.named()?;
    call.answer(&call.control.job(JobId(job)).await?)
}

pub(crate) async fn files<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let One { job } = call.named()?;
    let files = call.control.files(Some(JobId(job))).await?;
    call.answer_list(files, Format::append)
}

pub(crate) async fn explain<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let One { job } = call.named()?;
    call.answer(&call.control.explain(Some(JobId(job))).await?)
}

pub(crate) async fn pause<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    edit(call, Edit::Pause).await
}

pub(crate) async fn resume<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    edit(call, Edit::Resume).await
}

pub(crate) async fn retry<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    edit(call, Edit::History(HistoryEdit::Retry)).await
}

pub(crate) async fn redownload<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    edit(call, Edit::History(HistoryEdit::Redownload)).await
}

async fn edit<C: Control>(mut call: Call<'_, C>, edit: Edit) -> Result<Reply, Fault> {
    let Jobs { jobs } = call.named()?;
    edit_all(call, jobs, vec![edit]).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkAs {
    jobs: Vec<u32>,
    mark: Mark,
}

pub(crate) async fn mark<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let MarkAs { jobs, mark } = call.named()?;
    edit_all(call, jobs, vec![Edit::History(HistoryEdit::Mark(mark.into()))]).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Move {
    jobs: Vec<u32>,
    to: Option<End>,
    before: Option<u32>,
    after: Option<u32>,
    by: Option<i64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum End {
    Top,
    Bottom,
}

pub(crate) async fn move_to<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Move { jobs, to, before, after, by } = call.named()?;
    let place = match (to, before, after, by) {
        (Some(End::Top), None, None, None) => Place::Top,
        (Some(End::Bottom), None, None, None) => Place::Bottom,
        (None, Some(job), None, None) => Place::Before(JobId(job)),
        (None, None, Some(job), None) => Place::After(JobId(job)),
        (None, None, None, Some(places)) => Place::By(places),
        _ => return Err(Fault::parameter("give one of `to`, `before`, `after` and `by`")),
    };
    edit_all(call, jobs, vec![Edit::Move(place)]).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Split {
    job: u32,
    files: Vec<u32>,
    name: String,
}

#[derive(Serialize)]
struct New {
    job: u32,
}

pub(crate) async fn split<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Split { job, files, name } = call.named()?;
    if files.len() > MOST_JOBS {
        return Err(Fault::TooMany { count: files.len(), limit: MOST_JOBS });
    }
    let new = call.control.split(JobId(job), files, bounds::name(&name)?).await?;
    call.answer(&New { job: new.0 })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Merge {
    job: u32,
    jobs: Vec<u32>,
}

pub(crate) async fn merge<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Merge { job, jobs } = call.named()?;
    let all = checked(std::iter::once(job).chain(jobs).collect())?;
    call.control.merge(all).await?;
    call.answer(&())
}

pub(crate) async fn sort_all_files<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Jobs { jobs } = call.named()?;
    let jobs = checked(jobs)?;
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in &jobs {
        outcomes.push(sort_files(call.control, *job).await?);
    }
    answer_all(&call, jobs, outcomes)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Remove {
    jobs: Vec<u32>,
    #[serde(default)]
    keep_files: bool,
    #[serde(default)]
    without_trace: bool,
}

pub(crate) async fn remove<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Remove { jobs, keep_files, without_trace } = call.named()?;
    let delete = match (keep_files, without_trace) {
        (false, false) => Delete::ToHistory,
        (true, false) => Delete::Park,
        (false, true) => Delete::Finally,
        (true, true) => {
            return Err(Fault::parameter("`keep_files` cannot be combined with `without_trace`"));
        }
    };
    edit_all(call, jobs, vec![Edit::Delete(delete)]).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    jobs: Vec<u32>,
    name: Option<String>,
    category: Option<String>,
    priority: Option<i32>,
    #[serde(default)]
    parameters: Vec<Parameter>,
    dupe_key: Option<String>,
    dupe_score: Option<i32>,
    dupe_mode: Option<DupeMode>,
}

pub(crate) async fn set<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Set { jobs, name, category, priority, parameters, dupe_key, dupe_score, dupe_mode } =
        call.named()?;
    let name = name.map(|name| bounds::name(&name)).transpose()?;
    let category = category.map(|category| bounds::category(&category)).transpose()?;
    let dupe_key = dupe_key.map(|key| bounds::dupe_key(&key)).transpose()?;
    let parameters = bounds::parameters(parameters)?;
    let edits = [
        name.map(Edit::SetName),
        category.map(Edit::SetCategory),
        priority.map(|priority| Edit::SetPriority(bounds::priority(priority.into()))),
        dupe_key.map(Edit::SetDupeKey),
        dupe_score.map(Edit::SetDupeScore),
        dupe_mode.map(Edit::SetDupeMode),
    ];
    let edits = edits.into_iter().flatten().chain(parameters.into_iter().map(Edit::from));
    edit_all(call, jobs, edits.collect()).await
}
