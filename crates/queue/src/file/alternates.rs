//! [`Alternates`]: the further ids that an NZB lists under some numbers of a file, and [`Choices`]: which
//! id each segment is asked for by.

use std::collections::BTreeMap;
use std::ops::Range;

use bergamot_types::{MessageId, MessageIdList, fnv32};

/// Ids of segments beside the first. Few segments have any, so they cost nothing where there are none.
#[derive(Clone, Debug, Default)]
pub struct Alternates {
    of: Vec<u32>, // segments, rising; beside `ids`
    ids: MessageIdList,
}

impl Alternates {
    /// `of` names the segment of each id, rising.
    ///
    /// # Panics
    /// When there is not one for each id, or they do not rise.
    pub fn new(of: Vec<u32>, ids: MessageIdList) -> Self {
        assert!(of.len() == ids.len() && of.is_sorted(), "parallel lists by segment");
        Self { of, ids }
    }

    /// How many further ids the segment has.
    pub(crate) fn count(&self, segment: u32) -> u32 {
        self.range(segment).len() as u32
    }

    /// The further id at this place.
    pub(crate) fn id(&self, segment: u32, place: u32) -> MessageId {
        self.ids.id(self.range(segment).start + place as usize)
    }

    fn range(&self, segment: u32) -> Range<usize> {
        let before = self.of.partition_point(|of| *of < segment);
        before..self.of.partition_point(|of| *of <= segment)
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.of.iter().enumerate().map(|(index, of)| (*of, self.ids.text(index)))
    }
}

/// Which id each segment is asked for by; of most it is the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices(BTreeMap<u32, Choice>);

#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    current: u32, // 0 is the first id, others are alternates
    tried: u32,   // ids before the current one, since the segment was wanted
}

impl Choices {
    pub(crate) fn current(&self, segment: u32) -> u32 {
        self.0.get(&segment).map_or(0, |choice| choice.current)
    }

    /// Goes on to the next of `alternates` and the first id; whether it was not tried yet.
    pub(crate) fn choose_next(&mut self, segment: u32, alternates: u32) -> bool {
        if alternates == 0 {
            return false;
        }
        let choice = self.0.entry(segment).or_default();
        if choice.tried >= alternates {
            return false;
        }
        *choice =
            Choice { current: (choice.current + 1) % (alternates + 1), tried: choice.tried + 1 };
        true
    }

    /// Goes back to an id that was tried.
    pub(crate) fn choose(&mut self, segment: u32, current: u32) {
        if let Some(choice) = self.0.get_mut(&segment) {
            choice.current = current;
        }
    }

    /// Every id may be tried again, the current one first: it may have been asked for already.
    pub(crate) fn begin_anew(&mut self, segment: u32) {
        if let Some(choice) = self.0.get_mut(&segment) {
            choice.tried = 0;
        }
    }
}

/// The segments that have an id which another segment has as well, rising.
///
/// A list that is sorted by short prints of the ids takes 8 bytes for each; only ids with the same print
/// are compared.
pub(crate) fn repeated_ids(ids: &MessageIdList, alternates: &Alternates) -> Box<[u32]> {
    let first = (0..ids.len()).map(|index| (index as u32, ids.text(index)));
    let all = || first.clone().chain(alternates.iter());
    let mut prints: Vec<(u32, u32)> = all().map(|(of, id)| (fnv32(id.bytes()), of)).collect();
    prints.sort_unstable();
    let is_shared = |print: u32| {
        let from = prints.partition_point(|(other, _)| *other < print);
        prints.get(from + 1).is_some_and(|(next, _)| *next == print)
    };
    let mut shared: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (of, id) in all().filter(|(_, id)| is_shared(fnv32(id.bytes()))) {
        shared.entry(id).or_default().push(of);
    }
    let mut repeated: Vec<u32> = shared.into_values().filter(|of| of.len() > 1).flatten().collect();
    repeated.sort_unstable();
    repeated.dedup();
    repeated.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ids: &[&str]) -> MessageIdList {
        let mut list = MessageIdList::new();
        ids.iter().for_each(|id| list.push(id).unwrap());
        list
    }

    #[test]
    fn each_id_is_tried_once_and_from_the_current_one_on() {
        let mut choices = Choices::default();
        assert!(!choices.choose_next(0, 0));
        assert!(choices.choose_next(1, 2) && choices.choose_next(1, 2));
        assert_eq!((choices.current(1), choices.choose_next(1, 2)), (2, false));
        choices.begin_anew(1);
        assert_eq!((choices.current(1), choices.choose_next(1, 2)), (2, true));
        assert_eq!((choices.current(1), choices.current(0)), (0, 0));
    }

    #[test]
    fn ids_under_several_numbers_are_found_whichever_of_a_segment_they_are() {
        let alternates = Alternates::new(vec![1, 3, 3], list(&["x@x", "y@x", "a@x"]));
        assert_eq!((alternates.count(3), alternates.id(3, 1).as_str()), (2, "a@x"));
        let repeated = repeated_ids(&list(&["a@x", "b@x", "c@x", "d@x", "c@x"]), &alternates);
        assert_eq!(*repeated, [0, 2, 3, 4]);
    }
}
