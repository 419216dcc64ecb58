#![forbid(unsafe_code)]

#[allow(dead_code, unused_imports, reason = "the daemon that reads it is not here yet")]
mod config;

fn main() {}
