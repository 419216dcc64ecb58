//! `groups`: newsgroups, their headers and posts.

use bergamot_types::Shown;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{GroupCommand, PostChoice};
use crate::client::response::{Moment, Page, read};
use crate::client::session::{Form, Session};
use crate::commands::job::add::{id_of, tell};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::columns::{Cell, Columns, flexible, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

pub(crate) fn groups(session: &mut Session, command: &GroupCommand) -> Result<(), Failure> {
    match command {
        GroupCommand::List { pattern, after, limit } => {
            let params = json!({ "pattern": pattern, "after": after, "limit": limit });
            list(session, params)
        }
        GroupCommand::Headers { group, below, limit, latest } => {
            let params =
                json!({ "group": group, "below": below, "limit": limit, "latest": latest });
            headers(session, "groups.headers", params)
        }
        GroupCommand::Search { group, words, below, limit } => {
            let search = words.join(" ");
            let params =
                json!({ "group": group, "search": search, "below": below, "limit": limit });
            headers(session, "groups.search", params)
        }
        GroupCommand::Posts(choice) => posts(session, choice),
        GroupCommand::Queue { group, posts, category, priority, paused } => {
            let mut worst = Exit::Ok;
            for post in posts {
                let params = json!({
                    "group": group, "post": post, "category": category, "priority": priority,
                    "paused": paused,
                });
                let exit = queue(session, params)?;
                worst = if worst == Exit::Ok { exit } else { worst };
            }
            if worst == Exit::Ok { Ok(()) } else { Err(Failure::ImportOutput(worst)) }
        }
    }
}

#[derive(Deserialize)]
struct Group {
    name: String,
    description: Option<String>,
    first: u64,
    last: u64,
}

fn list(session: &mut Session, mut params: Value) -> Result<(), Failure> {
    if params["pattern"].is_null() {
        params["pattern"] = json!("");
    }
    let limit = params["limit"].as_u64().unwrap_or(u64::MAX);
    let answer = session.ask("groups.list", params)?;
    if session.out.form == Form::Quiet {
        let page: Page<Group> = read(&answer)?;
        let names: String = page.items.iter().map(|group| format!("{}\n", group.name)).collect();
        return session.out.text(&names);
    }
    session.out.answer(&answer, |style| Ok(groups_page(&read(&answer)?, limit, style)))
}

/// A page that is not full is the last.
fn groups_page(page: &Page<Group>, limit: u64, style: Style) -> String {
    let Some(last) = page.items.last() else { return "No group matches.\n".to_owned() };
    let mut table = Columns::new([left("GROUP"), right("ARTICLES"), flexible("")]);
    for group in &page.items {
        // Servers report only the range; deleted articles within it count too.
        let articles = group.last.saturating_add(1).saturating_sub(group.first);
        table.push([
            Shown(&group.name).to_string().into(),
            articles.to_string().into(),
            Shown(group.description.as_deref().unwrap_or_default()).to_string().into(),
        ]);
    }
    let shown = page.items.len();
    let more = (shown < page.total && shown as u64 >= limit)
        .then(|| format!("{shown} of {}; more with --after {}", page.total, Shown(&last.name)));
    table.page(style) + &faint(more, style)
}

#[derive(Deserialize)]
struct Headers {
    below: Option<u64>,
    items: Vec<Header>,
}

#[derive(Deserialize)]
struct Header {
    number: u64,
    subject: String,
    poster: String,
    date: Option<Moment>,
    id: String,
    bytes: u64,
}

fn headers(session: &mut Session, method: &str, params: Value) -> Result<(), Failure> {
    let answer = session.ask(method, params)?;
    if session.out.form == Form::Quiet {
        let page: Headers = read(&answer)?;
        let ids: String = page.items.iter().map(|header| format!("<{}>\n", header.id)).collect();
        return session.out.text(&ids);
    }
    session.out.answer(&answer, |style| Ok(headers_page(&read(&answer)?, style)))
}

fn headers_page(page: &Headers, style: Style) -> String {
    let mut table = Columns::new([
        right("NUMBER"),
        right("SIZE"),
        right("POSTED"),
        left("POSTER"),
        flexible("SUBJECT"),
    ]);
    for header in &page.items {
        table.push([
            header.number.to_string().into(),
            format::size(header.bytes).into(),
            posted(header.date, style),
            short(&header.poster).into(),
            Shown(&header.subject).to_string().into(),
        ]);
    }
    let rows = if page.items.is_empty() { "None.\n".to_owned() } else { table.page(style) };
    rows + &faint(page.below.map(|below| format!("older ones with --below {below}")), style)
}

#[derive(Deserialize)]
struct Post {
    post: String,
    title: String,
    poster: String,
    date: Option<Moment>,
    bytes: u64,
    complete: bool,
    present_files: u32,
    expected_files: u32,
    present_articles: u64,
    expected_articles: u64,
    files: Option<Vec<PostFile>>,
}

#[derive(Deserialize)]
struct PostFile {
    name: Option<String>,
    bytes: u64,
    present: u32,
    expected: u32,
}

fn posts(session: &mut Session, choice: &PostChoice) -> Result<(), Failure> {
    let words = (!choice.words.is_empty()).then(|| choice.words.join(" "));
    let params = json!({
        "group": choice.group, "search": words, "post": choice.post, "complete": choice.complete,
        "offset": choice.offset, "limit": choice.limit, "latest": choice.latest,
    });
    let answer = session.ask("groups.posts", params)?;
    if session.out.form == Form::Quiet {
        let page: Page<Post> = read(&answer)?;
        let keys: String = page.items.iter().map(|post| format!("{}\n", post.post)).collect();
        return session.out.text(&keys);
    }
    session.out.answer(&answer, |style| Ok(posts_page(&read(&answer)?, choice.offset, style)))
}

fn posts_page(page: &Page<Post>, offset: usize, style: Style) -> String {
    if page.items.is_empty() {
        return "No post matches.\n".to_owned();
    }
    let mut table = Columns::new([
        left("POST"),
        right("SIZE"),
        right("POSTED"),
        right("FILES"),
        left("COMPLETE"),
        left("POSTER"),
        flexible("TITLE"),
    ]);
    for post in &page.items {
        table.push([
            Shown(&post.post).to_string().into(),
            format::size(post.bytes).into(),
            posted(post.date, style),
            counted(post.present_files.into(), post.expected_files.into()).into(),
            completeness(post),
            short(&post.poster).into(),
            Shown(&post.title).to_string().into(),
        ]);
    }
    let shown = offset + page.items.len();
    let more = (shown < page.total)
        .then(|| format!("{shown} of {}; more with --offset {shown}", page.total));
    let files = page.items.iter().filter_map(|post| post.files.as_ref());
    let files: String = files.map(|files| format!("\n{}", files_page(files, style))).collect();
    table.page(style) + &faint(more, style) + &files
}

fn files_page(files: &[PostFile], style: Style) -> String {
    let mut table = Columns::new([flexible("FILE"), right("SIZE"), right("ARTICLES")]);
    for file in files {
        table.push([
            Shown(file.name.as_deref().unwrap_or("(unnamed)")).to_string().into(),
            format::size(file.bytes).into(),
            counted(file.present.into(), file.expected.into()).into(),
        ]);
    }
    table.page(style)
}

fn completeness(post: &Post) -> Cell {
    if post.complete {
        return Cell::tinted(Tint::Good, "yes");
    }
    let left = post.expected_articles.saturating_sub(post.present_articles);
    let share = format::percent(left, post.expected_articles);
    match post.present_files < post.expected_files {
        true => Cell::tinted(Tint::Warning, "files missing"),
        false => Cell::tinted(Tint::Warning, share),
    }
}

fn counted(present: u64, expected: u64) -> String {
    if present >= expected { present.to_string() } else { format!("{present} of {expected}") }
}

fn posted(date: Option<Moment>, style: Style) -> Cell {
    date.map_or("".into(), |date| format::ago(style.now, date.0).into())
}

/// The name of a poster without the address, which is seldom theirs.
fn short(poster: &str) -> String {
    let name = poster.split('<').next().unwrap_or_default().trim().trim_matches('"');
    let name = if name.is_empty() { poster } else { name };
    Shown(&name.chars().take(LONGEST_POSTER).collect::<String>()).to_string()
}

fn faint(text: Option<String>, style: Style) -> String {
    text.map_or(String::new(), |text| format!("{}\n", style.tint(Tint::Faint, &text)))
}

fn queue(session: &mut Session, params: Value) -> Result<Exit, Failure> {
    let answer = session.ask("groups.queue", params)?;
    tell(session, &answer, id_of(&answer), false)
}

const LONGEST_POSTER: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_a_table_and_say_where_it_goes_on() {
        let page = json!({ "total": 3, "items": [
            { "name": "a.b", "description": "All\u{1b} of it", "first": 11, "last": 20 },
            { "name": "a.c", "description": null, "first": 1, "last": 0 },
        ] });
        let expected = "GROUP  ARTICLES\n\
                        a.b          10  All\\u{1b} of it\n\
                        a.c           0\n\
                        2 of 3; more with --after a.c\n";
        let page = read(&page).unwrap();
        assert_eq!(groups_page(&page, 2, Style::plain(80)), expected);
        assert!(!groups_page(&page, 50, Style::plain(80)).contains("more"));
    }

    #[test]
    fn headers_and_posts_are_tables() {
        let page = json!({ "below": 7, "items": [{
            "number": 7, "subject": "a [1/1] \"b.rar\" yEnc (1/2)", "poster": "\"Ann\" <ann@x>",
            "date": "2027-01-15T07:58:00Z", "id": "1@x", "bytes": 750_000,
        }] });
        let expected = "NUMBER      SIZE     POSTED  POSTER  SUBJECT\n     \
                        7  750.0 kB  2 min ago  Ann     a [1/1] \"b.rar\" yEnc (1/2)\n\
                        older ones with --below 7\n";
        assert_eq!(headers_page(&read(&page).unwrap(), Style::plain(80)), expected);
        let post = json!({
            "post": "00f1", "title": "a", "poster": "ann@x", "date": null, "bytes": 2_000_000,
            "complete": false, "present_files": 1, "expected_files": 1, "present_articles": 1,
            "expected_articles": 2,
            "files": [{ "name": "b.rar", "bytes": 2_000_000, "present": 1, "expected": 2 }],
        });
        let page = json!({ "total": 1, "items": [post] });
        let expected = "POST    SIZE  FILES  COMPLETE  POSTER  TITLE\n\
                        00f1  2.0 MB      1  50 %      ann@x   a\n\n\
                        FILE     SIZE  ARTICLES\n\
                        b.rar  2.0 MB    1 of 2\n";
        assert_eq!(posts_page(&read(&page).unwrap(), 0, Style::plain(80)), expected);
    }
}
