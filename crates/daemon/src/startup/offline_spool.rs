//! [`Handover`]: adds jobs to the spool while no daemon runs, in the process of the command; and `open_spool`, which
//! the daemon uses as well before its main loop runs.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use bergamot_jobs::machine::SpoolView;
use bergamot_store::{KnownMounts, Spool, SpoolContents};

use crate::intake::new_job::{NewJobs, Wishes};
use crate::settings::JobSettings;
use crate::shared::Current;
use crate::startup::private_directory;
use bergamot_config::control_socket as socket;
use bergamot_config::{Config, Control, Socket};
use bergamot_jobs::JobList;

/// Nothing is made where a disk is promised that is not mounted: there may be a spool on it.
pub(crate) fn open_spool(state: &Path, config: &Config) -> anyhow::Result<(Spool, SpoolContents)> {
    let path = state.join("spool");
    if !path.exists() {
        KnownMounts::default().check(state).context("no spool is made")?;
    }
    match group_to_let_pass(state, &config.control) {
        Some(group) => private_directory::let_group_pass(state, group),
        None => private_directory::keep_private(state),
    }
    private_directory::keep_private(&path);
    let (mut spool, found) = Spool::open(&path)
        .map_err(|error| anyhow::anyhow!("{}: {error}", error.code()))
        .context("cannot open the spool")?;
    spool.keep_room_in(state);
    Ok((spool, found))
}

/// The group of the control socket, if the socket is in the state directory: its members need to traverse that
/// directory.
fn group_to_let_pass(state: &Path, control: &Control) -> Option<u32> {
    let is_inside = match &control.socket {
        Socket::None => false,
        Socket::At(path) => path.starts_with(state),
        Socket::Usual => {
            let places = socket::usual(|name| std::env::var(name).ok(), Some(state));
            places.iter().any(|path| path.starts_with(state))
        }
    };
    control.socket_group.filter(|_| is_inside)
}

/// Takes jobs for the next start. As long as it lives no daemon can run on that spool.
#[derive(Debug)]
pub struct Handover(NewJobs);

impl Handover {
    pub fn open(config: &Config) -> anyhow::Result<Self> {
        let (spool, found) = open_spool(&config.directories.state, config)?;
        if let Some(why) = found.read_only {
            anyhow::bail!("nothing can be written to the spool: {why}");
        }
        let mut jobs = JobList::default();
        found.records.into_iter().for_each(|record| jobs.insert(record));
        let settings = Current::new(JobSettings::new(config));
        let new_jobs = NewJobs::new(Arc::new(spool), settings);
        new_jobs.stay_below(jobs.bottom());
        Ok(Self(new_jobs))
    }

    /// Adds the job behind all others of its priority. An NZB that cannot be downloaded is reported, and added to the
    /// history.
    pub fn add(&self, wishes: &Wishes, nzb: &[u8]) -> anyhow::Result<()> {
        let record = self.0.receive(wishes, nzb)?;
        match record.reason() {
            Some(reason) => Err(anyhow::anyhow!("{reason}")),
            None => Ok(()),
        }
    }
}
