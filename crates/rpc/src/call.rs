//! One call of one method, on its way to its handler.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::access::Caller;
use crate::arguments::Arguments;
use crate::control::Control;
use crate::fault::Fault;
use crate::json::Json;
use crate::long_list::{LongList, MoreJobs, NoMore};
use crate::reply::{Format, Reply};
use crate::view::{Job, Listing, Page};
use crate::wish::{Shelf, Which};

/// What a handler gets: whom to ask, who asks, and what for.
pub(crate) struct Call<'a, C> {
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
        shelf: Shelf,
        which: Which,
        wanted: fn(&Job) -> bool,
        write: impl Fn(Format, &mut Vec<u8>, &Job) + Send + 'static,
    ) -> Result<Reply, Fault> {
        let listing = self.control.list(shelf, which).await?;
        Ok(self.reply_of(shelf, listing, wanted, write))
    }

    pub(crate) async fn answer_jobs_page(
        &self,
        shelf: Shelf,
        which: Which,
    ) -> Result<Reply, Fault> {
        let listing = self.control.list(shelf, which).await?;
        let total = listing.total;
        let items = self.reply_of(shelf, listing, |_| true, Format::append);
        Ok(self.format.page(total, items))
    }

    fn reply_of(
        &self,
        shelf: Shelf,
        listing: Listing,
        wanted: fn(&Job) -> bool,
        write: impl Fn(Format, &mut Vec<u8>, &Job) + Send + 'static,
    ) -> Reply {
        let (first, more) = MoreJobs::of(self.shared.clone(), shelf, listing, wanted);
        LongList::reply(self.format, first, more, write)
    }
}

impl<'a, C> Call<'a, C> {
    /// The parameters of a native method.
    pub(crate) fn named<P: Deserialize<'a>>(&mut self) -> Result<P, Fault> {
        let params = match std::mem::replace(&mut self.params, Json::Null) {
            Json::Null => Json::Object(Vec::new()),
            // XML-RPC and GET have no other way to give names than a struct in the first place.
            Json::List(list) if list.len() <= 1 => {
                list.into_iter().next().unwrap_or(Json::Object(Vec::new()))
            }
            params => params,
        };
        if !matches!(params, Json::Object(_)) {
            return Err(Fault::parameter("this method takes an object of named parameters"));
        }
        P::deserialize(params).map_err(|error| Fault::parameter(error.to_string()))
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

    /// Most of NZBGet's methods have nothing else to say.
    pub(crate) fn done(&self) -> Result<Reply, Fault> {
        self.answer(&true)
    }
}
