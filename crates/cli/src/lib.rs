//! The commands that talk to a running daemon.
//!
//! Each asks over the control socket or HTTP and shows the answer: unchanged with `--json`, as a page
//! for people otherwise. Pages are made by pure functions of the answer and a `Look`; what touches
//! the network and the terminal is thin.
//!
//! - `arguments`: what can be said; `place`: where the daemon is; `session`: one command's two ends
//! - `add`, `list`, `show`, `steer`, `wait`, `watch` (with `live`), `limit`, `log`, `server`,
//!   `explain`, `status`, `health`, `rpc`, `feeds`, `groups`: the commands
//! - `seen`: what is understood of answers; `exit`, `failure`: how a command ends
//! - `columns`, `fields`, `look`, `words`: how things are shown
//! - `pages`: the reference, made from all that by a test

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
use client::endpoint::{Place, Places};
use client::session::{Form, Session};
use commands::job::{add, edit as steer, list, show, wait};
use commands::{
    explain, feeds, groups, health, limit, log, rpc, server, status, storage, targets, watch,
};
pub use demo::{Settings as DemoSettings, run as demo};
pub use exit::Exit;
use failure::Failure;
pub use import::{Import, Told as Imported, run as import};
pub use offline::{Offline, OfflineJob, OfflineSpool};
use terminal::style::Look;

/// Does what is said, and tells what goes wrong.
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
        complain(&message);
    }
    match command {
        // Docker knows no other code for it.
        Command::Health => Exit::Other,
        _ => failure.exit(),
    }
}

/// Whether all is well. No daemon is asked: what matters is what its user can do, also where root is
/// the one who asks.
fn examine(options: &Options) -> anyhow::Result<bool> {
    let remark = identity::look_as_the_daemon()?;
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
        // A reader that has seen enough is no error.
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
        None => Places::usual(variable, Some(&config)),
    };
    match places.reach() {
        Ok((_, place)) => {
            if !options.quiet && !options.json {
                println!("The daemon at {place} follows the feeds already.");
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
        (false, false) => Form::People,
    };
    let look = Look::of_this_terminal(clock::now().date);
    let (client, place) = places(options)?.reach()?;
    Ok(Session::new(client, place, form, look))
}

/// What is said goes before what is set, and both before what is usual.
fn places(options: Options) -> Result<Places, Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(place) = options.host {
        return Ok(place.into());
    }
    let environment = Environment::of_process();
    if let Some(file) = options.config {
        let config = Config::read(&file, &environment).map_err(anyhow::Error::from)?;
        return Ok(Places::usual(variable, Some(&config)));
    }
    match variable("BERGAMOT_HOST") {
        Some(text) => match text.parse::<Place>() {
            Ok(place) => Ok(place.into()),
            Err(error) => Err(Failure::Usage(format!("BERGAMOT_HOST: {error}"))),
        },
        None if variable("BERGAMOT_CONFIG").is_some() => {
            let file = variable("BERGAMOT_CONFIG").unwrap_or_default();
            match Config::read(Path::new(&file), &environment) {
                Ok(config) => Ok(Places::usual(variable, Some(&config))),
                // Somebody may be at work on it, which is nothing to a daemon that runs.
                Err(error) if variable("BERGAMOT_SOCKET").is_some() => {
                    complain(&error.to_string());
                    Ok(Places::usual(variable, None))
                }
                Err(error) => Err(anyhow::Error::from(error).into()),
            }
        }
        None => {
            // Whoever stands beside a configuration means that daemon.
            let here = match Config::read(Path::new("bergamot.toml"), &environment) {
                Ok(config) => Some(config),
                Err(ConfigError::Unreadable { .. }) => None, // mostly there is none
                Err(invalid) => return Err(anyhow::Error::from(invalid).into()),
            };
            Ok(Places::usual(variable, here.as_ref()))
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
        Command::Mv { job, place, other } => steer::move_job(session, *job, *place, *other),
        Command::Pause { jobs, time } => steer::pause(session, jobs, *time),
        Command::Quota => limit::quota(session),
        Command::Reload => status::reload(session),
        Command::Resume { jobs } => steer::resume(session, jobs),
        Command::Retry { jobs, from_start } => steer::retry(session, jobs, *from_start),
        Command::Rm { jobs, keep_files, forget } => {
            steer::remove(session, jobs, *keep_files, *forget)
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

/// However deep in a call the program is then. This thread opens nothing, so it matters not who it is.
fn give_up_after(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        complain(&format!("not done within {}", show_time(time)));
        std::process::exit(Exit::TimedOut as i32);
    });
}

/// Whoever closed standard error does not want to know.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "bergamot: {message}");
}
