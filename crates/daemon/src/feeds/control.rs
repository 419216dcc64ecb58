//! The feed requests of control interfaces: methods of [`FeedDriver`], in the main loop, and of [`Handle`], in the
//! task of a request.

use bergamot_api::Refusal;
use bergamot_api::feeds::{Feed, FeedChoice, FeedError, FeedItem, FeedPreview};
use bergamot_feed::{
    CallId, Document, FeedId, FeedSettings, JobOptions, Judge, Outcome, Reply, Rules, State,
};
use bergamot_jobs::Record;
use bergamot_net::http::Reach;
use bergamot_queue::Ending;
use bergamot_types::{JobId, Url};

use crate::clock;
use crate::control::call::Call;
use crate::control::handle::{Handle, aside};
use crate::feeds::client;
use crate::feeds::poll::{FeedContext, FeedDriver};
use crate::intake::url_client::Web;
use crate::intake::url_fetch::item_of;
use crate::periodic::{Poll, Targets};
use crate::views::feeds::{error_view, feed_view, item_views};

impl FeedDriver {
    pub(crate) fn views(&self) -> Vec<Feed> {
        let ids: Vec<_> = self.machine.ids().collect();
        ids.into_iter().filter_map(|id| feed_view(&self.machine, id)).collect()
    }

    pub(crate) fn error_views(&self) -> Vec<FeedError> {
        self.machine.errors().rev().map(error_view).collect()
    }

    /// Reads feeds now.
    pub(crate) fn fetch_now(
        &mut self,
        targets: &mut Targets,
        choice: Option<&FeedChoice>,
    ) -> Result<(), Refusal> {
        let ids = match choice {
            Some(choice) => vec![self.chosen(choice).and_then(|id| self.readable(id))?],
            None => self.machine.ids().collect(),
        };
        let now = clock::now().instant;
        for id in ids {
            self.machine.fetch_now(id);
            targets.due_now(now, Poll::Feed(id));
        }
        Ok(())
    }

    /// Tries again what was given up of a feed: returns how many items that are, and the jobs whose NZB did not
    /// come, which are to be tried again as well.
    pub(crate) fn retry(
        &mut self,
        with: &mut FeedContext<'_>,
        choice: &FeedChoice,
    ) -> Result<(usize, Vec<JobId>), Refusal> {
        let (id, now) = (self.chosen(choice)?, clock::now());
        let Some(key) = self.machine.settings(id).map(FeedSettings::key) else {
            return Err(Refusal::Stopping);
        };
        let items = self.machine.retry(now.date, id);
        with.targets.due_now(now.instant, Poll::Feed(id));
        let is_of_feed = |record: &Record| item_of(record).is_some_and(|item| item.feed == key);
        let has_failed = |record: &Record| matches!(record.ending(), Some(Ending::Failed(_)));
        let given_up =
            with.jobs.history().filter(|record| record.lacks_nzb() && has_failed(record));
        let given_up = given_up.filter(|record| is_of_feed(record)).map(|record| record.id);
        Ok((items, given_up.collect()))
    }

    /// A request for one feed is refused with the reason if that feed cannot be polled.
    fn readable(&self, id: FeedId) -> Result<FeedId, Refusal> {
        let Some(standing) = self.machine.standing(clock::now().date, id) else {
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
            FeedChoice::Name(name) => self.machine.settings(*id).is_some_and(|settings| {
                settings.name.to_lowercase() == name.to_lowercase() || id.0.to_string() == *name
            }),
        };
        let shown = match choice {
            FeedChoice::Id(number) => number.to_string(),
            FeedChoice::Name(name) => bergamot_types::Shown(name).to_string(),
        };
        self.machine.ids().find(is_it).ok_or(Refusal::NoSuchFeed(shown))
    }

    pub(crate) fn chosen_settings(
        &self,
        choice: &FeedChoice,
    ) -> Result<(FeedId, FeedSettings), Refusal> {
        let id = self.chosen(choice)?;
        let settings = self.machine.settings(id).cloned().ok_or(Refusal::Stopping)?;
        Ok((id, settings))
    }

    pub(crate) fn begin_preview(&mut self, url: &Url) -> Result<(CallId, Web), Refusal> {
        let call = self.machine.begin_look(clock::now().date, url);
        let call = call.map_err(|refusal| Refusal::Unavailable(refusal.to_string()))?;
        Ok((call, self.web()))
    }

    pub(crate) fn end_preview(
        &mut self,
        with: &mut FeedContext<'_>,
        call: CallId,
        reply: Reply,
    ) -> Reply {
        self.machine.end_look(clock::now().date, call, &reply, with.chance);
        self.handle_events(with);
        reply
    }

    pub(crate) fn judge(&self, feed: FeedId) -> Option<Judge> {
        self.machine.judge(feed)
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
        // The URL comes from a client, so it is restricted as the URLs of NZBs are.
        let reach = self.settings.get().reach(&settings.url);
        let reply = self.look(settings.url.clone(), reach).await?;
        let document = document_of(reply)?;
        aside(move || item_views(&Judge::new(&settings), document)).await
    }

    /// One call, within what its host allows.
    async fn look(&self, url: Url, reach: Reach) -> Result<Reply, Refusal> {
        let asked = url.clone();
        let (call, web) = self.ask(|reply| Call::BeginFeedPreview { url: asked, reply }).await??;
        // In a task of its own: the host has to be released even if the client disconnects.
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
