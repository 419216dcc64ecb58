//! `get_config`: the settings under SABnzbd's names.

use bergamot_api::Control;
use bergamot_api::view::{CategoryFacts, Facts, ServerFacts};
use serde_json::{Map, Value, json};

use crate::call::fault::Fault;
use crate::dialect::sabnzbd::add::DEFAULT;
use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::mode::{Answer, Call, answer};

pub(super) async fn config<C: Control>(call: Call<'_, C>) -> Answer {
    let facts = call.control.config().await?.facts;
    let whole = json!({
        "misc": misc(&facts),
        "categories": category_list(&facts),
        "servers": facts.servers.iter().map(server).collect::<Vec<_>>(),
        "sorters": [],
        "rss": {},
    });
    let section = call.params.text("section");
    let config = match (whole.get(section), call.params.text("keyword")) {
        (None, _) if section.is_empty() => whole,
        (None, _) => return Err(SabError::NoSuchItem),
        (Some(values), "") => json!({ section: values }),
        (Some(values), keyword) => json!({ section: one_of(values, keyword)? }),
    };
    answer(&json!({ "config": config }))
}

/// A value of a section, or the item of that name where it is a list.
fn one_of(values: &Value, keyword: &str) -> Result<Value, SabError> {
    let found = match values {
        Value::Array(items) => {
            let item = items.iter().find(|item| item["name"] == keyword);
            item.map(|item| json!([item]))
        }
        values => values.get(keyword).map(|value| json!({ keyword: value })),
    };
    found.ok_or(SabError::NoSuchItem)
}

/// Sonarr takes flags for numbers as well as for words, and lists only for lists.
fn misc(facts: &Facts) -> Map<String, Value> {
    let values = json!({
        "complete_dir": facts.destination,
        "download_dir": facts.incomplete,
        "dirscan_dir": facts.watch,
        "dirscan_speed": facts.watch_interval,
        "script_dir": "",
        "host": facts.control_address,
        "port": facts.control_port.to_string(),
        "api_key": HIDDEN,
        "nzb_key": HIDDEN,
        "username": HIDDEN,
        "password": HIDDEN,
        "bandwidth_max": if facts.rate_limit == 0 { String::new() } else { facts.rate_limit.to_string() },
        "bandwidth_perc": 100,
        "quota_size": if facts.monthly_quota == 0 { String::new() } else { facts.monthly_quota.to_string() },
        "quota_day": facts.quota_start_day.to_string(),
        "quota_period": "m",
        "pre_check": 0,
        "no_dupes": i32::from(facts.duplicates_refused),
        "enable_tv_sorting": 0,
        "enable_movie_sorting": 0,
        "enable_date_sorting": 0,
        "tv_categories": [],
        "movie_categories": [],
        "date_categories": [],
        "history_retention": format!("{}d", facts.keep_history_days),
        "history_retention_option": "days-delete",
        "history_retention_number": facts.keep_history_days,
        "flat_unpack": 0,
        "replace_spaces": 0,
        "replace_dots": 0,
    });
    match values {
        Value::Object(values) => values,
        _ => Map::new(),
    }
}

/// The first is that of jobs without one.
fn category_list(facts: &Facts) -> Vec<Value> {
    let none = CategoryFacts {
        name: "*".to_owned(),
        destination: String::new(),
        aliases: Vec::new(),
        priority: 0,
    };
    let all = std::iter::once(&none).chain(&facts.categories);
    all.enumerate().map(|(order, category)| category_of(order, category)).collect()
}

/// A category without a directory has one of its own name below the common one.
fn category_of(order: usize, category: &CategoryFacts) -> Value {
    let is_default = order == 0;
    let own = if is_default { "" } else { category.name.as_str() };
    let directory = if category.destination.is_empty() { own } else { &category.destination };
    json!({
        "name": category.name,
        "order": order,
        "pp": if is_default { "0" } else { "" },
        "script": if is_default { "None" } else { "Default" },
        "dir": directory,
        "newzbin": category.aliases.join(","),
        "priority": if is_default { 0 } else { DEFAULT },
    })
}

fn server(server: &ServerFacts) -> Value {
    let login = if server.has_username { HIDDEN } else { "" };
    json!({
        "name": server.name,
        "displayname": server.name,
        "host": server.host,
        "port": server.port,
        "timeout": 60,
        "username": login,
        "password": login,
        "connections": server.connections,
        "ssl": i32::from(server.tls),
        "ssl_verify": 3,
        "ssl_ciphers": "",
        "enable": i32::from(server.active),
        "required": 0,
        "optional": i32::from(server.optional),
        "retention": server.retention,
        "expire_date": "",
        "quota": "",
        "usage_at_start": 0,
        "priority": server.level,
        "notes": "",
    })
}

pub(super) async fn categories<C: Control>(call: Call<'_, C>) -> Answer {
    let facts = call.control.config().await?.facts;
    let names = facts.categories.iter().map(|category| category.name.as_str());
    answer(&json!({ "categories": std::iter::once("*").chain(names).collect::<Vec<_>>() }))
}

pub(super) async fn scripts<C: Control>(_: Call<'_, C>) -> Answer {
    answer(&json!({ "scripts": ["None"] }))
}

pub(super) async fn not_settable<C: Control>(_: Call<'_, C>) -> Answer {
    Err(SabError::Fault(Fault::NotSettable))
}

pub(super) async fn not_implemented<C: Control>(_: Call<'_, C>) -> Answer {
    Err(SabError::NotImplemented)
}

const HIDDEN: &str = "***";
