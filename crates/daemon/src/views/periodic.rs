//! [`TargetViews`]: the targets of the scheduler as control interfaces see them. Borrows what it needs of the
//! main loop.

use std::time::{Duration, Instant};

use bergamot_api::targets::{LastResult, Target as View, TargetKind};
use bergamot_jobs::machine::Timer;
use bergamot_poll::{Status, Target};
use bergamot_types::UnixTime;

use crate::clock;
use crate::download::network::Network;
use crate::feeds::poll::FeedDriver;
use crate::newsgroups::poll::Newsgroups;
use crate::periodic::{Lane, Poll, Targets};

/// The targets, and what has their names.
pub(crate) struct TargetViews<'a> {
    pub(crate) targets: &'a Targets,
    pub(crate) feeds: &'a FeedDriver,
    pub(crate) newsgroups: &'a Newsgroups,
    pub(crate) network: &'a Network,
    /// What the machine of jobs does once.
    pub(crate) timers: Vec<(Timer, Instant)>,
}

impl TargetViews<'_> {
    /// What is due soonest comes first.
    pub(crate) fn all(&self) -> Vec<View> {
        let mut targets: Vec<_> = self.targets.targets().collect();
        targets.sort_by_key(|(id, target)| (!target.enabled, target.next_due, *id));
        targets.truncate(MOST_SHOWN);
        let targets = targets.into_iter();
        let polled = targets.map(|(id, target)| (target.next_due, self.target_view(id, target)));
        let timers = self.timers.iter().map(|(timer, due)| (*due, timer_view(*timer, *due)));
        let mut all: Vec<_> = polled.chain(timers).collect();
        all.sort_by_key(|(due, view)| (!view.enabled, *due));
        all.into_iter().map(|(_, view)| view).take(MOST_SHOWN).collect()
    }

    fn target_view(&self, id: Poll, target: &Target<Lane>) -> View {
        let (kind, subject) = self.target_name(id);
        let running = self.targets.is_running(id);
        View {
            kind,
            subject,
            enabled: target.enabled,
            running,
            priority: target.priority,
            interval_ms: interval_of(target),
            next_due: (target.enabled && !running).then(|| date_of(target.next_due)),
            last_result: match target.last_status {
                Status::Never => LastResult::Never,
                Status::Failed => LastResult::Failed,
                Status::Succeeded => LastResult::Ok,
            },
            last_run: target.last_run.map(date_of),
            failures: target.failures,
        }
    }

    fn target_name(&self, id: Poll) -> (TargetKind, Option<String>) {
        match id {
            Poll::CurrentJob => (TargetKind::CurrentJob, None),
            Poll::Feed(feed) => {
                let name = self.feeds.name(feed);
                (TargetKind::Feed, name)
            }
            Poll::Group(number) => (TargetKind::Group, self.newsgroups.name_of(number)),
            Poll::Journals => (TargetKind::Journals, None),
            Poll::Probe(job) => (TargetKind::Probe, Some(job.0.to_string())),
            Poll::Progress(job) => (TargetKind::Progress, Some(job.0.to_string())),
            Poll::Rate => (TargetKind::Rate, None),
            Poll::Screen => (TargetKind::Screen, None),
            Poll::Server(server) => {
                (TargetKind::Server, Some(self.network.name(server).to_owned()))
            }
            Poll::Url(job) => (TargetKind::Url, Some(job.0.to_string())),
            Poll::WatchFolder => (TargetKind::WatchFolder, None),
        }
    }
}

fn timer_view(timer: Timer, due: Instant) -> View {
    let (kind, subject) = match timer {
        Timer::History => (TargetKind::History, None),
        Timer::Load => (TargetKind::Loading, None),
        Timer::Records => (TargetKind::Records, None),
        Timer::Rest(job) => (TargetKind::Rest, Some(job.0.to_string())),
        Timer::Survey => (TargetKind::Storage, None),
    };
    View {
        kind,
        subject,
        enabled: true,
        running: false,
        priority: 0,
        interval_ms: None,
        next_due: Some(date_of(due)),
        last_result: LastResult::Never,
        last_run: None,
        failures: 0,
    }
}

/// What is done once has none.
fn interval_of(target: &Target<Lane>) -> Option<u64> {
    let interval = (target.interval != Duration::MAX).then_some(target.interval)?;
    u64::try_from(interval.as_millis()).ok()
}

/// By the clock of now, to the second.
fn date_of(instant: Instant) -> UnixTime {
    let now = clock::now();
    let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    UnixTime(match instant.checked_duration_since(now.instant) {
        Some(ahead) => now.date.0.saturating_add(seconds(ahead)),
        None => now.date.0.saturating_sub(seconds(now.instant.duration_since(instant))),
    })
}

/// Jobs that wait for their NZBs may be many thousands; a longer list is of no use.
const MOST_SHOWN: usize = 1000;
