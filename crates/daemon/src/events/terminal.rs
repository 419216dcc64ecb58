//! [`TerminalProgress`]: the live line on a terminal, or a line in the log now and then. Part of `Observers`, in the
//! main loop.

use std::collections::VecDeque;
use std::io::Write;
use std::time::{Duration, Instant};

use bergamot_engine::{Engine, Hold};
use bergamot_limit::Zone;
use bergamot_queue::Job;
use bergamot_types::{ByteCount, ByteRate, Shown};
use tracing::info;

use bergamot_jobs::JobList;

/// Measures the pace, and draws a live line where there is a terminal; else it logs one now and then.
#[derive(Debug)]
pub(crate) struct TerminalProgress {
    visible: bool,
    zone: Zone,
    drawn: bool,
    has_spoken: bool, // since something moves
    since_draw: u64,
    paces: VecDeque<(Instant, u64)>, // bytes between two draws
    logged: String,                  // the last line; a pause of weeks is logged once
}

impl TerminalProgress {
    pub(crate) fn new(visible: bool, zone: Zone) -> Self {
        Self {
            visible,
            zone,
            drawn: false,
            has_spoken: false,
            since_draw: 0,
            paces: VecDeque::new(),
            logged: String::new(),
        }
    }

    pub(crate) fn on_bytes(&mut self, count: usize) {
        self.since_draw += count as u64;
    }

    /// Nothing moves any more.
    pub(crate) fn stop(&mut self) {
        self.has_spoken = false;
        self.since_draw = 0;
        self.paces.clear();
        self.clear();
    }

    pub(crate) fn show(&mut self, now: Instant, engine: &Engine, jobs: &JobList) {
        let first_time = !std::mem::replace(&mut self.has_spoken, true);
        self.paces.push_back((now, std::mem::take(&mut self.since_draw)));
        while self.paces.front().is_some_and(|(at, _)| *at + WINDOW.max(self.cadence()) < now) {
            self.paces.pop_front();
        }
        match self.line(now, engine, jobs) {
            Some(line) if self.visible => self.draw(&line),
            Some(line) if !first_time && line != self.logged => {
                info!("{line}");
                self.logged = line;
            }
            _ => {}
        }
    }

    /// How often to show while something moves.
    pub(crate) fn cadence(&self) -> Duration {
        if self.visible { CADENCE } else { LOG_CADENCE }
    }

    /// Takes the line off the terminal.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            put("\r\x1b[K");
        }
    }

    fn draw(&mut self, line: &str) {
        self.drawn = true;
        put(&format!("\r\x1b[K{line}"));
    }

    fn line(&self, now: Instant, engine: &Engine, jobs: &JobList) -> Option<String> {
        let place = |job: &&Job| (!job.is_paused(), job.priority(), std::cmp::Reverse(job.id()));
        let first = engine.jobs().max_by_key(place)?;
        let name = jobs.record(first.id()).map_or("", |record| &*record.name);
        let totals = first.totals();
        let percent = 100.0 * totals.bytes_done as f64 / totals.bytes.max(1) as f64;
        let busy = engine.jobs().filter(|job| !job.is_paused()).map(Job::totals);
        let left = busy.map(|totals| totals.bytes - totals.bytes_done).sum::<u64>();
        let outlook = match engine.hold() {
            Some(hold) => spoken(hold, self.zone),
            None if first.is_paused() => "paused".to_owned(),
            None => self.outlook(now, left),
        };
        let others = jobs.queued_count() + engine.jobs().count() - jobs.active_jobs().count() - 1;
        let others = if others > 0 { format!("  +{others} more") } else { String::new() };
        let name: String = Shown(name).to_string().chars().take(LONGEST_NAME).collect();
        let (done, all) = (ByteCount(totals.bytes_done), ByteCount(totals.bytes));
        Some(format!("{name}  {percent:.0} %  {done} of {all}  {outlook}{others}"))
    }

    fn outlook(&self, now: Instant, left: u64) -> String {
        let pace = self.pace(now);
        let time = left.checked_div(pace).map_or("–".to_owned(), clock_face);
        format!("{}  {time} left", ByteRate(pace))
    }

    fn pace(&self, now: Instant) -> u64 {
        let bytes: u64 = self.paces.iter().map(|(_, bytes)| bytes).sum();
        let first = self.paces.front().map_or(now, |(at, _)| *at);
        let time = (now - first + self.cadence()).as_secs_f64();
        (bytes as f64 / time) as u64
    }
}

fn spoken(hold: Hold, zone: Zone) -> String {
    let (why, until) = match hold {
        Hold::Disk => ("the disk takes nothing", None),
        Hold::Paused => ("by hand", None),
        Hold::Quota { until } => ("the quota is reached", until),
        Hold::Schedule { until } => ("by the schedule", until),
        Hold::Unrecorded => ("the state directory cannot be written to", None),
    };
    match until {
        Some(at) => format!("paused until {}: {why}", zone.written(at)),
        None => format!("paused: {why}"),
    }
}

/// A closed terminal is no reason to stop.
fn put(text: &str) {
    let mut terminal = std::io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

fn clock_face(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds / 60 % 60),
    }
}

/// Quick enough to look alive, slow enough to cost nothing.
const CADENCE: Duration = Duration::from_millis(250);

/// A line in the log now and then shows that it is alive.
const LOG_CADENCE: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_secs(5);
const LONGEST_NAME: usize = 40;
