//! [`WatchThread`]: takes NZB files from the watch folder into the spool, in a thread of its own.
//!
//! It blocks on the disk: a file is read to its end, spooled, fsynced and recorded, and only then renamed. Many
//! files are taken in one batch, which takes little longer than one file.

use std::io::{BufReader, Seek};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use bergamot_jobs::Record;
use bergamot_nzb::{Limits, NzbError};
use bergamot_store::{Addition, StoreError};
use bergamot_types::Shown;
use bergamot_watch::{Found, Intake, Next, Opened, Verdict, WatchError};
use tracing::{debug, info, warn};

use crate::clock;
use crate::event::{Event, EventSender};
use crate::intake::new_job::{NewJobs, Wishes, explained};
use crate::intake::nzb_to_job::fingerprint;
use crate::service_thread::service_thread;

pub(crate) struct WatchThread {
    intake: Intake,
    new_jobs: NewJobs,
    events: EventSender,
}

/// Wakes the watch thread for a scan. Dropping it ends the watch thread.
#[derive(Debug)]
pub(crate) struct WatchWaker(mpsc::Sender<()>);

impl WatchWaker {
    pub(crate) fn wake(&self) {
        // The watch thread ends before its waker only when the daemon does.
        let _ = self.0.send(());
    }
}

/// A file that becomes a job once it is in the spool.
struct Candidate {
    found: Found,
    opened: Opened,
    record: Box<Record>,
}

/// What becomes of a file that does not become a job, or not yet.
enum Decision {
    /// Taken before a crash that came between spooling and marking it.
    Mark,
    Duplicate(String),
    Refuse(String),
    /// It breaks off, and may still be growing.
    Truncated(String),
    /// The state directory cannot be written to at present.
    Hold(String),
}

impl WatchThread {
    pub(crate) fn start(
        intake: bergamot_watch::Settings,
        new_jobs: NewJobs,
        events: EventSender,
    ) -> std::io::Result<WatchWaker> {
        let (waker, wakes) = mpsc::channel();
        let touched = events.clone();
        let intake = Intake::new(intake, move || touched.send(Event::WatchFolderTouched));
        let on_death = events.clone();
        let mut thread = Self { intake, new_jobs, events };
        service_thread("watch-folder", &on_death, move || {
            while wakes.recv().is_ok() {
                thread.scan();
            }
        })?;
        Ok(WatchWaker(waker))
    }

    fn scan(&mut self) {
        let scan = self.intake.scan(clock::now().instant);
        for problem in &scan.problems {
            warn!(code = problem.code(), path = %self.shown(problem.path()), "{problem}");
        }
        self.take_all(scan.found);
        let pause = self.intake.pause(clock::now().instant);
        let next = if scan.more { Duration::ZERO } else { pause };
        self.events.send(Event::Scanned { next });
    }

    /// The first by itself, so that its download begins; then more and more together.
    fn take_all(&mut self, found: Vec<Found>) {
        let (mut candidates, mut together) = (Vec::new(), 1);
        for found in found {
            self.take(found, &mut candidates);
            if candidates.len() >= together {
                self.accept(&mut candidates);
                together = (2 * together).min(MOST_TOGETHER);
            }
        }
        self.accept(&mut candidates);
    }

    fn take(&mut self, found: Found, candidates: &mut Vec<Candidate>) {
        match self.intake.open(&found) {
            Ok(mut opened) => match self.rule(&found, &mut opened, candidates) {
                Ok(record) => candidates.push(Candidate { found, opened, record }),
                Err(ruling) => self.execute(&found, &opened, ruling),
            },
            Err(error @ WatchError::Vanished { .. }) => {
                debug!(path = %self.shown(error.path()), "{error}");
                self.conclude(&found, Verdict::Taken);
            }
            Err(error) => {
                if let Next::Wait { warn: true } = self.conclude(&found, Verdict::Unreadable) {
                    warn!(code = error.code(), path = %self.shown(error.path()), "{error}");
                }
            }
        }
    }

    fn rule(
        &mut self,
        found: &Found,
        opened: &mut Opened,
        candidates: &mut Vec<Candidate>,
    ) -> Result<Box<Record>, Decision> {
        let nzb = match bergamot_nzb::read(BufReader::new(&opened.file), &Limits::default()) {
            Ok(nzb) => nzb,
            Err(error @ (NzbError::Empty | NzbError::Truncated { .. })) => {
                return Err(Decision::Truncated(explained(&error)));
            }
            Err(error) => return Err(Decision::Refuse(explained(&error))),
        };
        let source = self.source(found);
        let print = fingerprint(&nzb);
        if candidates.iter().any(|candidate| candidate.record.fingerprint == print) {
            self.accept(candidates); // the spool knows it from then on
        }
        match self.new_jobs.same_articles(print) {
            Some((_, known)) if *known == *source => return Err(Decision::Mark),
            Some((job, _)) if !self.new_jobs.accepts_duplicates() => {
                let why = format!("nzb.duplicate: job {job} has the same articles");
                return Err(Decision::Duplicate(why));
            }
            _ => {}
        }
        let wishes = Wishes {
            file_name: file_name(&found.path),
            source,
            category: found.category.clone(),
            ..Wishes::default()
        };
        let record = self.new_jobs.record(&nzb, print, &wishes);
        for warning in &nzb.warnings {
            debug!(job = %record.id, ?warning, "odd NZB");
        }
        opened.file.rewind().map_err(|error| {
            let error = StoreError::new((*record.source).into(), error);
            Decision::Hold(format!("{}: {error}", error.code()))
        })?;
        Ok(Box::new(record))
    }

