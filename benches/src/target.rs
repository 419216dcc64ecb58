//! What bergamot is held to, as ratios within one run.

use crate::contestant::Contestant;
use crate::outcome::{Outcome, Score};

/// A target and how near we came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) text: String,
    pub(crate) limit: f64,
    pub(crate) found: f64,
    /// A machine's noise is no excuse for missing it.
    pub(crate) firm: bool,
}

impl Target {
    pub(crate) fn is_met(&self) -> bool {
        self.found <= self.limit
    }

    pub(crate) fn line(&self) -> String {
        let word = if self.is_met() { "met" } else { "missed" };
        format!("target: {}: {:.2} {word}", self.text, self.found)
    }
}

/// All that can be judged by what was run.
pub(crate) fn judge(outcomes: &[Outcome]) -> Vec<Target> {
    outcomes.iter().flat_map(of_outcome).collect()
}

fn of_outcome(outcome: &Outcome) -> Vec<Target> {
    let Some(ours) = outcome.of(Contestant::Bergamot) else { return Vec::new() };
    let mut targets = Vec::new();
    for limit in LIMITS.iter().filter(|limit| limit.scenario == outcome.scenario.name) {
        let rival = match limit.rival {
            Rival::Floor => outcome.floor(),
            Rival::Nzbget => outcome.of(Contestant::Nzbget),
        };
        targets.extend(rival.map(|rival| limit.judge(ours, rival)));
    }
    let found = ours.above_idle() as f64 / 1024.0;
    let text = format!("{}: peak RSS <= {MEMORY} MiB above idle", outcome.scenario.name);
    targets.push(Target { text, limit: MEMORY, found, firm: true });
    targets
}

#[derive(Debug)]
struct Limit {
    scenario: &'static str,
    measure: Measure,
    at_most: f64,
    rival: Rival,
}

#[derive(Clone, Copy, Debug)]
enum Measure {
    Cpu,
    Wall,
}

#[derive(Clone, Copy, Debug)]
enum Rival {
    Floor,
    Nzbget,
}

impl Limit {
    fn judge(&self, ours: &Score, rival: &Score) -> Target {
        let (measure, found) = match self.measure {
            Measure::Cpu => ("CPU", ours.cpu_ratio(rival)),
            Measure::Wall => ("wall", ours.wall_ratio(rival)),
        };
        let whose = match self.rival {
            Rival::Floor => "floor",
            Rival::Nzbget => "NZBGet",
        };
        let text = format!("{}: {measure} <= {} x {whose}", self.scenario, self.at_most);
        Target { text, limit: self.at_most, found, firm: false }
    }
}

const fn limit(scenario: &'static str, measure: Measure, at_most: f64, rival: Rival) -> Limit {
    Limit { scenario, measure, at_most, rival }
}

const LIMITS: [Limit; 8] = [
    limit("raw-plain", Measure::Cpu, 1.6, Rival::Floor),
    limit("raw-plain", Measure::Wall, 1.6, Rival::Floor),
    limit("raw-plain", Measure::Cpu, 0.4, Rival::Nzbget),
    limit("raw-tls", Measure::Cpu, 1.4, Rival::Floor),
    limit("raw-tls", Measure::Wall, 1.6, Rival::Floor),
    limit("raw-tls", Measure::Cpu, 0.46, Rival::Nzbget),
    limit("rtt-50ms", Measure::Wall, 1.4, Rival::Floor),
    limit("many-small", Measure::Wall, 0.06, Rival::Nzbget),
];

/// In MiB, in every scenario.
const MEMORY: f64 = 64.0;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::run::Run;
    use crate::scenario::{self, Length};

    fn score(contestant: Contestant, wall_ms: u64, above_idle: u64) -> Score {
        let wall = Duration::from_millis(wall_ms);
        let run = Run { wall, cpu: wall, above_idle, ..Run::default() };
        Score { runs: vec![run], ..Score::new(contestant) }
    }

    #[test]
    fn targets_are_met_or_missed() {
        let scenario = scenario::all(Length::Full).remove(0);
        let floor = Contestant::Floor { write: true, depth: 1 };
        let scores = vec![score(floor, 1000, 0), score(Contestant::Bergamot, 1700, 70 << 10)];
        let targets = judge(&[Outcome { scenario, scores }]);
        let lines: Vec<String> = targets.iter().map(Target::line).collect();
        assert_eq!(
            lines,
            [
                "target: raw-plain: CPU <= 1.6 x floor: 1.70 missed",
                "target: raw-plain: wall <= 1.6 x floor: 1.70 missed",
                "target: raw-plain: peak RSS <= 64 MiB above idle: 70.00 missed",
            ]
        );
        assert!(targets[2].firm && !targets[0].firm);
    }
}
