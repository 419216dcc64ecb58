//! [`Screen`]: the state that `watch` shows, updated by events. Pure: deliveries go in, lines come out.

use std::collections::{BTreeMap, BTreeSet};

use bergamot_types::Shown;
use serde_json::Value;

use crate::client::response::{Job, Page, State, Status, read};
use crate::commands::job::list::{name, state, state_words};
use crate::commands::status;
use crate::terminal::columns::{Cell, Columns, flexible, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

#[derive(Clone, Debug)]
pub(crate) struct Screen {
    status: Status,
    jobs: Page<Job>,
    names: BTreeMap<u32, String>, // also of jobs that left the list before their end was reported
    paused: BTreeSet<String>,     // parts of the daemon, as far as reported
}

/// What an event calls for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Effect {
    /// The lists have changed in a way that the event does not contain.
    AskAgain,
    Nothing,
    Redraw,
}

impl Screen {
    pub(crate) fn new(status: Status, jobs: Page<Job>) -> Self {
        let pauses = [
            ("download", &status.download_paused),
            ("post", &status.post_paused),
            ("scan", &status.scan_paused),
        ];
        let paused = pauses.into_iter().filter(|(_, paused)| paused.is_some());
        let paused = paused.map(|(part, _)| part.to_owned()).collect();
        let mut live = Self { status, jobs, names: BTreeMap::new(), paused };
        live.remember_names();
        live
    }

    /// Replaces the state by fresh lists.
    pub(crate) fn renew(&mut self, status: Status, jobs: Page<Job>) {
        (self.status, self.jobs) = (status, jobs);
        self.remember_names();
    }

    fn remember_names(&mut self) {
        self.names.extend(self.jobs.items.iter().map(|job| (job.id, name(job))));
        while self.names.len() > MOST_NAMES {
            self.names.pop_first();
        }
    }

    pub(crate) fn handle_event(&mut self, delivery: &Value) -> Effect {
        let event = &delivery["event"];
        match event["is"].as_str() {
            Some("log") => Effect::Nothing,
            Some("job-progress") => self.on_progress(event),
            Some("rate") => {
                self.status.rate = event["rate"].as_u64().unwrap_or_default();
                self.status.limit = event["limit"].as_u64();
                Effect::Redraw
            }
            Some("pause") => self.on_pause(event),
            _ => Effect::AskAgain,
        }
    }

    fn on_pause(&mut self, event: &Value) -> Effect {
        let part = event["part"].as_str().unwrap_or_default();
        match event["paused"].is_null() {
            true => self.paused.remove(part),
            false => self.paused.insert(part.to_owned()),
        };
        Effect::AskAgain
    }

    fn on_progress(&mut self, event: &Value) -> Effect {
        let Some(remaining) = event["remaining"].as_u64() else { return Effect::Nothing };
        let Some(job) = self.jobs.items.iter_mut().find(|job| event["job"] == job.id) else {
            return Effect::Nothing;
        };
        let all = self.status.remaining.saturating_sub(job.remaining);
        self.status.remaining = all.saturating_add(remaining);
        job.remaining = remaining;
        Effect::Redraw
    }

    /// A delivery as one line, for output that is no terminal.
    pub(crate) fn line(&self, delivery: &Value, style: Style) -> Option<String> {
        let event = &delivery["event"];
        let text = |name: &str| Shown(event[name].as_str().unwrap_or_default()).to_string();
        Some(match event["is"].as_str() {
            None if delivery.get("gap").is_some() => "some events were missed".to_owned(),
            Some("job-added") => format!("{} {}: added", event["job"], text("name")),
            Some("job-state") => self.state_line(event, style)?,
            Some("job-removed") => format!("{} {}: removed", event["job"], self.name(event)),
            Some("server-down") => format!("server {}: {}", text("name"), text("trouble")),
            Some("server-up") => format!("server {}: back", text("name")),
            // Every change reports all parts.
            Some("pause") if event["paused"].is_null() => {
                self.paused.get(event["part"].as_str()?)?;
                format!("{}: goes on", text("part"))
            }
            Some("pause") => {
                let by = event["paused"]["by"].as_str().unwrap_or_default();
                format!("{}: paused by {}", text("part"), Shown(by))
            }
            Some("disk") if event["trouble"].is_null() => "disk: well again".to_owned(),
            Some("disk") => format!("disk: {}", text("trouble")),
            _ => return None,
        })
    }

