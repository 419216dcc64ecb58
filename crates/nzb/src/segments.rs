//! The segments of one file in little memory.

use bergamot_types::{InvalidMessageId, MessageId, MessageIdList};

/// Segments by rising number, each number once.
///
/// A segment costs its id and 13 bytes; a list of structs with a `String` each would need thrice
/// as much for the million segments an NZB may have.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    ids: MessageIdList,
    entries: Vec<Entry>, // beside `ids`
    unusable: Vec<Entry>,
    is_settled: bool,
}

/// Number and size of a segment, beside its id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry {
    pub number: u32,
    /// As the NZB states it, encoded; 0 if it says nothing believable.
    pub bytes: u32,
}

/// One segment, borrowed from the list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Segment<'a> {
    pub number: u32,
    /// As the NZB states it, encoded; None if it says nothing believable.
    pub bytes: Option<u32>,
    /// Without brackets; a valid message-id.
    pub id: &'a str,
}

impl Segments {
    pub(crate) fn new() -> Self {
        Self { is_settled: true, ..Self::default() }
    }

    /// Keeps a segment whose id is bad as well, as one that cannot be had.
    pub(crate) fn push(&mut self, entry: Entry, id: &str) -> Result<(), InvalidMessageId> {
        let rises = self.entries.last().is_none_or(|last| last.number < entry.number);
        let pushed = self.ids.push(id);
        match pushed {
            Ok(()) => {
                grow_gently(&mut self.entries);
                self.entries.push(entry);
                self.is_settled &= rises;
            }
            Err(_) => {
                grow_gently(&mut self.unusable);
                self.unusable.push(entry);
                self.is_settled = false;
            }
        }
        pushed
    }

    /// Whether the segment only repeats the one before; the usual way of NZBs with copies.
    pub(crate) fn repeats_last(&self, entry: Entry) -> bool {
        self.entries.last().is_some_and(|last| last.number == entry.number && last.bytes > 0)
    }

    /// Sorts by number and drops repeated ones: the first stays, or the first that has a size.
    /// Gives how many were dropped.
    pub(crate) fn settle(&mut self) -> u64 {
        if self.is_settled {
            return 0;
        }
        let before = self.count();
        self.settle_usable();
        self.settle_unusable();
        self.is_settled = true;
        (before - self.count()) as u64
    }

    fn settle_usable(&mut self) {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        let entry = |index: u32| self.entries[index as usize];
        order.sort_unstable_by_key(|&index| (entry(index).number, entry(index).bytes == 0, index));
        order.dedup_by_key(|index| entry(*index).number);
        if order.len() == self.entries.len() {
            self.ids.reorder(&order);
        } else {
            self.ids = copied(&self.ids, &order);
        }
        self.entries = order.iter().map(|&index| entry(index)).collect();
    }

    fn settle_unusable(&mut self) {
        let entries = &self.entries;
        self.unusable.sort_by_key(|entry| entry.number);
        self.unusable.dedup_by_key(|entry| entry.number);
        self.unusable
            .retain(|bad| entries.binary_search_by_key(&bad.number, |entry| entry.number).is_err());
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.ids.shrink_to_fit();
        self.entries.shrink_to_fit();
        self.unusable.shrink_to_fit();
    }

    /// With those that cannot be had.
    pub fn count(&self) -> usize {
        self.entries.len() + self.unusable.len()
    }

    /// Only those that can be asked for.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Segment<'_>> {
        self.entries.iter().enumerate().map(|(index, entry)| Segment {
            number: entry.number,
            bytes: (entry.bytes > 0).then_some(entry.bytes),
            id: self.ids.text(index),
        })
    }

    /// # Panics
    /// When there is no such segment, as slices do.
    pub fn id(&self, index: usize) -> MessageId {
        self.ids.id(index)
    }

    /// Segments whose message-id is none: known to exist, impossible to ask for.
    pub fn unusable(&self) -> &[Entry] {
        &self.unusable
    }

    /// The highest number any segment has: so many there should be.
    pub fn highest(&self) -> u32 {
        let number = |entries: &[Entry]| entries.last().map_or(0, |entry| entry.number);
        number(&self.entries).max(number(&self.unusable))
    }

    /// Numbers up to the highest for which there is nothing to ask for.
    pub fn missing(&self) -> impl Iterator<Item = u32> {
        let mut known = self.entries.iter().map(|entry| entry.number).peekable();
        (1..=self.highest()).filter(move |&number| known.next_if_eq(&number).is_none())
    }

    /// What all of them say they have, unusable ones included.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().chain(&self.unusable).map(|entry| u64::from(entry.bytes)).sum()
    }

    /// The ids and what stands beside them, without copying.
    pub fn into_parts(self) -> (MessageIdList, Vec<Entry>) {
        (self.ids, self.entries)
    }
}

/// Dropped entries would keep their text in a list that is only reordered.
fn copied(ids: &MessageIdList, order: &[u32]) -> MessageIdList {
    let mut copy = MessageIdList::new();
    for &index in order {
        copy.push(ids.text(index as usize)).expect("the id was taken before");
    }
    copy
}

/// An eighth more each time, as `MessageIdList` grows: doubling leaves up to half of it empty.
fn grow_gently(entries: &mut Vec<Entry>) {
    if entries.len() == entries.capacity() {
        entries.reserve_exact((entries.len() / 8).max(SMALLEST_STEP));
    }
}

const SMALLEST_STEP: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(list: &[(u32, u32, &str)]) -> (Segments, u64) {
        let mut segments = Segments::new();
        for &(number, bytes, id) in list {
            let _ = segments.push(Entry { number, bytes }, id);
        }
        let dropped = segments.settle();
        (segments, dropped)
    }

    #[test]
    fn segments_are_sorted_and_the_first_with_a_size_wins() {
        let (list, dropped) =
            segments(&[(3, 9, "c@x"), (1, 0, "a@x"), (1, 5, "b@x"), (1, 6, "d@x"), (3, 9, "e@x")]);
        let seen: Vec<_> = list.iter().map(|s| (s.number, s.bytes, s.id)).collect();
        assert_eq!(seen, [(1, Some(5), "b@x"), (3, Some(9), "c@x")]);
        assert_eq!(dropped, 3);
        assert_eq!(list.missing().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn bad_ids_keep_their_number() {
        let (list, _) =
            segments(&[(1, 5, "a@x"), (2, 5, "b c"), (2, 5, ""), (1, 5, "a>b"), (4, 7, "\r\n")]);
        assert_eq!((list.len(), list.count(), list.highest(), list.bytes()), (1, 3, 4, 17));
        assert_eq!(list.missing().collect::<Vec<_>>(), [2, 3, 4]);
    }
}
