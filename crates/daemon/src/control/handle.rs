//! [`Handle`]: implements `Control` for the control interfaces; cloned into the task of each request.
//!
//! Requests are answered in the main loop, on a consistent state. What blocks on a disk is done here, in the task
//! of the request.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bergamot_api::feeds::{Feed, FeedChoice, FeedError, FeedItem, FeedPreview, FeedRetry};
use bergamot_api::metrics::Measured;
use bergamot_api::newsgroup::{
    Group, GroupQuery, HeaderPage, HeaderQuery, PostJob, PostPage, PostQuery,
};
use bergamot_api::request::{
    Certificates, Content, DiskTest, Edit, JobFilter, ListKind, LogQuery, NewJob, NewServer, Part,
    Pause, ServerProbe, Setting,
};
use bergamot_api::targets::Target;
use bergamot_api::view::{
    Config, Disk, DiskSpeed, Explanation, File, Job, Listing, LogKind, LogLine, Page, Quota,
    Readiness, Reload, Status, Volume,
};
use bergamot_api::{Control, Refusal, view};
use bergamot_engine::Trouble;
use bergamot_net::{
    BufferPool, ConnectLimits, Connection, Credit, Encryption, Ended, IpVersion, Report, Server,
    ServerSettings, TlsSettings,
};
use bergamot_store::StoreError;
use bergamot_types::{ByteRate, JobId, MessageId, ServerId};
use bergamot_writer::Root;
use tokio::sync::{Mutex, Semaphore, mpsc};
use tracing::warn;

use crate::control::call::{Call, Reply, ask, kept};
use crate::control::requests::Edited;
use crate::disk::directories::Directories;
use crate::disk::disk_info::DiskInfo;
use crate::disk::mount_guard::MountGuard;
use crate::disk::speed_test;
use crate::download::error_class;
use crate::event::{Event, EventSender};
use crate::intake::local_file;
use crate::intake::new_job::{NewJobs, Wishes, explained_unread};
use crate::jobs::merge_split::Joining;
use crate::logging::recent::LogBook;
use crate::settings::JobSettings;
use crate::shared::Current;
use crate::views::counters;
use crate::views::files::{Files, listed_files};
use bergamot_config as config;
use bergamot_config::{EditError, Environment};

/// May be held by as many as want to talk to the daemon.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) events: EventSender,
    pub(crate) new_jobs: NewJobs,
    pub(crate) settings: Current<JobSettings>,
    pub(crate) log: LogBook,
    /// The configuration file, to be read again.
    pub(crate) config: PathBuf,
    pub(crate) config_turn: Arc<Mutex<()>>, // held during a change
    pub(crate) readers: Arc<Semaphore>,     // of NZBs at the same time
    pub(crate) mounts: MountGuard,
    pub(crate) disk_info: DiskInfo,
    pub(crate) directories: Directories,
}

impl Handle {
    pub(crate) async fn ask<T>(&self, call: impl FnOnce(Reply<T>) -> Call) -> Result<T, Refusal> {
        ask(&self.events, call).await
    }

    /// Reads the configuration again in a task of its own.
    pub(crate) fn begin_reload(&self) {
        let handle = self.clone();
        tokio::spawn(async move {
            if let Err(refusal) = handle.reload().await {
                warn!("the configuration stays as it was: {refusal}");
            }
        });
    }

    /// Changes the configuration file and takes up what it says then.
    async fn edit_config(
        &self,
        edit: impl FnOnce(&Path, &Environment) -> Result<config::Config, EditError> + Send + 'static,
    ) -> Result<(), Refusal> {
        let _turn = self.config_turn.lock().await;
        let path = self.config.clone();
        let edited = aside(move || edit(&path, &Environment::of_process())).await?;
        let config = edited.map_err(refusal_of)?;
        self.ask(|reply| Call::Apply { config: Box::new(config), reply }).await??;
        Ok(())
    }

    /// The free space is read here, outside the loop.
    async fn with_disks(&self, status: Status) -> Status {
        let settings = self.settings.get();
        let disk = |path| self.disk_info.disk(path, settings.reserve);
        let (complete_disk, incomplete_disk) = tokio::join!(
            disk(&settings.directories.complete),
            disk(&settings.directories.incomplete)
        );
        Status { complete_disk, incomplete_disk, ..status }
    }

