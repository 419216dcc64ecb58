//! [`Report`]: the totals of many days. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::sim::day::Day;
use crate::sim::invariants::jobs::Verdict;
use crate::sim::kind::{Fired, Kind};
use crate::sim::seed::Seed;
use crate::sim::world::Outcome;

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub seeds: u64,
    /// How many of them through the real `nntp` and `yenc`.
    pub byte_seeds: u64,
    pub steps: u64,
    pub fired: Fired,
    pub verdicts: BTreeMap<Verdict, usize>,
    pub took: Duration,
    articles: Vec<u32>,
    servers: Vec<u32>,
    kinds: Vec<u32>,
}

impl Report {
    pub(crate) fn add(&mut self, day: &Day, outcome: &Outcome) {
        self.seeds += 1;
        self.byte_seeds += u64::from(matches!(day.seed, Seed::Bytes(_)));
        self.steps += outcome.steps;
        self.articles.push(day.articles());
        self.servers.push(day.servers.len() as u32);
        self.kinds.push(outcome.fired.len() as u32);
        for (kind, count) in &outcome.fired {
            *self.fired.entry(*kind).or_default() += count;
        }
        for (verdict, count) in &outcome.verdicts {
            *self.verdicts.entry(*verdict).or_default() += count;
        }
    }

    pub(crate) fn with(mut self, other: Self) -> Self {
        self.seeds += other.seeds;
        self.byte_seeds += other.byte_seeds;
        self.steps += other.steps;
        for (kind, count) in other.fired {
            *self.fired.entry(kind).or_default() += count;
        }
        for (verdict, count) in other.verdicts {
            *self.verdicts.entry(verdict).or_default() += count;
        }
        self.articles.extend(other.articles);
        self.servers.extend(other.servers);
        self.kinds.extend(other.kinds);
        self
    }

    /// Faults that never struck: whatever was to be proved about them was not.
    pub fn unfired(&self) -> Vec<Kind> {
        let all = Kind::of_models().chain(Kind::of_wires());
        let all = all
            .chain(Kind::of_misfits())
            .chain(Kind::of_outages())
            .chain(Kind::of_people())
            .chain(Kind::of_calendar())
            .chain(Kind::of_losses());
        all.filter(|kind| !self.fired.contains_key(kind)).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, byte_seeds, steps, .. } = self;
        let seconds = self.took.as_secs_f64();
        let speed = *seeds as f64 / seconds.max(0.001);
        writeln!(f, "{seeds} seeds, {byte_seeds} of them byte by byte; {steps} steps")?;
        writeln!(f, "{seconds:.1} s: {speed:.0} seeds/s")?;
        let [articles, servers, kinds] =
            [&self.articles, &self.servers, &self.kinds].map(|numbers| median(numbers));
        writeln!(f, "median: {articles} articles, {servers} servers, {kinds} kinds of fault")?;
        writeln!(f, "jobs: {:?}", self.verdicts)?;
        writeln!(f, "hits per fault:")?;
        for (kind, count) in &self.fired {
            writeln!(f, "    {count:>9} {kind}")?;
        }
        Ok(())
    }
}

fn median(numbers: &[u32]) -> u32 {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}
