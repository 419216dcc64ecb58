//! The views of feeds, their items and their errors. Pure but for the clock.

use bergamot_api::feeds::{Feed, FeedError, FeedItem, FeedItemState, FeedState, FeedVerdict};
use bergamot_feed::{Document, Fate, FeedId, Feeds, Judge, Judged, PollError, State, Verdict};

use crate::clock;
use crate::feeds::poll::dupe_mode;

pub(crate) fn feed_view(feeds: &Feeds, id: FeedId) -> Option<Feed> {
    let settings = feeds.settings(id)?;
    let standing = feeds.standing(clock::now().date, id)?;
    Some(Feed {
        id: id.0,
        name: settings.name.to_string(),
        title: standing.title.to_string(),
        url: settings.url.to_string(),
        active: settings.enabled,
        state: state(standing.state),
        trouble: standing.trouble.as_ref().map(error_view),
        interval: standing.interval.as_secs(),
        last_fetched: standing.last_fetched,
        next_due: standing.next_due,
        failures: standing.failures,
        seen: standing.seen,
        wanted: standing.wanted,
        given_up: standing.given_up,
    })
}

pub(crate) fn item_views(judge: &Judge, document: Document) -> Vec<FeedItem> {
    judge.dry_run(clock::now().date, document).into_iter().map(item_view).collect()
}

fn item_view(judged: Judged) -> FeedItem {
    let Judged { item, judgement, fate } = judged;
    let options = judgement.options;
    FeedItem {
        title: item.title.into(),
        url: item.url.map(|url| url.to_string()),
        size: item.size.map(|size| size.0),
        categories: item.categories.into_iter().map(String::from).collect(),
        published: item.published,
        season: item.season,
        episode: item.episode,
        verdict: match judgement.verdict {
            Verdict::Accepted => FeedVerdict::Accepted,
            Verdict::Rejected => FeedVerdict::Rejected,
            Verdict::Unmatched => FeedVerdict::Unmatched,
        },
        rule: judgement.rule,
        fate: fate.map_or(FeedItemState::New, fate_view),
        category: options.category.map(String::from),
        priority: options.priority,
        paused: options.paused.unwrap_or(false),
        dupe_key: options.dupe_key.map(String::from).unwrap_or_default(),
        dupe_score: options.dupe_score.unwrap_or(0),
        dupe_mode: dupe_mode(options.dupe_mode),
    }
}

fn fate_view(fate: Fate) -> FeedItemState {
    match fate {
        Fate::Backlog => FeedItemState::Backlog,
        Fate::Failed => FeedItemState::Failed,
        Fate::Ignored => FeedItemState::Ignored,
        Fate::Repeated => FeedItemState::Repeated,
        Fate::Taken => FeedItemState::Taken,
        Fate::Wanted => FeedItemState::Wanted,
        Fate::WithoutNzb => FeedItemState::WithoutNzb,
    }
}

fn state(state: State) -> FeedState {
    match state {
        State::Disabled => FeedState::Disabled,
        State::Failing => FeedState::Failing,
        State::Held => FeedState::Held,
        State::Running => FeedState::Running,
        State::Stopped => FeedState::Stopped,
        State::Waiting => FeedState::Waiting,
    }
}

pub(crate) fn error_view(error: &PollError) -> FeedError {
    FeedError {
        at: error.at,
        feed: error.feed.to_string(),
        code: error.code.to_string(),
        message: error.message.to_string(),
    }
}
