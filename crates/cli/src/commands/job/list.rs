//! `list` and `history`: tables of jobs.

use bergamot_types::Shown;
use serde_json::{Value, json};

use crate::arguments::List;
use crate::client::response::{Job, Page, State, read};
use crate::client::session::{Form, Session};
use crate::commands::explain;
use crate::failure::Failure;
use crate::terminal::columns::{Cell, Columns, flexible, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

pub(crate) fn queue(session: &mut Session, list: &List) -> Result<(), Failure> {
    let answer = session.ask("queue.list", params(list, session.out.form))?;
    let hindrance = match session.out.form {
        Form::Page => explain::hindrance(session)?,
        _ => None,
    };
    told(session, &answer, list, |jobs, list, style| {
        let why = hindrance.map(|why| format!("{}\n", style.tint(Tint::Warning, &why)));
        why.unwrap_or_default() + &queue_page(jobs, list, style)
    })
}

pub(crate) fn history(session: &mut Session, list: &List) -> Result<(), Failure> {
    let answer = session.ask("history.list", params(list, session.out.form))?;
    told(session, &answer, list, history_page)
}

fn params(list: &List, form: Form) -> Value {
    let usual = (form == Form::Page).then_some(A_FEW_SCREENS);
    json!({
        "offset": list.offset,
        "limit": list.limit.or(usual),
        "category": list.category,
        "search": list.search,
    })
}

fn told(
    session: &mut Session,
    answer: &Value,
    list: &List,
    page: impl FnOnce(&Page<Job>, &List, Style) -> String,
) -> Result<(), Failure> {
    if session.out.form == Form::Quiet {
        let jobs: Page<Job> = read(answer)?;
        let ids: String = jobs.items.iter().map(|job| format!("{}\n", job.id)).collect();
        return session.out.text(&ids);
    }
    session.out.answer(answer, |style| Ok(page(&read(answer)?, list, style)))
}

fn queue_page(jobs: &Page<Job>, list: &List, style: Style) -> String {
    if jobs.items.is_empty() {
        return nothing(jobs.total, list, "The queue is empty.");
    }
    let heads = [
        right("ID"),
        flexible("NAME"),
        left("CATEGORY"),
        right("PRIORITY"),
        right("SIZE"),
        right("DONE"),
        left("STATE"),
    ];
    let mut table = Columns::new(heads);
    for job in &jobs.items {
        table.push([
            job.id.to_string().into(),
            name(job).into(),
            category(job),
            if job.priority == 0 { "".into() } else { job.priority.to_string().into() },
            format::size(job.size).into(),
            format::percent(job.remaining, job.size).into(),
            state(job),
        ]);
    }
    table.page(style) + &more(jobs, list, style)
}

fn history_page(jobs: &Page<Job>, list: &List, style: Style) -> String {
    if jobs.items.is_empty() {
        return nothing(jobs.total, list, "No job has ended yet.");
    }
    let heads =
        [right("ID"), flexible("NAME"), left("CATEGORY"), right("SIZE"), right("ENDED"), left("")];
    let mut table = Columns::new(heads);
    for job in &jobs.items {
        let ended = job.ended.as_ref();
        table.push([
            job.id.to_string().into(),
            name(job).into(),
            category(job),
            format::size(job.size).into(),
            ended.map_or("".into(), |ended| format::ago(style.now, ended.at.0).into()),
            state(job),
        ]);
    }
    table.page(style) + &more(jobs, list, style)
}

fn nothing(total: usize, list: &List, usual: &str) -> String {
    let is_narrowed = list.search.is_some() || list.category.is_some();
    match (total, is_narrowed) {
        (0, false) => format!("{usual}\n"),
        (0, true) => "No job matches.\n".to_owned(),
        _ => format!("There are only {total}.\n"),
    }
}

/// The option that shows the rest of the list.
fn more(jobs: &Page<Job>, list: &List, style: Style) -> String {
    let shown = list.offset + jobs.items.len();
    match shown < jobs.total {
        true => {
            let text = format!("{shown} of {}; more with --offset {shown}", jobs.total);
            format!("{}\n", style.tint(Tint::Faint, &text))
        }
        false => String::new(),
    }
}

fn category(job: &Job) -> Cell {
    Shown(job.category.as_deref().unwrap_or_default()).to_string().into()
}

/// The name of a job, or its URL.
pub(crate) fn name(job: &Job) -> String {
    if job.name.is_empty() { "(unnamed)".to_owned() } else { Shown(&job.name).to_string() }
}

pub(crate) fn state(job: &Job) -> Cell {
    let (tint, text) = state_words(&job.state, job.paused);
    Cell::tinted(tint, text)
}

pub(crate) fn state_words(state: &State, paused: bool) -> (Tint, String) {
    match state {
        State::Queued | State::Downloading if paused => (Tint::Warning, "paused".to_owned()),
        State::Queued => (Tint::Plain, "queued".to_owned()),
        State::Downloading => (Tint::Busy, "downloading".to_owned()),
        State::Fetching => (Tint::Busy, "fetching its NZB".to_owned()),
        State::Post(stage) => (Tint::Busy, words_of(stage)),
        State::Completed { verified: true } => (Tint::Good, "complete".to_owned()),
        State::Completed { verified: false } => (Tint::Warning, "complete, unverified".to_owned()),
        State::Failed(cause) => (Tint::Bad, format!("failed: {}", words_of(cause))),
        State::Deleted(why) if why == "by-person" => (Tint::Faint, "deleted".to_owned()),
        State::Deleted(why) => (Tint::Warning, format!("deleted: {}", words_of(why))),
    }
}

/// A code as words.
pub(crate) fn words_of(word: &str) -> String {
    Shown(&word.replace(['-', '_'], " ")).to_string()
}

const A_FEW_SCREENS: usize = 100;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn job(id: u32, name: &str, state: Value) -> Job {
        let mut job = json!({
            "id": id, "name": name, "url": null, "category": null, "priority": 0, "state": state,
            "paused": false, "added": "2027-01-15T07:00:00Z", "size": 1_000_000, "remaining": 250_000,
            "files": 3, "remaining_files": 1, "articles": 10, "failed_articles": 0, "health": 1000,
            "critical_health": 900, "working_directory": "/i/x", "destination": "/c/x",
            "download_seconds": 60, "ended": null,
        });
        if matches!(state["is"].as_str(), Some("completed" | "failed" | "deleted")) {
            job["ended"] =
                json!({ "at": "2027-01-15T07:58:00Z", "reason": null, "can_retry": true });
        }
        read(&job).unwrap()
    }

    fn list(offset: usize) -> List {
        List { search: None, category: None, offset, limit: None }
    }

    #[test]
    fn the_queue_is_a_table() {
        let jobs = vec![
            job(7, "A\u{1b}[2Jb", json!({ "is": "downloading" })),
            Job { paused: true, priority: 50, ..job(12, "Second", json!({ "is": "queued" })) },
        ];
        let page = queue_page(&Page { total: 5, items: jobs }, &list(1), Style::plain(80));
        assert_eq!(
            page,
            "ID  NAME         PRIORITY    SIZE  DONE  STATE\n \
             7  A\\u{1b}[2Jb            1.0 MB  75 %  downloading\n\
             12  Second             50  1.0 MB  75 %  paused\n\
             3 of 5; more with --offset 3\n"
        );
    }

    #[test]
    fn the_history_says_how_it_ended() {
        let jobs = vec![
            job(3, "Good", json!({ "is": "completed", "what": { "verified": true } })),
            job(2, "Bad", json!({ "is": "failed", "what": "servers-down" })),
        ];
        let page = history_page(&Page { total: 2, items: jobs }, &list(0), Style::plain(80));
        assert_eq!(
            page,
            "ID  NAME    SIZE      ENDED\n \
             3  Good  1.0 MB  2 min ago  complete\n \
             2  Bad   1.0 MB  2 min ago  failed: servers down\n"
        );
    }

    #[test]
    fn an_empty_list_says_why() {
        let none = Page { total: 0, items: Vec::new() };
        assert_eq!(queue_page(&none, &list(0), Style::plain(80)), "The queue is empty.\n");
        let searched = List { search: Some("x".to_owned()), ..list(0) };
        assert_eq!(queue_page(&none, &searched, Style::plain(80)), "No job matches.\n");
        let beyond = Page { total: 4, items: Vec::new() };
        assert_eq!(history_page(&beyond, &list(9), Style::plain(80)), "There are only 4.\n");
    }
}
