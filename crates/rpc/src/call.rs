//! One call of one method, on its way to its handler.

use serde::{Deserialize, Serialize};

use crate::access::Caller;
use crate::arguments::Arguments;
use crate::fault::Fault;
use crate::json::Json;
use crate::reply::{Format, Reply};
use crate::view::Page;

/// What a handler gets: whom to ask, who asks, and what for.
pub(crate) struct Call<'a, C> {
    pub(crate) control: &'a C,
    pub(crate) caller: &'a Caller,
    pub(crate) format: Format,
    pub(crate) params: Json<'a>,
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
    pub(crate) async fn answer_list<T>(
        &self,
        items: Vec<T>,
        write: impl Fn(Format, &mut Vec<u8>, &T),
    ) -> Result<Reply, Fault> {
        Ok(self.format.write_list(items, write).await)
    }

    pub(crate) async fn answer_page<T: Serialize>(&self, page: Page<T>) -> Result<Reply, Fault> {
        let items = self.format.write_list(page.items, Format::append).await;
        Ok(self.format.page(page.total, items))
    }

    /// Most of NZBGet's methods have nothing else to say.
    pub(crate) fn done(&self) -> Result<Reply, Fault> {
        self.answer(&true)
    }
}
