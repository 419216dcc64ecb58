//! [`Outcome`]: how a job ended, in NZBGet's status words.
//!
//! Sonarr and similar programs decide by these words whether to import a job or to search for another, so a failure must
//! never look like a success. NZBGet reports an incomplete job without recovery files as a success; this differs on purpose.

use bergamot_queue::{Cause, Deletion};

use bergamot_api::metrics::{Ending, HealthClass};
use bergamot_api::view::{Job, JobState, Mark};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) par: &'static str,
    pub(crate) unpack: &'static str,
    pub(super) moved: &'static str,
    pub(super) script: &'static str,
    pub(super) delete: &'static str,
    pub(super) mark: &'static str,
    pub(super) url: &'static str,
}

impl Outcome {
    pub(crate) fn of(job: &Job) -> Self {
        Self::of_ending(&Ending::of(job))
    }

    pub(crate) fn of_ending(ending: &Ending) -> Self {
        let mark = match ending.mark {
            Some(Mark::Bad) => "BAD",
            Some(Mark::Good) => "GOOD",
            Some(Mark::Success) => "SUCCESS",
            None => "NONE",
        };
        let url = if ending.awaits_nzb { url_status(ending.state) } else { "NONE" };
        Self { mark, url, ..Self::of_state(ending.state, ending.has_failed_articles) }
    }

    fn of_state(state: JobState, articles_failed: bool) -> Self {
        match state {
            JobState::Queued | JobState::Downloading | JobState::Fetching | JobState::Post(_) => {
                NONE
            }
            // Whole in spite of what is missing: so it was repaired.
            JobState::Completed { verified: true } if articles_failed => {
                Self { par: "SUCCESS", moved: "SUCCESS", ..NONE }
            }
            JobState::Completed { .. } => Self { moved: "SUCCESS", ..NONE },
            JobState::Failed(cause) => Self::of_failure(cause),
            JobState::Deleted(deletion) => Self { delete: deletion_name(deletion), ..NONE },
        }
    }

    fn of_failure(cause: Cause) -> Self {
        match cause {
            Cause::Crashed | Cause::Damaged | Cause::Incomplete | Cause::Repair => {
                Self { par: "FAILURE", ..NONE }
            }
            Cause::Health | Cause::Propagating | Cause::ServersDown | Cause::TakenDown => {
                Self { delete: "HEALTH", ..NONE }
            }
            // Where its kind is that of a URL, the status of that counts.
            Cause::Fetch | Cause::Missing | Cause::Refused | Cause::StateDamaged => {
                Self { delete: "SCAN", ..NONE }
            }
            Cause::Disk => Self { unpack: "SPACE", ..NONE },
            Cause::Move => Self { moved: "FAILURE", ..NONE },
            Cause::Password => Self { unpack: "PASSWORD", ..NONE },
            Cause::Unpack => Self { unpack: "FAILURE", ..NONE },
        }
    }

