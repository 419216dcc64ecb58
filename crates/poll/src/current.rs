//! [`current_item`] and [`Promotion`]: the current item of a queue, and the intervals that follow from it.
//! Pure.

use std::time::{Duration, Instant};

use crate::queue::Queue;
use crate::target::Wanted;

/// How far along an item is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    Waiting,
    Active,
    Finished,
}

/// The place of the active item, else of the next after the last finished, else of the first that is
/// left. `items` come in their order.
pub fn current_item(items: &[Stage]) -> Option<usize> {
    let is = |stage| move |item: &Stage| *item == stage;
    let after_finished = || {
        let last = items.iter().rposition(is(Stage::Finished))?;
        (last + 1 < items.len()).then_some(last + 1)
    };
    let active = items.iter().position(is(Stage::Active));
    active.or_else(after_finished).or_else(|| items.iter().position(is(Stage::Waiting)))
}

/// How often the current item is looked at, and how often the others are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cadence {
    pub active: Duration,
    pub idle: Duration,
    /// Of the current item's target.
    pub priority: i32,
}

impl Default for Cadence {
    fn default() -> Self {
        let (active, idle) = (Duration::from_millis(200), Duration::from_secs(5));
        Self { active, idle, priority: 100 }
    }
}

/// Keeps exactly one target promoted: that of the current item.
#[derive(Debug)]
pub struct Promotion<I> {
    cadence: Cadence,
    current: Option<Promoted<I>>,
}

#[derive(Clone, Copy, Debug)]
struct Promoted<I> {
    id: I,
    order: usize,
    own_priority: i32,
}

impl<I: Copy + Ord> Promotion<I> {
    pub fn new(cadence: Cadence) -> Self {
        Self { cadence, current: None }
    }

    pub fn current(&self) -> Option<I> {
        self.current.map(|current| current.id)
    }

    /// A target that is not the current one.
    pub fn idle<K>(&self, kind: K) -> Wanted<K> {
        Wanted { kind, interval: self.cadence.idle, priority: 0, enabled: true }
    }

    /// Says which item is current, and its place in the order; whether that is news.
    ///
    /// Only the former and the new target change, and only where they differ from what they should
    /// be; so it may be called on any suspicion, and mends what was missed.
    pub fn set<K: Copy + Ord>(
        &mut self,
        now: Instant,
        targets: &mut Queue<I, K>,
        kind: K,
        current: Option<(usize, I)>,
    ) -> bool {
        let former = self.current;
        let id = current.map(|(_, id)| id);
        if let Some(former) = former.filter(|former| id != Some(former.id)) {
            self.demote(now, targets, former);
        }
        self.current = current.map(|(order, id)| {
            let own = former.filter(|former| former.id == id).map(|former| former.own_priority);
            let own_priority = own.or_else(|| Some(targets.target(id)?.priority)).unwrap_or(0);
            self.promote(now, targets, kind, id);
            Promoted { id, order, own_priority }
        });
        former.map(|former| (former.order, former.id)) != current
    }

    fn promote<K: Copy + Ord>(
        &self,
        now: Instant,
        targets: &mut Queue<I, K>,
        kind: K,
        id: I,
    ) -> bool {
        let Cadence { active: interval, priority, .. } = self.cadence;
        let changed = targets.set(now, id, Wanted { kind, interval, priority, enabled: true });
        changed && targets.due_now(now, id)
    }

