//! `feeds run --once`: for cron and timers, where no daemon runs.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use bergamot_config::{Config, Environment, Socket};
use bergamot_daemon as daemon;

#[derive(Clone, Debug, Args)]
pub(crate) struct Once {
    /// Read what is due, then end
    #[arg(long, required = true)]
    pub(crate) once: bool,
    /// How many feeds to read at once, instead of feeds.concurrency
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// How many items the feed of finished downloads has, instead of feeds.output_items
    #[arg(long, value_name = "N")]
    feed_size: Option<usize>,
    /// Where the state is, instead of directories.state
    #[arg(long, value_name = "DIRECTORY")]
    state: Option<PathBuf>,
}

impl Once {
    /// The configuration with what was said on the command line.
    pub(crate) fn config(&self, file: Option<PathBuf>) -> anyhow::Result<Config> {
        let file = file.unwrap_or_else(|| PathBuf::from("bergamot.toml"));
        let mut config = Config::read(&file, &Environment::of_process())?;
        let feeds = &mut config.feeds_table;
        feeds.concurrency = self.concurrency.unwrap_or(feeds.concurrency).max(1);
        feeds.output_items = self.feed_size.unwrap_or(feeds.output_items).max(1);
        if let Some(state) = &self.state {
            config.directories.state = std::path::absolute(state)?;
        }
        Ok(config)
    }
}

/// Runs a daemon that does nothing but read feeds and cannot be reached. Returns the names of the feeds
/// whose servers refuse the login, now or with the same settings before.
pub(crate) fn run(mut config: Config) -> anyhow::Result<Vec<String>> {
    config.control.socket = Socket::None;
    config.control.address = None;
    config.servers.iter_mut().for_each(|server| server.active = false);
    let book = daemon::LogBook::default();
    daemon::start_log(&config.log, book.clone())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let settings = daemon::Settings::new(&config, 1).for_feeds_only();
    let done = runtime.block_on(runtime.spawn(daemon::run(settings, book)));
    let refused = done.context("reading the feeds broke down")??;
    runtime.shutdown_background();
    Ok(refused)
}
