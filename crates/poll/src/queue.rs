//! [`Queue`]: the targets that are due, in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bergamot_types::SplitMix;

use crate::settings::Settings;
use crate::target::{Target, Wanted};

/// Targets by id, and for each kind a lane: those enabled and at rest, ordered by when they are due.
///
/// A target that runs is in no lane's set, so it cannot be taken twice. Each lane lets as many run at once as
/// its concurrency says, so hanging feeds never delay the watch folder.
#[derive(Debug)]
pub struct Queue<I, K> {
    settings: Settings,
    targets: BTreeMap<I, Entry<K>>,
    lanes: BTreeMap<K, Lane<I>>,
}

#[derive(Debug)]
struct Entry<K> {
    target: Target<K>,
    run: Run,
    /// Where its run counts, even if it changes its kind meanwhile.
    ran_in: K,
}

#[derive(Debug)]
struct Lane<I> {
    waiting: BTreeSet<Place<I>>,
    running: usize,
    concurrency: usize,
}

/// By time, then priority, then id.
type Place<I> = (Instant, Reverse<i32>, I);

impl<I: Copy + Ord> Lane<I> {
    /// The next to be taken, if one more may run.
    fn next(&self) -> Option<Place<I>> {
        (self.running < self.concurrency).then(|| self.waiting.first().copied()).flatten()
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Run {
    Resting,
    Running,
    /// It was made due while it ran: once more, without a pause.
    RunningAgain,
    /// It was removed while it ran; its end is still to come and frees its place.
    RunningRemoved,
}

impl<I: Copy + Ord, K: Copy + Ord> Queue<I, K> {
    pub fn new(settings: Settings) -> Self {
        Self { settings, targets: BTreeMap::new(), lanes: BTreeMap::new() }
    }

    /// How many targets of a kind may run at once, if not as many as the settings say.
    pub fn set_concurrency(&mut self, kind: K, concurrency: usize) {
        self.lane(kind).concurrency = concurrency;
    }

    pub fn target(&self, id: I) -> Option<&Target<K>> {
        self.entry(id).map(|entry| &entry.target)
    }

    /// Whether it has been taken and not finished yet.
    pub fn is_running(&self, id: I) -> bool {
        self.entry(id).is_some_and(|entry| entry.run != Run::Resting)
    }

    pub fn targets(&self) -> impl Iterator<Item = (I, &Target<K>)> {
        let present = |(_, entry): &(&I, &Entry<K>)| entry.run != Run::RunningRemoved;
        self.targets.iter().filter(present).map(|(&id, entry)| (id, &entry.target))
    }

    /// Adds the target, due at once, or changes what differs; whether anything did.
    pub fn set(&mut self, now: Instant, id: I, wanted: Wanted<K>) -> bool {
        let Some(entry) = self.targets.get(&id) else {
            let (target, ran_in) = (Target::new(now, wanted), wanted.kind);
            self.targets.insert(id, Entry { target, run: Run::Resting, ran_in });
            self.wait(id);
            return true;
        };
        if entry.run == Run::RunningRemoved {
            self.change(id, |entry| {
                entry.target = Target::new(now, wanted);
                entry.run = Run::RunningAgain;
            });
            return true;
        }
        if is_as_wanted(&entry.target, &wanted) {
            return false;
        }
        self.change(id, |entry| {
            let target = &mut entry.target;
            pull_forward(now, target, wanted.interval);
            target.kind = wanted.kind;
            target.interval = wanted.interval;
            target.priority = wanted.priority;
            target.enabled = wanted.enabled;
        });
        true
    }

    /// A shorter interval counts from now, so the next run does not wait out the longer one.
    pub fn set_interval(&mut self, now: Instant, id: I, interval: Duration) -> bool {
        if self.entry(id).is_none_or(|entry| entry.target.interval == interval) {
            return false;
        }
        self.change(id, |entry| {
            pull_forward(now, &mut entry.target, interval);
            entry.target.interval = interval;
        });
        true
    }

    /// Makes the target due; if it is running, once more when it ends.
    pub fn due_now(&mut self, now: Instant, id: I) -> bool {
        let due = |entry: &Entry<K>| match entry.run {
            Run::Resting => entry.target.next_due <= now,
            Run::Running => false,
            Run::RunningAgain | Run::RunningRemoved => true,
        };
        if self.entry(id).is_none_or(due) {
            return false;
        }
        self.change(id, |entry| {
            entry.target.next_due = now;
            if entry.run == Run::Running {
                entry.run = Run::RunningAgain;
            }
        });
        true
    }

    pub fn remove(&mut self, id: I) -> bool {
        match self.entry(id).map(|entry| entry.run) {
            None => return false,
            Some(Run::Resting) => {
                self.unwait(id);
                self.targets.remove(&id);
            }
            Some(_) => self.change(id, |entry| entry.run = Run::RunningRemoved),
        }
        true
    }

    /// Adds, changes and removes until the targets that are `ours` are those wanted. Gives those that
    /// were removed, and whether anything differed.
    pub fn reconcile(
        &mut self,
        now: Instant,
        ours: impl Fn(I) -> bool,
        wanted: impl IntoIterator<Item = (I, Wanted<K>)>,
    ) -> (Vec<I>, bool) {
        let mut kept = BTreeSet::new();
        let mut changed = false;
        for (id, wanted) in wanted {
            kept.insert(id);
            changed |= self.set(now, id, wanted);
        }
        let is_gone = |id: &I| ours(*id) && !kept.contains(id);
        let gone: Vec<I> = self.targets().map(|(id, _)| id).filter(is_gone).collect();
        for id in &gone {
            changed |= self.remove(*id);
        }
        (gone, changed)
    }

    /// At most `burst` targets, and no more than may still run at once. Call again until it gives
    /// none, and report each with [`Queue::finished`].
    pub fn take_due(&mut self, now: Instant) -> Vec<I> {
        let mut taken = Vec::new();
        while taken.len() < self.settings.burst {
            let Some((due, _, id)) = self.next() else { break };
            if due > now {
                break;
            }
            self.change(id, |entry| (entry.run, entry.ran_in) = (Run::Running, entry.target.kind));
            let kind = self.targets[&id].ran_in;
            self.lane(kind).running += 1;
            taken.push(id);
        }
        taken
    }

    /// The end of a run. `false` if that target was not running.
    pub fn finished<T, E>(
        &mut self,
        now: Instant,
        id: I,
        result: &Result<T, E>,
        chance: &mut SplitMix,
    ) -> bool {
        let most_jitter = self.settings.jitter;
        self.end_run(id, |target| {
            target.record(now, result.is_ok());
            let pause = match result {
                Ok(_) => target.interval.saturating_add(jitter(target, most_jitter, chance)),
                Err(_) => target.back_off(),
            };
            after(now, pause)
        })
    }

    /// The end of a run, with the time at which the caller wants the next.
    pub fn finished_until<T, E>(
        &mut self,
        now: Instant,
        id: I,
        result: &Result<T, E>,
        next_due: Instant,
    ) -> bool {
        self.end_run(id, |target| {
            target.record(now, result.is_ok());
            next_due
        })
    }

    /// The run did not take place: due again at `until`, and nothing is recorded.
    pub fn put_off(&mut self, id: I, until: Instant) -> bool {
        self.end_run(id, |_| until)
    }

    fn end_run(&mut self, id: I, end: impl FnOnce(&mut Target<K>) -> Instant) -> bool {
        let (run, kind) = match self.targets.get(&id) {
            None | Some(Entry { run: Run::Resting, .. }) => return false,
            Some(entry) => (entry.run, entry.ran_in),
        };
        self.lane(kind).running -= 1;
        if run == Run::RunningRemoved {
            self.targets.remove(&id);
            return true;
        }
        self.change(id, |entry| {
            let next_due = end(&mut entry.target);
            // Made due while it ran: as long as it waited already.
            let again = run == Run::RunningAgain;
            entry.target.next_due =
                if again { entry.target.next_due.min(next_due) } else { next_due };
            entry.run = Run::Resting;
        });
        true
    }

    /// When to call `take_due` next. `None` when nothing waits, or nothing could be taken before a
    /// running target ends.
    pub fn next_wake(&self) -> Option<Instant> {
        self.next().map(|(due, _, _)| due)
    }

    fn next(&self) -> Option<Place<I>> {
        self.lanes.values().filter_map(Lane::next).min()
    }

    fn lane(&mut self, kind: K) -> &mut Lane<I> {
        let concurrency = self.settings.concurrency;
        let empty = || Lane { waiting: BTreeSet::new(), running: 0, concurrency };
        self.lanes.entry(kind).or_insert_with(empty)
    }

    fn entry(&self, id: I) -> Option<&Entry<K>> {
        self.targets.get(&id).filter(|entry| entry.run != Run::RunningRemoved)
    }

    /// Every change to a target goes through here, so that the ordered set never lags behind.
    fn change(&mut self, id: I, change: impl FnOnce(&mut Entry<K>)) {
        self.unwait(id);
        if let Some(entry) = self.targets.get_mut(&id) {
            change(entry);
        }
        self.wait(id);
    }

    fn wait(&mut self, id: I) {
        if let Some((kind, place)) = self.place(id) {
            self.lane(kind).waiting.insert(place);
        }
    }

    fn unwait(&mut self, id: I) {
        if let Some((kind, place)) = self.place(id) {
            self.lane(kind).waiting.remove(&place);
        }
    }

    fn place(&self, id: I) -> Option<(K, Place<I>)> {
        let Entry { target, run, .. } = self.targets.get(&id)?;
        let waits = target.enabled && *run == Run::Resting;
        waits.then_some((target.kind, (target.next_due, Reverse(target.priority), id)))
    }
}

fn is_as_wanted<K: PartialEq>(target: &Target<K>, wanted: &Wanted<K>) -> bool {
    target.kind == wanted.kind
        && target.interval == wanted.interval
        && target.priority == wanted.priority
        && target.enabled == wanted.enabled
}

fn pull_forward<K>(now: Instant, target: &mut Target<K>, interval: Duration) {
    if interval < target.interval {
        target.next_due = target.next_due.min(after(now, interval));
    }
}

/// An interval from a configuration may be longer than the clock can count.
fn after(now: Instant, pause: Duration) -> Instant {
    now.checked_add(pause).unwrap_or_else(|| now + CENTURY)
}

fn jitter<K>(target: &Target<K>, most: Duration, chance: &mut SplitMix) -> Duration {
    let most = u64::try_from(target.jitter_limit(most).as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(chance.up_to(most))
}

const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::*;
    use crate::target::Status;

    const OK: Result<(), ()> = Ok(());
    const ERR: Result<(), ()> = Err(());
    const SECOND: Duration = Duration::from_secs(1);

    fn every(seconds: u64) -> Wanted<&'static str> {
        let interval = Duration::from_secs(seconds);
        Wanted { kind: "scan", interval, priority: 0, enabled: true }
    }

    fn wide() -> Queue<u32, &'static str> {
        Queue::new(Settings { burst: 100, concurrency: 100, ..Settings::default() })
    }

