//! The table on standard output.

use crate::contestant::Contestant;
use crate::outcome::{Outcome, Score};

pub(crate) fn print(outcome: &Outcome) {
    println!(
        "\n{:<22} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>15} {:>15}",
        outcome.scenario.name,
        "wall s",
        "CPU/GiB",
        "peak MiB",
        "+idle",
        "written",
        "calls/art",
        "wall CPU:floor",
        "wall CPU:NZBGet",
    );
    for score in &outcome.scores {
        println!("{}", row(outcome, score));
        if let Some(failure) = &score.failure {
            println!("  failed: {failure}");
        }
    }
}

fn row(outcome: &Outcome, score: &Score) -> String {
    let name = score.contestant.name();
    if score.runs.is_empty() {
        return format!("{name:<22} {:>8}", "-");
    }
    let mebibytes = |kibibytes: u64| kibibytes as f64 / 1024.0;
    let calls = outcome.calls_per_article(score).map_or("-".into(), |calls| format!("{calls:.1}"));
    format!(
        "{name:<22} {:>8.3} {:>8.3} {:>8.1} {:>8.1} {:>9.1} {calls:>9} {:>15} {:>15}",
        score.wall().as_secs_f64(),
        outcome.cpu_per_gib(score),
        mebibytes(score.peak()),
        mebibytes(score.above_idle()),
        mebibytes(score.written() / 1024),
        ratios(score, outcome.floor()),
        ratios(score, outcome.of(Contestant::Nzbget)),
    )
}

fn ratios(score: &Score, other: Option<&Score>) -> String {
    other.map_or("-".into(), |other| {
        format!("{:.2} {:.2}", score.wall_ratio(other), score.cpu_ratio(other))
    })
}
