//! [`Mode`]: the table of modes, with access level, effect and handler.

use std::fmt::Write;

use bergamot_api::Control;
use serde::Serialize;

use crate::access::{Access, Caller};
use crate::call::registry::Effect;
use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::params::Params;
use crate::dialect::sabnzbd::{
    add, config, daemon_control, files, history, queue, queue_edit, status, volumes,
};

pub(super) struct Mode {
    kind: Kind,
    pub(super) mode: &'static str,
    /// The value of `name`; empty matches any value that no other row of the mode has.
    pub(super) name: &'static str,
    pub(super) access: Access,
    pub(super) effect: Effect,
    pub(super) summary: &'static str,
}

/// What a handler receives.
pub(super) struct Call<'a, C> {
    pub(super) control: &'a C,
    pub(super) caller: &'a Caller,
    pub(super) params: Params,
}

/// JSON.
pub(super) type Answer = Result<Vec<u8>, SabError>;

pub(super) fn find(params: &Params) -> Result<&'static Mode, SabError> {
    let (mode, name) = (params.text("mode"), params.text("name"));
    let of_mode = || MODES.iter().filter(|row| row.mode.eq_ignore_ascii_case(mode));
    let named = of_mode().find(|row| !row.name.is_empty() && row.name.eq_ignore_ascii_case(name));
    named.or_else(|| of_mode().find(|row| row.name.is_empty())).ok_or(SabError::NotImplemented)
}

impl Mode {
    /// Its row in the table.
    pub(super) fn row(&self) -> usize {
        self.kind as usize
    }
}

pub(super) fn answer(value: &impl Serialize) -> Answer {
    Ok(serde_json::to_vec(value).expect("our own values have text for keys"))
}

