//! [`JobState`]: the life cycle of a job, from the queue to history; [`Cause`]: why it failed. Pure.
//!
//! A closed machine: [`JobState::next`] knows every step there is and refuses the others, so no record can
//! hold an impossible state. A job that failed has a [`Cause`], and with it a code for
//! programs, a sentence for users and a rule of what may be done about it.

use std::fmt;

use thiserror::Error;

/// Where a job is in its life cycle.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum JobState {
    /// Only the address of its NZB is known.
    Fetching,
    Queued,
    Downloading,
    Post(Stage),
    /// It is history; its [`Ending`] says how that came about.
    Ended,
}

/// What is done with a job that is downloaded, in this order.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Stage {
    Verifying,
    Repairing,
    Unpacking,
    Moving,
    Scripts,
}

/// What happens to a job.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Step {
    /// Its NZB is asked for once more, for it never came.
    Fetch,
    /// Its NZB has come.
    Fetched,
    /// Its articles are asked for: from the queue, or for recovery files that turned out to be needed.
    Download,
    /// A stage begins.
    Enter(Stage),
    /// It gives up its turn, or the daemon stopped before it was through.
    PutBack,
    /// It is completed, failed or deleted.
    End,
    /// The user, or its retry rule, has it tried again from the start.
    Retry,
}

/// A step that no job can take from where it is.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("a job that is {state} cannot {step}")]
pub struct Impossible {
    pub state: JobState,
    pub step: Step,
}

impl JobState {
    pub fn next(self, step: Step) -> Result<Self, Impossible> {
        match (self, step) {
            (Self::Ended, Step::Fetch) => Ok(Self::Fetching),
            (Self::Fetching, Step::Fetched) => Ok(Self::Queued),
            (Self::Fetching, Step::End) => Ok(Self::Ended),
            (Self::Queued, Step::Download) => Ok(Self::Downloading),
            (Self::Post(stage), Step::Download) if stage <= Stage::Repairing => {
                Ok(Self::Downloading)
            }
            (Self::Downloading | Self::Ended, Step::Enter(stage)) => Ok(Self::Post(stage)),
            (Self::Post(from), Step::Enter(to)) if from.may_lead_to(to) => Ok(Self::Post(to)),
            (Self::Downloading | Self::Post(_), Step::PutBack) => Ok(Self::Queued),
            (Self::Queued | Self::Downloading | Self::Post(_), Step::End) => Ok(Self::Ended),
            (Self::Ended, Step::Retry) => Ok(Self::Queued),
            _ => Err(Impossible { state: self, step }),
        }
    }

    pub fn is_ended(self) -> bool {
        self == Self::Ended
    }
}

impl Stage {
    pub const ALL: [Self; 5] =
        [Self::Verifying, Self::Repairing, Self::Unpacking, Self::Moving, Self::Scripts];

    /// Stages with nothing to do are left out. Back leads only what an archive that would not open
    /// shows: that the files have to be verified after all.
    fn may_lead_to(self, next: Self) -> bool {
        next > self || (self == Self::Unpacking && next == Self::Verifying)
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Ending {
    /// `verified`: every byte passed a check.
    Completed {
        verified: bool,
    },
    Failed(Cause),
    Deleted(Deletion),
}

/// Why a job was taken out of the queue unfinished.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Deletion {
    ByPerson,
    /// A better one with the same dupe key is there.
    Duplicate,
    /// The very same articles are there.
    Copy,
    /// The user marked it as bad.
    Bad,
    /// Another with the same dupe key was marked as good.
    Good,
}

/// Why a job failed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Cause {
    /// It crashed the daemon more than once.
    Crashed,
    Damaged,
    Disk,
    /// Its NZB could not be had from its address.
    Fetch,
    /// Too little is left of it to be worth finishing, by the settings.
    Health,
    Incomplete,
    /// Its state or its NZB is gone.
    Missing,
    Move,
    Password,
    /// Posted so lately that its articles may still be on their way.
    Propagating,
    Refused,
    Repair,
    ServersDown,
    /// Its NZB was changed on the disk since it was added.
    StateDamaged,
    TakenDown,
    Unpack,
}

/// What may be done about a failure.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Retry {
    /// When the user asks for it: the cause may have been removed outside the daemon.
    ByPerson,
    /// It would fail again.
    Never,
    /// By itself, when the disk can be written to.
    WhenDiskReturns,
    /// By itself, when a server can be reached.
    WhenServersReturn,
}

