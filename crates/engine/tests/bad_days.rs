//! Thousands of bad days, each from its seed.
//!
//! A day that ends badly prints its seed and all it expands to; `BERGAMOT_SEED=n cargo test --package
//! bergamot-engine --test bad_days` plays that one again. `BERGAMOT_SEEDS` is how many are played.

use std::collections::BTreeMap;

use bergamot_testkit::sim::{Day, run};

#[test]
fn every_bad_day_ends_well() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seeds = match number("BERGAMOT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("BERGAMOT_SEEDS").unwrap_or(2000u64),
    };
    let alone = seeds.end - seeds.start == 1;
    let mut fired: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seeds {
        let day = Day::from_seed(seed);
        let outcome = run(&day).unwrap_or_else(|broken| panic!("{broken}"));
        assert_eq!(outcome.completed, day.jobs.len(), "seed {seed}: {outcome:?}\n{day:#?}");
        for (fault, count) in outcome.fired {
            *fired.entry(fault).or_default() += count;
        }
    }
    println!("{fired:?}");
    let all = [
        "corrupt",
        "disk full",
        "lie",
        "missing",
        "outgrown",
        "reset",
        "stall",
        "too many connections",
        "unreachable",
    ];
    assert!(
        alone || all.iter().all(|fault| fired.contains_key(fault)),
        "every fault was delivered: {fired:?}"
    );
}

#[test]
fn a_seed_gives_the_same_day_twice() {
    for seed in 0..50 {
        let day = Day::from_seed(seed);
        assert_eq!(run(&day), run(&day), "seed {seed}");
    }
}
