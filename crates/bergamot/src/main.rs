//! The command line.

#![forbid(unsafe_code)]

mod arguments;
mod cli;
mod clock;
mod config;
mod daemon;
mod demo;
mod feeds_once;
mod log;
mod log_book;
mod progress;
mod signals;
mod socket;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser};

use crate::arguments::{Arguments, Command, ConfigCommand};
use crate::cli::Exit;
use crate::config::{Config, Environment};

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            // Whoever closed standard error does not want to know.
            let _ = writeln!(std::io::stderr(), "bergamot: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(Arguments { options, command }: Arguments) -> anyhow::Result<Exit> {
    match command {
        Command::Completions { shell } => say(&completions(shell))?,
        Command::Config { command: ConfigCommand::Check { file } } => {
            say(&config::check(&file, &environment())?)?
        }
        Command::Config { command: ConfigCommand::Reference } => say(&config::reference())?,
        Command::Config { command: ConfigCommand::Sample } => say(&config::sample())?,
        Command::Demo { size, connections, rate } => {
            demo::run(&demo::Settings { size, connections, rate })?
        }
        Command::Run { config } => run_daemon(&Config::read(&config, &environment())?)?,
        Command::Talk(command) => return Ok(cli::run(options, &command)),
    }
    Ok(Exit::Ok)
}

fn completions(shell: clap_complete::Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "bergamot", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn run_daemon(config: &Config) -> anyhow::Result<()> {
    let book = log_book::LogBook::default();
    log::start(&config.log, book.clone())?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    // As a task among those of the connections: what they have to say to each other then wakes no
    // thread that sleeps.
    let daemon = runtime.spawn(daemon::run(daemon::Settings::new(config, threads), book));
    runtime.block_on(daemon).context("the daemon broke down")??;
    // A name look-up that hangs must not hold up the end.
    runtime.shutdown_background();
    Ok(())
}

fn environment() -> Environment {
    std::env::vars_os().collect()
}

/// A reader that has seen enough, as `head` does, is no error.
fn say(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// Decoding keeps pace with any line on fewer; more only spread the same work thinner.
const MOST_THREADS: usize = 4;
