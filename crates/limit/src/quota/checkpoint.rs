//! [`Checkpoint`]: how much of the usage is charged in a record on disk.

use std::collections::VecDeque;

use bergamot_types::ByteCount;

use crate::quota::ledger::Record;

/// A record on its way to the disk.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoint {
    /// To be named when it is durable, or lost.
    pub number: u64,
    pub record: Record,
}

/// Bytes are counted from the start of the process; a checkpoint covers them up to some number, as
/// long as they are booked on the day it was charged for.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    booked: u64,
    issued: u64,
    durable: Option<Cover>,
    pending: VecDeque<Cover>,
}

#[derive(Clone, Copy, Debug)]
struct Cover {
    number: u64,
    day: i32,
    up_to: u64,
}

impl Checkpoints {
    /// What usage may be over-counted by after a sudden end.
    pub(crate) const RESERVE: ByteCount = ByteCount(16 << 20);

    pub(crate) fn book(&mut self, bytes: u64) {
        self.booked = self.booked.saturating_add(bytes);
    }

    pub(crate) fn issue(&mut self, day: i32, record: Record) -> Checkpoint {
        self.issued += 1;
        let up_to = self.booked.saturating_add(Self::RESERVE.0);
        if self.pending.len() == MOST_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back(Cover { number: self.issued, day, up_to });
        Checkpoint { number: self.issued, record }
    }

    /// An older one that comes late says nothing: the newer one has taken its place.
    pub(crate) fn on_recorded(&mut self, number: u64) {
        let found = self.pending.iter().find(|cover| cover.number == number).copied();
        if found.is_some() {
            self.durable = found;
            self.pending.retain(|cover| cover.number > number);
        }
    }

    pub(crate) fn on_lost(&mut self, number: u64) {
        self.pending.retain(|cover| cover.number != number);
    }

    /// What is on disk no longer stands for what is counted.
    pub(crate) fn invalidate(&mut self) {
        self.durable = None;
        self.pending.clear();
    }

    pub(crate) fn headroom(&self, day: i32) -> ByteCount {
        ByteCount(self.durable.map_or(0, |cover| self.left(&cover, day)))
    }

    /// Half of it is used up, so there is time to write the next.
    pub(crate) fn is_due(&self, day: i32) -> bool {
        let last = self.pending.back().or(self.durable.as_ref());
        last.is_none_or(|cover| self.left(cover, day) < Self::RESERVE.0 / 2)
    }

    fn left(&self, cover: &Cover, day: i32) -> u64 {
        if cover.day == day { cover.up_to.saturating_sub(self.booked) } else { 0 }
    }
}

/// More are never under way; a disk that far behind gives no headroom anyway.
const MOST_PENDING: usize = 8;
