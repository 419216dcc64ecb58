//! Where the parts of one file lie.

use std::collections::BTreeMap;

use crate::part::{Conflict, Part};

/// The parts of one file that have found their place.
///
/// No single article is believed: the size of the file is what most parts say, and a part that
/// disagrees with it or lies over another one is refused.
#[derive(Clone, Debug)]
pub(crate) struct Placements {
    bound: u64,
    agreed: Option<u64>,
    placed: BTreeMap<u64, Span>,   // by where they begin
    dissent: BTreeMap<u32, Claim>, // what other segments claimed
    unplaced: BTreeMap<u32, u64>,  // segment -> length, where parts do not say where they belong
}

#[derive(Clone, Copy, Debug)]
struct Span {
    length: u64,
    segment: u32,
    votes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    size: u64,
    votes: u32,
}

/// Where a part is to be written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Placed {
    pub offset: u64,
    /// Segments that had been believed and no longer are.
    pub evicted: Vec<u32>,
    /// Segments that had been refused and should not have been.
    pub vindicated: Vec<u32>,
}

/// How the written parts make up the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Layout {
    /// Every part lies where it belongs.
    InPlace { size: u64 },
    /// The parts lie in slots of their own and have to be moved together, in this order.
    Pieces(Vec<Piece>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Piece {
    pub offset: u64,
    pub length: u64,
}

impl Placements {
    /// `bound` is the most that the file's articles can hold.
    pub(crate) fn new(bound: u64) -> Self {
        Self {
            bound,
            agreed: None,
            placed: BTreeMap::new(),
            dissent: BTreeMap::new(),
            unplaced: BTreeMap::new(),
        }
    }

    /// Finds the place of `segment`, which the NZB lists as part `listed`, perhaps as the last.
    pub(crate) fn place(
        &mut self,
        segment: u32,
        listed: u32,
        is_last: bool,
        part: &Part,
    ) -> Result<Placed, Conflict> {
        if let Some(given) = part.number.filter(|&given| given != listed) {
            return Err(Conflict::Number { given, listed });
        }
        let (begin, size) = self.claim(part)?;
        let end = begin + part.length;
        if is_last && end != size {
            return Err(Conflict::Size { given: size, agreed: end });
        }
        // The last part ends where it says the file does: that is worth more than a bare claim.
        let votes = if is_last { 2 } else { 1 };
        let mut placed = Placed { offset: begin, evicted: Vec::new(), vindicated: Vec::new() };
        if let Some(agreed) = self.agreed.filter(|&agreed| agreed != size) {
            (placed.evicted, placed.vindicated) =
                self.overturn(segment, Claim { size, votes }, agreed)?;
        }
        self.without_overlap(segment, begin, part.length)?;
        self.agreed = Some(size);
        self.dissent.remove(&segment);
        self.placed.insert(begin, Span { length: part.length, segment, votes });
        Ok(placed)
    }

    /// The place of a part that does not say where it belongs: a slot of its own.
    pub(crate) fn place_in_slot(
        &mut self,
        segment: u32,
        slot: u64,
        part: &Part,
    ) -> Result<Placed, Conflict> {
        if self.agreed.is_some() {
            return Err(Conflict::Unplaced);
        }
        if part.length > slot {
            return Err(Conflict::Unbelievable { given: part.length, bound: slot });
        }
        self.unplaced.insert(segment, part.length);
        let offset = u64::from(segment) * slot;
        Ok(Placed { offset, evicted: Vec::new(), vindicated: Vec::new() })
    }

    /// The part was placed and could not be written.
    pub(crate) fn displace(&mut self, segment: u32) {
        self.placed.retain(|_, span| span.segment != segment);
        self.unplaced.remove(&segment);
    }

    /// Whether a damaged copy may lie at its place without harming what is known to be good.
    pub(crate) fn leaves_room_for(&self, segment: u32, part: &Part) -> Option<u64> {
        let (begin, size) = self.claim(part).ok()?;
        let fits = self.agreed.is_none_or(|agreed| agreed == size)
            && part.length > 0
            && self.without_overlap(segment, begin, part.length).is_ok();
        fits.then_some(begin)
    }

    /// The size, once two parts agree on it or one part is the whole file.
    pub(crate) fn certain_size(&self) -> Option<u64> {
        let size = self.agreed?;
        let first = self.placed.first_key_value();
        let alone = first.is_some_and(|(&begin, span)| begin == 0 && span.length == size);
        (self.placed.len() >= 2 || alone).then_some(size)
    }

    /// How the parts make up the file, if they leave no gap. `segments` is their number.
    pub(crate) fn layout(&self, segments: u32, slot: u64) -> Option<Layout> {
        if self.agreed.is_none() && self.unplaced.len() == segments as usize {
            let piece = |(&segment, &length)| Piece { offset: u64::from(segment) * slot, length };
            return Some(Layout::Pieces(self.unplaced.iter().map(piece).collect()));
        }
        let size = self.agreed?;
        let mut reached = 0;
        for (&begin, span) in &self.placed {
            if begin != reached {
                return None;
            }
            reached += span.length;
        }
        (reached == size).then_some(Layout::InPlace { size })
    }

    fn claim(&self, part: &Part) -> Result<(u64, u64), Conflict> {
        let begin = part.begin.ok_or(Conflict::Unplaced)?;
        if !self.unplaced.is_empty() {
            return Err(Conflict::Unplaced);
        }
        let end = begin.saturating_add(part.length);
        let size = part.file_size.unwrap_or(end).max(end);
        if size > self.bound {
            return Err(Conflict::Unbelievable { given: size, bound: self.bound });
        }
        Ok((begin, size))
    }

    /// The first article to come may be the liar: once more parts disagree with it than agree, they
    /// are believed instead.
    fn overturn(
        &mut self,
        segment: u32,
        claim: Claim,
        agreed: u64,
    ) -> Result<(Vec<u32>, Vec<u32>), Conflict> {
        let size = claim.size;
        self.dissent.insert(segment, claim);
        let against = self.dissent.iter().filter(|(_, claim)| claim.size == size);
        let votes_against: u32 = against.clone().map(|(_, claim)| claim.votes).sum();
        let votes_for: u32 = self.placed.values().map(|span| span.votes).sum();
        if votes_against <= votes_for {
            return Err(Conflict::Size { given: size, agreed });
        }
        let vindicated = against.map(|(&voter, _)| voter).filter(|&voter| voter != segment);
        let vindicated = vindicated.collect();
        self.dissent.retain(|_, claim| claim.size != size);
        let evicted = std::mem::take(&mut self.placed).into_values().map(|span| span.segment);
        Ok((evicted.collect(), vindicated))
    }

    fn without_overlap(&self, segment: u32, begin: u64, length: u64) -> Result<(), Conflict> {
        let end = begin + length;
        let others =
            self.placed.range(..end).rev().take_while(|(at, span)| *at + span.length > begin);
        let mut others = others.filter(|(_, span)| span.segment != segment);
        others.next().map_or(Ok(()), |_| Err(Conflict::Overlap { begin, end }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(begin: u64, length: u64, size: u64) -> Part {
        Part {
            begin: Some(begin),
            length,
            file_size: Some(size),
            verified: true,
            ..Part::default()
        }
    }

    fn placements() -> Placements {
        Placements::new(1000)
    }

    #[test]
    fn parts_that_tile_the_file_make_it_whole() {
        let mut file = placements();
        assert_eq!(file.place(1, 2, false, &part(100, 50, 150)).unwrap().offset, 100);
        assert_eq!((file.certain_size(), file.layout(2, 0)), (None, None));
        file.place(0, 1, false, &part(0, 100, 150)).unwrap();
        assert_eq!(file.certain_size(), Some(150));
        assert_eq!(file.layout(2, 0), Some(Layout::InPlace { size: 150 }));
    }

    #[test]
    fn one_part_that_is_the_whole_file_is_certain() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 70, 70)).unwrap();
        assert_eq!(file.certain_size(), Some(70));
    }

    #[test]
    fn a_gap_is_not_whole() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        file.place(2, 3, false, &part(200, 100, 300)).unwrap();
        assert_eq!(file.layout(3, 0), None);
        file.place(1, 2, false, &part(100, 99, 300)).unwrap();
        assert_eq!(file.layout(3, 0), None);
    }

    #[test]
    fn parts_of_another_place_are_refused() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        let third = Part { number: Some(3), ..part(200, 100, 300) };
        assert_eq!(file.place(1, 2, false, &third), Err(Conflict::Number { given: 3, listed: 2 }));
        assert_eq!(
            file.place(1, 2, false, &part(50, 100, 300)),
            Err(Conflict::Overlap { begin: 50, end: 150 })
        );
        assert_eq!(
            file.place(1, 2, false, &part(100, 100, 301)),
            Err(Conflict::Size { given: 301, agreed: 300 })
        );
        assert_eq!(
            file.place(1, 2, false, &part(100, 100, 1001)),
            Err(Conflict::Unbelievable { given: 1001, bound: 1000 })
        );
        assert_eq!(
            file.place(1, 2, false, &part(u64::MAX - 1, 100, 1)),
            Err(Conflict::Unbelievable { given: u64::MAX, bound: 1000 })
        );
        assert!(file.place(1, 2, false, &part(100, 100, 300)).is_ok());
    }

    #[test]
    fn the_last_part_ends_where_the_file_does() {
        let mut file = placements();
        assert_eq!(
            file.place(1, 2, true, &part(100, 50, 151)),
            Err(Conflict::Size { given: 151, agreed: 150 })
        );
        assert!(file.place(1, 2, true, &part(100, 50, 150)).is_ok());
    }

    #[test]
    fn the_first_part_may_be_the_liar() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 100, 900)).unwrap();
        assert!(file.place(1, 2, false, &part(100, 100, 300)).is_err());
        assert!(file.place(1, 2, false, &part(100, 100, 300)).is_err(), "a part has one vote");
        let placed = file.place(2, 3, false, &part(200, 100, 300)).unwrap();
        assert_eq!(placed, Placed { offset: 200, evicted: vec![0], vindicated: vec![1] });
        file.place(1, 2, false, &part(100, 100, 300)).unwrap();
        file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        assert_eq!(file.layout(3, 0), Some(Layout::InPlace { size: 300 }));
    }

    #[test]
    fn the_last_part_outvotes_one_liar() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 100, 900)).unwrap();
        let placed = file.place(1, 2, true, &part(100, 100, 200)).unwrap();
        assert_eq!(placed.evicted, [0]);
        assert!(file.place(0, 1, false, &part(0, 100, 900)).is_err());
        file.place(0, 1, false, &part(0, 100, 200)).unwrap();
        assert_eq!(file.layout(2, 0), Some(Layout::InPlace { size: 200 }));
    }

    #[test]
    fn parts_without_a_place_get_slots_and_are_moved_together() {
        let mut file = placements();
        let part = |length| Part { length, ..Part::default() };
        assert_eq!(file.place_in_slot(1, 50, &part(7)).unwrap().offset, 50);
        assert_eq!(file.layout(2, 50), None);
        assert_eq!(file.place_in_slot(0, 50, &part(40)).unwrap().offset, 0);
        let pieces = [(0, 40), (50, 7)].map(|(offset, length)| Piece { offset, length });
        assert_eq!(file.layout(2, 50), Some(Layout::Pieces(pieces.to_vec())));
        assert!(file.place_in_slot(0, 50, &part(51)).is_err());
    }

    #[test]
    fn a_damaged_copy_never_lies_over_a_good_one() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        assert_eq!(file.leaves_room_for(1, &part(100, 100, 300)), Some(100));
        assert_eq!(file.leaves_room_for(1, &part(99, 100, 300)), None);
        assert_eq!(file.leaves_room_for(1, &part(100, 100, 301)), None);
        assert_eq!(file.leaves_room_for(0, &part(0, 100, 300)), Some(0));
    }
}
