//! What may be asked to be done to jobs: [`Edit`] and its parts. Plain data.

use bergamot_queue::DupeMode;
use bergamot_types::JobId;
use serde::{Deserialize, Serialize};

use crate::record::outcome::Mark;

/// What to do with jobs.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    Pause,
    Resume,
    Move(Place),
    /// All the jobs named, or the whole queue if none is named.
    Sort {
        by: SortKey,
        descending: bool,
    },
    SetPriority(i32),
    SetCategory(Option<String>),
    SetName(String),
    /// An empty value removes it.
    SetParameter {
        name: String,
        value: String,
    },
    SetDupeKey(String),
    SetDupeScore(i32),
    SetDupeMode(DupeMode),
    /// Ends a job that is queued.
    Delete(Delete),
    /// Files of the one job named, by their index.
    Files {
        files: Vec<u32>,
        what: FileEdit,
    },
    /// For jobs in the history.
    History(HistoryEdit),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    Top,
    Bottom,
    Before(JobId),
    After(JobId),
    /// So many positions down, or up if negative.
    By(i64),
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SortKey {
    Name,
    Priority,
    Category,
    Size,
    Left,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Delete {
    /// Into the history, with what was downloaded deleted.
    ToHistory,
    /// Into the history, with what was downloaded kept.
    Park,
    /// Into the history, as a duplicate.
    AsDuplicate,
    /// With its record.
    Finally,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileEdit {
    Pause,
    Resume,
    Delete,
    Top,
    Bottom,
    By(i64),
    /// Before all others, in the order given.
    Reorder,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HistoryEdit {
    /// Whether a deleted job is a backup that may replace another job of its dupe key.
    Backup(bool),
    /// Not listed any more; it still counts in the search for duplicates.
    Hide,
    /// With its files, where they lie in the working directory.
    Delete,
    /// Downloads again, from the beginning.
    Redownload,
    /// Downloads what is missing.
    Retry,
    /// Processes once more what is there.
    Process,
    Mark(Mark),
}
