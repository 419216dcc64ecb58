//! What can be seen of the feeds, and tried out.

use bergamot_api::Refusal;
use bergamot_api::feeds::{
    Feed, FeedChoice, FeedError, FeedItem, FeedItemState, FeedPreview, FeedRetry, FeedState,
    FeedVerdict,
};
use bergamot_feed::{
    CallId, Document, Fate, FeedId, FeedSettings, JobOptions, Judge, Judged, Outcome, PollError,
    Reply, Rules, State, Verdict,
};
use bergamot_jobs::Record;
use bergamot_jobs::edit::{Edit, HistoryEdit};
use bergamot_net::http::Reach;
use bergamot_queue::Ending;
use bergamot_types::Url;

use crate::clock;
use crate::control::call::Call;
use crate::control::call::Promise;
use crate::control::handle::{Handle, aside};
use crate::feeds::client;
use crate::feeds::poll::dupe_mode;
use crate::intake::url_client::Web;
use crate::intake::url_fetch::item_of;
use crate::periodic::Poll;
use crate::run::Daemon;

impl Daemon {
    pub(crate) fn feed_views(&self) -> Vec<Feed> {
        let ids: Vec<_> = self.feeds.machine.ids().collect();
        ids.into_iter().filter_map(|id| self.feed_view(id)).collect()
    }

    fn feed_view(&self, id: FeedId) -> Option<Feed> {
        let settings = self.feeds.machine.settings(id)?;
        let standing = self.feeds.machine.standing(clock::now().date, id)?;
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

    pub(crate) fn feed_error_views(&self) -> Vec<FeedError> {
        self.feeds.machine.errors().rev().map(error_view).collect()
    }

    /// Reads feeds now.
    pub(crate) fn fetch_feeds(&mut self, choice: Option<&FeedChoice>) -> Result<(), Refusal> {
        let ids = match choice {
            Some(choice) => vec![self.chosen(choice).and_then(|id| self.readable(id))?],
            None => self.feeds.machine.ids().collect(),
        };
        let now = clock::now().instant;
        for id in ids {
            self.feeds.machine.fetch_now(id);
            self.targets.due_now(now, Poll::Feed(id));
        }
        Ok(())
    }

    /// Tries again what was given up of a feed: items, and jobs whose NZB did not come.
    pub(crate) fn retry_feed(
        &mut self,
        choice: &FeedChoice,
    ) -> Result<(FeedRetry, Vec<Promise>), Refusal> {
        let (id, now) = (self.chosen(choice)?, clock::now());
        let Some(key) = self.feeds.machine.settings(id).map(FeedSettings::key) else {
            return Err(Refusal::Stopping);
        };
        let items = self.feeds.machine.retry(now.date, id);
        let mut promises: Vec<_> = self.promise_feeds().into_iter().collect();
        self.targets.due_now(now.instant, Poll::Feed(id));
        let is_of_feed = |record: &Record| item_of(record).is_some_and(|item| item.feed == key);
        let has_failed = |record: &Record| matches!(record.ending(), Some(Ending::Failed(_)));
        let given_up =
            self.jobs.list().history().filter(|record| record.lacks_nzb() && has_failed(record));
        let given_up = given_up.filter(|record| is_of_feed(record)).map(|record| record.id);
        let mut jobs = 0;
        for job in given_up.collect::<Vec<_>>() {
            let retry = Edit::History(HistoryEdit::Retry);
            for edited in self.edit(&[job], &retry, None) {
                promises.extend(edited?);
            }
            jobs += 1;
        }
        Ok((FeedRetry { items, jobs }, promises))
    }

    /// Whoever asks for one feed wants to know why nothing will come of it.
    fn readable(&self, id: FeedId) -> Result<FeedId, Refusal> {
        let Some(standing) = self.feeds.machine.standing(clock::now().date, id) else {
            return Ok(id);
        };
        let why = match standing.state {
            State::Disabled => "feed.disabled: its configuration says that it is not to be read",
            State::Held => "feed.held: its host wants to be left alone for a while",
            State::Stopped => "feed.stopped: its host has refused it",
            State::Failing | State::Running | State::Waiting => return Ok(id),
        };
        let said = standing.trouble.map_or(String::new(), |error| format!(" ({})", error.message));
        Err(Refusal::Impossible(format!("{why}{said}")))
    }

    fn chosen(&self, choice: &FeedChoice) -> Result<FeedId, Refusal> {
        let is_it = |id: &FeedId| match choice {
            FeedChoice::Id(number) => id.0 == *number,
            FeedChoice::Name(name) => self.feeds.machine.settings(*id).is_some_and(|settings| {
                settings.name.to_lowercase() == name.to_lowercase() || id.0.to_string() == *name
            }),
        };
        let shown = match choice {
            FeedChoice::Id(number) => number.to_string(),
            FeedChoice::Name(name) => bergamot_types::Shown(name).to_string(),
        };
        self.feeds.machine.ids().find(is_it).ok_or(Refusal::NoSuchFeed(shown))
    }

    pub(crate) fn chosen_settings(
        &self,
        choice: &FeedChoice,
    ) -> Result<(FeedId, FeedSettings), Refusal> {
        let id = self.chosen(choice)?;
        let settings = self.feeds.machine.settings(id).cloned().ok_or(Refusal::Stopping)?;
        Ok((id, settings))
    }

    pub(crate) fn begin_feed_preview(&mut self, url: &Url) -> Result<(CallId, Web), Refusal> {
        let call = self.feeds.machine.begin_look(clock::now().date, url);
        let call = call.map_err(|refusal| Refusal::Unavailable(refusal.to_string()))?;
        Ok((call, self.web.clone()))
    }

    pub(crate) fn end_feed_preview(&mut self, call: CallId, reply: Reply) -> Reply {
        self.feeds.machine.end_look(clock::now().date, call, &reply, &mut self.chance);
        self.tell_feeds();
        reply
    }
}

impl Handle {
    /// What a feed offers, with what would become of it.
    pub(crate) async fn look_at_feed(&self, choice: FeedChoice) -> Result<Vec<FeedItem>, Refusal> {
        let (id, settings) = self.ask(|reply| Call::ChosenFeed { choice, reply }).await??;
        let reach = if settings.allow_private { Reach::Anywhere } else { Reach::FirstAnywhere };
        let reply = self.look(settings.url, reach).await?;
        let document = document_of(reply)?;
        let judge = self.ask(|reply| Call::FeedJudge { feed: id, reply }).await?;
        let judge = judge.ok_or(Refusal::Stopping)?;
        aside(move || item_views(&judge, document)).await
    }

