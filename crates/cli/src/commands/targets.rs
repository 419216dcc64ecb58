//! `targets`: the recurring activities of the scheduler.

use bergamot_types::Shown;
use serde::Deserialize;
use serde_json::json;

use crate::client::response::{Moment, read};
use crate::client::session::Session;
use crate::failure::Failure;
use crate::terminal::columns::{Cell, Columns, flexible, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

#[derive(Clone, Debug, Deserialize)]
struct Target {
    kind: String,
    subject: Option<String>,
    enabled: bool,
    running: bool,
    interval_ms: Option<u64>,
    next_due: Option<Moment>,
    last_result: String,
    failures: u32,
}

pub(crate) fn targets(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("targets.list", json!({}))?;
    let targets: Vec<Target> = read(&answer)?;
    session.out.answer(&answer, |style| Ok(page(&targets, style)))
}

fn page(targets: &[Target], style: Style) -> String {
    if targets.is_empty() {
        return "Nothing is scheduled.\n".to_owned();
    }
    let heads = [left("KIND"), flexible("OF"), right("EVERY"), right("NEXT"), left("LAST RESULT")];
    let mut table = Columns::new(heads);
    for target in targets {
        table.push([
            Shown(&target.kind).to_string().into(),
            Shown(target.subject.as_deref().unwrap_or("-")).to_string().into(),
            target.interval_ms.map_or("once".to_owned(), interval).into(),
            next(target, style).into(),
            result(target),
        ]);
    }
    table.page(style)
}

fn interval(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        _ => format::span(milliseconds / 1000),
    }
}

fn next(target: &Target, style: Style) -> String {
    let left = target.next_due.map(|due| due.0.0.saturating_sub(style.now.0).max(0).unsigned_abs());
    match left {
        _ if target.running => "runs".to_owned(),
        _ if !target.enabled => "off".to_owned(),
        None => "-".to_owned(),
        Some(0) => "now".to_owned(),
        Some(seconds) => format::span(seconds),
    }
}

fn result(target: &Target) -> Cell {
    match target.failures {
        0 => Shown(&target.last_result).to_string().into(),
        times => {
            Cell::tinted(Tint::Bad, format!("{} ({times} in a row)", Shown(&target.last_result)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_say_when_they_are_due_and_how_they_did() {
        let target = |kind: &str, interval: Option<u64>, due: Option<&str>, failures: u32| {
            let result = if failures > 0 { "failed" } else { "ok" };
            json!({ "kind": kind, "subject": null, "enabled": true, "running": due.is_none(),
                    "interval_ms": interval, "next_due": due, "last_result": result,
                    "failures": failures })
        };
        let targets: Vec<Target> = read(&json!([
            target("progress", Some(200), Some("2027-01-15T08:00:00Z"), 0),
            target("feed", Some(3_600_000), Some("2027-01-15T08:02:00Z"), 2),
            target("storage", None, None, 0),
        ]))
        .unwrap();
        assert_eq!(
            page(&targets, Style::plain(80)),
            "KIND      OF   EVERY   NEXT  LAST RESULT\n\
             progress  -   200 ms    now  ok\n\
             feed      -      1 h  2 min  failed (2 in a row)\n\
             storage   -     once   runs  ok\n"
        );
    }
}
