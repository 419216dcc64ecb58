//! `viewfeed`, `previewfeed` and `fetchfeed`: items of feeds.

use std::time::Duration;

use bergamot_api::Control;
use bergamot_api::feeds::{FeedChoice, FeedItem, FeedItemState, FeedPreview, FeedVerdict};
use bergamot_api::view::DupeMode;
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::fields::{Fields, narrow, seconds, size};
use crate::dialect::nzbget::job_fields::each;

struct Item<'a>(&'a FeedItem);

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(item) = self;
        let mut fields = Fields::of(to);
        fields
            .put("Title", &item.title)
            .put("Filename", format_args!("{}.nzb", item.title))
            .put("URL", item.url.as_deref().unwrap_or_default())
            .put_size(size!("Size"), item.size.unwrap_or(0))
            .put("Category", item.categories.first().map_or("", String::as_str))
            .put("AddCategory", item.category.as_deref().unwrap_or_default())
            .put("PauseNzb", item.paused)
            .put("Priority", item.priority.unwrap_or(0))
            .put("Time", seconds(item.published))
            .put("Match", verdict(item.verdict))
            .put("Rule", narrow(item.rule.unwrap_or(0)))
            .put("DupeKey", &item.dupe_key)
            .put("DupeScore", item.dupe_score)
            .put("DupeMode", dupe_mode(item.dupe_mode))
            .put("Status", status(item.fate));
        fields.end()
    }
}

fn verdict(verdict: FeedVerdict) -> &'static str {
    match verdict {
        FeedVerdict::Accepted => "ACCEPTED",
        FeedVerdict::Rejected => "REJECTED",
        FeedVerdict::Unmatched => "IGNORED",
    }
}

fn status(fate: FeedItemState) -> &'static str {
    match fate {
        FeedItemState::Backlog => "BACKLOG",
        FeedItemState::Taken | FeedItemState::Wanted => "FETCHED",
        FeedItemState::New => "NEW",
        FeedItemState::Failed
        | FeedItemState::Ignored
        | FeedItemState::Repeated
        | FeedItemState::WithoutNzb => "UNKNOWN",
    }
}

fn dupe_mode(mode: DupeMode) -> &'static str {
    match mode {
        DupeMode::All => "ALL",
        DupeMode::Force => "FORCE",
        DupeMode::Score => "SCORE",
    }
}

pub(crate) async fn view_feed<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let feed = feed_of(arguments.integer("ID")?)?;
    let all = arguments.bool_or("IncludeNonMatching", false)?;
    let items = call.control.feed_items(feed).await?;
    call.answer(&each(&shown(items, all), Item))
}

pub(crate) async fn preview_feed<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let id = arguments.integer("ID")?;
    let name = bounds::name(&arguments.text("Name")?)?;
    let url = arguments.text("URL")?;
    let filter = arguments.text("Filter")?;
    let backlog = arguments.bool("Backlog")?;
    let paused = arguments.bool("PauseNzb")?;
    let category = bounds::category(&arguments.text("Category")?)?;
    let priority = Some(bounds::priority(arguments.integer("Priority")?));
    let minutes = u64::try_from(arguments.integer("Interval")?).ok().filter(|it| *it > 0);
    arguments.text("FeedFilter")?; // scripts, which there are not
    let all = arguments.bool_or("IncludeNonMatching", false)?;
    let trial = FeedPreview {
        name,
        url: match url.as_ref() {
            // A client that edits a configured feed was shown its URL without the key.
            url if url.contains("***") => return Err(known_only(id)),
            url => bounds::url(url)?,
        },
        rules: filter.replace('%', "\n"), // which stands for a new line there
        category,
        priority,
        paused,
        backlog,
        interval: minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
    };
    let items = call.control.preview_feed(trial).await?;
    call.answer(&each(&shown(items, all), Item))
}

pub(crate) async fn fetch_feed<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let feed = match arguments.integer_or("ID", 0)? {
        0 => None,
        id => Some(feed_of(id)?),
    };
    call.control.fetch_feeds(feed).await?;
    call.done()
}

fn shown(mut items: Vec<FeedItem>, all: bool) -> Vec<FeedItem> {
    items.retain(|item| all || item.verdict == FeedVerdict::Accepted);
    items
}

fn feed_of(id: i64) -> Result<FeedChoice, Fault> {
    let id = u16::try_from(id).map_err(|_| Fault::parameter("ID is not the id of a feed"))?;
    Ok(FeedChoice::Id(id))
}

fn known_only(id: i64) -> Fault {
    Fault::parameter(format!("URL hides its key; view feed {id} instead"))
}
