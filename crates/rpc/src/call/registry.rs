//! [`METHODS`]: the table of all methods of the native and NZBGet's dialects.
//!
//! Calls are dispatched and checked by it; `rpc.discover` and `docs/rpc.md` are generated from it.

use std::fmt::Write;

use bergamot_api::Control;
use serde::Serialize;
use serde_json::{Value, json};

use crate::access::{Access, Caller};
use crate::call::Call;
use crate::call::fault::Fault;
use crate::call::service::{LARGEST, LARGEST_PARAMETERS};
use crate::codec::json::Json;
use crate::codec::reply::Reply;
use crate::dialect::native::{
    self, config, events, feeds, file, groups, history, job, limits, log, queue, servers, storage,
    system, targets,
};
use crate::dialect::nzbget;

/// The dialect of a method, derived from its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dialect {
    /// Names with a dot, named parameters, numbers of 64 bits.
    Native,
    /// Names without a dot, positional parameters, 32-bit numbers.
    Nzbget,
}

/// Whether a call can change anything; if so, it is not taken by GET.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Effect {
    Changes,
    Reads,
}

pub(crate) struct Entry {
    pub(crate) method: Method,
    pub(crate) name: &'static str,
    pub(crate) access: Access,
    pub(crate) effect: Effect,
    pub(crate) params: &'static [Param],
    pub(crate) result: &'static str,
    pub(crate) summary: &'static str,
}

pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Array,
    Boolean,
    Integer,
    Object,
    String,
}

impl Kind {
    pub(crate) fn admits(self, value: &Json<'_>) -> bool {
        matches!(
            (self, value),
            (Self::Array, Json::List(_))
                | (Self::Boolean, Json::Bool(_))
                | (Self::Integer, Json::Integer(_))
                | (Self::Object, Json::Object(_))
                | (Self::String, Json::Text(_))
        )
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Array => "an array",
            Self::Boolean => "true or false",
            Self::Integer => "an integer",
            Self::Object => "an object",
            Self::String => "a string",
        })
    }
}

use Kind::{Array, Boolean, Integer, Object, String as Text};

const fn must(name: &'static str, kind: Kind) -> Param {
    Param { name, kind, required: true }
}

const fn may(name: &'static str, kind: Kind) -> Param {
    Param { name, kind, required: false }
}

impl Entry {
    pub(crate) fn dialect(&self) -> Dialect {
        dialect_of(self.name)
    }

    /// NZBs make large requests; nothing else does.
    pub(crate) fn largest_parameters(&self) -> usize {
        match self.method {
            Method::Append | Method::QueueAdd => LARGEST,
            _ => LARGEST_PARAMETERS,
        }
    }

    /// The one check of a caller's level, before anything is made of what was sent.
    pub(crate) fn permit(&self, caller: &Caller) -> Result<(), Fault> {
        if caller.access < self.access {
            return Err(Fault::AccessDenied { method: self.name, needed: self.access });
        }
        Ok(())
    }
}

pub(crate) fn dialect_of(name: &str) -> Dialect {
    if name.contains('.') { Dialect::Native } else { Dialect::Nzbget }
}

/// In any case: clients write `listFiles` and `editQueue`.
pub(crate) fn find(name: &str) -> Result<&'static Entry, Fault> {
    let entry = METHODS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
    entry.ok_or_else(|| Fault::UnknownMethod(name.chars().take(LONGEST_NAME).collect()))
}

macro_rules! methods {
    ($($variant:ident $name:literal $access:ident $effect:ident $params:expr, $result:literal,
       $summary:literal => $handler:path;)*) => {
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Method { $($variant),* }

        pub(crate) const METHODS: &[Entry] = &[$(Entry {
            method: Method::$variant,
            name: $name,
            access: Access::$access,
            effect: Effect::$effect,
            params: &$params,
            result: $result,
            summary: $summary,
        }),*];

        /// The caller's access has been checked, by [`Entry::permit`].
        pub(crate) async fn dispatch<C: Control>(
            entry: &'static Entry,
            call: Call<'_, C>,
        ) -> Result<Reply, Fault> {
            match entry.method { $(Method::$variant => Box::pin($handler(call)).await),* }
        }
    };
}