    /// Where jobs of that category go.
    async fn destination(&self, category: Option<String>) -> Result<Arc<Root>, Refusal> {
        let settings = self.settings.get();
        match self.directories.destination(&settings, category.as_deref()).await {
            Ok(root) => Ok(Arc::new(root)),
            Err(error) => Err(Refusal::Unavailable(error.why().to_owned())),
        }
    }
}

impl Control for Handle {
    async fn status(&self) -> Result<Status, Refusal> {
        let status = self.ask(|reply| Call::Status { reply }).await?;
        Ok(self.with_disks(status).await)
    }

    async fn queue(&self, which: JobFilter) -> Result<Page<Job>, Refusal> {
        self.ask(|reply| Call::Page { shelf: ListKind::Queue, which, reply }).await
    }

    async fn history(&self, which: JobFilter) -> Result<Page<Job>, Refusal> {
        self.ask(|reply| Call::Page { shelf: ListKind::History, which, reply }).await
    }

    async fn list(&self, shelf: ListKind, which: JobFilter) -> Result<Listing, Refusal> {
        self.ask(|reply| Call::Listing { shelf, which, reply }).await
    }

    async fn listed(&self, shelf: ListKind, jobs: Vec<JobId>) -> Result<Vec<Job>, Refusal> {
        self.ask(|reply| Call::Listed { shelf, jobs, reply }).await
    }

    async fn job(&self, id: JobId) -> Result<Job, Refusal> {
        self.ask(|reply| Call::Job { job: id, reply }).await?
    }

    async fn files(&self, job: Option<JobId>) -> Result<Vec<File>, Refusal> {
        let Some(job) = job else { return self.ask(|reply| Call::AllFiles { reply }).await };
        match self.ask(|reply| Call::Files { job, reply }).await?? {
            Files::Known(files) => Ok(files),
            Files::InSpool { first, record } => {
                let new_jobs = self.new_jobs.clone();
                let read = aside(move || {
                    new_jobs.nzb(&record).map(|nzb| listed_files(&record, &nzb, first))
                });
                read.await?.map_err(|error| Refusal::Unavailable(explained_unread(&error)))
            }
        }
    }

    async fn jobs_of_files(&self, files: Vec<u64>) -> Result<Vec<JobId>, Refusal> {
        self.ask(|reply| Call::JobsOfFiles { files, reply }).await
    }

    async fn add(&self, new: NewJob) -> Result<JobId, Refusal> {
        let at_top = new.at_top;
        let (wishes, content) = Wishes::of(new);
        let settings = self.settings.get();
        if let Content::Url(url) = &content {
            settings.check_address(url)?;
        }
        let _permit = self.readers.acquire().await.map_err(|_| Refusal::Stopping)?;
        let new_jobs = self.new_jobs.clone();
        let receive = move || match content {
            Content::Local(path) => {
                let read = local_file::read(path.as_ref(), &settings.local_directories);
                let content = read.map_err(|error| Refusal::Invalid(error.to_string()))?;
                new_jobs.receive(&wishes, &content).map_err(unavailable)
            }
            Content::Nzb(bytes) => new_jobs.receive(&wishes, &bytes).map_err(unavailable),
            Content::Url(url) => new_jobs.expect(&wishes, &url).map_err(unavailable),
        };
        let record = aside(receive).await??;
        let id = record.id;
        let promises =
            self.ask(|reply| Call::Accept { record: Box::new(record), at_top, reply }).await?;
        for promise in promises {
            // The job is taken, whatever becomes of that.
            let _ = kept(promise).await;
        }
        Ok(id)
    }

    async fn edit(
        &self,
        jobs: Vec<JobId>,
        edit: Edit,
    ) -> Result<Vec<Result<(), Refusal>>, Refusal> {
        let root = match &edit {
            Edit::SetCategory(category) => Some(self.destination(category.clone()).await?),
            _ => None,
        };
        let edited = self.ask(|reply| Call::Edit { jobs, edit, root, reply }).await?;
        let mut results = Vec::with_capacity(edited.len());
        for edited in edited {
            results.push(settled(edited).await);
        }
        Ok(results)
    }

    async fn split(&self, job: JobId, files: Vec<u32>, name: String) -> Result<JobId, Refusal> {
        joined(self.ask(|reply| Call::Split { job, files, name, reply }).await??).await
    }

