//! [`Segments`]: the segments of one file in compact form.

use bergamot_types::{InvalidMessageId, MessageId, MessageIdList};

/// Segments by rising number, each number once.
///
/// A segment costs its id and 13 bytes; a list of structs with a `String` each would need thrice
/// as much for the million segments an NZB may have.
///
/// Where the NZB lists several ids under one number, the first with a size is the segment, and up to
/// [`MOST_ALTERNATES`] others are kept beside the list as alternates, to be asked for if no server has
/// a good copy of the first. An id that is listed under two numbers is a segment of both: only its
/// article says which number is right.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    ids: MessageIdList,
    entries: Vec<Entry>, // beside `ids`
    alternates: Alternates,
    unusable: Vec<Entry>,
    is_settled: bool,
}

/// Further ids of some segments, by rising number.
#[derive(Clone, Debug, Default)]
struct Alternates {
    ids: MessageIdList,
    entries: Vec<Entry>, // beside `ids`
}

/// The lists of a file's segments, without a copy: see [`Segments::into_parts`].
#[derive(Clone, Debug, Default)]
pub struct SegmentParts {
    pub ids: MessageIdList,
    /// Beside `ids`.
    pub entries: Vec<Entry>,
    pub alternate_ids: MessageIdList,
    /// Beside `alternate_ids`: the place in `ids` of the segment that each belongs to, rising.
    pub alternate_of: Vec<u32>,
}

/// Number and size of a segment, beside its id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry {
    pub number: u32,
    /// As the NZB states it, encoded; 0 if there is no plausible value.
    pub bytes: u32,
}

/// One segment, borrowed from the list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Segment<'a> {
    pub number: u32,
    /// As the NZB states it, encoded; `None` if there is no plausible value.
    pub bytes: Option<u32>,
    /// Without brackets; a valid message-id.
    pub id: &'a str,
}

impl Segments {
    pub(crate) fn new() -> Self {
        Self { is_settled: true, ..Self::default() }
    }

    /// Also keeps a segment with an invalid id, as one that cannot be downloaded.
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
    pub(crate) fn repeats_last(&self, entry: Entry, id: &str) -> bool {
        let same_number =
            self.entries.last().is_some_and(|last| last.number == entry.number && last.bytes > 0);
        // Parsed only here, for few segments have the number of the one before.
        same_number
            && MessageId::parse(id)
                .is_ok_and(|id| id.as_str() == self.ids.text(self.entries.len() - 1))
    }

    /// Sorts by number and moves further ids of a number to the alternates, at most `room` of them:
    /// the first stays, or the first that has a size. Gives how many were dropped.
    pub(crate) fn settle(&mut self, room: usize) -> u64 {
        if self.is_settled {
            return 0;
        }
        let before = self.count() + self.alternates.entries.len();
        self.settle_usable(room);
        self.settle_unusable();
        self.is_settled = true;
        (before - self.count() - self.alternates.entries.len()) as u64
    }

    fn settle_usable(&mut self, room: usize) {
        let known = std::mem::take(&mut self.alternates);
        for (index, &entry) in known.entries.iter().enumerate() {
            self.ids.push(known.ids.text(index)).expect("the id was taken before");
            self.entries.push(entry);
        }
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        let entry = |index: u32| self.entries[index as usize];
        order.sort_unstable_by_key(|&index| (entry(index).number, entry(index).bytes == 0, index));
        if order.is_sorted_by(|a, b| entry(*a).number < entry(*b).number) {
            self.ids.reorder(&order);
        } else {
            self.alternates = self.take_alternates(&mut order, room);
            let dropped = self.entries.len() - order.len();
            match dropped > self.entries.len() / SMALL_SHARE {
                true => self.ids = copied(&self.ids, &order),
                false => self.ids.reorder(&order),
            }
        }
        let entry = |index: u32| self.entries[index as usize];
        self.entries = order.iter().map(|&index| entry(index)).collect();
    }

    /// Leaves one of each number in `order`, and gives other ids that the number has.
    fn take_alternates(&self, order: &mut Vec<u32>, room: usize) -> Alternates {
        let entry = |index: u32| self.entries[index as usize];
        let text = |index: u32| self.ids.text(index as usize);
        let mut found: Vec<u32> = Vec::new();
        let mut of_number: Vec<u32> = Vec::new(); // the first, and then its alternates
        order.retain(|&index| {
            if of_number.first().is_none_or(|first| entry(*first).number != entry(index).number) {
                of_number.clear();
                of_number.push(index);
                return true;
            }
            let is_known = of_number.iter().any(|known| text(*known) == text(index));
            if !is_known && of_number.len() <= MOST_ALTERNATES && found.len() < room {
                of_number.push(index);
                found.push(index);
            }
            false
        });
        let ids = copied(&self.ids, &found);
        Alternates { ids, entries: found.into_iter().map(entry).collect() }
    }

    /// Whether the NZB numbers them from 0. `announced` is the number of segments in the subject: one
    /// with that number shows that they are numbered from 1, and number 0 is a mistake.
    pub(crate) fn begins_at_zero(&self, announced: Option<u32>) -> bool {
        let begins = |entries: &[Entry]| entries.first().is_some_and(|first| first.number == 0);
        (begins(&self.entries) || begins(&self.unusable)) && announced != Some(self.highest())
    }

    /// Numbers them from 1, as articles number themselves.
    pub(crate) fn shift_by_one(&mut self) {
        let alternates = &mut self.alternates.entries;
        for entry in self.entries.iter_mut().chain(alternates).chain(&mut self.unusable) {
            entry.number += 1;
        }
    }