    /// The line of a job that ended, which stays when the picture goes on.
    pub(crate) fn ending(&self, delivery: &Value, style: Style) -> Option<String> {
        let event = &delivery["event"];
        let state: State = read(event.get("state")?).ok()?;
        state.exit()?;
        self.state_line(event, style)
    }

    fn state_line(&self, event: &Value, style: Style) -> Option<String> {
        let state: State = read(&event["state"]).ok()?;
        let known = self.jobs.items.iter().find(|job| event["job"] == job.id);
        let (tint, words) = state_words(&state, known.is_some_and(|job| job.paused));
        let reason = event["reason"].as_str().filter(|reason| !reason.is_empty());
        let reason = reason.map_or(String::new(), |reason| format!(" ({})", Shown(reason)));
        let name = self.name(event);
        Some(format!("{} {name}: {}{reason}", event["job"], style.tint(tint, &words)))
    }

    fn name(&self, event: &Value) -> String {
        let job = event["job"].as_u64().and_then(|job| u32::try_from(job).ok());
        job.and_then(|job| self.names.get(&job)).cloned().unwrap_or_default()
    }

    /// At most so many lines.
    pub(crate) fn picture(&self, style: Style, lines: usize) -> String {
        let room = lines.saturating_sub(FRAME);
        let mut table =
            Columns::new([right(""), flexible(""), left(""), right(""), right(""), left("")]);
        for job in self.jobs.items.iter().take(room) {
            table.push(self.row(job, style));
        }
        let more = self.jobs.total.saturating_sub(room.min(self.jobs.items.len()));
        let more = match more {
            0 => String::new(),
            more => format!("{}\n", style.tint(Tint::Faint, &format!("and {more} more"))),
        };
        format!("{}\n{}{more}", self.headline(style), table.page(style))
    }

    fn headline(&self, style: Style) -> String {
        let paused = self.status.download_paused.as_ref().map(|paused| {
            let by = format!("  paused by {}", Shown(&paused.by));
            style.tint(Tint::Warning, &by)
        });
        let paused = paused.unwrap_or_default();
        // What came last is still in the rate for a while.
        if self.jobs.total == 0 {
            return format!("Nothing to download.{paused}");
        }
        let queue = status::queue(&self.status);
        let rate = style.tint(Tint::Title, &format::rate(self.status.rate));
        let limit = self.status.limit.map(|limit| format!(" of {}", format::rate(limit)));
        let limit = limit.unwrap_or_default();
        format!("{rate}{limit}  queue: {queue}{paused}")
    }

    fn row(&self, job: &Job, style: Style) -> [Cell; 6] {
        let is_running = !job.paused && !matches!(job.state, State::Queued);
        let columns = if style.width.is_some_and(|width| width < NARROW) { 10 } else { 24 };
        let done = format::thousandths(job.remaining, job.size);
        let bar = if is_running { format::bar(done, columns) } else { " ".repeat(columns) };
        [
            job.id.to_string().into(),
            name(job).into(),
            Cell::tinted(Tint::Busy, bar),
            format::percent(job.remaining, job.size).into(),
            format!("{} left", format::size(job.remaining)).into(),
            state(job),
        ]
    }
}

/// Lines beside the jobs: the head, the rest of the queue, and one for the cursor.
const FRAME: usize = 3;

/// More than usually end between two looks at the screen.
const MOST_NAMES: usize = 1000;

