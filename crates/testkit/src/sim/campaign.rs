//! [`Campaign`]: a range of seeds, played on all cores, one thread for each day; [`play_all`]: the same
//! for days of any kind.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::sim::day::Day;
use crate::sim::report::Report;
use crate::sim::seed::Seed;
use crate::sim::world::run;
use crate::violation::{Checked, Violation, violated};

/// Which seeds are to be played; each on one thread, side by side.
#[derive(Clone, Debug)]
pub struct Campaign {
    pub articles: Range<u64>,
    pub bytes: Range<u64>,
}

/// Days that are played side by side, each from its seed.
pub(crate) trait Days: Sync {
    type Seed: Copy + Ord + Send;
    type Report: Default + Send;

    /// None behind the last.
    fn nth(&self, nth: u64) -> Option<Self::Seed>;

    /// Plays a day and adds it to the report. A day that panics breaks a rule, too: [`or_panic`].
    fn play(&self, seed: Self::Seed, report: &mut Self::Report) -> Checked;

    /// Plays it again.
    fn command(seed: Self::Seed) -> String;
}

/// The reports of all threads, and how long it took; or the lowest seed that broke a rule, with all it
/// expands to. `tell` hears now and then how many have begun.
pub(crate) fn play_all<D: Days>(
    days: &D,
    tell: impl Fn(u64) + Sync,
) -> Result<(Vec<D::Report>, Duration), Violation> {
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let broken = Mutex::new(None::<(D::Seed, Violation)>);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let reports: Vec<D::Report> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| work(days, &next, &broken, &tell))).collect();
        workers.into_iter().map(|worker| worker.join().expect("days do not panic")).collect()
    });
    if let Some((seed, story)) = broken.into_inner().unwrap_or_else(|lock| lock.into_inner()) {
        return violated!("{story}\nto play it again:\n    {}", D::command(seed));
    }
    Ok((reports, began.elapsed()))
}

fn work<D: Days>(
    days: &D,
    next: &AtomicU64,
    broken: &Mutex<Option<(D::Seed, Violation)>>,
    tell: &(impl Fn(u64) + Sync),
) -> D::Report {
    let mut report = D::Report::default();
    loop {
        let begun = next.fetch_add(1, Ordering::Relaxed);
        let Some(seed) = days.nth(begun) else { return report };
        if begun > 0 && begun.is_multiple_of(TELL) {
            tell(begun);
        }
        if let Err(story) = days.play(seed, &mut report) {
            let mut first = broken.lock().unwrap_or_else(|lock| lock.into_inner());
            if first.as_ref().is_none_or(|(other, _)| seed < *other) {
                *first = Some((seed, story));
            }
            next.store(u64::MAX / 2, Ordering::Relaxed); // the others need not go on
        }
    }
}

impl Campaign {
    /// What the days came to; or the lowest seed that broke a rule, with all it expands to. `tell` hears
    /// now and then how many have begun.
    pub fn play(&self, tell: impl Fn(u64) + Sync) -> Result<Report, Violation> {
        let (reports, took) = play_all(self, tell)?;
        let mut report = reports.into_iter().fold(Report::default(), Report::with);
        report.took = took;
        Ok(report)
    }
}

impl Days for Campaign {
    type Seed = Seed;
    type Report = Report;

    /// The byte-level days first: they are the longest, and would else be waited for at the end.
    fn nth(&self, nth: u64) -> Option<Seed> {
        let bytes = self.bytes.end - self.bytes.start;
        match nth.checked_sub(bytes) {
            None => Some(Seed::Bytes(self.bytes.start + nth)),
            Some(nth) if nth < self.articles.end - self.articles.start => {
                Some(Seed::Articles(self.articles.start + nth))
            }
            Some(_) => None,
        }
    }

    fn play(&self, seed: Seed, report: &mut Report) -> Checked {
        let day = Day::from_seed(seed);
        let tell = |text: &str| format!("seed {seed}: panicked: {text}\n{day:#?}");
        let outcome = or_panic(|| play(&day), tell)?;
        report.add(&day, &outcome);
        Ok(())
    }

    fn command(seed: Seed) -> String {
        format!("BERGAMOT_SEED={seed} cargo test --package bergamot-engine --test bad_days")
    }
}

/// A day that panics breaks a rule, too: its seed has to be told.
pub(crate) fn or_panic<T>(
    play: impl FnOnce() -> Result<T, Violation>,
    tell: impl FnOnce(&str) -> String,
) -> Result<T, Violation> {
    let played = catch_unwind(AssertUnwindSafe(play));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
        Err(Violation::new(tell(text)))
    })
}

/// Plays a day, and some of them twice: the same must come of it.
fn play(day: &Day) -> Result<crate::sim::world::Outcome, Violation> {
    let outcome = run(day)?;
    if day.seed.number().is_multiple_of(TWICE) && run(day)? != outcome {
        return violated!("seed {}: two runs of it differ\n{day:#?}", day.seed);
    }
    Ok(outcome)
}

/// The seeds in a file with one on each line, and behind it what it once found.
pub fn named_seeds<S: FromStr>(text: &str) -> Vec<(S, &str)> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (seed, name) = line.split_once(' ').unwrap_or((line, ""));
            let seed = seed.parse().unwrap_or_else(|_| panic!("no seed: {line}"));
            (seed, name.trim())
        })
        .collect()
}

/// One seed in so many is played a second time.
const TWICE: u64 = 64;

/// A million take an hour.
const TELL: u64 = 50_000;
