//! What it costs to take two due targets out of a hundred thousand, against two out of a hundred.
//!
//! `cargo run --release --package bergamot-benches --bin due`. Both are measured in turns, a million
//! times in all, and the best of each counts: what else goes on here only ever adds. Fails when the
//! many cost more than three times the few.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use bergamot_poll::{Queue, Settings, Wanted};
use bergamot_types::SplitMix;

fn main() -> ExitCode {
    let mut few = Bench::new(100);
    let mut many = Bench::new(100_000);
    for _ in 0..ROUNDS {
        few.round();
        many.round();
    }
    let ratio = many.best.as_secs_f64() / few.best.as_secs_f64();
    println!(
        "two of 100: {:.0} ns, two of 100,000: {:.0} ns, ratio {ratio:.2}",
        per_take(few.best),
        per_take(many.best)
    );
    if ratio > MOST { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

struct Bench {
    targets: Queue<u32, ()>,
    now: Instant,
    chance: SplitMix,
    best: Duration,
}

impl Bench {
    /// Two are due each second, the others in a day or two.
    fn new(count: u32) -> Self {
        let now = Instant::now();
        let mut targets = Queue::new(Settings::default());
        let day = Duration::from_secs(86_400);
        for id in 0..count {
            let (due, interval) = match id {
                0 | 1 => (now, Duration::from_secs(1)),
                _ => (now + day + day * id / count, day),
            };
            targets.set(due, id, Wanted { kind: (), interval, priority: 0, enabled: true });
        }
        Self { targets, now, chance: SplitMix::seeded(1), best: Duration::MAX }
    }

    fn round(&mut self) {
        let start = Instant::now();
        for _ in 0..TAKES {
            self.take_two();
        }
        self.best = self.best.min(start.elapsed());
    }

    fn take_two(&mut self) {
        self.now += Duration::from_millis(1_200); // the interval and all its jitter
        let taken = self.targets.take_due(self.now);
        assert_eq!(taken.len(), 2, "two are due");
        for id in taken {
            self.targets.finished(self.now, id, &Ok::<_, ()>(()), &mut self.chance);
        }
        assert!(self.targets.next_wake().is_some());
    }
}

fn per_take(round: Duration) -> f64 {
    round.as_secs_f64() * 1e9 / f64::from(TAKES)
}

const ROUNDS: usize = 50;
const TAKES: u32 = 1_000; // 20 minutes of them: the others stay far from due
const MOST: f64 = 3.0;
