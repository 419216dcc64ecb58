//! [`Call`]: the closed list of requests of control interfaces to the main loop, each with the channel of its
//! reply. Made in the task of a request, answered in the main loop.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bergamot_api::Refusal;
use bergamot_api::feeds::{Feed, FeedChoice, FeedError, FeedRetry};
use bergamot_api::metrics::Measured;
use bergamot_api::newsgroup::{Group, GroupQuery};
use bergamot_api::request::{Edit, JobFilter, ListKind};
use bergamot_api::targets::Target;
use bergamot_api::view::{
    Config as ConfigView, Explanation, File, Job, Listing, Page, Quota, Reload, Server, Status,
    Volume,
};
use bergamot_config::{Config, Listed};
use bergamot_feed::{CallId, FeedId, FeedSettings, Judge, Reply as FeedReply};
use bergamot_jobs::machine::{Event as JobEvent, StoreFailure};
use bergamot_jobs::{Part, Pause, Record};
use bergamot_newsgroups::{Extent, Failure, Headers, Need};
use bergamot_types::{ByteRate, GroupName, JobId, ServerId, Url};
use bergamot_writer::Root;
use tokio::sync::oneshot;

use crate::control::requests::Edited;
use crate::event::{Event, EventSender};
use crate::intake::url_client::Web;
use crate::jobs::merge_split::Joining;
use crate::run::Daemon;
use crate::views::files::Files;
use crate::views::servers::quota_views;

/// Comes true when what was changed is on disk.
pub(crate) type Promise = oneshot::Receiver<Result<(), StoreFailure>>;
pub(crate) type Waiter = oneshot::Sender<Result<(), StoreFailure>>;

/// Where an answer goes. The caller may have gone away meanwhile.
#[derive(Debug)]
pub(crate) struct Reply<T>(oneshot::Sender<T>);

/// A row is a call: its parameters, the type of its answer, and how the main loop finds that.
macro_rules! calls {
    ($($name:ident { $($parameter:ident: $type:ty),* } -> $answer:ty = |$daemon:pat_param| $body:expr;)*) => {
        #[derive(Debug)]
        pub(crate) enum Call {
            $($name { $($parameter: $type,)* reply: Reply<$answer> },)*
        }

        impl Call {
            pub(crate) fn answer(self, daemon: &mut Daemon) {
                match self {
                    $(Self::$name { $($parameter,)* reply } => {
                        let $daemon = daemon;
                        let answer: $answer = $body;
                        let _ = reply.0.send(answer);
                    })*
                }
            }
        }
    };
}

