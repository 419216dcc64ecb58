//! `limits.*` and `quota.*`: the rate limit and quotas.

use bergamot_api::Control;
use bergamot_types::ByteRate;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::Nothing;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    rate: Option<u64>,
}

pub(crate) async fn get<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    let status = call.control.status().await?;
    call.answer(&Limits { rate: status.limit })
}

pub(crate) async fn set<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let limits: Limits = call.named()?;
    if limits.rate == Some(0) {
        return Err(Fault::parameter("a rate of 0 would be a pause; use `queue.pause`, or null"));
    }
    call.control.limit(limits.rate.map(ByteRate)).await?;
    call.answer(&limits)
}

pub(crate) async fn quotas<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.quotas().await?)
}
