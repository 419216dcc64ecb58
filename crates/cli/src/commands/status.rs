//! `status`, `reload`, `scan` and `stop`: the daemon as a whole.

use bergamot_types::Shown;
use serde_json::json;

use crate::client::response::{Disk, Paused, Reload, Server, Status, read};
use crate::client::session::{Form, Session};
use crate::failure::Failure;
use crate::terminal::columns::Cell;
use crate::terminal::fields::Fields;
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

pub(crate) fn status(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("system.status", json!({}))?;
    let servers: Vec<Server> = match session.out.form {
        Form::Page => read(&session.ask("servers.list", json!({}))?)?,
        Form::Json | Form::Quiet => Vec::new(),
    };
    session.out.answer(&answer, |style| Ok(page(&read(&answer)?, &servers, style)))
}

pub(crate) fn reload(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("config.reload", json!({}))?;
    session.out.answer(&answer, |_| Ok(reload_page(&read(&answer)?)))
}

pub(crate) fn scan(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("watch.scan", json!({}))?;
    session.out.answer(&answer, |_| Ok("The watch folder was scanned.\n".to_owned()))
}

pub(crate) fn stop(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("system.shutdown", json!({}))?;
    session.out.answer(&answer, |_| Ok("The daemon is stopping.\n".to_owned()))
}

fn page(status: &Status, servers: &[Server], style: Style) -> String {
    let title = style.tint(Tint::Title, &format!("bergamot {}", Shown(&status.version)));
    let mut fields = Fields::new();
    let running = format::ago(status.now.0, status.started.0);
    fields.push("started", format!("{}, {running}", style.date(status.started.0)));
    fields.push("downloads", doing(status, style));
    let pauses = [("after download", &status.post_paused), ("watch folder", &status.scan_paused)];
    for (name, paused) in pauses {
        fields.push_if_any(name, paused.as_ref().map(|paused| pause(paused, style)));
    }
    fields.push("queue", queue(status));
    fields.push("limit", status.limit.map_or("none".to_owned(), format::rate));
    fields.push("connections", status.connections.to_string());
    fields.push("today", format::size(status.downloaded_today));
    fields.push("this month", format::size(status.downloaded_this_month));
    fields.push("since the start", format::size(status.downloaded));
    fields.push("complete", disk(&status.complete_disk));
    fields.push("incomplete", disk(&status.incomplete_disk));
    for server in servers.iter().filter(|server| server.active) {
        if let Some(trouble) = &server.trouble {
            let text = format!("{}: {}", Shown(&server.name), Shown(trouble));
            fields.push("server", Cell::tinted(Tint::Bad, text));
        }
    }
    for warning in &status.warnings {
        fields.push("warning", Cell::tinted(Tint::Warning, Shown(warning).to_string()));
    }
    format!("{title}\n{}", fields.page(style))
}

fn doing(status: &Status, style: Style) -> Cell {
    match &status.download_paused {
        Some(paused) => pause(paused, style),
        None if status.quota_reached => Cell::tinted(Tint::Warning, "the quota is reached"),
        None if status.rate > 0 => Cell::tinted(Tint::Busy, format::rate(status.rate)),
        None if status.jobs == 0 => "nothing to do".into(),
        None => "no data is arriving; run `bergamot explain` for the cause".into(),
    }
}

pub(crate) fn pause(paused: &Paused, style: Style) -> Cell {
    let until = paused.until.map(|until| format!(", until {}", style.date(until.0)));
    let text = format!("paused by {}{}", Shown(&paused.by), until.unwrap_or_default());
    Cell::tinted(Tint::Warning, text)
}

pub(crate) fn queue(status: &Status) -> String {
    let jobs = format::count(status.jobs as u64, "job", "jobs");
    let left = format::size(status.remaining);
    match format::time_left(status.remaining, status.rate) {
        _ if status.jobs == 0 => "empty".to_owned(),
        Some(time) => format!("{jobs}, {left} left, {time}"),
        None => format!("{jobs}, {left} left"),
    }
}