    fn chance() -> SplitMix {
        SplitMix::seeded(7)
    }

    #[test]
    fn what_is_due_comes_by_time_then_priority_then_id() {
        let now = Instant::now();
        let mut queue = wide();
        queue.set(now + SECOND, 1, Wanted { priority: 100, ..every(5) });
        queue.set(now, 4, every(5));
        queue.set(now, 3, every(5));
        queue.set(now, 2, Wanted { priority: 9, ..every(5) });
        queue.set(now + SECOND * 2, 5, every(5));
        assert_eq!(queue.take_due(now + SECOND), [2, 3, 4, 1]);
        assert_eq!(queue.next_wake(), Some(now + SECOND * 2));
    }

    #[test]
    fn a_call_gives_a_burst_and_all_calls_no_more_than_may_run() {
        let now = Instant::now();
        let mut queue = Queue::new(Settings::default());
        for id in 0..10 {
            queue.set(now, id, every(5));
        }
        assert_eq!(queue.take_due(now), [0, 1]);
        assert_eq!(queue.next_wake(), Some(now));
        assert_eq!(queue.take_due(now), [2, 3]);
        assert_eq!(queue.take_due(now), []);
        assert_eq!(queue.next_wake(), None, "full");
        assert!(queue.finished(now, 1, &OK, &mut chance()));
        assert_eq!(queue.take_due(now), [4]);
    }

