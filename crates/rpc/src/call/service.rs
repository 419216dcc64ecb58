//! [`Service`]: dispatches calls of all protocols; one instance, shared by the tasks of all connections.

use std::sync::Arc;

use bergamot_api::Control;

use crate::access::Caller;
use crate::call::Call;
use crate::call::counts::Counts;
use crate::call::fault::Fault;
use crate::call::registry::{self, Effect, Entry};
use crate::codec::json::{Json, Source};
use crate::codec::reply::{Format, Reply};
use crate::event_hub::Hub;

pub(crate) struct Service<C> {
    pub(crate) control: Arc<C>,
    pub(crate) hub: Hub,
    pub(crate) counts: Counts,
}

/// What the protocol knows of a call besides method and parameters.
pub(crate) struct CallContext<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) format: Format,
    /// By a link, a script or a picture on some page; such calls must not change anything.
    pub(crate) by_get: bool,
}

/// Parameters of a call. Those that came as text are parsed only when the caller may call the method.
pub(crate) enum Params<'a> {
    Parsed(Json<'a>),
    Text(Source<'a>),
}

impl<'a> Params<'a> {
    pub(crate) fn parse(self) -> Result<Json<'a>, Fault> {
        match self {
            Self::Parsed(params) => Ok(params),
            Self::Text(source) => Ok(source.parse()?),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Parsed(_) => 0,
            Self::Text(source) => source.len(),
        }
    }
}

impl CallContext<'_> {
    /// Whether the method may be called by this caller, in this way, with parameters of that size.
    pub(crate) fn permit(&self, entry: &Entry, size: usize) -> Result<(), Fault> {
        entry.permit(self.caller)?;
        if self.by_get && entry.effect == Effect::Changes {
            return Err(Fault::Unsafe(entry.name));
        }
        let limit = entry.largest_parameters();
        if size > limit { Err(Fault::TooLarge { limit }) } else { Ok(()) }
    }
}

impl<C: Control> Service<C> {
    pub(crate) async fn call(
        &self,
        asked: &CallContext<'_>,
        method: &str,
        params: Params<'_>,
    ) -> Result<Reply, Fault> {
        let entry = registry::find(method)?;
        let outcome = self.call_entry(asked, entry, params).await;
        self.counts.method(entry, outcome.is_ok());
        outcome
    }

    async fn call_entry(
        &self,
        asked: &CallContext<'_>,
        entry: &'static Entry,
        params: Params<'_>,
    ) -> Result<Reply, Fault> {
        asked.permit(entry, params.size())?;
        let params = params.parse()?;
        let control = self.control.as_ref();
        let CallContext { caller, format, .. } = *asked;
        let call = Call { entry, control, shared: &self.control, caller, format, params };
        registry::dispatch(entry, call).await
    }
}

/// Of requests that name no method that takes an NZB, and of several calls in one request.
pub(crate) const LARGEST_USUAL: usize = 32 << 20;
/// Of the parameters of one call without an NZB: they may be copied. The largest call in use has a tenth.
pub(crate) const LARGEST_PARAMETERS: usize = 4 << 20;
/// Of requests that bring an NZB: one of 128 MiB in base64, and some room.
pub(crate) const LARGEST: usize = 192 << 20;
