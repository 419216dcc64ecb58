//! Threads and tasks that the daemon cannot do without, and what happens when one of them panics.
//!
//! Without the guard a panic ends only the thread or the task: whatever it had to report to the main loop
//! never comes, and jobs would stand still without a message. With it the main loop stops as for a signal
//! and the process ends with an error. The next start goes on with what is on disk.

use std::future::Future;
use std::io;
use std::thread;
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::event::Outbox;

/// Starts a thread whose panic ends the daemon.
pub(crate) fn vital_thread(
    name: &'static str,
    outbox: &Outbox,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let work = guarded(name, outbox, work);
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Starts a task of tokio whose panic ends the daemon; to be aborted is no panic.
pub(crate) fn vital_task(
    name: &'static str,
    outbox: &Outbox,
    work: impl Future<Output = ()> + Send + 'static,
) -> AbortHandle {
    let guard = Guard { name, outbox: outbox.clone() };
    let work = async move {
        let _guard = guard;
        work.await;
    };
    tokio::spawn(work).abort_handle()
}

/// Runs what may wait for a disk on a thread of tokio's; its panic ends the daemon.
pub(crate) fn vital_blocking(
    name: &'static str,
    outbox: &Outbox,
    work: impl FnOnce() + Send + 'static,
) {
    tokio::task::spawn_blocking(guarded(name, outbox, work));
}

fn guarded(
    name: &'static str,
    outbox: &Outbox,
    work: impl FnOnce() + Send + 'static,
) -> impl FnOnce() + Send + 'static {
    let guard = Guard { name, outbox: outbox.clone() };
    move || {
        let _guard = guard;
        work();
    }
}

struct Guard {
    name: &'static str,
    outbox: Outbox,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if thread::panicking() {
            end_daemon(self.name, &self.outbox);
        }
    }
}

/// Called where a thread or task panics. Should the main loop not end in time, the process is aborted.
pub(crate) fn end_daemon(name: &str, outbox: &Outbox) {
    tracing::error!(thread = name, "internal.panic: a thread has died; the daemon stops");
    outbox.tell_death(name);
    // On a thread of its own: the one that panics may be the one that the main loop needs.
    let main_loop = outbox.clone();
    let watch = move || {
        thread::sleep(LONGEST_STOP);
        if !main_loop.is_closed() {
            std::process::abort();
        }
    };
    // Without a thread for it, the supervisor of the service has to notice.
    let _ = thread::Builder::new().name("end-watch".to_owned()).spawn(watch);
}

/// A stop takes three seconds at most.
const LONGEST_STOP: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Happening;

    /// Which death the main loop is told of when this is started.
    async fn died(start: impl FnOnce(&Outbox)) -> Option<String> {
        let (outbox, mut inbox) = Outbox::new();
        start(&outbox);
        assert!(matches!(inbox.recv().await, Some(Happening::ThreadDied)));
        outbox.died().map(str::to_owned)
    }

    #[tokio::test]
    async fn the_panic_of_a_thread_or_a_task_is_told_to_the_main_loop() {
        let thread = |outbox: &Outbox| {
            vital_thread("scribe", outbox, || panic!("on purpose")).expect("a thread");
        };
        assert_eq!(died(thread).await.as_deref(), Some("scribe"));
        let blocking = |outbox: &Outbox| vital_blocking("merger", outbox, || panic!("on purpose"));
        assert_eq!(died(blocking).await.as_deref(), Some("merger"));
        let task = |outbox: &Outbox| {
            vital_task("connection", outbox, async {
                tokio::task::yield_now().await;
                panic!("on purpose");
            });
        };
        assert_eq!(died(task).await.as_deref(), Some("connection"));
    }

    #[tokio::test]
    async fn a_task_that_ends_or_is_aborted_has_not_died() {
        let (outbox, mut inbox) = Outbox::new();
        vital_task("done", &outbox, async {});
        vital_task("aborted", &outbox, std::future::pending()).abort();
        vital_blocking("done", &outbox, || {});
        drop(outbox);
        assert!(inbox.recv().await.is_none());
    }
}
