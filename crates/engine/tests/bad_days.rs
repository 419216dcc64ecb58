//! Thousands of bad days, each from its seed.
//!
//! A day that breaks a rule prints its seed, all it expands to and the command to play it again:
//! `BERGAMOT_SEED=n`, or `BERGAMOT_SEED=bytes-n` for a day through the real `nntp` and `yenc`.
//! `BERGAMOT_SEEDS` is how many are played; one in twenty is a byte-level one.

use bergamot_testkit::sim::{Campaign, Day, Seed, named_seeds, run, run_with_log};

#[test]
fn every_bad_day_ends_well() {
    if let Ok(seed) = std::env::var("BERGAMOT_SEED") {
        return play_one(seed.parse().expect("a number, or bytes- and a number"));
    }
    let seeds = std::env::var("BERGAMOT_SEEDS").ok().and_then(|text| text.parse().ok());
    let seeds: u64 = seeds.unwrap_or(2000);
    let bytes = seeds / 20;
    let campaign = Campaign { articles: 0..seeds - bytes, bytes: 0..bytes };
    let report = campaign.play().unwrap_or_else(|broken| panic!("{broken}"));
    println!("{report}");
    let unfired = report.unfired();
    let enough = seeds >= ENOUGH;
    assert!(!enough || unfired.is_empty(), "these faults never struck: {unfired:?}");
}

#[test]
fn what_was_once_found_stays_found() {
    for (seed, name) in named_seeds(include_str!("named_seeds.txt")) {
        let outcome = run(&Day::from_seed(seed));
        outcome.unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
}

#[test]
fn a_seed_gives_the_same_day_twice_to_the_last_letter() {
    for number in 0..20 {
        for seed in [Seed::Articles(number), Seed::Bytes(number)] {
            let day = Day::from_seed(seed);
            let (first, second) = (run_with_log(&day), run_with_log(&day));
            assert!(first == second, "seed {seed}");
            assert!(first.is_ok_and(|(_, log)| log.lines().count() > 100), "seed {seed}");
        }
    }
}

fn play_one(seed: Seed) {
    let day = Day::from_seed(seed);
    match run_with_log(&day) {
        Ok((outcome, _)) => println!("{outcome:#?}"),
        Err(broken) => panic!("{broken}"),
    }
}

/// With so many seeds every fault must have struck.
const ENOUGH: u64 = 2000;
