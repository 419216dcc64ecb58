//! The command line: parses arguments, sends requests to a running daemon and prints the results.
//!
//! Each command calls the daemon over the control socket or HTTP and prints the response: unchanged with `--json`, as a
//! page otherwise. Pages are pure functions of the response and a `Style`.
//!
//! - `arguments`: what clap parses; `docs/cli.md` is generated from it
//! - `client`: where the daemon is, the session of one command, its responses
//! - `commands`: the commands that need a daemon
//! - `doctor`, `demo`, `import`: the commands that work without one
//! - `terminal`: formatting; `exit`, `failure`: how a command ends

#![forbid(unsafe_code)]

mod arguments;
mod client;
mod clock;
mod commands;
mod demo;
mod doctor;
mod exit;
mod failure;
mod import;
mod offline;
mod terminal;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bergamot_config::identity;
use bergamot_config::{Config, ConfigError, Environment, show_time};

use arguments::FeedsCommand;
use arguments::Once;
pub use arguments::program::{
    Arguments, Command as ProgramCommand, ConfigCommand, Run, completions,
};
pub use arguments::{Command, Options};
use client::endpoint::{Endpoint, Endpoints};
use client::session::{Form, Session};
use commands::job::{add, edit, list, show, wait};
use commands::{
    explain, feeds, groups, health, limit, log, rpc, server, status, storage, targets, watch,
};
pub use demo::{Settings as DemoSettings, run as demo};
pub use exit::Exit;
use failure::Failure;
pub use import::{Import, ImportOutput as Imported, run as import};
pub use offline::{Offline, OfflineJob, OfflineSpool};
use terminal::style::Style;

/// Runs a command and prints its error.
pub fn run(options: Options, command: &Command, offline: &dyn Offline) -> Exit {
    if let Some(time) = options.timeout {
        give_up_after(time);
    }
    let done = match command {
        Command::Doctor => match examine(&options) {
            Ok(true) => return Exit::Ok,
            Ok(false) => return Exit::Other,
            Err(error) => Err(error.into()),
        },
        Command::Feeds { command: FeedsCommand::Run(once) } => read_feeds(options, once, offline),
        Command::Health => health::health(options),
        command => open(options).and_then(|mut session| carry_out(&mut session, command)),
    };
    let Err(failure) = done else { return Exit::Ok };
    if let Some(message) = failure.message() {
        print_error(&message);
    }
    match command {
        // Docker knows no other exit code for it.
        Command::Health => Exit::Other,
        _ => failure.exit(),
    }
}

/// Whether all checks pass. No daemon is involved: the checks run with the rights of its user, also if root
/// starts them.
fn examine(options: &Options) -> anyhow::Result<bool> {
    let remark = identity::become_daemon_user()?;
    let variable = std::env::var_os("BERGAMOT_CONFIG").filter(|path| !path.is_empty());
    let given = options.config.clone().or_else(|| variable.map(PathBuf::from));
    let path = given.unwrap_or_else(|| PathBuf::from("bergamot.toml"));
    let config = Config::read(&path, &Environment::of_process())?;
    identity::set_umask(&config.storage);
    let findings = doctor::examine(&config, remark.as_deref())?;
    let text = match options.json {
        true => serde_json::to_string(&findings)? + "\n",
        false => doctor::page(&findings),
    };
    if !options.quiet {
        // A closed pipe is no error.
        let _ = std::io::stdout().write_all(text.as_bytes());
    }
    Ok(doctor::is_well(&findings))
}

/// A daemon that runs reads what is due by itself.
fn read_feeds(options: Options, once: &Once, offline: &dyn Offline) -> Result<(), Failure> {
    let config = once.config(options.config.clone())?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let places = match &options.host {
        Some(place) => place.clone().into(),
        None => Endpoints::usual(variable, Some(&config)),
    };
    match places.reach() {
        Ok((_, place)) => {
            if !options.quiet && !options.json {
                println!("The daemon at {place} polls the feeds already.");
            }
            Ok(())
        }
        Err(_) => match offline.run_feeds(config)? {
            refused if refused.is_empty() => Ok(()),
            refused => Err(Failure::FeedsRefused(refused)),
        },
    }
}

