//! Methods of NZBGet that bergamot does not support.

use bergamot_api::{Control, Refusal};

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;

/// A list of things there are none of.
pub(crate) async fn nothing<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.answer(&[(); 0])
}

pub(crate) async fn check_updates<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.answer(&"")
}

/// In NZBGet it writes the state of its threads into the log.
pub(crate) async fn dump<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.done()
}

pub(crate) async fn no_extensions<C: Control>(_call: Call<'_, C>) -> Result<Reply, Fault> {
    absent("an extension")
}

pub(crate) async fn no_read_url<C: Control>(_call: Call<'_, C>) -> Result<Reply, Fault> {
    absent("a way to read URLs")
}

pub(crate) async fn no_speed_test<C: Control>(_call: Call<'_, C>) -> Result<Reply, Fault> {
    absent("a test of speed")
}

pub(crate) async fn no_update<C: Control>(_call: Call<'_, C>) -> Result<Reply, Fault> {
    absent("an update")
}

fn absent(what: &'static str) -> Result<Reply, Fault> {
    Err(Refusal::Unsupported(what).into())
}
