//! The chart: bars for each scenario, each beside its floor.

use std::fmt::Write;

use crate::contestant::Contestant;
use crate::outcome::{Outcome, Score};

/// Draws wall time and CPU of all scenarios.
///
/// Every pair of panels has a scale of its own: what counts is the distance to the floor.
pub(crate) fn draw(outcomes: &[Outcome]) -> String {
    let mut body = String::new();
    let mut top = MARGIN;
    for outcome in outcomes {
        top = draw_outcome(&mut body, outcome, top);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{top}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

fn draw_outcome(out: &mut String, outcome: &Outcome, top: f64) -> f64 {
    let scores: Vec<&Score> =
        outcome.scores.iter().filter(|score| !score.runs.is_empty()).collect();
    text(out, MARGIN, top + TITLE / 2.0, "bold", "start", outcome.scenario.name);
    let wall: Vec<f64> = scores.iter().map(|score| score.wall().as_secs_f64()).collect();
    let cpu: Vec<f64> = scores.iter().map(|score| outcome.cpu_per_gib(score)).collect();
    for (title, left, values) in [("wall, s", WALL, wall), ("CPU, s per GiB", CPU, cpu)] {
        text(out, left, top + TITLE / 2.0, "normal", "start", title);
        draw_bars(out, &scores, &values, (left, top + TITLE));
    }
    for (row, score) in scores.iter().enumerate() {
        let y = top + TITLE + row as f64 * ROW + BASELINE;
        text(out, WALL - 8.0, y, "normal", "end", &score.contestant.name());
    }
    top + TITLE + scores.len() as f64 * ROW + MARGIN
}

fn draw_bars(out: &mut String, scores: &[&Score], values: &[f64], (left, top): (f64, f64)) {
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for (row, (score, value)) in scores.iter().zip(values).enumerate() {
        let (y, width) = (top + row as f64 * ROW, value / most * BAR);
        let (height, fill) = (ROW - GAP, colour(score.contestant));
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{fill}\"/>"
        );
        text(out, left + width + 4.0, y + BASELINE, "normal", "start", &format!("{value:.2}"));
    }
}

fn text(out: &mut String, x: f64, y: f64, weight: &str, anchor: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-weight=\"{weight}\" text-anchor=\"{anchor}\" \
         fill=\"#222222\">{text}</text>"
    );
}

fn colour(contestant: Contestant) -> &'static str {
    match contestant {
        Contestant::Floor { .. } => "#b8b8b8",
        Contestant::Bergamot => "#7a9a01",
        Contestant::Nzbget => "#4a7fb5",
        Contestant::Sabnzbd => "#d9a13b",
    }
}

const WIDTH: f64 = 860.0;
const MARGIN: f64 = 16.0;
const TITLE: f64 = 26.0;
const ROW: f64 = 20.0;
const GAP: f64 = 5.0;
const BASELINE: f64 = 12.0;
const WALL: f64 = 170.0;
const CPU: f64 = 520.0;
/// The longest bar, with room for its figure.
const BAR: f64 = 280.0;
