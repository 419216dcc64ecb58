//! What all ways in lead to.

use std::sync::Arc;

use crate::access::Caller;
use crate::call::Call;
use crate::control::Control;
use crate::counts::Counts;
use crate::fault::Fault;
use crate::hub::Hub;
use crate::json::Json;
use crate::registry::{self, Effect};
use crate::reply::{Format, Reply};

pub(crate) struct Service<C> {
    pub(crate) control: Arc<C>,
    pub(crate) hub: Hub,
    pub(crate) counts: Counts,
}

/// A call as its way in understood it.
pub(crate) struct Asked<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) format: Format,
    /// In bytes, of all that was sent.
    pub(crate) size: usize,
    /// By a link, a script or a picture on some page; such calls must not change anything.
    pub(crate) by_get: bool,
}

impl<C: Control> Service<C> {
    pub(crate) async fn call(
        &self,
        asked: &Asked<'_>,
        method: &str,
        params: Json<'_>,
    ) -> Result<Reply, Fault> {
        let entry = registry::find(method)?;
        if asked.by_get && entry.effect == Effect::Changes {
            return Err(Fault::Unsafe(entry.name));
        }
        if asked.size > LARGEST_USUAL && !entry.may_be_large() {
            return Err(Fault::TooLarge { limit: LARGEST_USUAL });
        }
        let control = self.control.as_ref();
        let Asked { caller, format, .. } = *asked;
        let outcome = registry::dispatch(
            entry,
            Call { control, shared: &self.control, caller, format, params },
        )
        .await;
        self.counts.method(entry, outcome.is_ok());
        outcome
    }
}

/// Of requests that bring no NZB.
pub(crate) const LARGEST_USUAL: usize = 32 << 20;
/// Of those that do: an NZB of 128 MiB in base64, and some room.
pub(crate) const LARGEST: usize = 192 << 20;