methods! {
    // Native.
    ConfigGet "config.get" Restricted Reads [], "Config",
        "The configuration in force; secrets are `***`." => config::get;
    ConfigReload "config.reload" Restricted Changes [], "Reload",
        "Reads the configuration file again; returns what is applied and what needs a restart."
        => config::reload;
    EventsSubscribe "events.subscribe" Restricted Reads [may("since", Object)], "{boot, sequence}",
        "Sends events as notifications `events.event`, starting after `since {boot, sequence}` if that is given. Over HTTP use `/events` instead."
        => events::only_by_line;
    EventsUnsubscribe "events.unsubscribe" Restricted Reads [], "null", "Ends the subscription." => events::only_by_line;
    FeedsErrors "feeds.errors" Restricted Reads [], "array of FeedError",
        "Calls to feeds that failed, the newest first." => feeds::errors;
    FeedsFetch "feeds.fetch" Restricted Changes [may("feed", Text)], "null",
        "Reads a feed, by its id or name, or all of them now." => feeds::fetch;
    FeedsItems "feeds.items" Restricted Reads [must("feed", Text)], "array of FeedItem",
        "The items of a feed now, and how its rules decide each; nothing is added." => feeds::items;
    FeedsList "feeds.list" Restricted Reads [], "array of Feed", "The feeds and their state." => feeds::list;
    FeedsPreview "feeds.preview" Restricted Changes [
            must("url", Text), may("rules", Text), may("category", Text), may("priority", Integer),
            may("paused", Boolean)
        ], "array of FeedItem", "The same for a feed and rules that are not configured." => feeds::preview;
    FeedsRetry "feeds.retry" Restricted Changes [must("feed", Text)], "{items, jobs}",
        "Retries what failed for a feed: items that could not become jobs, and jobs whose NZB could not be fetched. Returns the number of each."
        => feeds::retry;
    FileMove "file.move" Restricted Changes [
            must("job", Integer), must("files", Array), may("to", Text), may("by", Integer)
        ], "Results",
        "Moves files of a job, by their index in its NZB, `to` the `top` or the `bottom`, or `by` so many positions down among the unfinished ones."
        => file::move_to;
    FileOrder "file.order" Restricted Changes [must("job", Integer), must("files", Array)], "Results",
        "Downloads files of a job in the given order, before all others." => file::order;
    FilePause "file.pause" Restricted Changes [must("job", Integer), must("files", Array)], "Results",
        "Pauses files of a job, by their index in its NZB." => file::pause;
    FileRemove "file.remove" Restricted Changes [must("job", Integer), must("files", Array)], "Results",
        "Removes files from a job." => file::remove;
    FileResume "file.resume" Restricted Changes [must("job", Integer), must("files", Array)], "Results",
        "Resumes files." => file::resume;
    GroupsHeaders "groups.headers" Restricted Reads [
            must("group", Text), may("below", Integer), may("limit", Integer), may("latest", Boolean)
        ], "Headers",
        "Cached headers of a newsgroup, the newest first; the group is refreshed while it is used. `latest` waits for the server's newest headers, `below` is the value of the previous page."
        => groups::headers;
    GroupsList "groups.list" Restricted Reads [
            may("pattern", Text), may("after", Text), may("limit", Integer)
        ], "Page of Group",
        "Newsgroups of the first server, by name: those that match a pattern with `*`, or contain it. `after` is the last name of the previous page."
        => groups::list;
    GroupsPosts "groups.posts" Restricted Reads [
            must("group", Text), may("post", Text), may("search", Text), may("complete", Boolean),
            may("offset", Integer), may("limit", Integer), may("latest", Boolean)
        ], "Page of Post",
        "Posts assembled from the cached headers, the newest first; `post` returns one with its files."
        => groups::posts;
    GroupsQueue "groups.queue" Add Changes [
            must("group", Text), must("post", Text), may("name", Text), may("category", Text),
            may("priority", Integer), may("at_top", Boolean), may("paused", Boolean)
        ], "{job}", "Downloads a post. The job is fsynced before the call returns."
        => groups::queue;
    GroupsSearch "groups.search" Restricted Reads [
            must("group", Text), must("search", Text), may("below", Integer), may("limit", Integer)
        ], "Headers",
        "Cached headers with all of these words in subject or poster."
        => groups::search;
    HistoryBackup "history.backup" Restricted Changes [must("jobs", Array), must("backup", Boolean)],
        "Results",
        "Whether deleted jobs count as duplicate backups that may replace another job, or as deleted by a user."
        => history::backup;
    HistoryHide "history.hide" Restricted Changes [must("jobs", Array)], "Results",
        "Hides jobs of the history; they still count in the search for duplicates." => history::hide;
    HistoryList "history.list" Restricted Reads [
            may("offset", Integer), may("limit", Integer), may("category", Text), may("search", Text),
            may("hidden", Boolean)
        ], "Page of Job", "Jobs that ended, the newest first." => history::list;
    HistoryRemove "history.remove" Restricted Changes [must("jobs", Array)], "Results",
        "Removes jobs from the history." => history::remove;
    JobExplain "job.explain" Restricted Reads [must("job", Integer)], "Explanation",
        "Explains why a job is slow, waits or failed." => job::explain;
    JobFiles "job.files" Restricted Reads [must("job", Integer)], "array of File",
        "The files of a queued job, in the order in which they are downloaded." => job::files;
    JobGet "job.get" Restricted Reads [must("job", Integer)], "Job", "One job, queued or ended." => job::get;
    JobMark "job.mark" Restricted Changes [must("jobs", Array), must("mark", Text)], "Results",
        "Marks jobs of the history as `bad`, `good` or `success`." => job::mark;
    JobMerge "job.merge" Restricted Changes [must("job", Integer), must("jobs", Array)], "null",
        "Merges `jobs` into `job`, which may be downloading; their files are appended, and the jobs are removed. A job of which something was downloaded is refused."
        => job::merge;
    JobMove "job.move" Restricted Changes [
            must("jobs", Array), may("to", Text), may("before", Integer), may("after", Integer),
            may("by", Integer)
        ], "Results",
        "Moves jobs `to` the `top` or the `bottom`, `before` or `after` another job, or `by` so many positions down."
        => job::move_to;
    JobPause "job.pause" Restricted Changes [must("jobs", Array)], "Results", "Pauses jobs." => job::pause;
    JobRedownload "job.redownload" Restricted Changes [must("jobs", Array)], "Results",
        "Downloads jobs of the history again, from the beginning." => job::redownload;
    JobRemove "job.remove" Restricted Changes [
            must("jobs", Array), may("keep_files", Boolean), may("without_trace", Boolean)
        ], "Results",
        "Ends queued jobs. They go to the history, unless `without_trace`; what was downloaded is deleted, unless `keep_files`."
        => job::remove;
    JobResume "job.resume" Restricted Changes [must("jobs", Array)], "Results",
        "Resumes jobs." => job::resume;
    JobRetry "job.retry" Restricted Changes [must("jobs", Array)], "Results",
        "Downloads the missing articles of failed jobs again." => job::retry;
    JobSet "job.set" Restricted Changes [
            must("jobs", Array), may("name", Text), may("category", Text), may("priority", Integer),
            may("parameters", Array), may("dupe_key", Text), may("dupe_score", Integer),
            may("dupe_mode", Text)
        ], "Results",
        "Changes the given properties. An empty category is none; a parameter with an empty value is removed."
        => job::set;
    JobSortFiles "job.sort_files" Restricted Changes [must("jobs", Array)], "Results",
        "Sorts the files of jobs by name, with recovery files last." => job::sort_all_files;
    JobSplit "job.split" Restricted Changes [
            must("job", Integer), must("files", Array), must("name", Text)
        ], "{job}",
        "Moves files of a job, by their index in its NZB, into a new job right after it. Files of which something was downloaded are refused."
        => job::split;
    LimitsGet "limits.get" Restricted Reads [], "{rate}", "Bytes per second of all servers together, or null."
        => limits::get;
    LimitsSet "limits.set" Restricted Changes [may("rate", Integer)], "{rate}",
        "Limits all servers together to so many bytes per second; null lifts the limit." => limits::set;
    LogClear "log.clear" Restricted Changes [], "null", "Clears the log that is kept in memory." => log::clear;
    LogList "log.list" Restricted Reads [
            may("job", Integer), may("from", Integer), may("limit", Integer)
        ], "array of LogLine",
        "Lines with the number `from` or a higher one, or the last `limit` of them." => log::list;
    LogWrite "log.write" Restricted Changes [must("kind", Text), must("text", Text)], "null",
        "Writes a line." => log::write;
    QueueAdd "queue.add" Add Changes [
            may("name", Text), may("nzb", Text), may("url", Text), may("category", Text),
            may("priority", Integer), may("at_top", Boolean), may("paused", Boolean),
            may("dupe_key", Text), may("dupe_score", Integer), may("dupe_mode", Text),
            may("password", Text), may("parameters", Array), may("auto_category", Boolean)
        ], "{job}",
        "Adds an NZB, given in base64 or by URL. The job is fsynced before the call returns."
        => queue::add;
    QueueExplain "queue.explain" Restricted Reads [], "Explanation",
        "Explains the current speed of the queue." => queue::explain;
    QueueList "queue.list" Restricted Reads [
            may("offset", Integer), may("limit", Integer), may("category", Text), may("search", Text)
        ], "Page of Job", "The queue, in its order." => queue::list;
    QueuePause "queue.pause" Restricted Changes [may("parts", Array), may("seconds", Integer)], "null",
        "Pauses `download`, `post` or `scan`, for so many seconds or until `queue.resume`; `download` if nothing is given."
        => queue::pause;
    QueueResume "queue.resume" Restricted Changes [may("parts", Array)], "null",
        "Resumes the given parts, or all." => queue::resume;
    QueueSort "queue.sort" Restricted Changes [
            must("by", Text), may("descending", Boolean), may("jobs", Array)
        ], "Results",
        "Sorts the jobs given, or all, by `name`, `priority`, `category`, `size` or `left`." => queue::sort;
    QuotaGet "quota.get" Restricted Reads [], "array of Quota",
        "The quotas and their use: of all servers together first, then of each." => limits::quotas;
    RpcDiscover "rpc.discover" Add Reads [], "OpenRPC document", "This list as an OpenRPC document." => native::discover;
    ServersAdd "servers.add" Control Changes [
            must("name", Text), must("host", Text), may("port", Integer), may("username", Text),
            may("password", Text), may("encryption", Text), may("connections", Integer),
            may("level", Integer), may("optional", Boolean), may("retention", Integer)
        ], "null", "Adds a server to the configuration file and connects to it at once."
        => servers::add;
    ServersCheck "servers.check" Restricted Changes [must("server", Integer)],
        "null", "Connects to a configured server and logs in; the error names the failure."
        => servers::check;
    ServersList "servers.list" Restricted Reads [], "array of Server", "The news servers and their state."
        => servers::list;
    ServersRemove "servers.remove" Control Changes [must("name", Text)], "null",
        "Removes a server from the configuration file and closes its connections." => servers::remove;
    ServersReset "servers.reset" Restricted Changes [may("server", Integer), may("only_custom", Boolean)],
        "null", "Resets the counters of one server or of all." => servers::reset;
    ServersSwitch "servers.switch" Restricted Changes [must("server", Integer), must("active", Boolean)],
        "null", "Switches a server on or off." => servers::switch;
    ServersTest "servers.test" Restricted Changes [
            must("host", Text), may("port", Integer), may("tls", Boolean), may("username", Text),
            may("password", Text), may("seconds", Integer), may("certificates", Text)
        ], "null",
        "Connects and logs in; the error names the failure. Hosts in private networks require control access."
        => servers::test;
    ServersVolumes "servers.volumes" Restricted Reads [], "array of Volume",
        "Bytes downloaded from each server over time; of all together first." => servers::volumes;
    SystemListMethods "system.listMethods" Add Reads [], "array of string", "The names of all methods."
        => system::list_methods;
    SystemMulticall "system.multicall" Add Changes [must("calls", Array)], "array",
        "Several calls in one, over XML-RPC; JSON-RPC has batches instead." => system::only_by_xml;
    StorageAccept "storage.accept" Restricted Changes [may("path", Text)], "null",
        "Accepts the disk that a configured directory, or each of them, is on now." => storage::accept;
    StorageList "storage.list" Restricted Reads [], "array of Disk",
        "The directories that jobs are written to, and their free space." => storage::list;
    SystemShutdown "system.shutdown" Restricted Changes [], "null", "Stops the daemon." => system::shutdown;
    SystemStatus "system.status" Restricted Reads [], "Status", "The state of the daemon." => system::status;
    SystemVersion "system.version" Add Reads [], "string", "The version of bergamot." => system::version;
    TargetsList "targets.list" Restricted Reads [], "array of Target",
        "Recurring activities of the scheduler, with kind, interval, next due and last result; the soonest first, at most 1,000."
        => targets::list;
    WatchScan "watch.scan" Restricted Changes [], "null",
        "Scans the watch folder now; returns when the scan has ended." => system::scan;

    // NZBGet's.
    Append "append" Add Changes [
            must("NZBFilename", Text), must("Content", Text), may("Category", Text),
            may("Priority", Integer), may("AddToTop", Boolean), may("AddPaused", Boolean),
            may("DupeKey", Text), may("DupeScore", Integer), may("DupeMode", Text),
            may("AutoCategory", Boolean), may("PPParameters", Array)
        ], "int", "Adds an NZB in base64 or by URL; the parameter order of NZBGet 12 is also accepted." => nzbget::append;
    AppendUrl "appendurl" Add Changes [
            must("NZBFilename", Text), must("Category", Text), must("Priority", Integer),
            must("AddToTop", Boolean), must("URL", Text)
        ], "int", "Adds an NZB by URL." => nzbget::append_url;
    CheckUpdates "checkupdates" Restricted Reads [], "string", "Always empty: bergamot does not look for updates."
        => nzbget::check_updates;
    ClearLog "clearlog" Restricted Changes [], "bool", "As `log.clear`." => nzbget::clear_log;
    Config "config" Restricted Reads [], "array", "Options in force under NZBGet's names; secrets are `***`."
        => nzbget::config;
    ConfigTemplates "configtemplates" Restricted Reads [may("LoadFromDisk", Boolean)], "array",
        "Always empty: bergamot has no templates." => nzbget::nothing;
    DeleteExtension "deleteextension" Restricted Changes [must("Name", Text)], "error", "There are no extensions."
        => nzbget::no_extensions;
    DownloadExtension "downloadextension" Restricted Changes [must("URL", Text), must("Name", Text)],
        "error", "There are no extensions." => nzbget::no_extensions;
    Dump "dump" Restricted Reads [], "bool", "Does nothing." => nzbget::dump;
    EditQueue "editqueue" Restricted Changes [
            must("Command", Text), may("Offset", Integer), must("Param", Text), must("IDs", Array)
        ], "bool", "Changes jobs, files and history." => nzbget::edit_queue;
    EditServer "editserver" Restricted Changes [must("ID", Integer), must("Active", Boolean)], "bool",
        "Switches servers on or off; more pairs may follow." => nzbget::edit_server;
    FetchFeed "fetchfeed" Restricted Changes [may("ID", Integer)], "bool", "Reads a feed now; 0 is all."
        => nzbget::fetch_feed;
    History "history" Restricted Reads [may("Hidden", Boolean)], "array", "Jobs that ended, the newest first."
        => nzbget::history;
    ListFiles "listfiles" Restricted Reads [may("IDFrom", Integer), may("IDTo", Integer), may("NZBID", Integer)],
        "array", "Files of one job or of all." => nzbget::list_files;
    ListGroups "listgroups" Restricted Reads [may("NumberOfLogEntries", Integer)], "array", "The queue."
        => nzbget::list_groups;
    LoadConfig "loadconfig" Restricted Reads [], "array", "As `config`." => nzbget::config;
    LoadExtensions "loadextensions" Restricted Reads [may("LoadFromDisk", Boolean)], "array",
        "Always empty: there are no extensions." => nzbget::nothing;
    LoadLog "loadlog" Restricted Reads [must("NZBID", Integer), must("IDFrom", Integer), must("NumberOfEntries", Integer)],
        "array", "Lines of the log about one job." => nzbget::load_log;
    Log "log" Restricted Reads [must("IDFrom", Integer), must("NumberOfEntries", Integer)], "array",
        "Lines of the log, from a number on or the last so many." => nzbget::log;
    LogScript "logscript" Restricted Reads [must("IDFrom", Integer), must("NumberOfEntries", Integer)],
        "array", "Always empty: there are no scripts." => nzbget::nothing;
    LogUpdate "logupdate" Restricted Reads [must("IDFrom", Integer), must("NumberOfEntries", Integer)],
        "array", "Always empty: bergamot does not update itself." => nzbget::nothing;
    Pause "pause" Restricted Changes [], "bool", "As `pausedownload`." => nzbget::pause_download;
    PauseDownload "pausedownload" Restricted Changes [], "bool", "Pauses the download." => nzbget::pause_download;
    PauseDownload2 "pausedownload2" Restricted Changes [], "bool", "As `pausedownload`." => nzbget::pause_download;
    PausePost "pausepost" Restricted Changes [], "bool", "Pauses post-processing." => nzbget::pause_post;
    PauseScan "pausescan" Restricted Changes [], "bool", "Pauses the watch folder." => nzbget::pause_scan;
    PostQueue "postqueue" Restricted Reads [may("NumberOfLogEntries", Integer)], "array",
        "Jobs in post-processing." => nzbget::post_queue;
    PreviewFeed "previewfeed" Restricted Changes [
            must("ID", Integer), must("Name", Text), must("URL", Text), must("Filter", Text),
            must("Backlog", Boolean), must("PauseNzb", Boolean), must("Category", Text),
            must("Priority", Integer), must("Interval", Integer), must("FeedFilter", Text),
            may("IncludeNonMatching", Boolean), may("CacheTimeSec", Integer), may("CacheId", Text)
        ], "array", "The items of a feed that a filter would accept." => nzbget::preview_feed;
    Rate "rate" Restricted Changes [must("Limit", Integer)], "bool", "Limits the rate to so many KiB/s; 0 lifts the limit."
        => nzbget::rate;
    ReadUrl "readurl" Restricted Changes [must("URL", Text), must("InfoName", Text)], "error",
        "Not supported: bergamot fetches NZBs, not arbitrary pages." => nzbget::no_read_url;
    Reload "reload" Restricted Changes [], "bool", "As `config.reload`." => nzbget::reload;
    ResetServerVolume "resetservervolume" Restricted Changes [must("ServerID", Integer), may("Counter", Text)],
        "bool", "Resets counters; -1 is all servers." => nzbget::reset_server_volume;
    Resume "resume" Restricted Changes [], "bool", "As `resumedownload`." => nzbget::resume_download;
    ResumeDownload "resumedownload" Restricted Changes [], "bool", "Resumes the download." => nzbget::resume_download;
    ResumeDownload2 "resumedownload2" Restricted Changes [], "bool", "As `resumedownload`." => nzbget::resume_download;
    ResumePost "resumepost" Restricted Changes [], "bool", "Resumes post-processing." => nzbget::resume_post;
    ResumeScan "resumescan" Restricted Changes [], "bool", "Resumes the watch folder." => nzbget::resume_scan;
    SaveConfig "saveconfig" Control Changes [may("Options", Array)], "bool",
        "Writes options, all or none of them, into the configuration file and applies them. Options that could give access to the machine are changed in the file only."
        => nzbget::save_config;
    Scan "scan" Restricted Changes [may("SyncMode", Boolean)], "bool", "Scans the watch folder." => nzbget::scan;
    ScheduleResume "scheduleresume" Restricted Changes [must("Seconds", Integer)], "bool",
        "Ends all pauses after so many seconds." => nzbget::schedule_resume;
    ServerVolumes "servervolumes" Restricted Reads [
            may("BytesPerSeconds", Boolean), may("BytesPerMinutes", Boolean), may("BytesPerHours", Boolean),
            may("BytesPerDays", Boolean), may("ArticlesPerDays", Boolean)
        ], "array", "Bytes downloaded from each server over time; of all together first." => nzbget::server_volumes;
    Shutdown "shutdown" Restricted Changes [], "bool", "Stops the daemon." => nzbget::shutdown;
    StartScript "startscript" Restricted Changes [
            must("Script", Text), must("Command", Text), must("Context", Text), may("Options", Array)
        ], "error", "There are no scripts." => nzbget::no_extensions;
    StartUpdate "startupdate" Restricted Changes [must("Branch", Text)], "error",
        "Not supported: bergamot does not update itself." => nzbget::no_update;
    Status "status" Restricted Reads [], "struct", "The state of the daemon." => nzbget::status;
    SysInfo "sysinfo" Restricted Reads [], "struct", "The system that bergamot was built for." => nzbget::sys_info;
    SystemHealth "systemhealth" Restricted Reads [], "struct", "Current problems." => nzbget::system_health;
    TestDiskSpeed "testdiskspeed" Restricted Changes [
            must("DirPath", Text), must("WriteBuffer", Integer), must("MaxFileSize", Integer), must("Timeout", Integer)
        ], "{SizeMB, DurationMS}",
        "Measures the write speed of a directory of jobs, with a buffer of so many KiB, up to so many GiB (4 at most) or seconds (30). The test file is removed."
        => nzbget::test_disk_speed;
    TestExtension "testextension" Restricted Reads [must("Entry", Text)], "error", "There are no extensions."
        => nzbget::no_extensions;
    TestNetworkSpeed "testnetworkspeed" Restricted Changes [], "error", "Not supported." => nzbget::no_speed_test;
    TestServer "testserver" Restricted Changes [
            must("Host", Text), must("Port", Integer), must("Username", Text), must("Password", Text),
            must("Encryption", Boolean), may("Cipher", Text), may("Timeout", Integer), may("CertLevel", Integer)
        ], "string", "Connects and logs in; the result is empty on success." => nzbget::test_server;
    TestServerSpeed "testserverspeed" Restricted Changes [must("NzbURL", Text), must("ServerID", Integer)],
        "error", "Not supported." => nzbget::no_speed_test;
    UpdateExtension "updateextension" Restricted Changes [must("URL", Text), must("Name", Text)],
        "error", "There are no extensions." => nzbget::no_extensions;
    UrlQueue "urlqueue" Restricted Reads [], "array", "NZBs that are being fetched." => nzbget::url_queue;
    Version "version" Add Reads [], "string", "The version of NZBGet whose API this is, then bergamot's." => nzbget::version;
    ViewFeed "viewfeed" Restricted Reads [must("ID", Integer), may("IncludeNonMatching", Boolean)], "array",
        "The items of a feed, and which of them its filter accepts." => nzbget::view_feed;
    WriteLog "writelog" Restricted Changes [must("Kind", Text), must("Text", Text)], "bool", "Writes a line."
        => nzbget::write_log;
}

