//! `log.*`: lines of the log.

use bergamot_api::Control;
use bergamot_api::request::{Lines, LogQuery};
use bergamot_api::view::LogKind;
use bergamot_types::JobId;
use serde::Deserialize;

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::Nothing;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    job: Option<u32>,
    from: Option<u64>,
    limit: Option<usize>,
}

pub(crate) async fn list<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let List { job, from, limit } = call.named()?;
    let most = limit.unwrap_or(USUAL_LINES);
    let lines = match from {
        Some(id) => Lines::From { id, most },
        None => Lines::Last(most),
    };
    call.answer(&call.control.log(LogQuery { job: job.map(JobId), lines }).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    kind: LogKind,
    text: String,
}

pub(crate) async fn write<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Write { kind, text } = call.named()?;
    call.control.write_log(kind, bounds::log_text(&text)).await?;
    call.answer(&())
}

pub(crate) async fn clear<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.control.clear_log().await?;
    call.answer(&())
}

/// A few screens.
const USUAL_LINES: usize = 100;
