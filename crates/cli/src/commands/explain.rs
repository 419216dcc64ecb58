//! `explain`: prints why the queue or a job is slow, waits or failed.

use bergamot_types::Shown;
use serde_json::json;

use crate::client::response::{Evidence, Explanation, read};
use crate::client::session::Session;
use crate::failure::Failure;
use crate::terminal::columns::{Columns, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

pub(crate) fn explain(session: &mut Session, job: Option<u32>) -> Result<(), Failure> {
    let answer = match job {
        Some(job) => session.ask("job.explain", json!({ "job": job }))?,
        None => session.ask("queue.explain", json!({}))?,
    };
    session.out.answer(&answer, |style| Ok(page(&read(&answer)?, style)))
}

/// What keeps everything from being downloaded, if something does.
pub(crate) fn hindrance(session: &mut Session) -> Result<Option<String>, Failure> {
    let explanation: Explanation = read(&session.ask("queue.explain", json!({}))?)?;
    let goes_on = GOES_ON.contains(&explanation.code.as_str());
    Ok((!goes_on).then(|| Shown(&explanation.sentence).to_string()))
}

fn page(explanation: &Explanation, style: Style) -> String {
    let sentence = style.tint(Tint::Title, &Shown(&explanation.sentence).to_string());
    let mut table = Columns::new([left(""), left(""), right(""), left("")]);
    for evidence in &explanation.evidence {
        let (value, fact) = told(evidence);
        table.push([
            format!("  {}", Shown(&evidence.about)).into(),
            Shown(evidence.who.as_deref().unwrap_or_default()).to_string().into(),
            value.into(),
            Shown(&fact).to_string().into(),
        ]);
    }
    format!("{sentence}\n{}", table.page(Style { width: None, ..style }))
}

/// A number and its unit.
fn told(evidence: &Evidence) -> (String, String) {
    let Some(value) = evidence.value else { return (String::new(), evidence.fact.clone()) };
    match evidence.fact.as_str() {
        "bytes per second" => (format::rate(value as u64), String::new()),
        "bytes" => (format::size(value as u64), String::new()),
        fact => match fact.strip_prefix("bytes ") {
            Some(rest) => (format::size(value as u64), rest.to_owned()),
            None => (value.to_string(), fact.to_owned()),
        },
    }
}

/// Codes of a queue that nothing stands in the way of.
const GOES_ON: [&str; 4] = ["downloading", "idle", "limited", "waiting"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_stands_under_its_sentence() {
        let evidence = |about: &str, who: Option<&str>, fact: &str, value: Option<f64>| json!({ "about": about, "who": who, "fact": fact, "value": value });
        let explanation = json!({ "sentence": "Slow.", "code": "x", "evidence": [
            evidence("queue", None, "jobs", Some(3.0)),
            evidence("rate", None, "bytes per second", Some(2_500_000.0)),
            evidence("job", None, "bytes remaining", Some(7_000.0)),
            evidence("server", Some("s1"), "login refused", None),
        ] });
        assert_eq!(
            page(&read(&explanation).unwrap(), Style::plain(80)),
            "Slow.\n  \
             queue              3  jobs\n  \
             rate        2.5 MB/s\n  \
             job           7.0 kB  remaining\n  \
             server  s1            login refused\n"
        );
    }
}