/// For `rpc.discover`.
pub(crate) fn open_rpc(version: &str) -> Value {
    let methods: Vec<Value> = METHODS
        .iter()
        .map(|entry| {
            let params: Vec<Value> = entry
                .params
                .iter()
                .map(|param| json!({ "name": param.name, "required": param.required, "schema": { "type": param.kind } }))
                .collect();
            json!({
                "name": entry.name,
                "summary": entry.summary,
                "paramStructure": match entry.dialect() {
                    Dialect::Native => "by-name",
                    Dialect::Nzbget => "by-position",
                },
                "params": params,
                "result": { "name": entry.result, "schema": {} },
                "x-access": entry.access,
                "x-changes": entry.effect == Effect::Changes,
            })
        })
        .collect();
    json!({
        "openrpc": "1.3.2",
        "info": { "title": "bergamot", "version": version },
        "methods": methods,
    })
}

/// The tables of `docs/rpc.md`.
pub fn markdown() -> String {
    let mut page = String::new();
    for (title, dialect) in
        [("## Native methods", Dialect::Native), ("## NZBGet's methods", Dialect::Nzbget)]
    {
        let _ = writeln!(
            page,
            "{title}\n\n| method | parameters | result | access | |\n|---|---|---|---|---|"
        );
        for entry in METHODS.iter().filter(|entry| entry.dialect() == dialect) {
            let params: Vec<_> = entry
                .params
                .iter()
                .map(|param| format!("{}{}", param.name, if param.required { "" } else { "?" }))
                .collect();
            let access = if entry.effect == Effect::Reads {
                format!("{}, GET", entry.access)
            } else {
                entry.access.to_string()
            };
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {access} | {} |",
                entry.name,
                params.join(", "),
                entry.result,
                entry.summary
            );
        }
        page.push('\n');
    }
    page
}

/// Enough for any name, and too little to flood an error with.
const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_in_any_case() {
        let names: HashSet<_> =
            METHODS.iter().map(|entry| entry.name.to_ascii_lowercase()).collect();
        assert_eq!(names.len(), METHODS.len());
        assert!(find("LISTgroups").is_ok());
        assert!(find("").is_err());
    }

    #[test]
    fn required_parameters_come_first_unless_places_do_not_count() {
        for entry in METHODS.iter().filter(|entry| entry.dialect() == Dialect::Nzbget) {
            let mut places = entry.params.iter().skip_while(|param| param.required);
            let offset_of_edit_queue = entry.method == Method::EditQueue;
            assert!(offset_of_edit_queue || places.all(|param| !param.required), "{}", entry.name);
        }
    }
}
