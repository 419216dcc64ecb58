//! `system.*` and `watch.*`: the daemon as a whole.

use bergamot_api::Control;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::call::registry::METHODS;
use crate::codec::reply::Reply;
use crate::dialect::native::{Nothing, VERSION};

pub(crate) async fn status<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.status().await?)
}

pub(crate) async fn version<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&VERSION)
}

pub(crate) async fn shutdown<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.control.shut_down().await?;
    call.answer(&())
}

pub(crate) async fn scan<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.control.scan().await?;
    call.answer(&())
}

pub(crate) async fn list_methods<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    let names: Vec<_> = METHODS.iter().map(|entry| entry.name).collect();
    call.answer(&names)
}

/// The reader of XML-RPC takes these calls apart before they get here.
pub(crate) async fn only_by_xml<C: Control>(_call: Call<'_, C>) -> Result<Reply, Fault> {
    Err(Fault::NotHere("system.multicall"))
}
