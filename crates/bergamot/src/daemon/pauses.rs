//! What is paused by people, by whom, and until when.

use std::time::Duration;

use bergamot_rpc::view::Paused;
use bergamot_rpc::wish::{Part, Pause};
use bergamot_store::RuntimeSettings;
use bergamot_types::UnixTime;

/// Only what people want; the schedule, quotas and the disk have their own reasons.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Pauses {
    pub(super) download: Option<Paused>,
    pub(super) post: Option<Paused>,
    pub(super) scan: Option<Paused>,
}

impl Pauses {
    /// What was paused when the daemon stopped still is.
    pub(super) fn restore(settings: &RuntimeSettings) -> Self {
        let restore = |pause: &Option<bergamot_store::Pause>| {
            pause.as_ref().map(|it| paused(&it.by, it.since, it.until))
        };
        Self {
            download: restore(&settings.download_paused),
            post: restore(&settings.post_paused),
            scan: restore(&settings.scan_paused),
        }
    }

    pub(super) fn keep(&self, settings: &mut RuntimeSettings) {
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

    pub(super) fn pause(&mut self, now: UnixTime, pause: &Pause) {
        let until = pause.lasting.map(|lasting| end_of(now, lasting));
        for part in &pause.parts {
            *self.slot(*part) = Some(paused(&pause.author, now, until));
        }
    }

    pub(super) fn resume(&mut self, parts: &[Part]) {
        parts.iter().for_each(|part| *self.slot(*part) = None);
    }

    /// Gives an end to those that are on; whether there are any.
    pub(super) fn end_after(&mut self, now: UnixTime, pause: Duration) -> bool {
        let until = end_of(now, pause);
        let mut any = false;
        for part in Part::ALL {
            if let Some(on) = self.slot(part) {
                *on = paused(&on.by, on.since, Some(until));
                any = true;
            }
        }
        any
    }

    /// Ends those whose time has come; whether there were any.
    pub(super) fn end_due(&mut self, now: UnixTime) -> bool {
        let mut any = false;
        for part in Part::ALL {
            let slot = self.slot(part);
            if slot.as_ref().is_some_and(|it| it.until.is_some_and(|until| until <= now)) {
                *slot = None;
                any = true;
            }
        }
        any
    }

    pub(super) fn next_end(&self) -> Option<UnixTime> {
        let all = [&self.download, &self.post, &self.scan];
        all.into_iter().flatten().filter_map(|paused| paused.until).min()
    }

    fn slot(&mut self, part: Part) -> &mut Option<Paused> {
        match part {
            Part::Download => &mut self.download,
            Part::Post => &mut self.post,
            Part::Scan => &mut self.scan,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_knows_its_author_and_its_end() {
        let mut pauses = Pauses::default();
        let pause = |parts: &[Part], lasting| Pause {
            parts: parts.to_vec(),
            lasting: Some(lasting).filter(|it| *it > 0).map(Duration::from_secs),
            author: "ann".to_owned(),
        };
        pauses.pause(UnixTime(100), &pause(&[Part::Download, Part::Scan], 60));
        pauses.pause(UnixTime(100), &pause(&[Part::Post], 0));
        let download = pauses.download.clone().unwrap();
        assert_eq!((download.by.as_str(), download.until), ("ann", Some(UnixTime(160))));
        assert_eq!(pauses.next_end(), Some(UnixTime(160)));
        assert!(!pauses.end_due(UnixTime(159)) && pauses.end_due(UnixTime(160)));
        assert_eq!((&pauses.download, pauses.next_end()), (&None, None));
        assert!(pauses.post.is_some(), "that one lasts");
        let mut kept = RuntimeSettings::default();
        pauses.keep(&mut kept);
        assert_eq!(Pauses::restore(&kept), pauses);
        assert!(pauses.end_after(UnixTime(200), Duration::from_secs(5)));
        assert_eq!(pauses.next_end(), Some(UnixTime(205)));
        assert_eq!(pauses.post.as_ref().map(|it| it.by.as_str()), Some("ann"));
        pauses.resume(&[Part::Post]);
        assert_eq!(pauses, Pauses::default());
        assert!(!pauses.end_after(UnixTime(200), Duration::from_secs(5)), "nobody has paused");
        assert_eq!(pauses, Pauses::default());
    }
}
