//! [`Traffic`]: how many bytes and articles came from each server over time, and when that is to be written.
//! Owned by the main loop; the state thread writes it.

use std::time::{Duration, Instant};

use bergamot_api::view;
use bergamot_store::ServerVolumes;
use bergamot_types::{ByteCount, ServerId, UnixTime};

use crate::clock;
use crate::servers::Servers;

/// The counters, and when they are to be written down.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    counters: ServerVolumes,
    keep_at: Option<Instant>,
}

/// All that ever came from a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) bytes: u64,
    pub(crate) good: u64,
    pub(crate) failed: u64,
}

impl Traffic {
    pub(crate) fn new(counters: ServerVolumes) -> Self {
        Self { counters, keep_at: None }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.keep_at
    }

    pub(crate) fn today(&self, now: UnixTime) -> u64 {
        self.counters.all.today(now).0
    }

    pub(crate) fn this_month(&self, now: UnixTime) -> u64 {
        self.counters.all.this_month(now).0
    }

    pub(crate) fn of(&self, name: &str, now: UnixTime) -> Sum {
        let Some(volumes) = self.counters.servers.get(&key(name)) else { return Sum::default() };
        let (_, days) = volumes.days(now);
        Sum {
            bytes: volumes.total().0,
            good: days.iter().map(|day| u64::from(day.articles_ok)).sum(),
            failed: days.iter().map(|day| u64::from(day.articles_failed)).sum(),
        }
    }

    pub(crate) fn count(&mut self, name: &str, bytes: u64, good: bool) {
        self.note(name, |volumes, date| {
            volumes.note_bytes(date, ByteCount(bytes));
            volumes.note_articles(date, u32::from(good), u32::from(!good));
        });
    }

    fn note(&mut self, name: &str, note: impl Fn(&mut bergamot_limit::Volumes, UnixTime)) {
        let now = clock::now();
        let server = match self.counters.servers.get_mut(&key(name)) {
            Some(server) => server,
            None => self.counters.servers.entry(key(name)).or_default(),
        };
        for volumes in [&mut self.counters.all, server] {
            note(volumes, now.date);
        }
        self.keep_at.get_or_insert(now.instant + KEEP_EVERY);
    }

    /// Headers are no articles, but they came.
    pub(crate) fn count_headers(&mut self, name: &str, bytes: u64) {
        if bytes > 0 {
            self.note(name, |volumes, date| volumes.note_bytes(date, ByteCount(bytes)));
        }
    }

    /// What is to be written now, if it is time.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<ServerVolumes> {
        self.keep_at.is_some_and(|at| now >= at).then(|| self.take())
    }

    /// What is to be written.
    pub(crate) fn take(&mut self) -> ServerVolumes {
        self.keep_at = None;
        self.counters.clone()
    }

    pub(crate) fn views(&mut self, servers: &Servers) -> Vec<view::Volume> {
        let now = clock::now().date;
        let mut views = vec![volume_view(None, &mut self.counters.all, now)];
        for (place, (_, server)) in (1..).zip(servers.iter()) {
            let name = key(&server.settings().name);
            let volumes = self.counters.servers.entry(name).or_default();
            views.push(volume_view(Some(ServerId(place)), volumes, now));
        }
        views
    }

    /// Of one server, or of all.
    pub(crate) fn reset(&mut self, server: Option<&str>, only_custom: bool) {
        let now = clock::now().date;
        let reset = |volumes: &mut bergamot_limit::Volumes| match only_custom {
            true => volumes.reset_custom(now),
            false => volumes.reset(now),
        };
        match server {
            None => {
                self.counters.servers.values_mut().for_each(reset);
                reset(&mut self.counters.all);
            }
            Some(name) => reset(self.counters.servers.entry(key(name)).or_default()),
        }
    }
}

fn volume_view(
    server: Option<ServerId>,
    volumes: &mut bergamot_limit::Volumes,
    now: UnixTime,
) -> view::Volume {
    let rings = volumes.rings(now);
    let (first_day, days) = volumes.days(now);
    let (custom, custom_since) = volumes.custom();
    view::Volume {
        server,
        now: now.0,
        first_day,
        total: volumes.total().0,
        custom: custom.0,
        custom_since: custom_since.0,
        reset: volumes.reset_at().0,
        second: rings.second,
        minute: rings.minute,
        hour: rings.hour,
        day: days.len().saturating_sub(1),
        seconds: rings.seconds,
        minutes: rings.minutes,
        hours: rings.hours,
        days: days.iter().map(|day| day.bytes).collect(),
        articles: days
            .iter()
            .map(|day| view::DayArticles {
                good: day.articles_ok.into(),
                failed: day.articles_failed.into(),
            })
            .collect(),
    }
}

/// No two servers have the same name in another case.
fn key(name: &str) -> String {
    name.to_lowercase()
}

/// A crash loses the counts of at most this time. They are for display only; quotas have their own records.
const KEEP_EVERY: Duration = Duration::from_secs(30);