    /// Gives those without a usable number, which is written as 0, the numbers after all others. Gives
    /// how many there were.
    pub(crate) fn number_zeros(&mut self) -> u64 {
        let mut next = self.entries.iter().chain(&self.unusable).map(|it| it.number).max();
        let mut found = 0;
        // Alternates of number 0 stay with the first that had it.
        let first = next.unwrap_or(0).saturating_add(1);
        for alternate in self.alternates.entries.iter_mut().filter(|it| it.number == 0) {
            alternate.number = first;
        }
        for entry in self.entries.iter_mut().chain(&mut self.unusable) {
            if entry.number == 0 {
                let number = next.unwrap_or(0).saturating_add(1);
                (entry.number, next) = (number, Some(number));
                found += 1;
                self.is_settled = false;
            }
        }
        found
    }

    /// Whether each of several segments has the number 0.
    pub(crate) fn are_all_zero(&self) -> bool {
        let mut all = self.entries.iter().chain(&self.unusable);
        self.count() > 1 && all.all(|entry| entry.number == 0)
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
        self.alternates.ids.shrink_to_fit();
        self.alternates.entries.shrink_to_fit();
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
        listed(&self.entries, &self.ids)
    }

    /// # Panics
    /// When there is no such segment, as slices do.
    pub fn id(&self, index: usize) -> MessageId {
        self.ids.id(index)
    }

    /// Segments without a valid message-id: known to exist, but they cannot be requested.
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

    /// The sum of the claimed sizes, unusable segments included.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().chain(&self.unusable).map(|entry| u64::from(entry.bytes)).sum()
    }

    /// Further ids that the NZB lists under some of the numbers.
    pub fn alternates(&self) -> impl Iterator<Item = Segment<'_>> {
        listed(&self.alternates.entries, &self.alternates.ids)
    }

    pub(crate) fn alternate_count(&self) -> usize {
        self.alternates.entries.len()
    }

    /// The ids and what stands beside them, without copying.
    pub fn into_parts(self) -> SegmentParts {
        let entries = self.entries;
        let place = |of: &Entry| entries.binary_search_by_key(&of.number, |entry| entry.number);
        let of = self.alternates.entries.iter();
        let alternate_of = of.map(|of| place(of).expect("one of its number was kept") as u32);
        let alternate_of = alternate_of.collect();
        SegmentParts { ids: self.ids, alternate_ids: self.alternates.ids, alternate_of, entries }
    }
}

fn listed<'a>(entries: &'a [Entry], ids: &'a MessageIdList) -> impl Iterator<Item = Segment<'a>> {
    entries.iter().enumerate().map(|(index, entry)| Segment {
        number: entry.number,
        bytes: (entry.bytes > 0).then_some(entry.bytes),
        id: ids.text(index),
    })
}

/// Dropped entries keep their text in a list that is only reordered, and a copy needs memory for both
/// lists: up to this share of them nothing is copied.
const SMALL_SHARE: usize = 16;

/// A list without the text of dropped entries.
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

/// Ids of one segment beside the first. Posts that were merged from several have two or three ids;
/// each costs a request to every server before the segment is lost.
pub const MOST_ALTERNATES: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(list: &[(u32, u32, &str)]) -> (Segments, u64) {
        let mut segments = Segments::new();
        for &(number, bytes, id) in list {
            let _ = segments.push(Entry { number, bytes }, id);
        }
        let dropped = segments.settle(100);
        (segments, dropped)
    }

    #[test]
    fn segments_are_sorted_and_the_first_with_a_size_wins() {
        let (list, dropped) =
            segments(&[(3, 9, "c@x"), (1, 0, "a@x"), (1, 5, "b@x"), (1, 6, "d@x"), (3, 9, "e@x")]);
        let seen: Vec<_> = list.iter().map(|s| (s.number, s.bytes, s.id)).collect();
        assert_eq!(seen, [(1, Some(5), "b@x"), (3, Some(9), "c@x")]);
        assert_eq!((dropped, list.count(), list.bytes()), (0, 2, 14));
        assert_eq!(list.missing().collect::<Vec<_>>(), [2]);
        let others: Vec<_> = list.alternates().map(|s| (s.number, s.id)).collect();
        assert_eq!(others, [(1, "d@x"), (1, "a@x"), (3, "e@x")]);
        assert_eq!(list.into_parts().alternate_of, [0, 0, 1]);
    }

    #[test]
    fn an_id_is_kept_once_for_each_number() {
        let (list, dropped) = segments(&[
            (1, 5, "a@x"),
            (2, 5, "a@x"),
            (1, 5, "b@x"),
            (2, 0, "<a@x>"),
            (1, 0, "b@x"),
        ]);
        assert_eq!((dropped, list.len()), (2, 2));
        let others: Vec<_> = list.alternates().map(|s| (s.number, s.id)).collect();
        assert_eq!(others, [(1, "b@x")]);
    }

    #[test]
    fn alternates_are_limited_for_each_segment_and_by_the_room_there_is() {
        for (room, kept) in [(100, MOST_ALTERNATES), (3, 3), (0, 0)] {
            let mut segments = Segments::new();
            for n in 0..500 {
                segments.push(Entry { number: 1, bytes: 5 }, &format!("{n}@x")).unwrap();
                segments.settle(room);
            }
            assert_eq!((segments.len(), segments.alternate_count()), (1, kept));
            assert_eq!(segments.iter().next().map(|first| first.id), Some("0@x"));
        }
    }

    #[test]
    fn bad_ids_keep_their_number() {
        let (list, _) =
            segments(&[(1, 5, "a@x"), (2, 5, "b c"), (2, 5, ""), (1, 5, "a>b"), (4, 7, "\r\n")]);
        assert_eq!((list.len(), list.count(), list.highest(), list.bytes()), (1, 3, 4, 17));
        assert_eq!(list.missing().collect::<Vec<_>>(), [2, 3, 4]);
    }
}