pub(super) fn done() -> Answer {
    Ok(br#"{"status":true}"#.to_vec())
}

macro_rules! modes {
    ($($kind:ident $mode:literal $name:literal $access:ident $effect:ident $summary:literal
       => $handler:path;)*) => {
        #[derive(Clone, Copy)]
        enum Kind { $($kind),* }

        const MODES: &[Mode] = &[$(Mode {
            kind: Kind::$kind,
            mode: $mode,
            name: $name,
            access: Access::$access,
            effect: Effect::$effect,
            summary: $summary,
        }),*];

        pub(super) async fn dispatch<C: Control>(mode: &Mode, call: Call<'_, C>) -> Answer {
            match mode.kind { $(Kind::$kind => Box::pin($handler(call)).await),* }
        }
    };
}

modes! {
    AddFile "addfile" "" Add Changes
        "Adds the NZB in the field `name` or `nzbfile` of a form; `nzbname`, `cat`, `priority`, `pp`, \
         `password`."
        => add::add_file;
    AddLocalFile "addlocalfile" "" Add Changes
        "Adds the NZB at the path `name`, which must be in the watch folder or in one of \
         `control.local_directories`." => add::add_local_file;
    AddUrl "addurl" "" Add Changes "Adds the NZB at the URL `name`." => add::add_url;
    ChangeCat "change_cat" "" Restricted Changes "Sets the category of the job `value` to `value2`."
        => queue_edit::change_category;
    ChangeOpts "change_opts" "" Restricted Changes
        "Stores `value2`, 0 to 3, as the post-processing of the job `value`."
        => queue_edit::change_options;
    ChangeScript "change_script" "" Restricted Changes "There are no scripts, so only `None` is accepted."
        => queue_edit::change_script;
    ConfigPause "config" "set_pause" Restricted Changes "Pauses for `value` minutes; 0 resumes."
        => daemon_control::pause_for;
    ConfigSpeed "config" "speedlimit" Restricted Changes
        "`value` is a percentage of `download.rate`, or a rate like `400K` or `4M`; 0 removes the limit."
        => daemon_control::limit_speed;
    Config "config" "" Control Changes "Keys and backups: *not implemented*."
        => config::not_implemented;
    DelConfig "del_config" "" Control Changes "Always an error: the configuration is changed in its file \
                                               only."
        => config::not_settable;
    FullStatus "fullstatus" "" Restricted Reads "The daemon, its directories and servers." => status::full;
    GetCats "get_cats" "" Restricted Reads "The categories, with `*` for none." => config::categories;
    GetConfig "get_config" "" Restricted Reads
        "The configuration as far as clients use it, without secrets; `section` and `keyword` select a part."
        => config::config;
    GetFiles "get_files" "" Restricted Reads "The files of the job `value`." => files::files;
    GetScripts "get_scripts" "" Restricted Reads "`None`." => config::scripts;
    HistoryDelete "history" "delete" Restricted Changes
        "Hides jobs, or removes them and their files with `archive=0` and `del_files=1`; `value` is a list \
         of ids, `all`, `failed` or `completed`."
        => history::delete;
    HistoryMark "history" "mark_as_completed" Restricted Changes "Marks failed jobs as successes."
        => history::mark_as_completed;
    History "history" "" Restricted Reads
        "Jobs in post-processing, then jobs that ended; `start`, `limit`, `search`, `cat`, `status`, \
         `nzo_ids`, `failed_only`, `archive`, `last_history_update`."
        => history::history;
    Pause "pause" "" Restricted Changes "Pauses downloads." => daemon_control::pause;
    PausePp "pause_pp" "" Restricted Changes "Pauses post-processing." => daemon_control::pause_post;
    QueueAction "queue" "change_complete_action" Restricted Changes
        "There are no actions at the end, so only `none` is accepted." => queue_edit::change_complete_action;
    QueueDelete "queue" "delete" Restricted Changes
        "Deletes jobs and their files without a history entry, or keeps the files with `del_files=0`; `value` is a list of ids or \
         `all`."
        => queue_edit::delete;
    QueueDeleteFile "queue" "delete_nzf" Restricted Changes "Removes the files `value2` from the job `value`."
        => queue_edit::delete_files;
    QueuePause "queue" "pause" Restricted Changes "Pauses jobs." => queue_edit::pause;
    QueuePriority "queue" "priority" Restricted Changes "Sets the priority of jobs to `value2`, -1 to 2."
        => queue_edit::set_priority;
    QueuePurge "queue" "purge" Restricted Changes "Deletes all jobs, or those that match `search`."
        => queue_edit::purge;
    QueueRename "queue" "rename" Restricted Changes
        "Renames the job to `value2`, with `value3` as the password of its archives." => queue_edit::rename;
    QueueResume "queue" "resume" Restricted Changes "Resumes jobs." => queue_edit::resume;
    QueueSort "queue" "sort" Restricted Changes
        "By `name`, `size`, `remaining`, `priority` or `cat`; `dir` is `asc` or `desc`." => queue_edit::sort;
    Queue "queue" "" Restricted Reads
        "The queue; `start`, `limit`, `search`, `cat`, `priority`, `status`, `nzo_ids`." => queue::queue;
    Restart "restart" "" Restricted Changes "Reloads the configuration."
        => daemon_control::restart;
    Resume "resume" "" Restricted Changes "Resumes downloads." => daemon_control::resume;
    ResumePp "resume_pp" "" Restricted Changes "Resumes post-processing." => daemon_control::resume_post;
    Retry "retry" "" Restricted Changes "Retries the job `value`, under the same id." => history::retry;
    RetryAll "retry_all" "" Restricted Changes "Retries all failed jobs." => history::retry_all;
    RssNow "rss_now" "" Restricted Changes "Reads all feeds now." => daemon_control::read_feeds;
    ServerStats "server_stats" "" Restricted Reads "Bytes downloaded from each server, by day." => volumes::volumes;
    SetConfig "set_config" "" Control Changes "Always an error: the configuration is changed in its file \
                                               only."
        => config::not_settable;
    Shutdown "shutdown" "" Restricted Changes "Stops the daemon." => daemon_control::shut_down;
    StatusName "status" "unblock_server" Restricted Changes "Activates the server `value`."
        => daemon_control::unblock_server;
    Status "status" "" Restricted Reads "As `fullstatus`." => status::full;
    Switch "switch" "" Restricted Changes
        "Moves the job `value` to the position of `value2`, which is an id or a number." => queue_edit::switch;
    WarningsClear "warnings" "clear" Restricted Changes "Warnings are removed automatically: *not \
                                                         implemented*."
        => config::not_implemented;
    Warnings "warnings" "" Restricted Reads "Recent warnings." => status::warnings;
    WatchedNow "watched_now" "" Restricted Changes "Scans the watch folder now." => daemon_control::scan;
}

/// Of each row, in the order of the table.
pub(crate) fn mode_names() -> impl Iterator<Item = &'static str> {
    MODES.iter().map(|row| row.mode)
}

/// The table of `docs/sabnzbd.md`.
pub fn markdown() -> String {
    let mut page = String::from("| mode | `name` | access | |\n|---|---|---|---|\n");
    for row in MODES {
        let name = if row.name.is_empty() { String::new() } else { format!("`{}`", row.name) };
        let key = match (row.access, row.effect) {
            (access, Effect::Changes) => access.to_string(),
            (access, Effect::Reads) => format!("{access}, reads only"),
        };
        let _ = writeln!(page, "| `{}` | {name} | {key} | {} |", row.mode, row.summary);
    }
    page
}