    #[test]
    fn a_target_never_runs_twice_at_once() {
        let now = Instant::now();
        let mut queue = wide();
        queue.set(now, 1, every(1));
        assert_eq!(queue.take_due(now), [1]);
        assert_eq!(queue.take_due(now + SECOND * 100), []);
        assert!(queue.due_now(now, 1));
        assert!(!queue.due_now(now, 1), "it is so already");
        assert_eq!(queue.take_due(now), []);
        assert!(queue.finished(now, 1, &OK, &mut chance()));
        assert!(!queue.finished(now, 1, &OK, &mut chance()), "it ended already");
        assert_eq!(queue.take_due(now), [1], "made due while it ran");
    }

    #[test]
    fn success_waits_an_interval_and_a_little_chance() {
        let start = Instant::now();
        let mut chance = chance();
        for (seconds, most) in [(1, 100), (5, 150), (0, 0)] {
            let mut queue = wide();
            queue.set(start, 1, every(seconds));
            let interval = Duration::from_secs(seconds);
            let pauses: Vec<_> = (0..1_000)
                .map(|_| {
                    let now = queue.next_wake().unwrap();
                    assert_eq!(queue.take_due(now), [1]);
                    queue.finished(now, 1, &OK, &mut chance);
                    queue.next_wake().unwrap() - now - interval
                })
                .collect();
            let most = Duration::from_millis(most);
            assert!(pauses.iter().all(|&pause| pause <= most));
            assert!(pauses.iter().max().unwrap() >= &(most * 9 / 10));
            assert!(pauses.iter().min().unwrap() <= &(most / 10));
        }
    }

