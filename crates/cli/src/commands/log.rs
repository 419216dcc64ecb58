//! `log`: lines of the daemon's log.

use std::thread;
use std::time::Duration;

use bergamot_types::Shown;
use serde_json::{Value, json};

use crate::client::response::{LogLine, read};
use crate::client::session::{Form, Session};
use crate::failure::Failure;
use crate::terminal::style::{Style, Tint};

pub(crate) fn log(
    session: &mut Session,
    lines: usize,
    job: Option<u32>,
    follow: bool,
) -> Result<(), Failure> {
    let answer = session.ask("log.list", json!({ "limit": lines, "job": job }))?;
    if follow {
        return follow_on(session, &answer, job);
    }
    session.out.answer(&answer, |style| {
        Ok(read::<Vec<LogLine>>(&answer)?.iter().map(|line| shown(line, style)).collect())
    })
}

/// Polls: log lines are not events, because sending an event may write a line.
fn follow_on(session: &mut Session, first: &Value, job: Option<u32>) -> Result<(), Failure> {
    let mut next = tell(session, first, 1)?;
    loop {
        thread::sleep(LOOK_AGAIN);
        let params = json!({ "from": next, "limit": AT_ONCE, "job": job });
        let answer = session.ask("log.list", params)?;
        next = tell(session, &answer, next)?;
    }
}

/// One line each, also as JSON: an endless list could not be parsed. Returns the next number.
fn tell(session: &mut Session, answer: &Value, mut next: u64) -> Result<u64, Failure> {
    for value in answer.as_array().into_iter().flatten() {
        let line: LogLine = read(value)?;
        match session.out.form {
            Form::Json => session.out.text(&format!("{value}\n"))?,
            Form::Page => {
                let text = shown(&line, session.out.style);
                session.out.text(&text)?;
            }
            Form::Quiet => {}
        }
        next = line.id.saturating_add(1);
    }
    Ok(next)
}

fn shown(line: &LogLine, style: Style) -> String {
    let tint = match line.kind.as_str() {
        "error" => Tint::Bad,
        "warning" => Tint::Warning,
        "debug" | "detail" => Tint::Faint,
        _ => Tint::Plain,
    };
    let time = style.tint(Tint::Faint, &style.date_to_the_second(line.at.0));
    let kind = style.tint(tint, &format!("{:7}", Shown(&line.kind).to_string()));
    format!("{time}  {kind}  {}\n", Shown(&line.text))
}

/// Quick enough for a reader.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
const AT_ONCE: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_time_and_kind() {
        let line = json!({ "id": 7, "kind": "warning", "at": "2027-01-15T08:00:01Z",
            "text": "s1 is \u{1b}[2Jaway" });
        assert_eq!(
            shown(&read(&line).unwrap(), Style::plain(80)),
            "2027-01-15 08:00:01  warning  s1 is \\u{1b}[2Jaway\n"
        );
    }
}
