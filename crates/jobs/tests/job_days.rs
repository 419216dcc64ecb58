//! Thousands of days of jobs, each from its seed: the machine of jobs, the engine and the steps after a
//! download together.
//!
//! A day that breaks a rule prints its seed, all that happened and the command to play it again:
//! `BERGAMOT_SEED=n`. `BERGAMOT_SEEDS` is how many are played; `n..m` plays these.

use bergamot_testkit::job_days::{Campaign, Day, named_seeds, run, run_with_log};

#[test]
fn every_day_of_jobs_ends_well() {
    if let Ok(seed) = std::env::var("BERGAMOT_SEED") {
        return play_one(seed.parse().expect("a number"));
    }
    let seeds = std::env::var("BERGAMOT_SEEDS").unwrap_or_else(|_| "2000".into());
    let campaign = campaign(&seeds);
    let days = campaign.0.end - campaign.0.start;
    let tell = |begun| println!("{begun} days have begun");
    let report = campaign.play(tell).unwrap_or_else(|broken| panic!("{broken}"));
    println!("{report}");
    let unfired = report.unfired();
    assert!(days < ENOUGH || unfired.is_empty(), "these never happened: {unfired:?}");
}

#[test]
fn what_was_once_found_stays_found() {
    for (seed, name) in named_seeds::<u64>(include_str!("named_seeds.txt")) {
        let outcome = run(&Day::from_seed(seed));
        outcome.unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
}

#[test]
fn a_seed_gives_the_same_day_twice_to_the_last_letter() {
    for seed in 0..20 {
        let day = Day::from_seed(seed);
        let (first, second) = (run_with_log(&day), run_with_log(&day));
        assert!(first.is_ok() && first == second, "seed {seed}");
    }
}

fn campaign(text: &str) -> Campaign {
    let number = |text: &str| text.parse::<u64>().expect("a number, or two with dots between");
    match text.split_once("..") {
        Some((first, end)) => Campaign(number(first)..number(end)),
        None => Campaign(0..number(text)),
    }
}

fn play_one(seed: u64) {
    match run_with_log(&Day::from_seed(seed)) {
        Ok((outcome, log)) => println!("{log}{outcome:#?}"),
        Err(broken) => panic!("{broken}"),
    }
}

/// With so many days everything must have happened; the rarest happens on one day in 7,000.
const ENOUGH: u64 = 20_000;
