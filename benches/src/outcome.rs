//! What came of a scenario.

use std::time::Duration;

use crate::contestant::Contestant;
use crate::run::Run;
use crate::scenario::Scenario;

/// A scenario and what everyone needed for it.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) scenario: Scenario,
    pub(crate) scores: Vec<Score>,
}

/// All runs of one contestant.
#[derive(Clone, Debug)]
pub(crate) struct Score {
    pub(crate) contestant: Contestant,
    pub(crate) runs: Vec<Run>,
    /// From a run of its own.
    pub(crate) calls: Option<u64>,
    pub(crate) failure: Option<String>,
    /// It failed, and we cannot let that pass.
    pub(crate) at_fault: bool,
}

impl Outcome {
    pub(crate) fn of(&self, contestant: Contestant) -> Option<&Score> {
        self.scores.iter().find(|score| score.contestant == contestant && !score.runs.is_empty())
    }

    /// The floor that everyone is held against: one that writes.
    pub(crate) fn floor(&self) -> Option<&Score> {
        let writes =
            |score: &&Score| matches!(score.contestant, Contestant::Floor { write: true, .. });
        self.scores.iter().filter(writes).find(|score| !score.runs.is_empty())
    }

    /// CPU seconds for each GiB of payload.
    pub(crate) fn cpu_per_gib(&self, score: &Score) -> f64 {
        score.cpu().as_secs_f64() / (self.scenario.shape.bytes() as f64 / f64::from(1 << 30))
    }

    pub(crate) fn calls_per_article(&self, score: &Score) -> Option<f64> {
        Some(score.calls? as f64 / self.scenario.shape.articles() as f64)
    }
}

/// Of times the best one counts, for noise only adds; of memory the worst.
impl Score {
    pub(crate) fn new(contestant: Contestant) -> Self {
        Self { contestant, runs: Vec::new(), calls: None, failure: None, at_fault: false }
    }

    pub(crate) fn wall(&self) -> Duration {
        self.runs.iter().map(|run| run.wall).min().unwrap_or_default()
    }

    pub(crate) fn cpu(&self) -> Duration {
        self.runs.iter().map(|run| run.cpu).min().unwrap_or_default()
    }

    pub(crate) fn peak(&self) -> u64 {
        self.runs.iter().map(|run| run.peak).max().unwrap_or(0)
    }

    pub(crate) fn above_idle(&self) -> u64 {
        self.runs.iter().map(|run| run.above_idle).max().unwrap_or(0)
    }

    pub(crate) fn written(&self) -> u64 {
        self.runs.iter().map(|run| run.written).min().unwrap_or(0)
    }

    pub(crate) fn wall_ratio(&self, other: &Self) -> f64 {
        self.wall().as_secs_f64() / other.wall().as_secs_f64()
    }

    pub(crate) fn cpu_ratio(&self, other: &Self) -> f64 {
        self.cpu().as_secs_f64() / other.cpu().as_secs_f64()
    }
}
