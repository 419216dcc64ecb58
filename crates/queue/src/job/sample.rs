//! [`sample`]: which articles of a job are probed; [`Outlook`]: what the result says of the job. Pure.

use bergamot_types::SplitMix;

use crate::job::health::Permille;

/// Which of so many articles are looked at: 2 %, at least 20 and at most 200, spread evenly over all
/// of them and so over the files.
pub fn sample(articles: u32, chance: &mut SplitMix) -> Vec<u32> {
    let wanted = (articles / 50).clamp(FEWEST, MOST).min(articles);
    let (articles, wanted) = (u64::from(articles), u64::from(wanted));
    let nth = |n: u64| {
        let (from, to) = (n * articles / wanted, (n + 1) * articles / wanted);
        (from + chance.up_to(to - from - 1)) as u32 // of a stretch that is never empty
    };
    (0..wanted).map(nth).collect()
}

/// What is to be expected of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outlook {
    /// Nothing of the sample is missing.
    Complete,
    /// Less is missing than recovery files may make up for, as far as can be told.
    Repairable,
    /// So much is missing that a job which could be repaired would look so once in a thousand times.
    Hopeless,
}

impl Outlook {
    /// `others` are those of which nothing is known; they are taken to be there.
    pub fn of(present: u32, missing: u32, others: u32, critical: Permille) -> Self {
        if missing == 0 {
            return Self::Complete;
        }
        let bearable = f64::from(Permille::ALL.0 - critical.0.min(Permille::ALL.0))
            / f64::from(Permille::ALL.0);
        match chance_of_so_many(missing, present + missing + others, bearable) < DOUBT {
            true => Self::Hopeless,
            false => Self::Repairable,
        }
    }
}

/// The chance that at least `missing` of a sample are missing where that is the `share` of all.
fn chance_of_so_many(missing: u32, sample: u32, share: f64) -> f64 {
    if share <= 0.0 {
        return 0.0; // not one may be missing
    }
    if share >= 1.0 {
        return 1.0;
    }
    let (log, log_not) = (share.ln(), (1.0 - share).ln());
    // The logarithm of how many ways there are to choose, built up factor by factor.
    let mut ways = 0.0;
    let mut sum = 0.0;
    for count in 0..=sample {
        if count > 0 {
            ways += (f64::from(sample - count + 1) / f64::from(count)).ln();
        }
        if count >= missing {
            sum += (ways + f64::from(count) * log + f64::from(sample - count) * log_not).exp();
        }
    }
    sum
}

const FEWEST: u32 = 20;
const MOST: u32 = 200;
const DOUBT: f64 = 0.001;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_all_of_it() {
        let mut chance = SplitMix::seeded(1);
        let known = [(0, 0), (1, 1), (19, 19), (20, 20), (999, 20), (5_000, 100), (1_000_000, 200)];
        for (articles, wanted) in known {
            let sample = sample(articles, &mut chance);
            assert_eq!(sample.len(), wanted, "of {articles}");
            assert!(sample.iter().all(|place| *place < articles));
            assert!(sample.is_sorted_by(|one, other| one < other), "no article twice");
            for quarter in 0..4 {
                let from = articles / 4 * quarter;
                let inside = sample.iter().filter(|at| (from..from + articles / 4).contains(*at));
                assert!(articles < 20 || inside.count() >= wanted / 4 - 1);
            }
        }
        let drawn = |seed| sample(1_000_000, &mut SplitMix::seeded(seed));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn the_chance_is_that_of_the_binomial_distribution() {
        let close = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(close(chance_of_so_many(1, 1, 0.25), 0.25));
        assert!(close(chance_of_so_many(2, 2, 0.5), 0.25));
        assert!(close(chance_of_so_many(1, 3, 0.5), 0.875));
        assert!(close(chance_of_so_many(0, 200, 0.3), 1.0));
        assert!(close(chance_of_so_many(3, 3, 1.0), 1.0));
    }

    #[test]
    fn hopeless_is_what_is_certain() {
        use Outlook::{Complete, Hopeless, Repairable};
        let known = [
            ((100, 0, 0, 900), Complete),
            ((99, 1, 0, 900), Repairable),
            ((90, 10, 0, 900), Repairable), // as much as can be repaired
            ((80, 20, 0, 900), Repairable), // may be bad luck
            ((79, 21, 0, 900), Hopeless),
            ((0, 20, 0, 900), Hopeless),
            ((0, 2, 18, 900), Repairable), // who knows
            ((199, 1, 0, 1000), Hopeless), // there is nothing to repair with
            ((0, 200, 0, 0), Repairable),  // there is enough to repair all of it
        ];
        for ((present, missing, others, critical), expected) in known {
            let outlook = Outlook::of(present, missing, others, Permille(critical));
            assert_eq!(outlook, expected, "{missing} of {}", present + missing + others);
        }
    }
}