    /// Those that no other daemon takes.
    fn claim(&mut self, candidates: &mut Vec<Candidate>) {
        for mut candidate in std::mem::take(candidates) {
            match self.intake.claim(&mut candidate.opened) {
                Ok(()) => candidates.push(candidate),
                Err(error) => {
                    debug!(path = %self.shown(error.path()), "{error}");
                    self.conclude(&candidate.found, Verdict::Taken);
                }
            }
        }
    }

    /// Adds them to the spool, and reports those that were added.
    fn accept(&mut self, candidates: &mut Vec<Candidate>) {
        self.claim(candidates);
        let additions = candidates.iter_mut().map(|candidate| {
            let Candidate { opened, record, .. } = candidate;
            Addition { record, nzb: &mut opened.file }
        });
        let results = self.new_jobs.spool_all(&mut additions.collect::<Vec<_>>());
        for (Candidate { found, opened, record }, result) in candidates.drain(..).zip(results) {
            match result {
                Ok(()) => {
                    self.events.send(Event::Accepted(record));
                    self.conclude(&found, Verdict::Taken);
                    let marked = self.intake.mark_queued(&opened);
                    self.marked(marked);
                }
                Err(error) => self.hold(&found, &format!("{}: {error}", error.code())),
            }
        }
    }

    /// The file itself, not only its name: the same name may be dropped again tomorrow.
    fn source(&self, found: &Found) -> String {
        let identity = &found.identity;
        let (seconds, nanoseconds) = identity.modified;
        format!("{} {}:{seconds}.{nanoseconds:09}", self.shown(&found.path), identity.inode)
    }

    /// A path for logs and views, without a password in the name of the file.
    fn shown(&self, path: &Path) -> String {
        let shown = Shown(&path.to_string_lossy()).to_string();
        match self.new_jobs.label(&file_name(path)).password {
            Some(password) => shown.replace(&Shown(password.reveal()).to_string(), "***"),
            None => shown,
        }
    }

    fn execute(&mut self, found: &Found, opened: &Opened, ruling: Decision) {
        match ruling {
            Decision::Mark => {
                debug!(file = %self.shown(&found.path), "had been taken");
                self.conclude(found, Verdict::Taken);
                let marked = self.intake.mark_queued(opened);
                self.marked(marked);
            }
            Decision::Duplicate(why) => {
                info!(file = %self.shown(&found.path), "{why}");
                self.conclude(found, Verdict::Refused);
                let marked = self.intake.mark_duplicate(opened, &why);
                self.marked(marked);
            }
            Decision::Refuse(why) => self.refuse(found, opened, &why, Verdict::Refused),
            Decision::Truncated(why) => {
                if self.conclude(found, Verdict::Truncated) == Next::Refuse {
                    self.refuse(found, opened, &why, Verdict::Refused);
                } else {
                    debug!(file = %self.shown(&found.path), "may still be growing: {why}");
                }
            }
            Decision::Hold(why) => self.hold(found, &why),
        }
    }

    fn hold(&mut self, found: &Found, why: &str) {
        if let Next::Wait { warn: true } = self.conclude(found, Verdict::Unreadable) {
            warn!(file = %self.shown(&found.path), "not taken: {why}");
        }
    }

    fn refuse(&mut self, found: &Found, opened: &Opened, why: &str, verdict: Verdict) {
        warn!(file = %self.shown(&found.path), "refused: {why}");
        self.conclude(found, verdict);
        let marked = self.intake.mark_failed(opened, why);
        self.marked(marked);
    }

    fn conclude(&mut self, found: &Found, verdict: Verdict) -> Next {
        self.intake.verdict(clock::now().instant, found, verdict)
    }

    fn marked(&self, result: Result<std::path::PathBuf, WatchError>) {
        match result {
            Ok(_) => {}
            Err(error @ WatchError::Vanished { .. }) => {
                debug!(path = %self.shown(error.path()), "{error}");
            }
            Err(error) => {
                warn!(code = error.code(), path = %self.shown(error.path()), "{error}");
            }
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Files that are open at once, each with its record in memory.
const MOST_TOGETHER: usize = 32;
