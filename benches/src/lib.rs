//! What the benchmarks share.
//!
//! Machines are shared and noisy, so a speed means nothing by itself: every line shows the best of
//! several rounds and its ratio to a yardstick that was measured in the same run.

#![forbid(unsafe_code)]

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

    /// Runs `work`, which handles `bytes`, often enough to be sure, and prints its best speed.
    pub fn measure(&mut self, name: &str, bytes: usize, mut work: impl FnMut()) {
        let best = (0..ROUNDS).map(|_| time(&mut work)).min().unwrap_or_default();
        let speed = bytes as f64 / best.as_secs_f64() / 1e6;
        let yardstick = *self.yardstick.get_or_insert(speed);
        println!("{name:<44} {speed:>9.0} {:>8.3}", speed / yardstick);
    }
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

const ROUNDS: usize = 15;
