//! [`Position`]: where a job stands in the queue, and how a new position is found. Pure.
//!
//! Jobs go by priority, then by rank. Ranks have wide gaps between them, so a job that is moved gets
//! one from the gap and no other record changes; only when a gap is used up are the ranks of that
//! priority assigned anew.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::collections::btree_set::Range;

use bergamot_types::JobId;

use crate::record::Record;

/// In the order of the queue.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Position {
    pub priority: Reverse<i32>,
    pub rank: i64,
    pub job: JobId,
}

/// Where a job is to go, among those of its priority.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    After(JobId),
    Before(JobId),
    Bottom,
    /// As near to its rank as it can be.
    Here,
    Top,
}

impl Position {
    pub fn of(record: &Record) -> Self {
        Self { priority: Reverse(record.priority), rank: record.rank, job: record.id }
    }
}

/// The position of `moved`, which is not in `queue`, and those of all that have to make room for it.
pub fn find(queue: &BTreeSet<Position>, moved: Position, to: Target) -> Vec<Position> {
    let ends = peers(queue, moved.priority);
    let rank = match to {
        Target::Here => Some(moved.rank),
        Target::Top => between(None, ends.first().map(|position| position.rank)),
        Target::Bottom => between(ends.last().map(|position| position.rank), None),
        Target::After(_) | Target::Before(_) => None,
    };
    if let Some(rank) = rank {
        return vec![Position { rank, ..moved }];
    }
    let peers: Vec<_> = ends.iter().copied().collect();
    // Target one of another priority a job comes as near as its own lets it.
    let nearest = |other| {
        let is_ahead =
            |position: &Position| position.job == other && position.priority < moved.priority;
        if queue.iter().any(is_ahead) { 0 } else { peers.len() }
    };
    let at = match to {
        Target::Here | Target::Top => 0,
        Target::Bottom => peers.len(),
        Target::Before(other) => position(&peers, other).unwrap_or_else(|| nearest(other)),
        Target::After(other) => position(&peers, other).map_or_else(|| nearest(other), |at| at + 1),
    };
    let before = at.checked_sub(1).map(|at| peers[at].rank);
    let after = peers.get(at).map(|position| position.rank);
    match between(before, after) {
        Some(rank) => vec![Position { rank, ..moved }],
        None => {
            let mut all = peers;
            all.insert(at, moved);
            (1..).zip(all).map(|(n, position)| Position { rank: n * GAP, ..position }).collect()
        }
    }
}

/// The rank of a job below all others of any priority.
pub fn bottom(queue: &BTreeSet<Position>) -> i64 {
    let last = queue.iter().map(|position| position.rank).max().unwrap_or(0);
    last.max(0).saturating_add(GAP)
}

fn peers(queue: &BTreeSet<Position>, priority: Reverse<i32>) -> Peers<'_> {
    let first = Position { priority, rank: i64::MIN, job: JobId(0) };
    let last = Position { priority, rank: i64::MAX, job: JobId(u32::MAX) };
    Peers(queue.range(first..=last))
}

/// Those of one priority.
struct Peers<'a>(Range<'a, Position>);

impl<'a> Peers<'a> {
    fn first(&self) -> Option<&'a Position> {
        self.0.clone().next()
    }

    fn last(&self) -> Option<&'a Position> {
        self.0.clone().next_back()
    }

    fn iter(&self) -> impl Iterator<Item = &'a Position> {
        self.0.clone()
    }
}

fn position(peers: &[Position], job: JobId) -> Option<usize> {
    peers.iter().position(|position| position.job == job)
}

fn between(before: Option<i64>, after: Option<i64>) -> Option<i64> {
    match (before, after) {
        (None, None) => Some(GAP),
        (Some(before), None) => before.checked_add(GAP),
        (None, Some(after)) => after.checked_sub(GAP),
        (Some(before), Some(after)) => {
            let middle = before.midpoint(after);
            (before < middle && middle < after).then_some(middle)
        }
    }
}

/// Twenty jobs in a row can go into one gap; that many moves to one position are rare.
pub const GAP: i64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn queue_of(jobs: &[(u32, i64)]) -> BTreeSet<Position> {
        let position =
            |&(job, rank): &(u32, i64)| Position { priority: Reverse(0), rank, job: JobId(job) };
        jobs.iter().map(position).collect()
    }

    fn moved(queue: &[(u32, i64)], job: u32, to: Target) -> Vec<u32> {
        let mut queue = queue_of(queue);
        let old = *queue.iter().find(|position| position.job == JobId(job)).unwrap();
        queue.remove(&old);
        for position in find(&queue, old, to) {
            queue.retain(|other| other.job != position.job);
            queue.insert(position);
        }
        queue.iter().map(|position| position.job.0).collect()
    }

    #[test]
    fn a_job_goes_where_it_is_told() {
        let wide = [(1, GAP), (2, 2 * GAP), (3, 3 * GAP), (4, 4 * GAP)];
        let narrow = [(1, 1), (2, 2), (3, 3), (4, 4)];
        for queue in [wide, narrow] {
            for (job, to, order) in [
                (3, Target::Top, [3, 1, 2, 4]),
                (2, Target::Bottom, [1, 3, 4, 2]),
                (4, Target::Before(JobId(2)), [1, 4, 2, 3]),
                (1, Target::After(JobId(3)), [2, 3, 1, 4]),
                (1, Target::Before(JobId(9)), [2, 3, 4, 1]),
            ] {
                assert_eq!(moved(&queue, job, to), order, "{job} {to:?}");
            }
        }
    }

    #[test]
    fn a_job_comes_as_near_to_one_of_another_priority_as_it_can() {
        let mut queue = queue_of(&[(1, GAP), (2, 2 * GAP)]);
        for (job, priority) in [(8, 50), (9, -10)] {
            queue.insert(Position { priority: Reverse(priority), rank: GAP, job: JobId(job) });
        }
        let new = Position { priority: Reverse(0), rank: 5, job: JobId(3) };
        for (other, rank) in [(8, 0), (9, 3 * GAP)] {
            for to in [Target::Before(JobId(other)), Target::After(JobId(other))] {
                assert_eq!(find(&queue, new, to), [Position { rank, ..new }], "{to:?}");
            }
        }
    }

    #[test]
    fn only_a_used_up_gap_changes_the_others() {
        let wide = queue_of(&[(1, GAP), (2, 2 * GAP)]);
        let new = Position { priority: Reverse(0), rank: 9 * GAP, job: JobId(3) };
        assert_eq!(find(&wide, new, Target::Before(JobId(2))).len(), 1);
        let narrow = queue_of(&[(1, 5), (2, 6)]);
        assert_eq!(find(&narrow, new, Target::Before(JobId(2))).len(), 3);
        assert_eq!(find(&narrow, new, Target::Here), [new]);
        assert_eq!(bottom(&wide), 3 * GAP);
    }
}
