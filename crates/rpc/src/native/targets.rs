//! `targets.*`

use bergamot_api::Control;

use crate::call::Call;
use crate::fault::Fault;
use crate::native::Nothing;
use crate::reply::Reply;

pub(crate) async fn list<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.targets().await?)
}