fn open(options: Options) -> Result<Session, Failure> {
    let form = match (options.json, options.quiet) {
        (true, _) => Form::Json,
        (false, true) => Form::Quiet,
        (false, false) => Form::Page,
    };
    let style = Style::of_this_terminal(clock::now().date);
    let (client, place) = places(options)?.reach()?;
    Ok(Session::new(client, place, form, style))
}

/// An option overrides the environment, and both override the defaults.
fn places(options: Options) -> Result<Endpoints, Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(place) = options.host {
        return Ok(place.into());
    }
    let environment = Environment::of_process();
    if let Some(file) = options.config {
        let config = Config::read(&file, &environment).map_err(anyhow::Error::from)?;
        return Ok(Endpoints::usual(variable, Some(&config)));
    }
    match variable("BERGAMOT_HOST") {
        Some(text) => match text.parse::<Endpoint>() {
            Ok(place) => Ok(place.into()),
            Err(error) => Err(Failure::Usage(format!("BERGAMOT_HOST: {error}"))),
        },
        None if variable("BERGAMOT_CONFIG").is_some() => {
            let file = variable("BERGAMOT_CONFIG").unwrap_or_default();
            match Config::read(Path::new(&file), &environment) {
                Ok(config) => Ok(Endpoints::usual(variable, Some(&config))),
                // The file may be being edited, which does not concern a daemon that runs.
                Err(error) if variable("BERGAMOT_SOCKET").is_some() => {
                    print_error(&error.to_string());
                    Ok(Endpoints::usual(variable, None))
                }
                Err(error) => Err(anyhow::Error::from(error).into()),
            }
        }
        None => {
            // A configuration in the current directory names that daemon.
            let here = match Config::read(Path::new("bergamot.toml"), &environment) {
                Ok(config) => Some(config),
                Err(ConfigError::Unreadable { .. }) => None, // mostly there is none
                Err(invalid) => return Err(anyhow::Error::from(invalid).into()),
            };
            Ok(Endpoints::usual(variable, here.as_ref()))
        }
    }
}

fn carry_out(session: &mut Session, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Add(add) => add::add(session, add),
        Command::Doctor => unreachable!("`run` does it without a daemon"),
        Command::Explain { job } => explain::explain(session, *job),
        Command::Feeds { command } => feeds::feeds(session, command),
        Command::Groups { command } => groups::groups(session, command),
        Command::Health => unreachable!("`run` asks without a login"),
        Command::History(list) => list::history(session, list),
        Command::Limit { rate } => limit::limit(session, *rate),
        Command::List(list) => list::queue(session, list),
        Command::Log { follow, lines, job } => log::log(session, *lines, *job, *follow),
        Command::Mv { job, place, other } => edit::move_job(session, *job, *place, *other),
        Command::Pause { jobs, time } => edit::pause(session, jobs, *time),
        Command::Quota => limit::quota(session),
        Command::Reload => status::reload(session),
        Command::Resume { jobs } => edit::resume(session, jobs),
        Command::Retry { jobs, from_start } => edit::retry(session, jobs, *from_start),
        Command::Rm { jobs, keep_files, forget } => {
            edit::remove(session, jobs, *keep_files, *forget)
        }
        Command::Rpc { method, params } => rpc::rpc(session, method, params),
        Command::Scan => status::scan(session),
        Command::Server { command } => server::server(session, command),
        Command::Show { job, files } => show::show(session, *job, *files),
        Command::Status => status::status(session),
        Command::Storage { command } => storage::storage(session, command),
        Command::Stop => status::stop(session),
        Command::Targets => targets::targets(session),
        Command::Wait { jobs } => wait::wait(session, jobs),
        Command::Watch => watch::watch(session),
    }
}

/// Exits from a thread, however deep in a call the program is.
fn give_up_after(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        print_error(&format!("not done within {}", show_time(time)));
        std::process::exit(Exit::TimedOut as i32);
    });
}

/// A closed standard error is ignored.
fn print_error(message: &str) {
    let _ = writeln!(std::io::stderr(), "bergamot: {message}");
}