    fn demote<K: Copy + Ord>(
        &self,
        now: Instant,
        targets: &mut Queue<I, K>,
        former: Promoted<I>,
    ) -> bool {
        let Some(target) = targets.target(former.id) else { return false };
        let (kind, enabled) = (target.kind, target.enabled);
        let (interval, priority) = (self.cadence.idle, former.own_priority);
        targets.set(now, former.id, Wanted { kind, interval, priority, enabled })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::settings::Settings;
    use crate::target::Target;

    #[test]
    fn the_active_item_is_current_else_the_next_else_the_first() {
        let current = |items: &str| {
            let stage = |letter| match letter {
                'a' => Stage::Active,
                'f' => Stage::Finished,
                _ => Stage::Waiting,
            };
            current_item(&items.chars().map(stage).collect::<Vec<_>>())
        };
        let known = [
            ("", None),
            ("ww", Some(0)),
            ("waw", Some(1)),
            ("faa", Some(1)),
            ("ffw", Some(2)),
            ("wfww", Some(2)),
            ("wwf", Some(0)),
            ("fwf", Some(1)),
            ("ff", None),
        ];
        for (items, expected) in known {
            assert_eq!(current(items), expected, "{items}");
        }
    }

    type Targets = Queue<u32, ()>;

    fn all(targets: &Targets) -> BTreeMap<u32, Target<()>> {
        targets.targets().map(|(id, target)| (id, target.clone())).collect()
    }

    fn changed(before: &BTreeMap<u32, Target<()>>, targets: &Targets) -> Vec<u32> {
        let after = all(targets);
        after
            .iter()
            .filter(|(id, target)| before.get(id) != Some(target))
            .map(|(&id, _)| id)
            .collect()
    }

    fn with_targets(now: Instant, promotion: &Promotion<u32>) -> Targets {
        let mut targets =
            Queue::new(Settings { burst: 1_000, concurrency: 1_000, ..Settings::default() });
        for id in 0..1_000 {
            targets.set(now, id, Wanted { priority: id as i32 % 7, ..promotion.idle(()) });
        }
        targets
    }

    #[test]
    fn exactly_the_former_and_the_new_target_change() {
        let now = Instant::now();
        let mut promotion = Promotion::new(Cadence::default());
        let mut targets = with_targets(now, &promotion);
        let later = now + Duration::from_secs(1);
        assert_eq!(targets.take_due(now).len(), 1_000);
        let mut chance = bergamot_types::SplitMix::seeded(1);
        for id in 0..1_000 {
            targets.finished(now, id, &Ok::<_, ()>(()), &mut chance);
        }

        let before = all(&targets);
        assert!(promotion.set(later, &mut targets, (), Some((5, 5))));
        assert_eq!(changed(&before, &targets), [5]);
        let five = targets.target(5).unwrap();
        assert_eq!((five.interval.as_millis(), five.priority), (200, 100));
        assert_eq!(targets.take_due(later), [5], "due now");
        targets.finished(later, 5, &Ok::<_, ()>(()), &mut chance);

        let before = all(&targets);
        assert!(promotion.set(later, &mut targets, (), Some((9, 9))));
        assert_eq!(changed(&before, &targets), [5, 9]);
        let five = targets.target(5).unwrap();
        assert_eq!((five.interval.as_secs(), five.priority), (5, 5), "its own priority is back");
    }

    #[test]
    fn saying_what_is_so_already_changes_nothing() {
        let now = Instant::now();
        let mut promotion = Promotion::new(Cadence::default());
        let mut targets = with_targets(now, &promotion);
        assert!(promotion.set(now, &mut targets, (), Some((5, 5))));
        let before = all(&targets);
        for _ in 0..10 {
            assert!(!promotion.set(now, &mut targets, (), Some((5, 5))));
        }
        assert!(promotion.set(now, &mut targets, (), Some((4, 5))), "its place is news");
        assert_eq!(changed(&before, &targets), [], "but changes no target");
    }

    #[test]
    fn what_was_missed_is_mended_and_what_is_missing_made() {
        let now = Instant::now();
        let mut promotion = Promotion::new(Cadence::default());
        let mut targets = with_targets(now, &promotion);
        promotion.set(now, &mut targets, (), Some((5, 5)));
        targets.set(now, 5, promotion.idle(()));
        assert!(!promotion.set(now, &mut targets, (), Some((5, 5))), "no news");
        assert_eq!(targets.target(5).unwrap().priority, 100);

        assert!(promotion.set(now, &mut targets, (), Some((0, 7_000))));
        assert_eq!(targets.target(7_000).unwrap().priority, 100);
        assert_eq!(targets.target(5).unwrap().priority, 5, "what it was before all that");
        targets.remove(7_000);
        assert!(promotion.set(now, &mut targets, (), None));
        assert_eq!((targets.target(7_000), promotion.current()), (None, None));
    }
}
