//! `history.*`: jobs that ended.

use bergamot_api::Control;
use bergamot_api::request::{Edit, HistoryEdit, JobFilter, ListKind};
use serde::Deserialize;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::job::Jobs;
use crate::dialect::native::results::edit_all;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct List {
    offset: usize,
    limit: Option<usize>,
    category: Option<String>,
    search: Option<String>,
    hidden: bool,
}

pub(crate) async fn list<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let List { offset, limit, category, search, hidden } = call.named()?;
    let which = JobFilter { offset, limit, category, search, hidden };
    call.answer_jobs_page(ListKind::History, which).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    jobs: Vec<u32>,
    backup: bool,
}

pub(crate) async fn backup<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Backup { jobs, backup } = call.named()?;
    edit_all(call, jobs, vec![Edit::History(HistoryEdit::Backup(backup))]).await
}

pub(crate) async fn remove<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Jobs { jobs } = call.named()?;
    edit_all(call, jobs, vec![Edit::History(HistoryEdit::Delete)]).await
}

pub(crate) async fn hide<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Jobs { jobs } = call.named()?;
    edit_all(call, jobs, vec![Edit::History(HistoryEdit::Hide)]).await
}
