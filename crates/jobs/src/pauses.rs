//! [`Pauses`]: which parts of the daemon a user has paused, and until when. Pure.
//!
//! How long a pause lasts is measured by the monotonic clock; the date of its end is for views, and for the
//! next start.

use std::time::{Duration, Instant};

use bergamot_engine::Now;
use bergamot_types::UnixTime;
use serde::{Deserialize, Serialize};

/// What can be paused.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Download,
    Post,
    Scan,
}

impl Part {
    pub const ALL: [Self; 3] = [Self::Download, Self::Post, Self::Scan];

    pub fn word(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Post => "post",
            Self::Scan => "scan",
        }
    }
}

/// A request to pause.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pause {
    pub parts: Vec<Part>,
    /// It ends by itself after that.
    pub lasting: Option<Duration>,
    /// The user or program that wants it, as views show it.
    pub author: String,
}

/// A pause that is on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Paused {
    pub by: String,
    pub since: UnixTime,
    /// When it ends by itself.
    pub until: Option<UnixTime>,
}

impl Paused {
    /// What ends it.
    pub fn ends(&self) -> &'static str {
        match self.until {
            Some(_) => "the time set for it, or a resume",
            None => "a resume",
        }
    }
}

/// Only pauses that were requested; those of the schedule, quotas and the disk are not here.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pauses {
    pub download: Option<Paused>,
    pub post: Option<Paused>,
    pub scan: Option<Paused>,
    ends: [Option<Instant>; Part::ALL.len()], // of those that end by themselves
}

impl Pauses {
    /// What was paused when the daemon stopped still is, in the order of [`Part::ALL`].
    pub fn restore(now: Now, kept: [Option<Paused>; Part::ALL.len()]) -> Self {
        let ends = kept.each_ref().map(|kept| {
            let pause = kept.as_ref()?;
            let until = pause.until?;
            // A clock that went back must not make it longer than it was meant to be.
            let left = seconds_between(now.date, until).min(seconds_between(pause.since, until));
            Some(later(now.instant, Duration::from_secs(left)))
        });
        let [download, post, scan] = kept;
        Self { download, post, scan, ends }
    }

    /// All parts, in the order of [`Part::ALL`], each with its pause if it has one.
    pub fn all(&self) -> [(Part, Option<&Paused>); Part::ALL.len()] {
        let pauses = [&self.download, &self.post, &self.scan];
        [0, 1, 2].map(|at| (Part::ALL[at], pauses[at].as_ref()))
    }

    pub fn pause(&mut self, now: Now, pause: &Pause) {
        let until = pause.lasting.map(|lasting| end_of(now.date, lasting));
        for part in &pause.parts {
            *self.slot(*part) = Some(paused(&pause.author, now.date, until));
            *self.end(*part) = pause.lasting.map(|lasting| later(now.instant, lasting));
        }
    }

    pub fn resume(&mut self, parts: &[Part]) {
        for part in parts {
            *self.slot(*part) = None;
            *self.end(*part) = None;
        }
    }

    /// Gives an end to those that are on; whether there are any.
    pub fn end_after(&mut self, now: Now, pause: Duration) -> bool {
        let until = end_of(now.date, pause);
        let mut any = false;
        for part in Part::ALL {
            if let Some(on) = self.slot(part) {
                *on = paused(&on.by, on.since, Some(until));
                *self.end(part) = Some(later(now.instant, pause));
                any = true;
            }
        }
        any
    }

    /// Ends those whose time has come; whether there were any.
    pub fn end_due(&mut self, now: Instant) -> bool {
        let mut any = false;
        for part in Part::ALL {
            if self.end(part).is_some_and(|end| end <= now) {
                self.resume(&[part]);
                any = true;
            }
        }
        any
    }

    pub fn next_end(&self) -> Option<Instant> {
        self.ends.into_iter().flatten().min()
    }

    fn end(&mut self, part: Part) -> &mut Option<Instant> {
        &mut self.ends[part as usize]
    }

    fn slot(&mut self, part: Part) -> &mut Option<Paused> {
        match part {
            Part::Download => &mut self.download,
            Part::Post => &mut self.post,
            Part::Scan => &mut self.scan,
        }
    }
}

