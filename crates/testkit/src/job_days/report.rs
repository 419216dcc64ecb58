//! [`Campaign`]: a range of seeds of days of jobs, played on all cores; [`Report`]: their counts and results.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::day::Day;
use super::kind::{Fired, Kind};
use super::world::run;
use crate::sim::campaign::{Days, play_all};
use crate::violation::{Checked, Violation, violated};

/// Which seeds are to be played.
#[derive(Clone, Debug)]
pub struct Campaign(pub Range<u64>);

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub days: u64,
    pub steps: u64,
    pub fired: Fired,
    pub took: Duration,
}

impl Campaign {
    /// What the days came to; or the lowest seed that broke a rule, with all that happened.
    pub fn play(&self, tell: impl Fn(u64) + Sync) -> Result<Report, Violation> {
        let (reports, took) = play_all(self, tell)?;
        let mut all = Report { took, ..Report::default() };
        for report in reports {
            all.days += report.days;
            all.steps += report.steps;
            for (kind, count) in report.fired {
                *all.fired.entry(kind).or_default() += count;
            }
        }
        Ok(all)
    }
}

impl Days for Campaign {
    type Seed = u64;
    type Report = Report;

    fn nth(&self, nth: u64) -> Option<u64> {
        let seed = self.0.start.checked_add(nth)?;
        (seed < self.0.end).then_some(seed)
    }

    fn play(&self, seed: u64, report: &mut Report) -> Checked {
        let day = Day::from_seed(seed);
        let outcome = run(&day)?;
        if seed.is_multiple_of(TWICE) && run(&day)? != outcome {
            return violated!("seed {seed}: two runs of it differ\n{day:#?}");
        }
        report.days += 1;
        report.steps += outcome.steps;
        for (kind, count) in outcome.fired {
            *report.fired.entry(kind).or_default() += count;
        }
        Ok(())
    }

    fn command(seed: u64) -> String {
        format!("BERGAMOT_SEED={seed} cargo test --package bergamot-jobs --test job_days")
    }
}

impl Report {
    /// What never happened: whatever was to be proved about it was not.
    pub fn unfired(&self) -> Vec<Kind> {
        let all = Kind::ALL.iter().copied();
        all.filter(|kind| !self.fired.contains_key(kind)).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, steps, seconds) = (self.days, self.steps, self.took.as_secs_f64());
        let speed = days as f64 / seconds.max(0.001);
        writeln!(f, "{days} days, {steps} steps; {seconds:.1} s: {speed:.0} days/s")?;
        for (kind, count) in &self.fired {
            writeln!(f, "    {count:>9} {kind}")?;
        }
        Ok(())
    }
}

/// One seed in so many is played a second time.
const TWICE: u64 = 64;