    #[test]
    fn failures_back_off_to_four_intervals_and_are_counted() {
        let mut now = Instant::now();
        let mut queue = wide();
        queue.set(now, 1, every(5));
        let mut fail = |queue: &mut Queue<_, _>| {
            assert_eq!(queue.take_due(now), [1]);
            queue.finished(now, 1, &ERR, &mut chance());
            let pause = queue.next_wake().unwrap() - now;
            now += pause;
            pause.as_secs()
        };
        let pauses: Vec<_> = (0..7).map(|_| fail(&mut queue)).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 20, 20]);
        let target = queue.target(1).unwrap();
        assert_eq!((target.failures, target.last_status), (7, Status::Failed));

        queue.take_due(now);
        queue.finished(now, 1, &OK, &mut chance());
        let target = queue.target(1).unwrap();
        assert_eq!((target.failures, target.last_status), (0, Status::Succeeded));
        assert_eq!(target.last_run, Some(now));
    }

    #[test]
    fn a_short_interval_also_shortens_the_first_pause() {
        let now = Instant::now();
        let mut queue = wide();
        let interval = Duration::from_millis(200);
        queue.set(now, 1, Wanted { interval, ..every(1) });
        queue.take_due(now);
        queue.finished(now, 1, &ERR, &mut chance());
        assert_eq!(queue.next_wake(), Some(now + interval));
    }

    #[test]
    fn endless_failure_overflows_nothing() {
        let now = Instant::now();
        let mut target = Target::new(now, every(u64::MAX / 1_000));
        target.failures = u32::MAX;
        assert!(target.back_off() > Duration::from_secs(1 << 30));
        let mut queue = wide();
        queue.set(now, 1, Wanted { interval: Duration::MAX, ..every(1) });
        queue.take_due(now);
        queue.finished(now, 1, &OK, &mut chance());
        assert!(queue.next_wake() > Some(now + SECOND));
    }

    #[test]
    fn an_interval_set_shorter_takes_effect_at_once() {
        let now = Instant::now();
        let mut queue = wide();
        queue.set(now, 1, every(60));
        queue.take_due(now);
        queue.finished(now, 1, &OK, &mut chance());
        assert!(queue.set_interval(now, 1, SECOND));
        assert_eq!(queue.next_wake(), Some(now + SECOND));
        assert!(!queue.set_interval(now, 1, SECOND), "it is so already");
        assert!(queue.set_interval(now, 1, SECOND * 60));
        assert_eq!(queue.next_wake(), Some(now + SECOND), "and a longer one after the next run");
        assert!(queue.due_now(now, 1));
        assert_eq!(queue.take_due(now), [1]);
        assert!(!queue.set_interval(now, 9, SECOND));
        assert!(!queue.due_now(now, 9));
    }

    #[test]
    fn reconciling_changes_only_what_differs() {
        let now = Instant::now();
        let later = now + SECOND;
        let mut queue = wide();
        queue.set(now, 99, every(5));
        let ours = |id| id < 99;
        let three = || [(1, every(5)), (2, every(5)), (3, every(5))];
        assert_eq!(queue.reconcile(now, ours, three()), (vec![], true));
        assert_eq!(queue.reconcile(later, ours, three()), (vec![], false));
        let before = queue.target(1).unwrap().clone();
        let off = Wanted { enabled: false, ..every(5) };
        let wanted = [(1, every(5)), (2, off), (4, every(5))];
        assert_eq!(queue.reconcile(later, ours, wanted), (vec![3], true));
        assert_eq!(queue.target(1), Some(&before));
        assert_eq!(queue.target(3), None);
        assert_eq!(queue.target(4).unwrap().next_due, later);
        assert_eq!(queue.target(99).unwrap().next_due, now, "those of others stay");
        assert_eq!(queue.take_due(later), [1, 99, 4], "what is disabled is never due");
    }

    #[test]
    fn a_target_removed_in_mid_run_keeps_its_place_until_it_ends() {
        let now = Instant::now();
        let mut queue = Queue::new(Settings { burst: 1, concurrency: 1, ..Settings::default() });
        queue.set(now, 1, every(5));
        queue.set(now, 2, every(5));
        assert_eq!(queue.take_due(now), [1]);
        assert!(queue.remove(1) && !queue.remove(1));
        assert_eq!((queue.target(1), queue.targets().count()), (None, 1));
        assert_eq!(queue.take_due(now), []);
        assert!(queue.set(now, 1, every(5)), "wanted again");
        assert_eq!(queue.take_due(now), []);
        assert!(queue.finished(now, 1, &OK, &mut chance()));
        assert_eq!(queue.take_due(now), [1]);
        queue.remove(1);
        assert!(queue.finished(now, 1, &OK, &mut chance()));
        assert_eq!(queue.take_due(now), [2]);
    }

    #[test]
    fn a_lane_that_is_full_holds_up_no_other() {
        let now = Instant::now();
        let mut queue = Queue::new(Settings { burst: 2, concurrency: 1, ..Settings::default() });
        queue.set_concurrency("feed", 2);
        for id in 0..4 {
            queue.set(now, id, Wanted { kind: "feed", ..every(5) });
        }
        queue.set(now + SECOND, 9, every(5));
        assert_eq!(queue.take_due(now), [0, 1]);
        assert_eq!(queue.take_due(now), []);
        assert_eq!(queue.next_wake(), Some(now + SECOND), "feeds may not");
        assert_eq!(queue.take_due(now + SECOND), [9]);
        // A run counts where it began, whatever becomes of the target meanwhile.
        queue.set(now, 0, every(5));
        assert!(queue.finished(now, 0, &OK, &mut chance()));
        assert_eq!(queue.take_due(now), [2]);
    }

    #[test]
    fn a_run_that_did_not_take_place_leaves_no_trace() {
        let now = Instant::now();
        let mut queue = wide();
        queue.set(now, 1, every(5));
        let before = queue.target(1).unwrap().clone();
        assert!(!queue.put_off(1, now), "it does not run");
        queue.take_due(now);
        assert!(queue.put_off(1, now + SECOND * 3));
        let after = queue.target(1).unwrap();
        assert_eq!(after, &Target { next_due: now + SECOND * 3, ..before });
        assert_eq!(queue.next_wake(), Some(now + SECOND * 3));
    }

    #[test]
    fn the_caller_may_know_when_the_next_run_is_due() {
        let now = Instant::now();
        let mut queue = wide();
        queue.set(now, 1, every(5));
        queue.take_due(now);
        assert!(queue.finished_until(now, 1, &ERR, now + SECOND * 1_000));
        let target = queue.target(1).unwrap();
        assert_eq!((target.failures, target.last_status), (1, Status::Failed));
        assert_eq!(queue.next_wake(), Some(now + SECOND * 1_000));
    }

    #[test]
    fn with_nothing_to_do_nothing_wakes() {
        let now = Instant::now();
        let mut queue = wide();
        assert_eq!(queue.next_wake(), None);
        queue.set(now, 1, Wanted { enabled: false, ..every(5) });
        assert_eq!(queue.next_wake(), None);
        queue.set(now, 1, every(5));
        queue.take_due(now);
        assert_eq!(queue.next_wake(), None, "all that there is runs");
    }

    thread_local!(static COMPARED: Cell<u64> = const { Cell::new(0) });

    /// An id that counts how often it is looked at.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    struct Counted(u32);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    #[test]
    fn two_due_of_a_hundred_thousand_are_found_without_a_scan() {
        let now = Instant::now();
        let mut queue = Queue::new(Settings::default());
        for id in 0..100_000 {
            // All the others due at the same later instant, so that ids decide every comparison.
            let due = if id < 2 { now } else { now + SECOND };
            queue.set(due, Counted(id), every(5));
        }
        COMPARED.set(0);
        let taken = queue.take_due(now);
        assert_eq!(taken, [Counted(0), Counted(1)]);
        for id in taken {
            queue.finished(now, id, &OK, &mut chance());
        }
        queue.next_wake();
        assert!(COMPARED.get() < 2_000, "{} comparisons", COMPARED.get());
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_all_of_the_range() {
        let numbers = |seed| {
            let mut chance = SplitMix::seeded(seed);
            (0..1_000).map(|_| chance.up_to(9)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        assert!((0..10).all(|n| numbers(1).contains(&n)));
        assert_eq!(SplitMix::seeded(3).up_to(0), 0);
        SplitMix::seeded(3).up_to(u64::MAX);
    }
}
