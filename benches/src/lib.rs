//! What the benchmarks share.
//!
//! Machines are shared and noisy, so a speed means nothing by itself: every line shows the best of
//! several rounds and its ratio to a yardstick that was measured in the same run.

#![forbid(unsafe_code)]

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One run: its yardstick is whatever is measured first.
#[derive(Debug, Default)]
pub struct Bench {
    yardstick: Option<f64>,
}

impl Bench {
    pub fn new() -> Self {
        println!("{:<44} {:>9} {:>8}", "", "MB/s", "ratio");
        Self::default()
    }

    /// Lets all take turns, each to handle `bytes` and say how long it took, so that a noisy
    /// neighbour hurts all alike; prints and gives their best speeds.
    pub fn alternate(&mut self, bytes: usize, entries: &mut [Entry<'_>]) -> Vec<f64> {
        let mut best = vec![Duration::MAX; entries.len()];
        for _ in 0..TURNS {
            for ((_, work), best) in entries.iter_mut().zip(&mut best) {
                *best = work().min(*best);
            }
        }
        let named = entries.iter().zip(best);
        named.map(|((name, _), best)| self.print(name, bytes, best)).collect()
    }

    /// Runs `work`, which handles `bytes`, often enough to be sure, and prints its best speed.
    pub fn measure(&mut self, name: &str, bytes: usize, mut work: impl FnMut()) {
        let best = (0..ROUNDS).map(|_| time(&mut work)).min().unwrap_or_default();
        self.print(name, bytes, best);
    }

    fn print(&mut self, name: &str, bytes: usize, best: Duration) -> f64 {
        let speed = bytes as f64 / best.as_secs_f64() / 1e6;
        let yardstick = *self.yardstick.get_or_insert(speed);
        println!("{name:<44} {speed:>9.0} {:>8.3}", speed / yardstick);
        speed
    }
}

/// A name, and work that times itself.
pub type Entry<'a> = (String, Box<dyn FnMut() -> Duration + 'a>);

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The daemon: the one the environment names, or the one that was built beside this program.
///
/// # Errors
/// When nobody knows where this program lies.
pub fn daemon() -> io::Result<PathBuf> {
    match std::env::var_os("BERGAMOT_PROGRAM") {
        Some(program) => Ok(program.into()),
        None => Ok(std::env::current_exe()?.with_file_name("bergamot")),
    }
}

const ROUNDS: usize = 15;
const TURNS: usize = 40;
