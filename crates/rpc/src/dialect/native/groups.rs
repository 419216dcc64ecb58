//! `groups.*`: newsgroups, their headers and posts.

use bergamot_api::Control;
use bergamot_api::newsgroup::{GroupQuery, HeaderQuery, PostJob, PostQuery};
use bergamot_types::GroupName;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct List {
    pattern: String,
    after: Option<String>,
    limit: Option<usize>,
}

pub(crate) async fn list<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let List { pattern, after, limit } = call.named()?;
    let pattern = bounds::search(&pattern)?;
    let query = GroupQuery { pattern, after, limit: page_length(limit) };
    let page = call.control.groups(query).await?;
    call.answer_page(page)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Headers {
    group: String,
    below: Option<u64>,
    limit: Option<usize>,
    #[serde(default)]
    latest: bool,
}

pub(crate) async fn headers<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Headers { group, below, limit, latest } = call.named()?;
    let (group, limit) = (group_name(&group)?, page_length(limit));
    let query = HeaderQuery { group, search: None, below, limit, latest };
    call.answer(&call.control.headers(query).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    group: String,
    search: String,
    below: Option<u64>,
    limit: Option<usize>,
}

pub(crate) async fn search<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Search { group, search, below, limit } = call.named()?;
    let (group, limit) = (group_name(&group)?, page_length(limit));
    let search = Some(bounds::search(&search)?);
    let query = HeaderQuery { group, search, below, limit, latest: false };
    call.answer(&call.control.headers(query).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posts {
    group: String,
    post: Option<String>,
    search: Option<String>,
    #[serde(default)]
    complete: bool,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
    #[serde(default)]
    latest: bool,
}

pub(crate) async fn posts<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Posts { group, post, search, complete, offset, limit, latest } = call.named()?;
    let search = search.map(|text| bounds::search(&text)).transpose()?;
    let (group, limit) = (group_name(&group)?, page_length(limit));
    let query = PostQuery { group, post, search, complete, offset, limit, latest };
    let page = call.control.posts(query).await?;
    call.answer_page(page)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Queue {
    group: String,
    post: String,
    name: Option<String>,
    category: Option<String>,
    priority: Option<i32>,
    #[serde(default)]
    at_top: bool,
    #[serde(default)]
    paused: bool,
}

#[derive(Serialize)]
struct Queued {
    job: u32,
}

pub(crate) async fn queue<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Queue { group, post, name, category, priority, at_top, paused } = call.named()?;
    let category = category.map(|category| bounds::category(&category)).transpose()?.flatten();
    let name = name.map(|name| bounds::name(&name)).transpose()?;
    let priority = priority.map(|priority| bounds::priority(priority.into()));
    let group = group_name(&group)?;
    let job = PostJob { group, post, name, category, priority, at_top, paused };
    let job = call.control.queue_post(job).await?;
    call.answer(&Queued { job: job.0 })
}

fn group_name(text: &str) -> Result<GroupName, Fault> {
    GroupName::parse(text).map_err(|error| Fault::parameter(format!("group: {error}")))
}

fn page_length(limit: Option<usize>) -> usize {
    limit.unwrap_or(USUAL_PAGE).min(LONGEST_PAGE)
}

const USUAL_PAGE: usize = 100;
/// A header is some hundred bytes of text: this is an answer of less than a megabyte.
const LONGEST_PAGE: usize = 1000;
