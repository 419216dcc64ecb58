//! Starts threads and tasks that the daemon cannot do without; a panic in one of them ends the daemon.
//!
//! Without the guard a panic ends only the thread or the task: whatever it had to report to the main loop
//! never comes, and jobs would stand still without a message. With it the main loop stops as for a signal
//! and the process ends with an error. The next start goes on with what is on disk.

use std::future::Future;
use std::io;
use std::thread;
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::event::EventSender;

/// Starts a thread whose panic ends the daemon.
pub(crate) fn service_thread(
    name: &'static str,
    events: &EventSender,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let work = guarded(name, events, work);
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Starts a task of tokio whose panic ends the daemon; to be aborted is no panic.
pub(crate) fn service_task(
    name: &'static str,
    events: &EventSender,
    work: impl Future<Output = ()> + Send + 'static,
) -> AbortHandle {
    let guard = Guard { name, events: events.clone() };
    let work = async move {
        let _guard = guard;
        work.await;
    };
    tokio::spawn(work).abort_handle()
}

/// Runs what may wait for a disk on a thread of tokio's; its panic ends the daemon.
pub(crate) fn service_blocking(
    name: &'static str,
    events: &EventSender,
    work: impl FnOnce() + Send + 'static,
) {
    tokio::task::spawn_blocking(guarded(name, events, work));
}

fn guarded(
    name: &'static str,
    events: &EventSender,
    work: impl FnOnce() + Send + 'static,
) -> impl FnOnce() + Send + 'static {
    let guard = Guard { name, events: events.clone() };
    move || {
        let _guard = guard;
        work();
    }
}

struct Guard {
    name: &'static str,
    events: EventSender,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if thread::panicking() {
            end_daemon(self.name, &self.events);
        }
    }
}

/// Called where a thread or task panics. Should the main loop not end in time, the process is aborted.
pub(crate) fn end_daemon(name: &str, events: &EventSender) {
    tracing::error!(thread = name, "internal.panic: a thread has died; the daemon stops");
    events.report_death(name);
    // On a thread of its own: the one that panics may be the one that the main loop needs.
    let main_loop = events.clone();
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
    use crate::event::Event;

    /// The name of the thread or task whose panic is reported to the main loop after `start`.
    async fn died(start: impl FnOnce(&EventSender)) -> Option<String> {
        let (events, mut received) = EventSender::new();
        start(&events);
        assert!(matches!(received.recv().await, Some(Event::ThreadDied)));
        events.died().map(str::to_owned)
    }

    #[tokio::test]
    async fn the_panic_of_a_thread_or_a_task_is_told_to_the_main_loop() {
        let thread = |events: &EventSender| {
            service_thread("journals", events, || panic!("on purpose")).expect("a thread");
        };
        assert_eq!(died(thread).await.as_deref(), Some("journals"));
        let blocking =
            |events: &EventSender| service_blocking("merger", events, || panic!("on purpose"));
        assert_eq!(died(blocking).await.as_deref(), Some("merger"));
        let task = |events: &EventSender| {
            service_task("connection", events, async {
                tokio::task::yield_now().await;
                panic!("on purpose");
            });
        };
        assert_eq!(died(task).await.as_deref(), Some("connection"));
    }

    #[tokio::test]
    async fn a_task_that_ends_or_is_aborted_has_not_died() {
        let (events, mut received) = EventSender::new();
        service_task("done", &events, async {});
        service_task("aborted", &events, std::future::pending()).abort();
        service_blocking("done", &events, || {});
        drop(events);
        assert!(received.recv().await.is_none());
    }
}