calls! {
    // The queue and the history
    Status {} -> Status = |daemon| daemon.view().status();
    Page { shelf: ListKind, which: JobFilter } -> Page<Job> = |daemon| daemon.view().page(shelf, &which);
    Listing { shelf: ListKind, which: JobFilter } -> Listing = |daemon| daemon.view().listing(shelf, &which);
    Listed { shelf: ListKind, jobs: Vec<JobId> } -> Vec<Job> = |daemon| daemon.view().listed(shelf, &jobs);
    Job { job: JobId } -> Result<Job, Refusal> = |daemon| daemon.view().one_job(job);
    AllFiles {} -> Vec<File> = |daemon| daemon.files().all();
    Files { job: JobId } -> Result<Files, Refusal> = |daemon| daemon.files().of_job(job);
    JobsOfFiles { files: Vec<u64> } -> Vec<JobId> = |daemon| daemon.files().jobs_of_files(&files);
    Explain { job: Option<JobId> } -> Result<Explanation, Refusal> = |daemon| match job {
        None => Ok(daemon.view().explain_queue()),
        Some(job) => daemon.view().explain_job(job),
    };
    Accept { record: Box<Record>, at_top: bool } -> Vec<Promise> =
        |daemon| daemon.add_job(*record, at_top);
    Edit { jobs: Vec<JobId>, edit: Edit, root: Option<Arc<Root>> } -> Vec<Edited> =
        |daemon| daemon.edit(&jobs, &edit, root.as_ref());
    Split { job: JobId, files: Vec<u32>, name: String } -> Result<Joining, Refusal> =
        |daemon| daemon.split(job, files, &name);
    Merge { jobs: Vec<JobId> } -> Result<Joining, Refusal> = |daemon| daemon.merge(jobs);
    // Pauses, rates, scans
    Pause { pause: Pause } -> Promise = |daemon| daemon.pause(&pause);
    Resume { parts: Vec<Part> } -> Promise = |daemon| daemon.resume(&parts);
    ResumeIn { after: Duration } -> Promise = |daemon| daemon.resume_in(after);
    SetRate { rate: Option<ByteRate> } -> Promise = |daemon| daemon.set_rate(rate);
    Scan {} -> Promise = |daemon| daemon.watch_folder.scan_now();
    Survey {} -> () = |daemon| daemon.tell_jobs(JobEvent::SurveyWanted);
    // Servers and what came from them
    Servers {} -> Vec<Server> = |daemon| daemon.view().server_views();
    SwitchServers { switches: Vec<(ServerId, bool)> } -> Result<Promise, Refusal> =
        |daemon| daemon.switch_servers(&switches);
    ForgetSwitches { places: Vec<usize> } -> Promise = |daemon| daemon.forget_switches(&places);
    ConfiguredServer { place: ServerId } -> Result<Arc<bergamot_net::Server>, Refusal> =
        |daemon| {
            let server = daemon.network.configured(place).cloned();
            server.ok_or(Refusal::NoSuchServer(place.0))
        };
    Volumes {} -> Vec<Volume> = |daemon| daemon.observers.traffic_mut().views(daemon.network.servers());
    ResetVolumes { server: Option<ServerId>, only_custom: bool } -> Result<(), Refusal> =
        |daemon| daemon.reset_traffic(server, only_custom);
    Quotas {} -> Vec<Quota> = |daemon| quota_views(&mut daemon.engine, &daemon.network);
    // The configuration
    Config {} -> ConfigView = |daemon| daemon.settings.view();
    ListedConfig {} -> Vec<Listed> = |daemon| daemon.settings.config().listed.clone();
    Apply { config: Box<Config> } -> Result<Reload, Refusal> = |daemon| daemon.apply(*config);
    Readiness {} -> (PathBuf, bool) = |daemon| {
        let config = daemon.settings.config();
        (config.directories.state.clone(), !config.servers.is_empty())
    };
    Measure {} -> Measured = |daemon| daemon.measure();
    Targets {} -> Vec<Target> = |daemon| daemon.target_views().all();
    // Feeds
    Feeds {} -> Vec<Feed> = |daemon| daemon.feeds.views();
    FeedErrors {} -> Vec<FeedError> = |daemon| daemon.feeds.error_views();
    FetchFeeds { feed: Option<FeedChoice> } -> Result<(), Refusal> =
        |daemon| daemon.feeds.fetch_now(&mut daemon.targets, feed.as_ref());
    RetryFeed { feed: FeedChoice } -> Result<(FeedRetry, Vec<Promise>), Refusal> =
        |daemon| daemon.retry_feed(&feed);
    Rss {} -> String = |daemon| daemon.rss();
    ChosenFeed { choice: FeedChoice } -> Result<(FeedId, FeedSettings), Refusal> =
        |daemon| daemon.feeds.chosen_settings(&choice);
    FeedJudge { feed: FeedId } -> Option<Judge> = |daemon| daemon.feeds.judge(feed);
    BeginFeedPreview { url: Url } -> Result<(CallId, Web), Refusal> =
        |daemon| daemon.feeds.begin_preview(&url);
    EndFeedPreview { call: CallId, answer: Box<FeedReply> } -> FeedReply =
        |daemon| {
            let (feeds, mut with, _) = daemon.feeds();
            feeds.end_preview(&mut with, call, *answer)
        };
    // Newsgroups
    ListGroups { query: GroupQuery } -> oneshot::Receiver<Result<Page<Group>, Failure>> =
        |daemon| daemon.list_groups(query);
    AskForGroup { group: GroupName, need: Need } -> oneshot::Receiver<Result<(), Failure>> =
        |daemon| daemon.request_group(&group, need);
    KnownHeaders { group: GroupName } -> Option<(Arc<Headers>, Extent, String)> =
        |daemon| daemon.newsgroups.known_headers(&daemon.network, &group);
}

/// Sends a call to the main loop and waits for its answer.
pub(crate) async fn ask<T>(
    events: &EventSender,
    call: impl FnOnce(Reply<T>) -> Call,
) -> Result<T, Refusal> {
    let (sender, answer) = oneshot::channel();
    events.send(Event::Called(call(Reply(sender))));
    answer.await.map_err(|_| Refusal::Stopping)
}

pub(crate) async fn kept(promise: Promise) -> Result<(), Refusal> {
    match promise.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(Refusal::Unavailable(why.to_string())),
        Err(_) => Err(Refusal::Stopping),
    }
}
