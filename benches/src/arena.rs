//! All scenarios, all contestants in turn, and what is made of it.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::contestant::Contestant;
use crate::outcome::{Outcome, Score};
use crate::run::{Run, WrongOutput};
use crate::scenario::{self, Length, Scenario};
use crate::stage::Stage;
use crate::{chart, json, table, target};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Where everyone writes to; another file system is another race.
    #[arg(long, default_value = "target/bench")]
    dir: PathBuf,
    /// How often each contestant runs.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only these scenarios.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Leave these contestants out, by the beginning of their names.
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    /// Draw the chart here too.
    #[arg(long)]
    chart: Option<PathBuf>,
    /// Fail when any target is missed, not only that of memory.
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(length: Length, options: &Options) -> anyhow::Result<ExitCode> {
    fs::create_dir_all(&options.dir)?;
    let options = &Options { dir: fs::canonicalize(&options.dir)?, ..options.clone() };
    let mut outcomes = Vec::new();
    for scenario in scenario::all(length) {
        if options.only.is_empty() || options.only.iter().any(|name| name == scenario.name) {
            let outcome = play(scenario, options)?;
            table::print(&outcome);
            outcomes.push(outcome);
        }
    }
    let targets = target::judge(&outcomes);
    println!();
    targets.iter().for_each(|target| println!("{}", target.line()));
    fs::create_dir_all(REPORTS)?;
    fs::write(Path::new(REPORTS).join("arena.json"), json::report(&outcomes, &targets))?;
    let charts = [Some(Path::new(REPORTS).join("arena.svg")), options.chart.clone()];
    for path in charts.into_iter().flatten() {
        fs::write(path, chart::draw(&outcomes))?;
    }
    let failed = outcomes.iter().flat_map(|outcome| &outcome.scores).any(|score| score.at_fault);
    let missed = targets.iter().any(|it| !it.is_met() && (it.firm || options.strict));
    Ok(if failed || missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Everyone in turn, round after round, so that a busy minute hits all alike.
fn play(mut scenario: Scenario, options: &Options) -> anyhow::Result<Outcome> {
    let left_out = |one: &Contestant| {
        let name = one.name().to_lowercase();
        options.without.iter().any(|start| name.starts_with(&start.to_lowercase()))
    };
    scenario.contestants.retain(|one| !left_out(one));
    let stage = Stage::set(scenario.clone(), &options.dir)?;
    let mut scores: Vec<Score> = scenario.contestants.iter().copied().map(Score::new).collect();
    for round in 1..=options.rounds {
        for score in scores.iter_mut().filter(|score| runs_again(score)) {
            show(&format!("{}, round {round}: {}", scenario.name, score.contestant.name()));
            match Run::of(score.contestant, &stage, &options.dir, false) {
                Ok(run) => score.runs.push(run),
                Err(error) => {
                    // A stranger who is not installed or does not start is no fault.
                    score.at_fault = score.contestant.is_ours() || error.is::<WrongOutput>();
                    score.failure = Some(format!("{error:#}"));
                }
            }
        }
    }
    if !scenario.slow_disk {
        count_calls(&mut scores, &stage, options);
    }
    show("");
    Ok(Outcome { scenario, scores })
}

/// What takes this long is not changed by noise, and a third of an hour is enough for all.
fn runs_again(score: &Score) -> bool {
    score.failure.is_none() && score.wall() < LONG
}

/// In runs of their own; without `perf` the column stays empty.
fn count_calls(scores: &mut [Score], stage: &Stage, options: &Options) {
    let able = |score: &&mut Score| score.contestant.is_ours() && score.failure.is_none();
    for score in scores.iter_mut().filter(able) {
        show(&format!("{}, counting: {}", stage.scenario.name, score.contestant.name()));
        score.calls =
            Run::of(score.contestant, stage, &options.dir, true).ok().and_then(|run| run.calls);
    }
}

/// What is under way, for those who watch.
fn show(text: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K{text}");
    }
}

const LONG: Duration = Duration::from_secs(15);
const REPORTS: &str = "target/bench";
