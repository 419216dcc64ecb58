//! One program for all targets, so that it is built once; `BERGAMOT_TARGET` says which it plays.

#![no_main]

mod targets;

use std::path::Path;
use std::sync::LazyLock;

use bergamot_config::{Config, Environment};
use libfuzzer_sys::fuzz_target;
use targets::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("BERGAMOT_TARGET").unwrap_or_default();
    let all = targets::TARGETS.iter().chain(&[("config", config as Target)]);
    let found = all.into_iter().find(|(name, _)| *name == wanted);
    found.expect("BERGAMOT_TARGET names a target").1
});

fn config(bytes: &[u8]) {
    let _ = Config::parse(bytes, Path::new("/srv"), &Environment::default());
}

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