    /// The word for the whole, by the first rule that matches.
    pub(crate) fn status(&self, ending: &Ending) -> &'static str {
        if ending.awaits_nzb {
            return self.status_of_url();
        }
        self.status_by_user()
            .or_else(|| self.status_by_failure())
            .unwrap_or_else(|| self.status_by_success(ending.health))
    }

    fn status_by_user(&self) -> Option<&'static str> {
        Some(match (self.mark, self.delete) {
            ("BAD", _) => "FAILURE/BAD",
            ("GOOD", _) => "SUCCESS/GOOD",
            ("SUCCESS", _) => "SUCCESS/MARK",
            (_, "HEALTH") => "FAILURE/HEALTH",
            (_, "MANUAL") => "DELETED/MANUAL",
            (_, "DUPE") => "DELETED/DUPE",
            (_, "BAD") => "FAILURE/BAD",
            (_, "GOOD") => "DELETED/GOOD",
            (_, "COPY") => "DELETED/COPY",
            (_, "SCAN") => "FAILURE/SCAN",
            _ => return None,
        })
    }

    fn status_by_failure(&self) -> Option<&'static str> {
        Some(match (self.par, self.unpack, self.moved) {
            ("FAILURE", _, _) => "FAILURE/PAR",
            (_, "FAILURE", _) => "FAILURE/UNPACK",
            (_, _, "FAILURE") => "FAILURE/MOVE",
            ("MANUAL", _, _) => "WARNING/DAMAGED",
            ("REPAIR_POSSIBLE", _, _) => "WARNING/REPAIRABLE",
            _ => return None,
        })
    }

    fn status_by_success(&self, health: HealthClass) -> &'static str {
        match (self.par, self.unpack, self.script) {
            ("NONE", "NONE", _) if health == HealthClass::Critical => "FAILURE/HEALTH",
            ("NONE", "NONE", _) if health == HealthClass::Reduced => "WARNING/HEALTH",
            ("NONE", "NONE", "NONE" | "SUCCESS") => "SUCCESS/HEALTH",
            (_, "SPACE", _) => "WARNING/SPACE",
            (_, "PASSWORD", _) => "WARNING/PASSWORD",
            (_, _, "SUCCESS") => "SUCCESS/ALL",
            (_, "SUCCESS", "NONE") => "SUCCESS/UNPACK",
            ("SUCCESS", _, "NONE") => "SUCCESS/PAR",
            (_, _, "FAILURE") => "WARNING/SCRIPT",
            _ => "FAILURE/INTERNAL_ERROR",
        }
    }

    fn status_of_url(&self) -> &'static str {
        match (self.delete, self.url) {
            ("MANUAL", _) => "DELETED/MANUAL",
            ("DUPE", _) => "DELETED/DUPE",
            ("GOOD", _) => "DELETED/GOOD",
            (_, "FAILURE") => "FAILURE/FETCH",
            (_, "SCAN_SKIPPED") => "WARNING/SKIPPED",
            (_, "SCAN_FAILURE") => "FAILURE/SCAN",
            _ => "FAILURE/INTERNAL_ERROR",
        }
    }

    /// `DupStatus` and `Status` of a hidden job.
    pub(super) fn hidden_status(&self) -> (&'static str, &'static str) {
        let failed = [self.par, self.unpack, self.moved].contains(&"FAILURE")
            || ["SPACE", "PASSWORD"].contains(&self.unpack)
            || ["HEALTH", "SCAN"].contains(&self.delete);
        match (self.mark, self.delete) {
            ("BAD", _) | (_, "BAD") => ("BAD", "FAILURE/BAD"),
            ("GOOD", _) => ("GOOD", "SUCCESS/GOOD"),
            (_, "MANUAL") => ("DELETED", "DELETED/MANUAL"),
            (_, "DUPE" | "COPY" | "GOOD") => ("DUPE", "DELETED/DUPE"),
            _ if failed => ("FAILURE", "FAILURE/HIDDEN"),
            _ => ("SUCCESS", "SUCCESS/HIDDEN"),
        }
    }
}

/// Of a URL whose NZB never came.
fn url_status(state: JobState) -> &'static str {
    match state {
        JobState::Failed(Cause::Refused) => "SCAN_FAILURE",
        JobState::Failed(_) => "FAILURE",
        JobState::Completed { .. } => "SUCCESS",
        _ => "NONE",
    }
}

fn deletion_name(deletion: Deletion) -> &'static str {
    match deletion {
        Deletion::ByPerson => "MANUAL",
        Deletion::Duplicate => "DUPE",
        Deletion::Copy => "COPY",
        Deletion::Bad => "BAD",
        Deletion::Good => "GOOD",
    }
}

const NONE: Outcome = Outcome {
    par: "NONE",
    unpack: "NONE",
    moved: "NONE",
    script: "NONE",
    delete: "NONE",
    mark: "NONE",
    url: "NONE",
};

#[cfg(test)]
mod tests {
    use super::*;

