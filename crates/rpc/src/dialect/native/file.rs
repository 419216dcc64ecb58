//! `file.*`: files of a queued job.

use bergamot_api::Control;
use bergamot_api::request::{Edit, FileEdit};
use serde::Deserialize;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::job::End;
use crate::dialect::native::results::{MOST_JOBS, edit_all};

/// Files, by their index in the NZB of a job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    job: u32,
    files: Vec<u32>,
}

pub(crate) async fn pause<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    edit(call, FileEdit::Pause).await
}

pub(crate) async fn resume<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    edit(call, FileEdit::Resume).await
}

pub(crate) async fn remove<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    edit(call, FileEdit::Delete).await
}

/// In the order given, before all others.
pub(crate) async fn order<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    edit(call, FileEdit::Reorder).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Move {
    job: u32,
    files: Vec<u32>,
    to: Option<End>,
    by: Option<i64>,
}

pub(crate) async fn move_to<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Move { job, files, to, by } = call.named()?;
    let what = match (to, by) {
        (Some(End::Top), None) => FileEdit::Top,
        (Some(End::Bottom), None) => FileEdit::Bottom,
        (None, Some(places)) => FileEdit::By(places),
        _ => return Err(Fault::parameter("give one of `to` and `by`")),
    };
    edit_some(call, job, files, what).await
}

async fn edit<C: Control>(mut call: Call<'_, C>, what: FileEdit) -> Result<Reply, Fault> {
    let Files { job, files } = call.named()?;
    edit_some(call, job, files, what).await
}

async fn edit_some<C: Control>(
    call: Call<'_, C>,
    job: u32,
    files: Vec<u32>,
    what: FileEdit,
) -> Result<Reply, Fault> {
    if files.len() > MOST_JOBS {
        return Err(Fault::TooMany { count: files.len(), limit: MOST_JOBS });
    }
    edit_all(call, vec![job], vec![Edit::Files { files, what }]).await
}
