//! Looks at what may not answer: a share whose server is gone holds every thread that asks for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Of each directory at most one look is under way, however many ask; they share what comes of it.
#[derive(Debug)]
pub(crate) struct Looks<T>(Arc<Mutex<HashMap<PathBuf, Spot<T>>>>);

#[derive(Debug)]
struct Spot<T> {
    last: Option<T>,
    under_way: Option<UnderWay<T>>,
}

#[derive(Clone, Debug)]
struct UnderWay<T> {
    since: Instant,
    answer: watch::Receiver<Option<T>>,
}

/// What came of a look.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Look<T> {
    Seen(T),
    /// Nobody came back in time; what was seen before, if anything was.
    Silent(Option<T>),
}

impl<T> Clone for Looks<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Looks<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone + Send + Sync + 'static> Looks<T> {
    /// Does the work beside the loop, unless somebody is about it already. Whoever comes while that
    /// one has been waited for in vain does not wait again.
    pub(crate) async fn look(
        &self,
        path: &Path,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Look<T> {
        let UnderWay { since, mut answer } = self.join(path, work);
        let answer = answer.wait_for(Option::is_some);
        let answer = tokio::time::timeout(patience.saturating_sub(since.elapsed()), answer).await;
        match answer.ok().and_then(Result::ok).and_then(|seen| seen.clone()) {
            Some(seen) => Look::Seen(seen),
            None => Look::Silent(self.spots().get(path).and_then(|spot| spot.last.clone())),
        }
    }

    fn join(&self, path: &Path, work: impl FnOnce() -> T + Send + 'static) -> UnderWay<T> {
        let mut spots = self.spots();
        let spot = spots.entry(path.to_owned()).or_insert(Spot { last: None, under_way: None });
        // Of one that ended without an answer nothing comes any more.
        let is_alive = |look: &&UnderWay<T>| look.answer.has_changed().is_ok();
        if let Some(look) = spot.under_way.as_ref().filter(is_alive) {
            return look.clone();
        }
        let (sender, answer) = watch::channel(None);
        let look = UnderWay { since: Instant::now(), answer };
        spot.under_way = Some(look.clone());
        drop(spots);
        let (looks, path) = (self.clone(), path.to_owned());
        tokio::task::spawn_blocking(move || {
            let seen = work();
            looks.spots().insert(path, Spot { last: Some(seen.clone()), under_way: None });
            sender.send_replace(Some(seen));
        });
        look
    }

    fn spots(&self) -> MutexGuard<'_, HashMap<PathBuf, Spot<T>>> {
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
        let (looks, begun) = (Looks::default(), Arc::new(AtomicUsize::new(0)));
        let (share, disk) = (Path::new("/share"), Path::new("/disk"));
        assert_eq!(looks.look(share, NEVER, || 1).await, Look::Seen(1));
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
            assert_eq!(looks.look(share, Duration::ZERO, hang(2)).await, Look::Silent(Some(1)));
        }
        assert_eq!(looks.look(disk, NEVER, || 7).await, Look::Seen(7), "the others go on");
        drop(release);
        // Whoever waits for the one under way gets what it brings.
        assert_eq!(looks.look(share, NEVER, || 2).await, Look::Seen(2));
        assert_eq!(begun.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_look_that_came_to_nothing_is_not_waited_for() {
        let looks = Looks::default();
        let path = Path::new("/disk");
        assert_eq!(looks.look(path, NEVER, || panic!("as if by a bug")).await, Look::Silent(None));
        assert_eq!(looks.look(path, NEVER, || 1).await, Look::Seen(1));
    }
}
