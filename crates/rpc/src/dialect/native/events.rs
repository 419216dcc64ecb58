//! `events.*` over protocols that cannot carry notifications.

use bergamot_api::Control;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;

/// The session of the line protocol takes these calls before they get here.
pub(crate) async fn only_by_line<C: Control>(_call: Call<'_, C>) -> Result<Reply, Fault> {
    Err(Fault::NotHere("a subscription"))
}
