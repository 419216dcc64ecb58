//! `queue.*`: the queue, and adding to it.

use std::borrow::Cow;
use std::time::Duration;

use bergamot_api::Control;
use bergamot_api::request::{Content, Edit, JobFilter, ListKind, NewJob, Part, Pause, SortKey};
use bergamot_api::view::{DupeMode, Parameter};
use bergamot_types::Secret;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::Nothing;
use crate::dialect::native::results::edit_all;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct List {
    offset: usize,
    limit: Option<usize>,
    category: Option<String>,
    search: Option<String>,
}

pub(crate) async fn list<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let List { offset, limit, category, search } = call.named()?;
    let which = JobFilter { offset, limit, category, search, hidden: false };
    call.answer_jobs_page(ListKind::Queue, which).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add<'a> {
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    nzb: Option<Cow<'a, str>>,
    url: Option<String>,
    category: Option<String>,
    priority: Option<i32>,
    #[serde(default)]
    at_top: bool,
    #[serde(default)]
    paused: bool,
    #[serde(default)]
    dupe_key: String,
    #[serde(default)]
    dupe_score: i32,
    #[serde(default)]
    dupe_mode: DupeMode,
    password: Option<String>,
    #[serde(default)]
    parameters: Vec<Parameter>,
    #[serde(default)]
    auto_category: bool,
}

#[derive(Serialize)]
struct Added {
    job: u32,
}

pub(crate) async fn add<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let new = new_job(call.named()?)?;
    let job = call.control.add(new).await?;
    call.answer(&Added { job: job.0 })
}

fn new_job(add: Add<'_>) -> Result<NewJob, Fault> {
    let content = match (add.nzb, add.url) {
        (Some(nzb), None) => Content::Nzb(bounds::base64(&nzb)?),
        (None, Some(url)) => Content::Url(bounds::url(&url)?),
        _ => return Err(Fault::parameter("give either `nzb` or `url`")),
    };
    let category = add.category.map(|category| bounds::category(&category)).transpose()?;
    Ok(NewJob {
        name: bounds::name(&add.name)?,
        content,
        category: category.flatten(),
        priority: add.priority.map(|priority| bounds::priority(priority.into())),
        at_top: add.at_top,
        paused: add.paused,
        dupe_key: bounds::dupe_key(&add.dupe_key)?,
        dupe_score: add.dupe_score,
        dupe_mode: add.dupe_mode,
        password: add.password.map(Secret::new),
        parameters: bounds::parameters(add.parameters)?,
        auto_category: add.auto_category,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PauseParts {
    parts: Option<Vec<Part>>,
    seconds: Option<u64>,
}

pub(crate) async fn pause<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let PauseParts { parts, seconds } = call.named()?;
    let pause = Pause {
        parts: parts.unwrap_or_else(|| vec![Part::Download]),
        lasting: seconds.map(Duration::from_secs),
        author: call.caller.name.clone(),
    };
    call.control.pause(pause).await?;
    call.answer(&())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResumeParts {
    parts: Option<Vec<Part>>,
}

pub(crate) async fn resume<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let ResumeParts { parts } = call.named()?;
    let parts = parts.unwrap_or_else(|| vec![Part::Download, Part::Post, Part::Scan]);
    call.control.resume(parts).await?;
    call.answer(&())
}

pub(crate) async fn explain<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.explain(None).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sort {
    by: SortKey,
    #[serde(default)]
    descending: bool,
    #[serde(default)]
    jobs: Vec<u32>,
}

pub(crate) async fn sort<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Sort { by, descending, jobs } = call.named()?;
    edit_all(call, jobs, vec![Edit::Sort { by, descending }]).await
}
