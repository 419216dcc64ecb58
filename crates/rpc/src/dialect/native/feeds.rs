//! `feeds.*`: feeds and their items.

use bergamot_api::Control;
use bergamot_api::feeds::{FeedChoice, FeedPreview};
use serde::Deserialize;

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::Nothing;

pub(crate) async fn list<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.feeds().await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobFilter {
    feed: FeedChoice,
}

pub(crate) async fn items<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let JobFilter { feed } = call.named()?;
    call.answer(&call.control.feed_items(feed).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Preview {
    url: String,
    #[serde(default)]
    rules: String,
    category: Option<String>,
    priority: Option<i64>,
    #[serde(default)]
    paused: bool,
}

pub(crate) async fn preview<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Preview { url, rules, category, priority, paused } = call.named()?;
    let trial = FeedPreview {
        name: "preview".to_owned(),
        url: bounds::url(&url)?,
        rules,
        category: bounds::category(&category.unwrap_or_default())?,
        priority: priority.map(bounds::priority),
        paused,
        backlog: true,
        interval: None,
    };
    call.answer(&call.control.preview_feed(trial).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    feed: Option<FeedChoice>,
}

pub(crate) async fn fetch<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Wanted { feed } = call.named()?;
    call.control.fetch_feeds(feed).await?;
    call.answer(&())
}

pub(crate) async fn retry<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let JobFilter { feed } = call.named()?;
    call.answer(&call.control.retry_feed(feed).await?)
}

pub(crate) async fn errors<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.feed_errors().await?)
}