    async fn merge(&self, jobs: Vec<JobId>) -> Result<(), Refusal> {
        joined(self.ask(|reply| Call::Merge { jobs, reply }).await??).await.map(drop)
    }

    async fn pause(&self, pause: Pause) -> Result<(), Refusal> {
        kept(self.ask(|reply| Call::Pause { pause, reply }).await?).await
    }

    async fn resume(&self, parts: Vec<Part>) -> Result<(), Refusal> {
        kept(self.ask(|reply| Call::Resume { parts, reply }).await?).await
    }

    async fn resume_in(&self, pause: Duration) -> Result<(), Refusal> {
        kept(self.ask(|reply| Call::ResumeIn { after: pause, reply }).await?).await
    }

    async fn limit(&self, rate: Option<ByteRate>) -> Result<(), Refusal> {
        kept(self.ask(|reply| Call::SetRate { rate, reply }).await?).await
    }

    async fn servers(&self) -> Result<Vec<view::Server>, Refusal> {
        self.ask(|reply| Call::Servers { reply }).await
    }

    async fn switch_servers(&self, switches: Vec<(ServerId, bool)>) -> Result<(), Refusal> {
        kept(self.ask(|reply| Call::SwitchServers { switches, reply }).await??).await
    }

    async fn test_server(&self, probe: ServerProbe) -> Result<(), Refusal> {
        let patience = probe.timeout.min(LONGEST_TEST);
        let may_be_private = probe.may_be_private;
        let server = Server::new(settings_of(probe)?)
            .map_err(|error| Refusal::Invalid(error.to_string()))?;
        let server = if may_be_private { server } else { server.in_public() };
        try_out(Arc::new(server), patience).await
    }

    async fn add_server(&self, server: NewServer) -> Result<(), Refusal> {
        self.edit_config(move |path, environment| config::add_server(path, environment, &server))
            .await
    }

    async fn remove_server(&self, name: String) -> Result<(), Refusal> {
        self.edit_config(move |path, environment| config::remove_server(path, environment, &name))
            .await
    }

    async fn save_config(&self, settings: Vec<Setting>) -> Result<(), Refusal> {
        let is_switch = |setting: &&Setting| (setting.table, setting.key) == ("server", "active");
        let switches = settings.iter().filter(is_switch).filter_map(|setting| setting.number);
        let switches: Vec<_> = switches.collect();
        let running = self.ask(|reply| Call::ListedConfig { reply }).await?;
        self.edit_config(move |path, environment| {
            config::save(path, environment, &running, &settings)
        })
        .await?;
        if switches.is_empty() {
            return Ok(());
        }
        kept(self.ask(|reply| Call::ForgetSwitches { places: switches, reply }).await?).await
    }

    async fn check_server(&self, place: ServerId) -> Result<(), Refusal> {
        let server = self.ask(|reply| Call::ConfiguredServer { place, reply }).await??;
        try_out(server, LONGEST_TEST).await
    }

    async fn volumes(&self) -> Result<Vec<Volume>, Refusal> {
        self.ask(|reply| Call::Volumes { reply }).await
    }

    async fn reset_volumes(
        &self,
        server: Option<ServerId>,
        only_custom: bool,
    ) -> Result<(), Refusal> {
        self.ask(|reply| Call::ResetVolumes { server, only_custom, reply }).await?
    }

    async fn targets(&self) -> Result<Vec<Target>, Refusal> {
        self.ask(|reply| Call::Targets { reply }).await
    }

    async fn disks(&self) -> Result<Vec<Disk>, Refusal> {
        let settings = self.settings.get();
        Ok(self.disk_info.disks(&settings.directories.all(), settings.reserve).await)
    }

    async fn accept_disks(&self, path: Option<String>) -> Result<(), Refusal> {
        let settings = self.settings.get();
        let known = settings.directories.all();
        let is_meant = |known: &&Path| path.as_ref().is_none_or(|path| *known == Path::new(path));
        let meant: Vec<_> = known.into_iter().filter(is_meant).map(Path::to_owned).collect();
        if meant.is_empty() {
            let path = path.unwrap_or_default();
            return Err(Refusal::Invalid(format!("{path} is no configured directory")));
        }
        let mounts = self.mounts.clone();
        aside(move || meant.iter().for_each(|path| mounts.accept(path))).await?;
        self.ask(|reply| Call::Survey { reply }).await
    }

