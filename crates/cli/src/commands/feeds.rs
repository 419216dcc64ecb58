//! `feeds`: the feeds, their items and errors.

use std::path::Path;

use anyhow::Context;
use bergamot_types::Shown;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::FeedsCommand;
use crate::client::response::{Moment, read};
use crate::client::session::{Form, Session};
use crate::failure::Failure;
use crate::terminal::columns::{Cell, Columns, flexible, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

#[derive(Clone, Debug, Deserialize)]
struct Feed {
    id: u16,
    name: String,
    url: String,
    state: String,
    trouble: Option<Trouble>,
    interval: u64,
    last_fetched: Option<Moment>,
    next_due: Option<Moment>,
    seen: usize,
    wanted: usize,
}

#[derive(Clone, Debug, Deserialize)]
struct Trouble {
    at: Moment,
    feed: String,
    code: String,
    message: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Item {
    title: String,
    size: Option<u64>,
    published: Option<Moment>,
    verdict: String,
    rule: Option<u32>,
    fate: String,
    category: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Retried {
    items: usize,
    jobs: usize,
}

impl Retried {
    fn page(self) -> String {
        match (self.items, self.jobs) {
            (0, 0) => "Nothing of this feed has failed.\n".to_owned(),
            (items, jobs) => format!("Retried: {items} items, {jobs} jobs.\n"),
        }
    }
}

pub(crate) fn feeds(session: &mut Session, command: &FeedsCommand) -> Result<(), Failure> {
    match command {
        FeedsCommand::Errors => errors(session),
        FeedsCommand::Fetch { feed } => {
            let params = feed.as_ref().map_or(json!({}), |feed| json!({ "feed": feed }));
            let answer = session.ask("feeds.fetch", params)?;
            session.out.answer(&answer, |_| Ok("The feeds are being read.\n".to_owned()))
        }
        FeedsCommand::List => list(session),
        FeedsCommand::Preview { url, rules, rules_file } => {
            let rules = match rules_file {
                Some(path) => text_of(path)?,
                None => rules.clone().unwrap_or_default(),
            };
            let answer = session.ask("feeds.preview", json!({ "url": url, "rules": rules }))?;
            show_items(session, &answer)
        }
        FeedsCommand::Retry { feed } => {
            let answer = session.ask("feeds.retry", json!({ "feed": feed }))?;
            let retried: Retried = read(&answer)?;
            session.out.answer(&answer, |_| Ok(retried.page()))
        }
        FeedsCommand::Run(_) => Err(Failure::Usage("this is not for the daemon".to_owned())),
        FeedsCommand::Show { feed } => {
            let answer = session.ask("feeds.items", json!({ "feed": feed }))?;
            show_items(session, &answer)
        }
    }
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn list(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("feeds.list", json!({}))?;
    let feeds: Vec<Feed> = read(&answer)?;
    if session.out.form == Form::Quiet {
        let ids: String = feeds.iter().map(|feed| format!("{}\n", feed.id)).collect();
        return session.out.text(&ids);
    }
    session.out.answer(&answer, |style| Ok(list_page(&feeds, style)))
}

fn list_page(feeds: &[Feed], style: Style) -> String {
    if feeds.is_empty() {
        return "There are no feeds.\n".to_owned();
    }
    let heads = [
        right("ID"),
        left("NAME"),
        flexible("URL"),
        right("SEEN"),
        right("WANTED"),
        right("EVERY"),
        right("LAST"),
        right("NEXT"),
        flexible("STATE"),
    ];
    let mut table = Columns::new(heads);
    for feed in feeds {
        table.push([
            feed.id.to_string().into(),
            Shown(&feed.name).to_string().into(),
            Shown(&feed.url).to_string().into(),
            feed.seen.to_string().into(),
            feed.wanted.to_string().into(),
            format::span(feed.interval).into(),
            ago(feed.last_fetched, style).into(),
            ahead(feed.next_due, style).into(),
            state(feed),
        ]);
    }
    table.page(style)
}

fn state(feed: &Feed) -> Cell {
    let tint = match feed.state.as_str() {
        "failing" | "held" | "stopped" => Tint::Bad,
        "running" => Tint::Good,
        "disabled" => Tint::Faint,
        _ => return feed.state.as_str().into(),
    };
    let why = feed.trouble.as_ref().map(|trouble| format!(": {}", Shown(&trouble.message)));
    Cell::tinted(tint, format!("{}{}", Shown(&feed.state), why.unwrap_or_default()))
}

fn show_items(session: &mut Session, answer: &Value) -> Result<(), Failure> {
    let items: Vec<Item> = read(answer)?;
    session.out.answer(answer, |style| Ok(items_page(&items, style)))
}

fn items_page(items: &[Item], style: Style) -> String {
    if items.is_empty() {
        return "The feed is empty.\n".to_owned();
    }
    let heads = [
        left("VERDICT"),
        right("RULE"),
        left("STATUS"),
        right("SIZE"),
        right("AGE"),
        left("CATEGORY"),
        flexible("TITLE"),
    ];
    let mut table = Columns::new(heads);
    for item in items {
        let tint = if item.verdict == "accepted" { Tint::Good } else { Tint::Faint };
        table.push([
            Cell::tinted(tint, Shown(&item.verdict).to_string()),
            item.rule.map_or(String::new(), |rule| rule.to_string()).into(),
            Shown(&item.fate).to_string().into(),
            item.size.map_or(String::new(), format::size).into(),
            ago(item.published, style).into(),
            Shown(item.category.as_deref().unwrap_or_default()).to_string().into(),
            Shown(&item.title).to_string().into(),
        ]);
    }
    table.page(style)
}

fn errors(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("feeds.errors", json!({}))?;
    let errors: Vec<Trouble> = read(&answer)?;
    session.out.answer(&answer, |style| Ok(errors_page(&errors, style)))
}

fn errors_page(errors: &[Trouble], style: Style) -> String {
    if errors.is_empty() {
        return "No request to a feed has failed.\n".to_owned();
    }
    let mut table =
        Columns::new([right("AGO"), left("FEED"), left("CODE"), flexible("WHAT WENT WRONG")]);
    for error in errors {
        table.push([
            ago(Some(error.at), style).into(),
            Shown(&error.feed).to_string().into(),
            Shown(&error.code).to_string().into(),
            Shown(&error.message).to_string().into(),
        ]);
    }
    table.page(style)
}

fn ago(moment: Option<Moment>, style: Style) -> String {
    let seconds = moment.map(|moment| style.now.0.saturating_sub(moment.0.0).max(0).unsigned_abs());
    seconds.map_or("-".to_owned(), format::span)
}

fn ahead(moment: Option<Moment>, style: Style) -> String {
    let seconds = moment.map(|moment| moment.0.0.saturating_sub(style.now.0).max(0).unsigned_abs());
    seconds.map_or("-".to_owned(), |seconds| match seconds {
        0 => "now".to_owned(),
        seconds => format::span(seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_say_how_they_do() {
        let feed = |id: u16, state: &str, trouble: bool| -> Feed {
            let trouble = trouble.then(|| {
                json!({ "at": "2027-01-15T08:00:00Z", "feed": "a", "code": "feed.denied",
                        "message": "status \u{1b}401" })
            });
            read(&json!({
                "id": id, "name": "a", "url": "http://x/?***", "state": state, "trouble": trouble,
                "interval": 3600, "last_fetched": null, "next_due": null, "seen": 5, "wanted": 0,
            }))
            .unwrap()
        };
        let page =
            list_page(&[feed(1, "waiting", false), feed(2, "stopped", true)], Style::plain(120));
        assert_eq!(
            page,
            "ID  NAME  URL            SEEN  WANTED  EVERY  LAST  NEXT  STATE\n \
             1  a     http://x/?***     5       0    1 h     -     -  waiting\n \
             2  a     http://x/?***     5       0    1 h     -     -  stopped: status \\u{1b}401\n"
        );
    }
}
