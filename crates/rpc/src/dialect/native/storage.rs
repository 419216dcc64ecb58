//! `storage.*`: the directories that jobs are written to.

use bergamot_api::Control;
use serde::Deserialize;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::Nothing;

pub(crate) async fn list<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.disks().await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accept {
    path: Option<String>,
}

pub(crate) async fn accept<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Accept { path } = call.named()?;
    call.control.accept_disks(path).await?;
    call.answer(&())
}
