//! The command line.

#![forbid(unsafe_code)]

mod offline;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use bergamot_cli as cli;
use bergamot_cli::{Arguments, ConfigCommand, Exit, ProgramCommand as Command, Run};
use bergamot_config as config;
use bergamot_config::identity::{self, Identity};
use bergamot_config::{Config, ConfigError, Environment};
use bergamot_daemon as daemon;
use bergamot_daemon::{FirstStart, LogBook};

use crate::offline::WithoutDaemon;

/// Which allocator a C library brings is its maker's business; memory and speed are ours (decision 020).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

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
        Command::Completions { shell } => say(&cli::completions(shell))?,
        Command::Config { command: ConfigCommand::Check { file } } => {
            say(&config::check(&file, &environment())?)?
        }
        Command::Config { command: ConfigCommand::Reference } => say(&config::reference())?,
        Command::Config { command: ConfigCommand::Sample } => say(&config::sample())?,
        Command::Demo { size, connections, rate } => {
            cli::demo(&cli::DemoSettings { size, connections, rate })?
        }
        Command::Import(command) => {
            let told = cli::import(&command, &WithoutDaemon)?;
            // Whoever closed standard error does not want to know.
            let _ = std::io::stderr().write_all(told.aside.as_bytes());
            say(&told.output)?
        }
        Command::Run(command) => start(&command)?,
        Command::Talk(command) => return Ok(cli::run(options, &command, &WithoutDaemon)),
    }
    Ok(Exit::Ok)
}

fn start(command: &Run) -> anyhow::Result<()> {
    let mut remark = None;
    if command.container {
        let identity = Identity::read(|name| std::env::var_os(name))?;
        remark = identity.assume(&CONTAINER_DIRECTORIES.map(Path::new))?;
    }
    let path = config_file(command)?;
    let environment = environment();
    start_here(command, &path, &environment, remark).map_err(|error| {
        // Volumes that were handed over once stay with whom they were handed to.
        if !format!("{error:#}").contains(DENIED) {
            return error;
        }
        let directory = path.parent().unwrap_or(Path::new("/"));
        let foreign = identity::foreign(&[directory, &path, &directory.join("state")]);
        if foreign.is_empty() {
            error
        } else {
            anyhow::anyhow!("{error:#}; {}", foreign.join("; "))
        }
    })
}

fn start_here(
    command: &Run,
    path: &Path,
    environment: &Environment,
    remark: Option<String>,
) -> anyhow::Result<()> {
    let first = match (command.container, command.create) {
        (true, _) => daemon::prepare_first_start(path, &daemon::container_layout(), environment)?,
        (false, true) => daemon::prepare_first_start(path, &[], environment)?,
        (false, false) => None,
    };
    let config = Config::read(path, environment).map_err(|error| {
        let is_missing = matches!(&error, ConfigError::Unreadable { error, .. }
            if error.kind() == std::io::ErrorKind::NotFound);
        let hint = if is_missing { "; --create writes one" } else { "" };
        anyhow::anyhow!("{error}{hint}")
    })?;
    identity::set_umask(&config.storage);
    let book = LogBook::default();
    daemon::start_log(&config.log, book.clone())?;
    if let Some(remark) = remark {
        tracing::warn!("{remark}");
    }
    if let Some(FirstStart { config, password, api_key }) = first {
        let config = config.display();
        tracing::info!(
            "this is the first start: wrote {config}; the control password is in {password}, the \
             API key in {api_key}"
        );
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    if config.servers.is_empty() {
        let path = config.path.display();
        tracing::info!("waiting for a news server: bergamot server add, or [[server]] in {path}");
    }
    tell_of_foreign_directories(&config);
    run_daemon(&config, book)
}

/// Whatever is made by Docker is root's. In a thread of its own, for a share may hang.
fn tell_of_foreign_directories(config: &Config) {
    let directories = config.directories.clone();
    let categories: Vec<_> = config.categories.iter().map(|it| it.directory.clone()).collect();
    let look = move || {
        let own = [&directories.watch, &directories.incomplete, &directories.complete];
        let paths: Vec<_> = own.into_iter().chain(&categories).map(PathBuf::as_path).collect();
        for told in identity::foreign(&paths) {
            tracing::warn!("{told}");
        }
    };
    // Without it, what is wrong shows when it is needed.
    let _ = std::thread::Builder::new().name("ownership".to_owned()).spawn(look);
}

fn config_file(command: &Run) -> anyhow::Result<PathBuf> {
    let variable = std::env::var_os("BERGAMOT_CONFIG").filter(|path| !path.is_empty());
    let given = command.config.clone().or_else(|| variable.map(PathBuf::from));
    let usual = || command.container.then(|| PathBuf::from(CONTAINER_CONFIG));
    given.or_else(usual).context("say which configuration with --config")
}

fn run_daemon(config: &Config, book: LogBook) -> anyhow::Result<()> {
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
    Environment::of_process()
}

/// A reader that has seen enough, as `head` does, is no error.
fn say(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// How the system says `EACCES`, whoever repeats it.
const DENIED: &str = "(os error 13)";

const CONTAINER_CONFIG: &str = "/config/bergamot.toml";
const CONTAINER_DIRECTORIES: [&str; 3] = ["/config", "/watch", "/downloads"];
/// Decoding keeps pace with any line on fewer; more only spread the same work thinner.
const MOST_THREADS: usize = 4;