impl Cause {
    pub const ALL: [Self; 16] = [
        Self::Crashed,
        Self::Damaged,
        Self::Disk,
        Self::Fetch,
        Self::Health,
        Self::Incomplete,
        Self::Missing,
        Self::Move,
        Self::Password,
        Self::Propagating,
        Self::Refused,
        Self::Repair,
        Self::ServersDown,
        Self::StateDamaged,
        Self::TakenDown,
        Self::Unpack,
    ];

    /// For programs; it never changes.
    pub fn code(self) -> &'static str {
        match self {
            Self::Crashed => "job.crashed",
            Self::Damaged => "job.damaged",
            Self::Disk => "job.disk",
            Self::Fetch => "job.fetch",
            Self::Health => "job.health",
            Self::Incomplete => "job.incomplete",
            Self::Missing => "state.missing",
            Self::Move => "job.move",
            Self::Password => "job.password",
            Self::Propagating => "job.propagating",
            Self::Refused => "job.refused",
            Self::Repair => "job.repair",
            Self::ServersDown => "job.servers_down",
            Self::StateDamaged => "state.damaged",
            Self::TakenDown => "job.taken_down",
            Self::Unpack => "job.unpack",
        }
    }

    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.code() == code)
    }

    pub fn retry(self) -> Retry {
        match self {
            Self::ServersDown => Retry::WhenServersReturn,
            Self::Disk | Self::Move => Retry::WhenDiskReturns,
            Self::Missing | Self::Refused | Self::StateDamaged | Self::TakenDown => Retry::Never,
            Self::Crashed
            | Self::Damaged
            | Self::Fetch
            | Self::Health
            | Self::Incomplete
            | Self::Password
            | Self::Propagating
            | Self::Repair
            | Self::Unpack => Retry::ByPerson,
        }
    }

    /// For users.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Crashed => "the daemon died twice while it worked on this job",
            Self::Damaged => "articles came damaged from every server",
            Self::Disk => "the disk did not take it",
            Self::Fetch => "its NZB could not be fetched",
            Self::Health => "too little of it is left",
            Self::Incomplete => "no server has all of it, and it cannot be repaired",
            Self::Missing => "its NZB or its state is gone",
            Self::Move => "it could not be moved to its destination",
            Self::Password => "its archive needs another password",
            Self::Propagating => "it was posted so lately that parts may not have arrived yet",
            Self::Refused => "its NZB cannot be used",
            Self::Repair => "it could not be repaired",
            Self::ServersDown => "no server could be reached",
            Self::StateDamaged => "its NZB is damaged on the disk; add the NZB again",
            Self::TakenDown => "nearly all of it is gone from every server",
            Self::Unpack => "it could not be unpacked",
        }
    }
}

/// What came of the articles of a job that could not be made whole.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Losses {
    pub got: u64,
    /// No server has them.
    pub missing: u64,
    /// Some server has them, and every copy is broken.
    pub damaged: u64,
}

/// Which failure such losses are. `is_recent`: articles of its post may still be on their way, by
/// [`Propagation`](crate::Propagation).
pub fn cause_of(losses: Losses, is_recent: bool) -> Cause {
    let Losses { got, missing, damaged } = losses;
    if damaged > missing {
        return Cause::Damaged;
    }
    if is_recent && missing > 0 {
        return Cause::Propagating;
    }
    let all = got.saturating_add(missing).saturating_add(damaged);
    // Nothing of it and no article at all are not the same.
    if missing > 0 && u128::from(missing) * 100 >= u128::from(all) * TAKEN_DOWN_PERCENT {
        return Cause::TakenDown;
    }
    Cause::Incomplete
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetching => f.write_str("being fetched"),
            Self::Queued => f.write_str("queued"),
            Self::Downloading => f.write_str("downloading"),
            Self::Post(stage) => stage.fmt(f),
            Self::Ended => f.write_str("ended"),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Verifying => "verifying",
            Self::Repairing => "repairing",
            Self::Unpacking => "unpacking",
            Self::Moving => "moving",
            Self::Scripts => "running scripts",
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetch => f.write_str("be fetched"),
            Self::Fetched => f.write_str("have been fetched"),
            Self::Download => f.write_str("be downloaded"),
            Self::Enter(stage) => write!(f, "begin {stage}"),
            Self::PutBack => f.write_str("be put back"),
            Self::End => f.write_str("end"),
            Self::Retry => f.write_str("be tried again"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.sentence())
    }
}

