//! The native dialect: named parameters in, views out.

pub(crate) mod config;
pub(crate) mod events;
pub(crate) mod feeds;
pub(crate) mod file;
pub(crate) mod groups;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod queue;
mod results;
pub(crate) mod servers;
pub(crate) mod storage;
pub(crate) mod system;
pub(crate) mod targets;

use bergamot_api::Control;
use serde::Deserialize;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::call::registry;
use crate::codec::reply::Reply;

/// Of methods that take nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub(crate) async fn discover<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&registry::open_rpc(VERSION))
}

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
