//! What the command line needs of the daemon while none runs.

use anyhow::Context;
use bergamot_cli::{Offline, OfflineJob, OfflineSpool};
use bergamot_config::{Config, Socket};
use bergamot_daemon as daemon;
use bergamot_daemon::{Handover, Wishes};

pub(crate) struct WithoutDaemon;

impl Offline for WithoutDaemon {
    fn run_feeds(&self, config: Config) -> anyhow::Result<Vec<String>> {
        run_feeds(config)
    }

    fn open_spool(&self, config: &Config) -> anyhow::Result<Box<dyn OfflineSpool>> {
        Ok(Box::new(HeldSpool(Handover::open(config)?)))
    }
}

struct HeldSpool(Handover);

impl OfflineSpool for HeldSpool {
    fn add(&self, job: &OfflineJob, nzb: &[u8]) -> anyhow::Result<()> {
        let wishes = Wishes {
            file_name: job.file_name.clone(),
            source: job.source.clone(),
            category: job.category.clone(),
            priority: Some(job.priority),
            paused: job.paused,
            ..Wishes::default()
        };
        self.0.add(&wishes, nzb)
    }
}

/// Runs a daemon that does nothing but read feeds and cannot be reached. Returns the names of the feeds
/// whose servers refuse the login, now or with the same settings before.
fn run_feeds(mut config: Config) -> anyhow::Result<Vec<String>> {
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
