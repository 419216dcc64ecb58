//! `config`, `loadconfig` and `saveconfig`: the settings under NZBGet's names.

use std::collections::BTreeMap;

use bergamot_api::request::Setting;
use bergamot_api::view::Facts;
use bergamot_api::{Control, Refusal};
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::json::Json;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::fields::Fields;
use crate::dialect::nzbget::job_fields::each;
use crate::dialect::nzbget::options::{self, Known};

struct NameAndValue<'a>(&'a Known);

impl Serialize for NameAndValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        fields.put("Name", &self.0.name).put("Value", &self.0.value);
        fields.end()
    }
}

pub(crate) async fn config<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    let facts = call.control.config().await?.facts;
    call.answer(&each(&options::known(&facts), NameAndValue))
}

/// All or nothing. Clients send back the whole list, so what is as it was is no change.
pub(crate) async fn save_config<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut given = Vec::new();
    read_options(std::mem::replace(&mut call.params, Json::Null), &mut given)?;
    let facts = call.control.config().await?.facts;
    let settings = settings_of(&facts, given)?;
    if !settings.is_empty() {
        call.control.save_config(settings).await?;
    }
    call.done()
}

/// At any depth of lists. Unlike other parameters they are not flattened: where a value is missing,
/// the name of the next option would be taken for it.
fn read_options(params: Json<'_>, given: &mut Vec<(String, String)>) -> Result<(), Fault> {
    let mut object = match params {
        Json::Null => return Ok(()),
        Json::List(list) => {
            return list.into_iter().try_for_each(|item| read_options(item, given));
        }
        object => object,
    };
    let value = match object.take("Value") {
        Some(Json::Text(text)) => Some(text.trim().to_owned()),
        Some(Json::Integer(number)) => Some(number.to_string()),
        _ => None,
    };
    let (Some(Json::Text(name)), Some(value)) = (object.take("Name"), value) else {
        return Err(Fault::parameter("each option is an object with Name and Value"));
    };
    if given.len() == MOST_OPTIONS {
        return Err(Fault::TooMany { count: given.len() + 1, limit: MOST_OPTIONS });
    }
    given.push((name.trim().to_owned(), value));
    Ok(())
}

fn settings_of(facts: &Facts, given: Vec<(String, String)>) -> Result<Vec<Setting>, Fault> {
    let known = options::known(facts);
    let mut by_name: BTreeMap<String, Option<&Known>> =
        known.iter().map(|known| (known.name.to_ascii_lowercase(), Some(known))).collect();
    let mut settings = Vec::new();
    for (name, value) in given {
        match by_name.get_mut(&name.to_ascii_lowercase()).map(Option::take) {
            Some(Some(known)) => settings.extend(known.setting(&value)?),
            Some(None) => return Err(Fault::parameter(format!("{name} is given twice"))),
            None => return Err(Refusal::NoSuchOption(shown(&name)).into()),
        }
    }
    Ok(settings)
}

fn shown(name: &str) -> String {
    bergamot_types::Shown(&name.chars().take(LONGEST_NAME).collect::<String>()).to_string()
}

/// As many as there can be: hundreds of servers, categories and feeds.
const MOST_OPTIONS: usize = 10_000;
/// The longest name of an unknown option in an error message.
const LONGEST_NAME: usize = 64;
