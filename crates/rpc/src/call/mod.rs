//! [`Call`]: one call of one method, as its handler receives it; owned by the task of the connection.

pub(crate) mod bounds;
pub(crate) mod counts;
pub(crate) mod fault;
pub(crate) mod registry;
pub(crate) mod service;

use std::borrow::Cow;
use std::sync::Arc;

use bergamot_api::Control;
use bergamot_api::request::{JobFilter, ListKind};
use bergamot_api::view::{Job, Listing, Page};
use bergamot_types::Shown;
use serde::{Deserialize, Serialize};

use crate::access::Caller;
use crate::call::fault::Fault;
use crate::call::registry::Entry;
use crate::codec::json::Json;
use crate::codec::long_list::{LongList, MoreJobs, NoMore};
use crate::codec::reply::{Format, Reply};
use crate::dialect::nzbget::arguments::Arguments;

/// Control, caller and parameters.
pub(crate) struct Call<'a, C> {
    pub(crate) entry: &'static Entry,
    pub(crate) control: &'a C,
    /// The same, for what is written after the call.
    pub(crate) shared: &'a Arc<C>,
    pub(crate) caller: &'a Caller,
    pub(crate) format: Format,
    pub(crate) params: Json<'a>,
}

impl<C: Control> Call<'_, C> {
    /// Jobs of the queue or the history, as many as there are of those wanted.
    pub(crate) async fn answer_jobs(
        &self,
        list: ListKind,
        which: JobFilter,
        wanted: fn(&Job) -> bool,
        write: impl Fn(Format, &mut Vec<u8>, &Job) + Send + 'static,
    ) -> Result<Reply, Fault> {
        let listing = self.control.list(list, which).await?;
        Ok(self.reply_of(list, listing, wanted, write))
    }

    pub(crate) async fn answer_jobs_page(
        &self,
        list: ListKind,
        which: JobFilter,
    ) -> Result<Reply, Fault> {
        let listing = self.control.list(list, which).await?;
        let total = listing.total;
        let items = self.reply_of(list, listing, |_| true, Format::append);
        Ok(self.format.page(total, items))
    }

    fn reply_of(
        &self,
        list: ListKind,
        listing: Listing,
        wanted: fn(&Job) -> bool,
        write: impl Fn(Format, &mut Vec<u8>, &Job) + Send + 'static,
    ) -> Reply {
        let (first, more) = MoreJobs::of(self.shared.clone(), list, listing, wanted);
        LongList::reply(self.format, first, more, write)
    }
}

impl<'a, C> Call<'a, C> {
    /// The parameters of a native method.
    pub(crate) fn named<P: Deserialize<'a>>(&mut self) -> Result<P, Fault> {
        let params = match std::mem::replace(&mut self.params, Json::Null) {
            Json::Null => Json::Object(Vec::new()),
            // XML-RPC and GET pass named parameters as a struct in the first position.
            Json::List(list) if list.len() <= 1 => {
                list.into_iter().next().unwrap_or(Json::Object(Vec::new()))
            }
            params => params,
        };
        let Json::Object(fields) = &params else {
            return Err(Fault::parameter("this method takes an object of named parameters"));
        };
        let wrong = wrong_parameter(self.entry, fields);
        P::deserialize(params).map_err(|error| {
            wrong.unwrap_or_else(|| Fault::parameter(Shown(&error.to_string()).to_string()))
        })
    }

    /// The parameters of a method of NZBGet.
    pub(crate) fn arguments(&mut self) -> Result<Arguments<'a>, Fault> {
        Arguments::flattened(std::mem::replace(&mut self.params, Json::Null))
    }

    pub(crate) fn answer(&self, value: &impl Serialize) -> Result<Reply, Fault> {
        Ok(self.format.write(value))
    }

    /// A list that may be long, each item as `write` has it.
    pub(crate) fn answer_list<T: Send + 'static>(
        &self,
        items: Vec<T>,
        write: impl Fn(Format, &mut Vec<u8>, &T) + Send + 'static,
    ) -> Result<Reply, Fault> {
        Ok(LongList::reply(self.format, items, NoMore, write))
    }

    pub(crate) fn answer_page<T>(&self, page: Page<T>) -> Result<Reply, Fault>
    where
        T: Send + Serialize + 'static,
    {
        let items = self.answer_list(page.items, Format::append)?;
        Ok(self.format.page(page.total, items))
    }

    /// `true`, the result of most of NZBGet's methods.
    pub(crate) fn done(&self) -> Result<Reply, Fault> {
        self.answer(&true)
    }
}

/// The first parameter that is missing or has not the type of the table. Some methods accept more than
/// the table lists, so this only explains an error.
fn wrong_parameter(entry: &Entry, fields: &[(Cow<'_, str>, Json<'_>)]) -> Option<Fault> {
    let is_known = |name: &str| entry.params.iter().any(|param| param.name == name);
    if fields.iter().any(|(name, _)| !is_known(name)) {
        return None; // the method itself names those it takes
    }
    entry.params.iter().find_map(|param| {
        let (name, expected) = (param.name.to_owned(), param.kind);
        match fields.iter().find(|(name, _)| name == param.name) {
            None if param.required => Some(Fault::MissingParameter { name, expected }),
            Some((_, Json::Null)) if !param.required => None,
            Some((_, value)) if !expected.admits(value) => {
                Some(Fault::WrongType { name, expected, given: value.kind() })
            }
            _ => None,
        }
    })
}