/// Names need the room more than bars do.
const NARROW: usize = 90;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::job::list::tests::job;
    use crate::commands::status::tests::sample;

    fn live() -> Screen {
        let running = job(7, "Ubuntu", json!({ "is": "downloading" }));
        let waiting = job(8, "Debian", json!({ "is": "queued" }));
        let jobs = Page { total: 5, items: vec![running, waiting] };
        Screen::new(sample(1_000_000, Value::Null), jobs)
    }

    #[test]
    fn running_jobs_have_bars() {
        assert_eq!(
            live().picture(Style::plain(80), 24),
            "1.0 MB/s  queue: 2 jobs, 60.0 MB left, 1 min\n\
             7  Ubuntu  ███████▌··  75 %  250.0 kB left  downloading\n\
             8  Debian              75 %  250.0 kB left  queued\n\
             and 3 more\n"
        );
        assert!(live().picture(Style::plain(80), 4).lines().count() <= 4);
        assert!(live().picture(Style::plain(80), 0).lines().count() <= 2);
    }

    #[test]
    fn progress_moves_the_bar_without_a_question() {
        let mut live = live();
        let progress = json!({ "event": { "is": "job-progress", "job": 7, "remaining": 0 } });
        assert_eq!(live.handle_event(&progress), Effect::Redraw);
        let picture = live.picture(Style::plain(80), 24);
        assert!(picture.contains("100 %") && picture.contains("59.8 MB left"), "{picture}");
        let rate = json!({ "event": { "is": "rate", "rate": 0, "limit": 5_000 } });
        assert_eq!(live.handle_event(&rate), Effect::Redraw);
        assert!(live.picture(Style::plain(80), 24).starts_with("0 B/s of 5.0 kB/s  queue: 2 jobs"));
        let added = json!({ "event": { "is": "job-added", "job": 9 } });
        assert_eq!(live.handle_event(&added), Effect::AskAgain);
        assert_eq!(live.handle_event(&json!({ "gap": {} })), Effect::AskAgain);
    }

    #[test]
    fn a_job_that_left_the_list_still_has_its_name() {
        let mut live = live();
        live.renew(sample(0, Value::Null), Page { total: 0, items: Vec::new() });
        let state = json!({ "is": "completed", "what": { "verified": true } });
        let ended = json!({ "event": { "is": "job-state", "job": 7, "state": state } });
        assert_eq!(live.picture(Style::plain(80), 24), "Nothing to download.\n");
        let line = live.ending(&ended, Style::plain(80));
        assert_eq!(line.as_deref(), Some("7 Ubuntu: complete"));
        let begun =
            json!({ "event": { "is": "job-state", "job": 7, "state": { "is": "queued" } } });
        assert_eq!(live.ending(&begun, Style::plain(80)), None);
    }

    #[test]
    fn only_what_was_paused_goes_on() {
        let mut live = live();
        let resumed = json!({ "event": { "is": "pause", "part": "scan", "paused": null } });
        assert_eq!(live.line(&resumed, Style::plain(80)), None);
        let paused =
            json!({ "event": { "is": "pause", "part": "scan", "paused": { "by": "ann" } } });
        assert_eq!(live.handle_event(&paused), Effect::AskAgain);
        assert_eq!(live.line(&resumed, Style::plain(80)).as_deref(), Some("scan: goes on"));
        assert_eq!(live.handle_event(&resumed), Effect::AskAgain);
        assert_eq!(live.line(&resumed, Style::plain(80)), None);
    }

    #[test]
    fn every_change_has_its_line() {
        let event = |event: Value| live().line(&json!({ "event": event }), Style::plain(80));
        for (change, line) in [
            (json!({ "is": "job-added", "job": 9, "name": "a\nb" }), "9 a\\u{a}b: added"),
            (
                json!({ "is": "job-state", "job": 7, "state": { "is": "failed", "what": "disk" },
                    "reason": "full" }),
                "7 Ubuntu: failed: disk (full)",
            ),
            (json!({ "is": "job-removed", "job": 8 }), "8 Debian: removed"),
            (json!({ "is": "server-down", "name": "s1", "trouble": "away" }), "server s1: away"),
            (
                json!({ "is": "pause", "part": "download", "paused": { "by": "ann" } }),
                "download: paused by ann",
            ),
            (json!({ "is": "disk", "disk": {}, "trouble": "full" }), "disk: full"),
        ] {
            assert_eq!(event(change).as_deref(), Some(line));
        }
        assert_eq!(event(json!({ "is": "job-progress", "job": 7 })), None);
        let gap = json!({ "gap": { "first": 1, "last": 2 } });
        assert!(live().line(&gap, Style::plain(80)).is_some());
    }
}
