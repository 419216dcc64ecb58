//! The arena: bergamot beside its floors and beside the programs people use today.
//!
//! `benches/run` builds everything and starts it. All contestants of a scenario take turns within one
//! run, against one server that has every answer in memory; what counts are the ratios.

#![forbid(unsafe_code)]

mod arena;
mod bergamot;
mod calls;
mod chart;
mod contestant;
mod dialogue;
mod floor;
mod http;
mod json;
mod nzbget;
mod outcome;
mod payload;
mod plan;
mod process;
mod run;
mod sabnzbd;
mod scenario;
mod secured;
mod server;
mod stage;
mod table;
mod target;
mod tls;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::scenario::Length;

#[derive(Debug, Parser)]
#[command(about = "Speed, as ratios within one run")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every scenario in full.
    All(arena::Options),
    /// Run the scenarios that take little time, with less to fetch.
    Quick(arena::Options),
    /// A floor; the arena starts it.
    #[command(hide = true)]
    Floor(floor::Options),
    /// The news server; the arena starts it.
    #[command(hide = true)]
    Serve(server::Options),
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::All(options) => arena::run(Length::Full, &options),
        Command::Quick(options) => arena::run(Length::Quick, &options),
        Command::Floor(options) => floor::run(&options).map(|()| ExitCode::SUCCESS),
        Command::Serve(options) => server::run(&options).map(|()| ExitCode::SUCCESS),
    }
}
