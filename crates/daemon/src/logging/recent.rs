//! [`LogBook`]: the last lines of the log, for control interfaces. Written by any thread.

use std::collections::VecDeque;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bergamot_api::request::{Lines, LogQuery};
use bergamot_api::view::{LogKind, LogLine};
use bergamot_types::JobId;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::clock;

/// Numbered from 1; clearing it does not set the numbers back.
#[derive(Clone, Debug, Default)]
pub struct LogBook(Arc<Mutex<Pages>>);

#[derive(Debug, Default)]
struct Pages {
    last_id: u64,
    lines: VecDeque<(Option<JobId>, LogLine)>,
}

impl LogBook {
    pub(crate) fn write(&self, kind: LogKind, job: Option<JobId>, mut text: String) {
        if text.len() > LONGEST_LINE {
            text.truncate(text.floor_char_boundary(LONGEST_LINE));
            text.push('…');
        }
        let mut pages = self.pages();
        pages.last_id += 1;
        let line = LogLine { id: pages.last_id, kind, at: clock::now().date, text };
        if pages.lines.len() == MOST_LINES {
            pages.lines.pop_front();
        }
        pages.lines.push_back((job, line));
    }

    pub(crate) fn read(&self, query: LogQuery) -> Vec<LogLine> {
        let pages = self.pages();
        let wanted = |job: &Option<JobId>| query.job.is_none() || *job == query.job;
        let lines = pages.lines.iter().filter(|(job, _)| wanted(job)).map(|(_, line)| line);
        match query.lines {
            Lines::From { id, most } => {
                lines.filter(|line| line.id >= id).take(most).cloned().collect()
            }
            Lines::Last(count) => {
                let mut last: Vec<_> = lines.rev().take(count).cloned().collect();
                last.reverse();
                last
            }
        }
    }

    pub(crate) fn clear(&self) {
        self.pages().lines.clear();
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Layer<S> for LogBook {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut entry = Entry::default();
        event.record(&mut entry);
        let kind = match *event.metadata().level() {
            Level::ERROR => LogKind::Error,
            Level::WARN => LogKind::Warning,
            Level::INFO => LogKind::Info,
            Level::DEBUG | Level::TRACE => LogKind::Debug,
        };
        self.write(kind, entry.job, entry.message + &entry.fields);
    }
}

/// One event, as a line.
#[derive(Default)]
struct Entry {
    job: Option<JobId>,
    message: String,
    fields: String,
}

impl Visit for Entry {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => {
                if name == "job" {
                    self.job = format!("{value:?}").parse().ok().map(JobId);
                }
                write!(self.fields, " {name}={value:?}")
            }
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

/// Some hours of an ordinary day, in less than a megabyte.
const MOST_LINES: usize = 2000;
const LONGEST_LINE: usize = 1024;

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    fn texts(lines: &[LogLine]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn lines_are_found_by_number_by_age_and_by_job() {
        let book = LogBook::default();
        let subscriber = tracing_subscriber::registry().with(book.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("ready");
            tracing::warn!(job = %JobId(7), name = "a b", "failed");
            tracing::debug!(job = %JobId(8), "other");
        });
        let read = |job, lines| book.read(LogQuery { job, lines });
        let all = read(None, Lines::Last(9));
        assert_eq!(texts(&all), ["ready", "failed job=7 name=a b", "other job=8"]);
        assert_eq!(all.iter().map(|line| line.id).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(all[1].kind, LogKind::Warning);
        assert_eq!(read(None, Lines::From { id: 2, most: 1 }), all[1..2]);
        assert_eq!(read(Some(JobId(7)), Lines::Last(9)), all[1..2]);
        assert_eq!(read(None, Lines::Last(1)), all[2..]);
        book.clear();
        book.write(LogKind::Info, None, "é".repeat(LONGEST_LINE));
        let after = read(None, Lines::Last(9));
        assert_eq!((after[0].id, after[0].text.chars().count()), (4, LONGEST_LINE / 2 + 1));
    }

    #[test]
    fn the_oldest_lines_go_first() {
        let book = LogBook::default();
        (0..MOST_LINES + 3).for_each(|_| book.write(LogKind::Info, None, String::new()));
        let lines = book.read(LogQuery { job: None, lines: Lines::From { id: 0, most: 1 } });
        assert_eq!(lines[0].id, 4);
    }
}
