//! The command line.

#![forbid(unsafe_code)]

mod clock;
mod config;
mod daemon;
mod demo;
mod log;
mod progress;
mod signals;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use bergamot_types::ByteCount;
use clap::{Parser, Subcommand};

use crate::config::{Config, Environment};

/// A headless downloader for binary Usenet posts.
#[derive(Debug, Parser)]
#[command(name = "bergamot", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at configuration files
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Show a whole download on this machine, without account or configuration
    Demo {
        /// How much to download
        #[arg(long, default_value = "256 MB")]
        size: ByteCount,
        /// Connections to the news server
        #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=100))]
        connections: u16,
        /// How much to download in a second; 0 is as fast as it goes
        #[arg(long, default_value = "0 B")]
        rate: ByteCount,
    },
    /// Run the daemon until it is told to stop
    Run {
        /// The configuration file
        #[arg(long, short, value_name = "FILE")]
        config: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Read a configuration file and say what it means, or what is wrong with it
    Check { file: PathBuf },
    /// Print the reference of all keys, in Markdown
    Reference,
    /// Print a sample with every key, its default and its meaning
    Sample,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever closed standard error does not want to know.
            let _ = writeln!(std::io::stderr(), "bergamot: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Config { command: ConfigCommand::Check { file } } => {
            say(&config::check(&file, &environment())?)
        }
        Command::Config { command: ConfigCommand::Reference } => say(&config::reference()),
        Command::Config { command: ConfigCommand::Sample } => say(&config::sample()),
        Command::Demo { size, connections, rate } => {
            demo::run(&demo::Settings { size, connections, rate })
        }
        Command::Run { config } => run_daemon(&Config::read(&config, &environment())?),
    }
}

fn run_daemon(config: &Config) -> anyhow::Result<()> {
    log::start(&config.log)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    // As a task among those of the connections: what they have to say to each other then wakes no
    // thread that sleeps.
    let daemon = runtime.spawn(daemon::run(daemon::Settings::new(config, threads)));
    runtime.block_on(daemon).context("the daemon broke down")??;
    // A name look-up that hangs must not hold up the end.
    runtime.shutdown_background();
    Ok(())
}

fn environment() -> Environment {
    std::env::vars_os().collect()
}

fn say(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Decoding keeps pace with any line on fewer; more only spread the same work thinner.
const MOST_THREADS: usize = 4;
