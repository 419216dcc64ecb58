//! [`Kind`]: the kinds of act, fault and turn that a simulated day of jobs can have. Pure.

use std::collections::BTreeMap;
use std::fmt;

/// Each is counted when it really happens: an edit when it was accepted, a fault when it struck.
macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum Kind { $($kind),* }

        impl Kind {
            pub const ALL: &[Self] = &[$(Self::$kind),*];
        }
    };
}

kinds! {
    // Additions.
    Added,
    AddedByUrl,
    AddedPaused,
    AddedWithDupeKey,
    CopyAccepted,
    CopyRefused,
    CopyRefusedByIntake,
    DuplicateRefused,
    DuplicateReplaced,
    NzbFailed,
    NzbFetched,
    // Edits.
    Paused,
    Resumed,
    MovedTop,
    MovedBottom,
    MovedBefore,
    MovedAfter,
    MovedBy,
    Sorted,
    PrioritySet,
    Forced,
    CategorySet,
    NameSet,
    ParameterSet,
    DupeKeySet,
    DupeScoreSet,
    DupeModeSet,
    FilePaused,
    FileResumed,
    FileDeleted,
    FileMoved,
    FilesReordered,
    DeletedToHistory,
    DeletedParked,
    DeletedAsDuplicate,
    DeletedFinally,
    HistoryDeleted,
    HistoryHidden,
    HistoryMarked,
    HistoryBackup,
    HistoryRetried,
    HistoryRedownloaded,
    EditRefused,
    NoSuchJob,
    // Merges and splits.
    Merged,
    MergeRefused,
    MergedIntoActive,
    Split,
    SplitRefused,
    SplitOfActive,
    // Everything.
    AllPaused,
    AllResumed,
    AllResumedLater,
    PauseEnded,
    SettingsChanged,
    // The state directory.
    WriteFailed,
    RemoveFailed,
    SlowState,
    // The disk of downloads.
    DirectoryVanished,
    FileVanished,
    FinishFailed,
    FileGrows,
    MoveFailed,
    PermanentError,
    VolumeFull,
    VolumeGone,
    VolumeSilent,
    WriteTransient,
    // Loading.
    LoadedAnew,
    LoadedDelivered,
    LoadFailed,
    LoadHeld,
    LoadReadBack,
    LoadSuperseded,
    LoadUnwanted,
    LoadWaits,
    HeldForRoom,
    StoppedForRoom,
    // Servers.
    ArticleMissing,
    ConnectionBroken,
    Outage,
    ServerWorks,
    // Ends.
    Completed,
    FailedBeyondRepair,
    FailedByDisk,
    FailedByOutage,
    FailedIncomplete,
    FailedPropagating,
    HealthDeleted,
    HealthPaused,
    PutBack,
    PrunedByAge,
    PrunedByNumber,
    // The process and the clock.
    CalendarBack,
    CalendarForth,
    FoundDelivered,
    JoinedAtStart,
    Killed,
    KilledTwice,
    NotesLost,
    Parked,
    PutRight,
    Stopped,
}

/// How often each has happened.
pub type Fired = BTreeMap<Kind, u64>;

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