fn later(now: Instant, pause: Duration) -> Instant {
    now + pause.min(LONGEST)
}

fn seconds_between(one: UnixTime, other: UnixTime) -> u64 {
    other.0.saturating_sub(one.0).max(0).unsigned_abs()
}

fn end_of(now: UnixTime, pause: Duration) -> UnixTime {
    UnixTime(now.0.saturating_add(i64::try_from(pause.as_secs()).unwrap_or(i64::MAX)))
}

fn paused(by: &str, since: UnixTime, until: Option<UnixTime>) -> Paused {
    Paused { by: by.to_owned(), since, until }
}

/// A century; more than any instant holds is asked for, too.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    /// So many seconds after `start`, by a calendar that may say anything.
    fn at(start: Instant, seconds: u64, date: i64) -> Now {
        Now { instant: start + Duration::from_secs(seconds), date: UnixTime(date) }
    }

    // S-15
    #[test]
    fn a_calendar_that_jumps_neither_shortens_nor_prolongs_a_pause() {
        let start = Instant::now();
        let pause = Pause {
            parts: vec![Part::Download],
            lasting: Some(Duration::from_secs(3600)),
            author: "ann".to_owned(),
        };
        let mut pauses = Pauses::default();
        pauses.pause(at(start, 0, 1_800_000_000), &pause);
        // Ten years ahead, or back to 1970: only what has passed counts.
        assert!(!pauses.end_due(at(start, 3599, 2_100_000_000).instant));
        assert!(pauses.end_due(at(start, 3600, 0).instant));
        assert!(!pauses.end_due(at(start, 3601, 0).instant), "once is enough");
        for (date, left) in [
            (1_800_000_000 + 600, 3000),
            (1_800_000_000 - 86_400, 3600),
            (0, 3600),
            (2_100_000_000, 0),
        ] {
            pauses.pause(at(start, 0, 1_800_000_000), &pause);
            let kept = pauses.all().map(|(_, paused)| paused.cloned());
            let restored = Pauses::restore(at(start, 50, date), kept);
            let end = start + Duration::from_secs(50 + left);
            assert_eq!(restored.next_end(), Some(end), "{date}");
        }
        pauses.pause(at(start, 0, i64::MAX), &Pause { lasting: Some(Duration::MAX), ..pause });
        assert!(pauses.next_end().is_some());
    }

    #[test]
    fn a_pause_knows_its_author_and_its_end() {
        let (start, mut pauses) = (Instant::now(), Pauses::default());
        let seconds = |seconds| start + Duration::from_secs(seconds);
        let pause = |parts: &[Part], lasting| Pause {
            parts: parts.to_vec(),
            lasting: Some(lasting).filter(|it| *it > 0).map(Duration::from_secs),
            author: "ann".to_owned(),
        };
        pauses.pause(at(start, 0, 100), &pause(&[Part::Download, Part::Scan], 60));
        pauses.pause(at(start, 0, 100), &pause(&[Part::Post], 0));
        let download = pauses.download.clone().unwrap();
        assert_eq!((download.by.as_str(), download.until), ("ann", Some(UnixTime(160))));
        assert_eq!(pauses.next_end(), Some(seconds(60)));
        assert!(!pauses.end_due(seconds(59)) && pauses.end_due(seconds(60)));
        assert_eq!((&pauses.download, pauses.next_end()), (&None, None));
        assert!(pauses.post.is_some(), "that one lasts");
        let kept = pauses.all().map(|(_, paused)| paused.cloned());
        assert_eq!(Pauses::restore(at(start, 100, 200), kept), pauses);
        assert!(pauses.end_after(at(start, 100, 200), Duration::from_secs(5)));
        assert_eq!(pauses.next_end(), Some(seconds(105)));
        assert_eq!(pauses.post.as_ref().map(|it| it.by.as_str()), Some("ann"));
        pauses.resume(&[Part::Post]);
        assert_eq!(pauses, Pauses::default());
        let now = at(start, 100, 200);
        assert!(!pauses.end_after(now, Duration::from_secs(5)), "nobody has paused");
        assert_eq!(pauses, Pauses::default());
    }
}