    /// As Sonarr reads a job of the history; later rules override earlier ones.
    fn sonarr(outcome: &Outcome) -> &'static str {
        if outcome.delete == "MANUAL" {
            return if outcome.mark == "BAD" { "failed" } else { "hidden" };
        }
        let good = |status: &str| ["SUCCESS", "NONE"].contains(&status);
        let mut verdict = "completed";
        if !good(outcome.par) {
            verdict = "failed";
        }
        if !good(outcome.unpack) {
            verdict = if outcome.unpack == "SPACE" { "warning" } else { "failed" };
        }
        if !good(outcome.moved) {
            verdict = "warning";
        }
        if !good(outcome.script) {
            verdict = "failed";
        }
        match outcome.delete {
            "NONE" => verdict,
            "HEALTH" | "DUPE" | "SCAN" | "COPY" | "BAD" => "failed",
            _ => "warning",
        }
    }

    /// State, then par, unpack, move and delete, then the status, then what Sonarr makes of it.
    const TABLE: [(JobState, &str, &str, &str); 23] = {
        use Cause::*;
        use JobState::{Completed, Deleted, Failed};
        [
            (Completed { verified: true }, "- - S -", "SUCCESS/HEALTH", "completed"),
            (Completed { verified: false }, "- - S -", "SUCCESS/HEALTH", "completed"),
            (Failed(Crashed), "F - - -", "FAILURE/PAR", "failed"),
            (Failed(Damaged), "F - - -", "FAILURE/PAR", "failed"),
            (Failed(Disk), "- SPACE - -", "WARNING/SPACE", "warning"),
            (Failed(Fetch), "- - - SCAN", "FAILURE/SCAN", "failed"),
            (Failed(Health), "- - - HEALTH", "FAILURE/HEALTH", "failed"),
            (Failed(Incomplete), "F - - -", "FAILURE/PAR", "failed"),
            (Failed(Missing), "- - - SCAN", "FAILURE/SCAN", "failed"),
            (Failed(Move), "- - F -", "FAILURE/MOVE", "warning"),
            (Failed(Password), "- PASSWORD - -", "WARNING/PASSWORD", "failed"),
            (Failed(Propagating), "- - - HEALTH", "FAILURE/HEALTH", "failed"),
            (Failed(Refused), "- - - SCAN", "FAILURE/SCAN", "failed"),
            (Failed(Repair), "F - - -", "FAILURE/PAR", "failed"),
            (Failed(ServersDown), "- - - HEALTH", "FAILURE/HEALTH", "failed"),
            (Failed(StateDamaged), "- - - SCAN", "FAILURE/SCAN", "failed"),
            (Failed(TakenDown), "- - - HEALTH", "FAILURE/HEALTH", "failed"),
            (Failed(Unpack), "- F - -", "FAILURE/UNPACK", "failed"),
            (Deleted(Deletion::ByPerson), "- - - MANUAL", "DELETED/MANUAL", "hidden"),
            (Deleted(Deletion::Duplicate), "- - - DUPE", "DELETED/DUPE", "failed"),
            (Deleted(Deletion::Copy), "- - - COPY", "DELETED/COPY", "failed"),
            (Deleted(Deletion::Bad), "- - - BAD", "FAILURE/BAD", "failed"),
            (Deleted(Deletion::Good), "- - - GOOD", "DELETED/GOOD", "warning"),
        ]
    };

    fn short(outcome: &Outcome) -> String {
        let words = [outcome.par, outcome.unpack, outcome.moved, outcome.delete];
        words.join(" ").replace("NONE", "-").replace("SUCCESS", "S").replace("FAILURE", "F")
    }

    fn status(outcome: &Outcome, health: u16) -> &'static str {
        outcome
            .status_by_user()
            .or_else(|| outcome.status_by_failure())
            .unwrap_or_else(|| outcome.status_by_success(HealthClass::of(health, 850)))
    }

    #[test]
    fn every_end_has_its_words_and_no_failure_looks_like_a_success() {
        for (state, words, expected, verdict) in TABLE {
            let outcome = Outcome::of_state(state, false);
            assert_eq!(short(&outcome), words, "{state:?}");
            assert_eq!(status(&outcome, 1000), expected, "{state:?}");
            assert_eq!(sonarr(&outcome), verdict, "{state:?}");
            let succeeded = matches!(state, JobState::Completed { .. });
            assert_eq!(verdict == "completed", succeeded, "{state:?}");
        }
        for cause in Cause::ALL {
            let listed = TABLE.iter().filter(|(state, ..)| *state == JobState::Failed(cause));
            assert_eq!(listed.count(), 1, "{cause:?}");
        }
    }

    #[test]
    fn what_was_repaired_says_so() {
        let outcome = Outcome::of_state(JobState::Completed { verified: true }, true);
        assert_eq!((short(&outcome).as_str(), status(&outcome, 990)), ("S - S -", "SUCCESS/PAR"));
        let outcome = Outcome::of_state(JobState::Completed { verified: false }, true);
        assert_eq!(status(&outcome, 990), "WARNING/HEALTH");
    }

    #[test]
    fn marks_count_before_all_else() {
        let marked = |mark| Outcome { mark, par: "FAILURE", ..NONE };
        assert_eq!(status(&marked("BAD"), 1000), "FAILURE/BAD");
        assert_eq!(status(&marked("GOOD"), 1000), "SUCCESS/GOOD");
        assert_eq!(status(&marked("SUCCESS"), 1000), "SUCCESS/MARK");
    }
}
