//! Threads that the daemon cannot do without, and what happens when one of them panics.

use std::io;
use std::thread;
use std::time::Duration;

use super::happening::{Happening, Outbox};

/// Starts a thread whose panic ends the daemon: without it jobs would stand still and nothing would say so.
/// The next start goes on with what is on disk.
pub(super) fn vital_thread(
    name: &'static str,
    outbox: &Outbox,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let guard = Guard { name, outbox: outbox.clone() };
    let work = move || {
        let _guard = guard;
        work();
    };
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
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

/// Called on a thread that panics, at its end: the main loop stops as for a signal and the process ends
/// with an error. Should it not get there, this thread ends the process.
pub(super) fn end_daemon(name: &str, outbox: &Outbox) {
    report_death(name, outbox);
    thread::sleep(LONGEST_STOP);
    std::process::abort();
}

fn report_death(name: &str, outbox: &Outbox) {
    tracing::error!(thread = name, "internal.panic: a thread has died; the daemon stops");
    outbox.tell(Happening::ThreadDied { name: name.to_owned() });
}

/// A stop takes three seconds at most.
const LONGEST_STOP: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_death_of_a_thread_is_told_to_the_main_loop() {
        let (outbox, mut inbox) = Outbox::new();
        let died = thread::spawn(move || {
            struct Told(Outbox);
            impl Drop for Told {
                fn drop(&mut self) {
                    report_death("scribe", &self.0);
                }
            }
            let _told = Told(outbox);
            panic!("on purpose");
        });
        assert!(died.join().is_err());
        let told = inbox.try_recv();
        assert!(matches!(told, Ok(Happening::ThreadDied { name }) if name == "scribe"));
    }
}