    async fn test_disk(&self, test: DiskTest) -> Result<DiskSpeed, Refusal> {
        speed_test::test_disk(&self.settings.get(), &self.disk_info, test).await
    }

    async fn quotas(&self) -> Result<Vec<Quota>, Refusal> {
        self.ask(|reply| Call::Quotas { reply }).await
    }

    async fn explain(&self, job: Option<JobId>) -> Result<Explanation, Refusal> {
        self.ask(|reply| Call::Explain { job, reply }).await?
    }

    async fn log(&self, query: LogQuery) -> Result<Vec<LogLine>, Refusal> {
        Ok(self.log.read(query))
    }

    async fn write_log(&self, kind: LogKind, text: String) -> Result<(), Refusal> {
        let text = bergamot_types::Shown(&text).to_string();
        self.log.write(kind, None, text);
        Ok(())
    }

    async fn clear_log(&self) -> Result<(), Refusal> {
        self.log.clear();
        Ok(())
    }

    async fn config(&self) -> Result<Config, Refusal> {
        self.ask(|reply| Call::Config { reply }).await
    }

    async fn reload(&self) -> Result<Reload, Refusal> {
        let _turn = self.config_turn.lock().await;
        let path = self.config.clone();
        let read = aside(move || config::Config::read(&path, &Environment::of_process())).await?;
        let config = read.map_err(|error| Refusal::Invalid(error.to_string()))?;
        self.ask(|reply| Call::Apply { config: Box::new(config), reply }).await?
    }

    async fn scan(&self) -> Result<(), Refusal> {
        kept(self.ask(|reply| Call::Scan { reply }).await?).await
    }

    async fn feeds(&self) -> Result<Vec<Feed>, Refusal> {
        self.ask(|reply| Call::Feeds { reply }).await
    }

    async fn feed_items(&self, feed: FeedChoice) -> Result<Vec<FeedItem>, Refusal> {
        self.look_at_feed(feed).await
    }

    async fn preview_feed(&self, trial: FeedPreview) -> Result<Vec<FeedItem>, Refusal> {
        self.try_feed(trial).await
    }

    async fn fetch_feeds(&self, feed: Option<FeedChoice>) -> Result<(), Refusal> {
        self.ask(|reply| Call::FetchFeeds { feed, reply }).await?
    }

    async fn retry_feed(&self, feed: FeedChoice) -> Result<FeedRetry, Refusal> {
        let (retried, promises) = self.ask(|reply| Call::RetryFeed { feed, reply }).await??;
        for promise in promises {
            kept(promise).await?;
        }
        Ok(retried)
    }

    async fn feed_errors(&self) -> Result<Vec<FeedError>, Refusal> {
        self.ask(|reply| Call::FeedErrors { reply }).await
    }

    async fn rss(&self) -> Result<String, Refusal> {
        self.ask(|reply| Call::Rss { reply }).await
    }

    async fn groups(&self, query: GroupQuery) -> Result<Page<Group>, Refusal> {
        self.list_groups(query).await
    }

    async fn headers(&self, query: HeaderQuery) -> Result<HeaderPage, Refusal> {
        self.group_headers(query).await
    }

    async fn posts(&self, query: PostQuery) -> Result<PostPage, Refusal> {
        self.group_posts(query).await
    }

    async fn queue_post(&self, post: PostJob) -> Result<JobId, Refusal> {
        self.add_post(post).await
    }

    async fn measure(&self) -> Result<Measured, Refusal> {
        let measured = self.ask(|reply| Call::Measure { reply }).await?;
        let status = self.with_disks(measured.status).await;
        let process = aside(counters::process).await?;
        Ok(Measured { status, process, ..measured })
    }

    async fn readiness(&self) -> Result<Readiness, Refusal> {
        // Read here: a main loop that stops answers no more calls.
        if let Some(thread) = self.events.died() {
            return Ok(Readiness::Broken { thread: thread.to_owned() });
        }
        let (state, has_servers) = self.ask(|reply| Call::Readiness { reply }).await?;
        let state_is_writable = self.disk_info.is_writable(state).await;
        Ok(match (state_is_writable, has_servers) {
            (false, _) => Readiness::StateUnwritable,
            (true, false) => Readiness::NoServers,
            (true, true) => Readiness::Ready,
        })
    }