fn disk(disk: &Disk) -> Cell {
    if let Some(trouble) = &disk.trouble {
        return Cell::tinted(Tint::Bad, Shown(trouble).to_string());
    }
    let tint = if disk.free < LITTLE { Tint::Warning } else { Tint::Plain };
    let (free, total) = (format::size(disk.free), format::size(disk.total));
    Cell::tinted(tint, format!("{free} of {total} free in {}", Shown(&disk.path)))
}

fn reload_page(reload: &Reload) -> String {
    let list = |keys: &[String]| {
        let keys: Vec<_> = keys.iter().map(|key| Shown(key).to_string()).collect();
        keys.join(", ")
    };
    let mut page = match reload.applied.is_empty() {
        true => "No setting changed.\n".to_owned(),
        false => format!("Applied: {}.\n", list(&reload.applied)),
    };
    if !reload.needs_restart.is_empty() {
        page += &format!("After a restart: {}.\n", list(&reload.needs_restart));
    }
    page
}

/// The next large job may not fit.
const LITTLE: u64 = 10_000_000_000;

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::Value;

    use super::*;

    pub(crate) fn sample(rate: u64, paused: Value) -> Status {
        let disk =
            json!({ "path": "/d", "free": 50_000_000_000_u64, "total": 100_000_000_000_u64 });
        let status = json!({
            "version": "0.1.0", "now": "2027-01-15T08:00:00Z", "started": "2027-01-15T06:00:00Z",
            "rate": rate, "limit": null, "jobs": 2, "remaining": 60_000_000, "downloaded": 5_000,
            "downloaded_today": 6_000, "downloaded_this_month": 7_000, "connections": 8,
            "download_paused": paused, "post_paused": null, "scan_paused": null,
            "quota_reached": false, "complete_disk": disk, "incomplete_disk": disk,
            "warnings": ["a record\nwas set aside"],
        });
        read(&status).unwrap()
    }

    fn servers() -> Vec<Server> {
        let server = |name: &str, trouble: Value, active: bool| {
            json!({
                "id": 1, "name": name, "host": "x", "port": 563, "tls": true, "active": active,
                "level": 0, "connections": 8, "open": 0, "working": 0, "rate": 0,
                "trouble": trouble, "rests_until": null, "downloaded": 0,
            })
        };
        let refused = || json!("the login is refused");
        let all = [
            server("good", Value::Null, true),
            server("bad", refused(), true),
            server("off", refused(), false),
        ];
        read(&json!(all)).unwrap()
    }

    #[test]
    fn the_state_of_things_is_told_in_a_screen() {
        assert_eq!(
            page(&sample(1_000_000, Value::Null), &servers(), Style::plain(80)),
            "bergamot 0.1.0\n\
             started          2027-01-15 06:00, 2 h ago\n\
             downloads        1.0 MB/s\n\
             queue            2 jobs, 60.0 MB left, 1 min\n\
             limit            none\n\
             connections      8\n\
             today            6.0 kB\n\
             this month       7.0 kB\n\
             since the start  5.0 kB\n\
             complete         50.00 GB of 100.00 GB free in /d\n\
             incomplete       50.00 GB of 100.00 GB free in /d\n\
             server           bad: the login is refused\n\
             warning          a record\\u{a}was set aside\n"
        );
    }

    #[test]
    fn a_pause_names_its_author_and_its_end() {
        let paused = json!({ "by": "ann", "since": "2027-01-15T08:00:00Z",
            "until": "2027-01-15T09:00:00Z", "ends": "the clock" });
        let page = page(&sample(0, paused), &[], Style::plain(80));
        assert!(page.contains("paused by ann, until 2027-01-15 09:00\n"), "{page}");
    }

    #[test]
    fn a_reload_says_what_waits_for_a_restart() {
        let reload = |applied: &[&str], restart: &[&str]| {
            reload_page(&read(&json!({ "applied": applied, "needs_restart": restart })).unwrap())
        };
        assert_eq!(reload(&[], &[]), "No setting changed.\n");
        assert_eq!(reload(&["a", "b"], &["c"]), "Applied: a, b.\nAfter a restart: c.\n");
    }
}
