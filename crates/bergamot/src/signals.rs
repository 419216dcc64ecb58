//! Being told to stop.

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

use crate::daemon::{Happening, Outbox};

/// The first SIGTERM or SIGINT stops the daemon in good order, the second at once; either way what
/// is on record is safe.
pub(crate) fn watch(outbox: Outbox) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    tokio::spawn(async move {
        let mut stopping = false;
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if stopping {
                warn!("stopped at once");
                std::process::exit(1);
            }
            stopping = true;
            outbox.tell(Happening::Stop);
        }
    });
    Ok(())
}
