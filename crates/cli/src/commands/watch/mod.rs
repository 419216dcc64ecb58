//! `watch`: a thread reads events, the main thread draws the screen.

mod screen;

use std::sync::mpsc::{Receiver, RecvError, sync_channel};
use std::thread;
use std::time::Duration;

use bergamot_rpc::{ClientError, Events};
use serde_json::{Value, json};

use crate::client::response::{Job, Page, Status, read};
use crate::client::session::{Form, Session};
use crate::commands::watch::screen::{Effect, Screen};
use crate::failure::Failure;
use crate::terminal::style::{Style, terminal_size};

/// Until it is interrupted, or the daemon ends.
pub(crate) fn watch(session: &mut Session) -> Result<(), Failure> {
    let events = session.events()?;
    match (session.out.form, session.out.style.width) {
        (Form::Json, _) => events_as_they_come(session, events),
        (_, None) => lines(session, events),
        (_, Some(_)) => picture(session, events),
    }
}

fn events_as_they_come(session: &mut Session, events: Events) -> Result<(), Failure> {
    for delivery in events {
        session.out.text(&format!("{}\n", delivery?))?;
    }
    Err(Failure::Gone)
}

fn lines(session: &mut Session, events: Events) -> Result<(), Failure> {
    let (status, jobs) = ask(session)?;
    let mut live = Screen::new(status, jobs);
    for delivery in events {
        let delivery = delivery?;
        if let Some(line) = live.line(&delivery, session.out.style) {
            session.out.text(&format!("{line}\n"))?;
        }
        if live.handle_event(&delivery) == Effect::AskAgain {
            let (status, jobs) = ask(session)?;
            live.renew(status, jobs);
        }
    }
    Err(Failure::Gone)
}

fn picture(session: &mut Session, events: Events) -> Result<(), Failure> {
    let deliveries = in_a_thread(events);
    let (status, jobs) = ask(session)?;
    let mut live = Screen::new(status, jobs);
    let mut drawn = 0;
    loop {
        drawn = draw(session, &live, drawn)?;
        // What comes together is drawn together.
        thread::sleep(STILL);
        let first = deliveries.recv().map_err(|RecvError| Failure::Gone)?;
        let mut asks_again = false;
        for delivery in std::iter::once(first).chain(deliveries.try_iter()) {
            let delivery = delivery?;
            if let Some(line) = live.ending(&delivery, session.out.style) {
                session.out.text(&format!("{}{line}\n", erasing(drawn)))?;
                drawn = 0;
            }
            asks_again |= live.handle_event(&delivery) == Effect::AskAgain;
        }
        if asks_again {
            let (status, jobs) = ask(session)?;
            live.renew(status, jobs);
        }
    }
}

/// Replaces a screen of so many lines by a new one; returns its number of lines.
fn draw(session: &mut Session, live: &Screen, old: usize) -> Result<usize, Failure> {
    let (columns, lines) = terminal_size();
    let style = Style { width: Some(columns), ..session.out.style };
    let picture = live.picture(style, lines);
    session.out.text(&format!("{}{WRAP_OFF}{picture}{WRAP_ON}", erasing(old)))?;
    Ok(picture.lines().count())
}

fn erasing(lines: usize) -> String {
    match lines {
        0 => String::new(),
        _ => format!("\u{1b}[{lines}A\r\u{1b}[J"),
    }
}

/// Events wait there while a picture is drawn; if they become too many, the daemon leaves a gap.
fn in_a_thread(events: Events) -> Receiver<Result<Value, ClientError>> {
    let (sender, receiver) = sync_channel(MOST_WAITING);
    thread::spawn(move || {
        for delivery in events {
            if sender.send(delivery).is_err() {
                break;
            }
        }
    });
    receiver
}

fn ask(session: &mut Session) -> Result<(Status, Page<Job>), Failure> {
    let status = session.ask("system.status", json!({}))?;
    let jobs = session.ask("queue.list", json!({ "limit": MOST_JOBS }))?;
    Ok((read(&status)?, read(&jobs)?))
}

/// A line must not wrap, or the next screen is drawn at the wrong row.
const WRAP_OFF: &str = "\u{1b}[?7l";
const WRAP_ON: &str = "\u{1b}[?7h";

/// As many as tall terminals have lines.
const MOST_JOBS: usize = 200;
const MOST_WAITING: usize = 1024;
const STILL: Duration = Duration::from_millis(100);
