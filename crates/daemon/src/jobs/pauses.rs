//! What is paused by people, by whom, and until when.
//!
//! How long a pause lasts is measured by the clock that nobody can set; the date of its end is for people, and
//! for the next start.

use std::time::{Duration, Instant};

use bergamot_engine::Now;
use bergamot_rpc::view::Paused;
use bergamot_rpc::wish::{Part, Pause};
use bergamot_store::RuntimeSettings;
use bergamot_types::UnixTime;

/// Only what people want; the schedule, quotas and the disk have their own reasons.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Pauses {
    pub(crate) download: Option<Paused>,
    pub(crate) post: Option<Paused>,
    pub(crate) scan: Option<Paused>,
    ends: [Option<Instant>; Part::ALL.len()], // of those that end by themselves
}

impl Pauses {
    /// What was paused when the daemon stopped still is.
    pub(crate) fn restore(now: Now, settings: &RuntimeSettings) -> Self {
        let kept = [&settings.download_paused, &settings.post_paused, &settings.scan_paused];
        let [download, post, scan] =
            kept.map(|kept| kept.as_ref().map(|it| paused(&it.by, it.since, it.until)));
        let ends = kept.map(|kept| {
            let pause = kept.as_ref()?;
            let until = pause.until?;
            // A clock that went back must not make it longer than it was meant to be.
            let left = seconds_between(now.date, until).min(seconds_between(pause.since, until));
            Some(later(now.instant, Duration::from_secs(left)))
        });
        Self { download, post, scan, ends }
    }

    pub(crate) fn keep(&self, settings: &mut RuntimeSettings) {
        let keep = |paused: &Option<Paused>| {
            paused.as_ref().map(|it| bergamot_store::Pause {
                by: it.by.clone(),
                since: it.since,
                until: it.until,
            })
        };
        settings.download_paused = keep(&self.download);
        settings.post_paused = keep(&self.post);
        settings.scan_paused = keep(&self.scan);
    }

    pub(crate) fn pause(&mut self, now: Now, pause: &Pause) {
        let until = pause.lasting.map(|lasting| end_of(now.date, lasting));
        for part in &pause.parts {
            *self.slot(*part) = Some(paused(&pause.author, now.date, until));
            *self.end(*part) = pause.lasting.map(|lasting| later(now.instant, lasting));
        }
    }

    pub(crate) fn resume(&mut self, parts: &[Part]) {
        for part in parts {
            *self.slot(*part) = None;
            *self.end(*part) = None;
        }
    }

    /// Gives an end to those that are on; whether there are any.
    pub(crate) fn end_after(&mut self, now: Now, pause: Duration) -> bool {
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
    pub(crate) fn end_due(&mut self, now: Instant) -> bool {
        let mut any = false;
        for part in Part::ALL {
            if self.end(part).is_some_and(|end| end <= now) {
                self.resume(&[part]);
                any = true;
            }
        }
        any
    }

    pub(crate) fn next_end(&self) -> Option<Instant> {
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
    let ends = match until {
        Some(_) => "the time set for it, or a resume",
        None => "a resume",
    };
    Paused { by: by.to_owned(), since, until, ends: ends.to_owned() }
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
            let mut kept = RuntimeSettings::default();
            pauses.keep(&mut kept);
            let restored = Pauses::restore(at(start, 50, date), &kept);
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
        let mut kept = RuntimeSettings::default();
        pauses.keep(&mut kept);
        assert_eq!(Pauses::restore(at(start, 100, 200), &kept), pauses);
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