    async fn shut_down(&self) -> Result<(), Refusal> {
        self.events.send(Event::Stop);
        Ok(())
    }
}

fn refusal_of(error: EditError) -> Refusal {
    match error {
        EditError::SendsPassword(server) => {
            let why = "its password would go along; give that, too".to_owned();
            Refusal::NotSettable { option: format!("where the server {server} is"), why }
        }
        EditError::NotInFile(option) => {
            let why = "its table is not in the file".to_owned();
            Refusal::NotSettable { option, why }
        }
        EditError::Overridden { option, variable } => {
            Refusal::NotSettable { option, why: format!("the environment sets it by {variable}") }
        }
        EditError::Unwritable { .. } => Refusal::Unwritable(error.to_string()),
        _ => Refusal::Invalid(error.to_string()),
    }
}

fn unavailable(error: StoreError) -> Refusal {
    Refusal::Unavailable(format!("{}: {error}", error.code()))
}

/// The result of an edit, after it is on disk.
async fn settled(edited: Edited) -> Result<(), Refusal> {
    match edited? {
        Some(promise) => kept(promise).await,
        None => Ok(()),
    }
}

/// The job that others became, when that is on disk.
async fn joined(joined: Joining) -> Result<JobId, Refusal> {
    let (job, promise) = joined.await.map_err(|_| Refusal::Stopping)??;
    match promise {
        Some(promise) => kept(promise).await.map(|()| job),
        None => Ok(job),
    }
}

/// Does what may have to wait for a disk.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Refusal::Stopping)
}

/// Connects, logs in, and requests an article: some servers check the login only then.
async fn try_out(server: Arc<Server>, patience: Duration) -> Result<(), Refusal> {
    let (sender, mut reports) = mpsc::unbounded_channel();
    let mut connection = Connection::start(server, BufferPool::new(0), move |report| {
        // The caller may have gone away.
        let _ = sender.send(report);
    });
    connection.lend(Credit::Unlimited);
    let answer = async {
        loop {
            match reports.recv().await {
                Some(Report::Ready) => {
                    connection.stat(0, MessageId::parse(NO_ARTICLE).expect("it is one"));
                }
                Some(Report::Missing { .. } | Report::Present { .. }) => return Ok(()),
                Some(Report::Refused { reply, .. }) => {
                    return Err(Refusal::Unavailable(reply.to_string()));
                }
                Some(Report::Ended { why, .. }) => return Err(refusal_by_server(&why)),
                Some(_) => {}
                None => return Err(Refusal::Stopping),
            }
        }
    };
    let answer = tokio::time::timeout(patience, answer).await;
    connection.hang_up();
    answer.unwrap_or_else(|_| Err(Refusal::Unavailable(format!("no answer within {patience:?}"))))
}

/// A login that is wrong or missing does not come right by itself.
fn refusal_by_server(why: &Ended) -> Refusal {
    match error_class::of_connection(why, true) {
        Trouble::Login => Refusal::ServerLogin(why.to_string()),
        _ => Refusal::Unavailable(why.to_string()),
    }
}

fn settings_of(probe: ServerProbe) -> Result<ServerSettings, Refusal> {
    let login = bergamot_nntp::Login::new(&probe.username, probe.password);
    let login = match probe.username.is_empty() {
        true => None,
        false => Some(login.map_err(|error| Refusal::Invalid(error.to_string()))?),
    };
    let encryption = if probe.tls { Encryption::Tls } else { Encryption::None };
    let verify = probe.certificates == Certificates::Strict;
    Ok(ServerSettings {
        name: "test".to_owned(),
        host: probe.host,
        port: probe.port,
        encryption,
        tls: TlsSettings { verify, ..TlsSettings::default() },
        ip_version: IpVersion::default(),
        join_group: false,
        limits: ConnectLimits::default(),
        conversation: bergamot_nntp::Settings { login, ..bergamot_nntp::Settings::default() },
    })
}

/// An id that no server has (`.invalid`, RFC 2606).
const NO_ARTICLE: &str = "bergamot.test@none.invalid";

/// The caller waits for it.
const LONGEST_TEST: Duration = Duration::from_secs(60);