    pub(crate) async fn try_feed(&self, trial: FeedPreview) -> Result<Vec<FeedItem>, Refusal> {
        let settings = settings_of(trial)?;
        // Anybody may have named that address, as with those of NZBs.
        let reach = self.settings.get().reach(&settings.url);
        let reply = self.look(settings.url.clone(), reach).await?;
        let document = document_of(reply)?;
        aside(move || item_views(&Judge::new(&settings), document)).await
    }

    /// One call, within what its host allows.
    async fn look(&self, url: Url, reach: Reach) -> Result<Reply, Refusal> {
        let asked = url.clone();
        let (call, web) = self.ask(|reply| Call::BeginFeedPreview { url: asked, reply }).await??;
        // Even if whoever asked leaves meanwhile, the host has to be free again.
        let handle = self.clone();
        let looking = tokio::spawn(async move {
            let reply = client::look(web.client(), &url, reach).await;
            let answer = Box::new(reply);
            handle.ask(|reply| Call::EndFeedPreview { call, answer, reply }).await
        });
        looking.await.map_err(|_| Refusal::Stopping)?
    }
}

fn document_of(reply: Reply) -> Result<Document, Refusal> {
    match reply.outcome {
        Outcome::Document(document) => Ok(document),
        Outcome::Failed(failure) => {
            Err(Refusal::Unavailable(format!("{}: {}", failure.code, failure.message)))
        }
        Outcome::NotModified => Err(Refusal::Unavailable("feed.status: it sent nothing".into())),
    }
}

fn settings_of(trial: FeedPreview) -> Result<FeedSettings, Refusal> {
    let rules = Rules::parse(&trial.rules).map_err(|error| Refusal::Invalid(error.to_string()))?;
    Ok(FeedSettings {
        name: trial.name.into(),
        url: trial.url,
        enabled: true,
        rules,
        rules_text: trial.rules.into(),
        options: JobOptions {
            category: trial.category.map(Into::into),
            priority: trial.priority,
            paused: trial.paused.then_some(true),
            ..JobOptions::default()
        },
        backlog: trial.backlog,
        interval: trial.interval,
        pages: 1,
        allow_private: false,
    })
}

fn item_views(judge: &Judge, document: Document) -> Vec<FeedItem> {
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

fn error_view(error: &PollError) -> FeedError {
    FeedError {
        at: error.at,
        feed: error.feed.to_string(),
        code: error.code.to_string(),
        message: error.message.to_string(),
    }
}
