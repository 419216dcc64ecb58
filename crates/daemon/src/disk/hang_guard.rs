//! [`HangGuard`]: runs a blocking file-system call with a timeout, at most one per path: a hung NFS mount blocks its
//! thread for ever. Called from any task; the calls run on blocking threads of tokio.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// At most one call per path runs at a time; concurrent callers share its result.
#[derive(Debug)]
pub(crate) struct HangGuard<T>(Arc<Mutex<HashMap<PathBuf, Entry<T>>>>);

#[derive(Debug)]
struct Entry<T> {
    last: Option<T>,
    running: Option<Running<T>>,
}

#[derive(Clone, Debug)]
struct Running<T> {
    since: Instant,
    answer: watch::Receiver<Option<T>>,
}

/// What came of a look.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer<T> {
    Received(T),
    /// It timed out; the last result, if there was one.
    Silent(Option<T>),
}

impl<T> Clone for HangGuard<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for HangGuard<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone + Send + Sync + 'static> HangGuard<T> {
    /// Does the work on a blocking thread, unless a call for the path is running. A call that has timed out once is
    /// not waited for again.
    pub(crate) async fn run(
        &self,
        path: &Path,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Answer<T> {
        let Running { since, mut answer } = self.join(path, work);
        let answer = answer.wait_for(Option::is_some);
        let answer = tokio::time::timeout(patience.saturating_sub(since.elapsed()), answer).await;
        match answer.ok().and_then(Result::ok).and_then(|seen| seen.clone()) {
            Some(seen) => Answer::Received(seen),
            None => Answer::Silent(self.entries().get(path).and_then(|entry| entry.last.clone())),
        }
    }

    fn join(&self, path: &Path, work: impl FnOnce() -> T + Send + 'static) -> Running<T> {
        let mut entries = self.entries();
        let entry = entries.entry(path.to_owned()).or_insert(Entry { last: None, running: None });
        // Of one that ended without an answer nothing comes any more.
        let is_alive = |call: &&Running<T>| call.answer.has_changed().is_ok();
        if let Some(call) = entry.running.as_ref().filter(is_alive) {
            return call.clone();
        }
        let (sender, answer) = watch::channel(None);
        let call = Running { since: Instant::now(), answer };
        entry.running = Some(call.clone());
        drop(entries);
        let (guard, path) = (self.clone(), path.to_owned());
        tokio::task::spawn_blocking(move || {
            let seen = work();
            guard.entries().insert(path, Entry { last: Some(seen.clone()), running: None });
            sender.send_replace(Some(seen));
        });
        call
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<PathBuf, Entry<T>>> {
        // Each change is one insert.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    const NEVER: Duration = Duration::from_secs(1 << 20);

    #[tokio::test]
    async fn a_share_that_hangs_holds_one_thread_and_nobody_else() {
        let (guard, begun) = (HangGuard::default(), Arc::new(AtomicUsize::new(0)));
        let (share, disk) = (Path::new("/share"), Path::new("/disk"));
        assert_eq!(guard.run(share, NEVER, || 1).await, Answer::Received(1));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let hang = |answer: i32| {
            let (begun, held) = (begun.clone(), held.clone());
            move || {
                begun.fetch_add(1, Ordering::SeqCst);
                let _ = held.lock().unwrap().recv();
                answer
            }
        };
        for _ in 0..100 {
            assert_eq!(guard.run(share, Duration::ZERO, hang(2)).await, Answer::Silent(Some(1)));
        }
        assert_eq!(guard.run(disk, NEVER, || 7).await, Answer::Received(7), "the others go on");
        drop(release);
        // Calls that wait for the running one get its result.
        assert_eq!(guard.run(share, NEVER, || 2).await, Answer::Received(2));
        assert_eq!(begun.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_look_that_came_to_nothing_is_not_waited_for() {
        let guard = HangGuard::default();
        let path = Path::new("/disk");
        assert_eq!(guard.run(path, NEVER, || panic!("as if by a bug")).await, Answer::Silent(None));
        assert_eq!(guard.run(path, NEVER, || 1).await, Answer::Received(1));
    }
}
