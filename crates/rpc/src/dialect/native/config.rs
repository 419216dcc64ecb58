//! `config.*`: the configuration in force.

use bergamot_api::Control;

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::Nothing;

pub(crate) async fn get<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    let mut config = call.control.config().await?;
    // The daemon leaves them out already; a second hand over them costs nothing.
    for value in config.values.iter_mut().filter(|value| value.secret) {
        value.value = "***".to_owned();
    }
    call.answer(&config)
}

pub(crate) async fn reload<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.reload().await?)
}
