//! Translates the signals of the process into events of the main loop, in a task.

use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{WaitOptions, wait};
use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

use crate::clock;
use crate::event::{Event, EventSender};

/// The first SIGTERM or SIGINT stops the daemon in good order, the second at once; either way what
/// is on record is safe.
pub(crate) fn watch(events: EventSender) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut hang_up = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    if std::process::id() == 1 {
        reap_orphans()?;
    }
    let reloads = events.clone();
    tokio::spawn(async move {
        while hang_up.recv().await.is_some() {
            reloads.send(Event::ReloadWanted);
        }
    });
    tokio::spawn(async move {
        let mut stopping: Option<Instant> = None;
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            let now = clock::now().instant;
            match stopping {
                None => events.send(Event::Stop),
                // A terminal signals the process and its group: that is one wish, said twice.
                Some(since) if now < since + SAME_WISH => continue,
                Some(_) => {
                    warn!("stopped at once");
                    std::process::exit(1);
                }
            }
            stopping = Some(now);
        }
    });
    Ok(())
}

/// In a container, orphaned processes become children of process 1, which has to reap them (wait(2)). The daemon has
/// no children of its own that other code waits for.
fn reap_orphans() -> anyhow::Result<()> {
    let mut ended = signal(SignalKind::child()).context("cannot listen for SIGCHLD")?;
    tokio::spawn(async move {
        while ended.recv().await.is_some() {
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        }
    });
    Ok(())
}

const SAME_WISH: Duration = Duration::from_millis(300);
