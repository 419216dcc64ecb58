//! `history.*`

use serde::Deserialize;

use crate::call::Call;
use crate::control::Control;
use crate::fault::Fault;
use crate::native::job::Jobs;
use crate::native::results::edit_all;
use crate::reply::Reply;
use crate::wish::{Edit, HistoryEdit, Which};

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
    let which = Which { offset, limit, category, search, hidden };
    let page = call.control.history(which).await?;
    call.answer_page(page).await
}

pub(crate) async fn remove<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Jobs { jobs } = call.named()?;
    edit_all(call, jobs, vec![Edit::History(HistoryEdit::Delete)]).await
}

pub(crate) async fn hide<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Jobs { jobs } = call.named()?;
    edit_all(call, jobs, vec![Edit::History(HistoryEdit::Hide)]).await
}