/// A notice takes down whole posts; what little is left are articles a provider overlooked.
const TAKEN_DOWN_PERCENT: u128 = 90;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// `.` is impossible. Stages by their letters, in their order.
    const TABLE: [(&str, &str); 9] = [
        //             fetch, fetched, download, enter V R U M S, put back, end, retry
        ("being fetched", ".Q  ......  .E."),
        ("queued", "..  D.....  .E."),
        ("downloading", "..  .VRUMS  QE."),
        ("verifying", "..  D.RUMS  QE."),
        ("repairing", "..  D..UMS  QE."),
        ("unpacking", "..  .V..MS  QE."),
        ("moving", "..  .....S  QE."),
        ("running scripts", "..  ......  QE."),
        ("ended", "F.  .VRUMS  ..Q"),
    ];

    fn lives() -> Vec<JobState> {
        let posts = Stage::ALL.map(JobState::Post);
        [JobState::Fetching, JobState::Queued, JobState::Downloading]
            .into_iter()
            .chain(posts)
            .chain([JobState::Ended])
            .collect()
    }

    fn steps() -> Vec<Step> {
        let enters = Stage::ALL.map(Step::Enter);
        let others = [Step::PutBack, Step::End, Step::Retry];
        [Step::Fetch, Step::Fetched, Step::Download]
            .into_iter()
            .chain(enters)
            .chain(others)
            .collect()
    }

    fn letter(life: JobState) -> char {
        match life {
            JobState::Fetching => 'F',
            JobState::Post(Stage::Scripts) => 'S',
            other => other.to_string().to_uppercase().chars().next().unwrap(),
        }
    }

    #[test]
    fn every_step_from_every_state_is_as_the_table_says() {
        assert_eq!(lives().len(), TABLE.len());
        for (life, (name, row)) in lives().into_iter().zip(TABLE) {
            assert_eq!(life.to_string(), name);
            let row: Vec<char> = row.chars().filter(|letter| *letter != ' ').collect();
            assert_eq!(row.len(), steps().len(), "{life}");
            for (step, expected) in steps().into_iter().zip(row) {
                let next = life.next(step);
                assert_eq!(next.map_or('.', letter), expected, "{life}, {step}");
                assert!(next.is_ok() || next == Err(Impossible { state: life, step }));
            }
        }
    }

    #[test]
    fn whatever_is_not_ended_can_end_and_whatever_ended_can_be_tried_again() {
        for life in lives() {
            let step = if life.is_ended() { Step::Retry } else { Step::End };
            assert!(life.next(step).is_ok(), "{life}");
        }
        let error = JobState::Ended.next(Step::End).unwrap_err();
        assert_eq!(error.to_string(), "a job that is ended cannot end");
    }

    #[test]
    fn causes_have_codes_of_their_own() {
        let codes: HashSet<_> = Cause::ALL.iter().map(|cause| cause.code()).collect();
        assert_eq!(codes.len(), Cause::ALL.len());
        for cause in Cause::ALL {
            assert_eq!(Cause::from_code(cause.code()), Some(cause));
            assert!(cause.to_string().starts_with(cause.code()));
        }
        assert_eq!(Cause::from_code("job.unheard_of"), None);
    }

    #[test]
    fn incomplete_propagating_taken_down_and_damaged_are_told_apart() {
        let losses = |got, missing, damaged| Losses { got, missing, damaged };
        for (losses, is_recent, cause) in [
            (losses(90, 10, 0), false, Cause::Incomplete),
            (losses(0, 0, 0), false, Cause::Incomplete),
            (losses(0, 0, 0), true, Cause::Incomplete),
            (losses(90, 10, 0), true, Cause::Propagating),
            (losses(0, 100, 0), true, Cause::Propagating),
            (losses(0, 100, 0), false, Cause::TakenDown),
            (losses(10, 90, 0), false, Cause::TakenDown),
            (losses(11, 89, 0), false, Cause::Incomplete),
            (losses(90, 4, 6), true, Cause::Damaged),
            (losses(0, 0, u64::MAX), false, Cause::Damaged),
            (losses(u64::MAX, u64::MAX, 0), false, Cause::TakenDown),
        ] {
            assert_eq!(cause_of(losses, is_recent), cause, "{losses:?} {is_recent}");
        }
    }
}
