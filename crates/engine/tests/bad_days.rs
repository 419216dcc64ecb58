//! Thousands of bad days, each from its seed.
//!
//! A day that breaks a rule prints its seed, all it expands to and the command to play it again:
//! `BERGAMOT_SEED=n`, or `BERGAMOT_SEED=bytes-n` for a day through the real `nntp` and `yenc`.
//! `BERGAMOT_SEEDS` is how many are played; one in twenty is a byte-level one. `n..m` plays these of
//! the others.

use bergamot_testkit::sim::{Campaign, Day, Seed, named_seeds, run, run_with_log};

#[test]
fn every_bad_day_ends_well() {
    if let Ok(seed) = std::env::var("BERGAMOT_SEED") {
        return play_one(seed.parse().expect("a number, or bytes- and a number"));
    }
    let campaign = campaign(&std::env::var("BERGAMOT_SEEDS").unwrap_or_else(|_| "2000".into()));
    let seeds = campaign.articles.end - campaign.articles.start;
    let enough = !campaign.bytes.is_empty() && seeds >= ENOUGH;
    let tell = |begun| println!("{begun} days have begun");
    let report = campaign.play(tell).unwrap_or_else(|broken| panic!("{broken}"));
    println!("{report}");
    let unfired = report.unfired();
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

fn campaign(text: &str) -> Campaign {
    let number = |text: &str| text.parse::<u64>().expect("a number, or two with dots between");
    if let Some((first, end)) = text.split_once("..") {
        return Campaign { articles: number(first)..number(end), bytes: 0..0 };
    }
    let (seeds, bytes) = (number(text), number(text) / 20);
    Campaign { articles: 0..seeds - bytes, bytes: 0..bytes }
}

fn play_one(seed: Seed) {
    let day = Day::from_seed(seed);
    match run_with_log(&day) {
        Ok((outcome, _)) => println!("{outcome:#?}"),
        Err(broken) => panic!("{broken}"),
    }
}

/// With so many seeds every fault must have struck.
const ENOUGH: u64 = 1900;
