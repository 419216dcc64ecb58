//! [`Placements`]: the offset of every part of one file, and which claims of its size hold. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::file::agreement::{Agreement, Claim as Said};
use crate::file::part::{Conflict, Part};

/// The parts of one file that have found their place.
///
/// No single article is believed: the size of the file is what most parts say, and a part that
/// disagrees with it is refused. Of two that lie over each other the one in its regular place stays.
#[derive(Clone, Debug)]
pub(crate) struct Placements {
    bound: u64,
    agreed: Option<u64>,
    votes: u32,                         // of those who are placed, for `agreed`
    placed: BTreeMap<u64, Span>,        // by where they begin
    dissent: BTreeMap<u32, Vec<Claim>>, // what copies claimed of segments that are not placed
    unplaced: BTreeMap<u32, u64>, // segment -> length, where parts do not say where they belong
    others: BTreeSet<u32>, // segments that do, where the rest does not, or the other way round
    awaited: BTreeSet<u32>, // segments of the kind that is believed, which are to come again
    names: Agreement,
    subject: Said, // the name that the NZB gives
    totals: Agreement,
    /// Where the last part ends that was accepted for want of a better one, whatever is agreed.
    accepted_end: Option<(u32, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    length: u64,
    segment: u32,
    votes: u32, // for the size of the file
    name: Said,
    total: Said,
    regular: bool,
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
    pub refused_in_error: Vec<u32>,
    /// The same of those that are still open: the tries of their copies are to be reset.
    pub reset_tries: Vec<u32>,
}

impl Placed {
    fn at(offset: u64) -> Self {
        Self { offset, evicted: Vec::new(), refused_in_error: Vec::new(), reset_tries: Vec::new() }
    }
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
    /// `bound` is the most that the file's articles can hold; `subject` the name in the NZB.
    pub(crate) fn new(bound: u64, subject: Option<&str>) -> Self {
        Self {
            bound,
            agreed: None,
            votes: 0,
            placed: BTreeMap::new(),
            dissent: BTreeMap::new(),
            unplaced: BTreeMap::new(),
            others: BTreeSet::new(),
            awaited: BTreeSet::new(),
            names: Agreement::default(),
            subject: Said::of_text(subject),
            totals: Agreement::default(),
            accepted_end: None,
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
        let Range { start: begin, end } = self.claim(part)?;
        let (name, total) = (Said::of_text(part.name.as_deref()), Said::of_number(part.total));
        self.compare(segment, name, total, part)?;
        // A whole file by itself, where others come before it: no other part agrees with it.
        if segment > 0 && begin == 0 && end > 0 && part.file_size == Some(end) {
            return Err(Conflict::Overlap { begin, end });
        }
        if let Some(given) = part.file_size.filter(|&given| is_last && given != end) {
            return Err(Conflict::Size { given, agreed: end });
        }
        let mut placed = Placed::at(begin);
        if !self.unplaced.is_empty() {
            placed.refused_in_error = self.outvote(segment, self.unplaced.len())?;
            placed.evicted = std::mem::take(&mut self.unplaced).into_keys().collect();
            self.others.extend(&placed.evicted);
        }
        let size = part.file_size.or(is_last.then_some(end));
        // The last part ends where it says the file does: that is worth more than a bare claim.
        let votes = if is_last { 2 } else { u32::from(size.is_some()) };
        let before = u64::from(listed.saturating_sub(1));
        let regular = is_last || begin == before.saturating_mul(part.length);
        match (size, self.agreed) {
            (Some(size), Some(agreed)) if size != agreed => {
                let claim = Claim { size, votes };
                (placed.evicted, placed.refused_in_error) =
                    self.overturn(segment, claim, agreed)?;
            }
            (None, Some(agreed)) if end > agreed => {
                return Err(Conflict::Size { given: end, agreed });
            }
            _ => {}
        }
        placed.evicted.extend(self.make_room(segment, begin..end, regular)?);
        if let Some(size) = size.filter(|_| self.agreed != size) {
            placed.evicted.extend(self.evict(|at, span| at + span.length > size));
            self.agreed = Some(size);
        }
        self.insert(begin, Span { length: part.length, segment, votes, name, total, regular });
        placed.evicted.extend(self.evict_misfits(segment));
        Ok(placed)
    }

    /// Refuses a copy whose name or number of parts differs from that of nearly all others, which may
    /// be of another file.
    fn compare(
        &mut self,
        segment: u32,
        name: Said,
        total: Said,
        part: &Part,
    ) -> Result<(), Conflict> {
        if self.names.is_suspicious(segment, name, self.subject) {
            self.names.on_refused(segment, name);
            return Err(Conflict::Name);
        }
        if self.totals.is_suspicious(segment, total, Said::default()) {
            self.totals.on_refused(segment, total);
            return Err(Conflict::Total { given: part.total.unwrap_or(0) });
        }
        Ok(())
    }

    /// Parts may have been placed before it was clear that their name or number of parts differs. The
    /// one that was just placed stays: evicted, it would be fetched again and placed again.
    fn evict_misfits(&mut self, just_placed: u32) -> Vec<u32> {
        let name = self.names.to_be_kept(self.subject);
        let total = self.totals.to_be_kept(Said::default());
        if name.is_none() && total.is_none() {
            return Vec::new();
        }
        let differs = |said: Said, kept: Option<Said>| {
            said != Said::default() && kept.is_some_and(|kept| kept != said)
        };
        self.evict(|_, span| {
            span.segment != just_placed && (differs(span.name, name) || differs(span.total, total))
        })
    }

    /// Places a copy that every server has no better one of, if it lies in its regular place and over
    /// nothing else. That place is told by any of `numbers`, the first of which the NZB lists. What it
    /// claims of the file is ignored; the last part says where the file ends.
    pub(crate) fn accept(
        &mut self,
        segment: u32,
        numbers: [Option<u32>; 2],
        is_last: bool,
        part: &Part,
    ) -> Result<Placed, Conflict> {
        let begin = part.begin.filter(|_| self.unplaced.is_empty()).ok_or(Conflict::Unplaced)?;
        let end = begin.saturating_add(part.length);
        let length = if is_last { self.regular_length() } else { Some(part.length) };
        let is_place_of = |number: u32| {
            match u64::from(number.saturating_sub(1)) {
                0 => begin == 0, // whatever the length of the others is
                before => length.and_then(|length| before.checked_mul(length)) == Some(begin),
            }
        };
        let is_in_place = numbers.into_iter().flatten().any(is_place_of);
        // One that lies where another is listed makes room for that.
        let regular = numbers[0].is_some_and(is_place_of);
        let in_the_way = self.overlapping(segment, &(begin..end)).next().is_some();
        if !is_in_place || in_the_way || part.length == 0 {
            return Err(Conflict::Overlap { begin, end });
        }
        if end > self.bound {
            return Err(Conflict::Unbelievable { given: end, bound: self.bound });
        }
        if let Some(agreed) = self.agreed.filter(|&agreed| !is_last && end > agreed) {
            return Err(Conflict::Size { given: end, agreed });
        }
        if is_last {
            self.accepted_end = Some((segment, end));
        }
        let (name, total) = (Said::default(), Said::default());
        self.insert(begin, Span { length: part.length, segment, votes: 0, name, total, regular });
        Ok(Placed::at(begin))
    }

    /// The length of all parts but the last, by one that lies in its regular place.
    fn regular_length(&self) -> Option<u64> {
        let regular = self.placed.iter().find(|(begin, span)| span.regular && **begin > 0);
        regular.or(self.placed.first_key_value()).map(|(_, span)| span.length)
    }

    fn insert(&mut self, begin: u64, span: Span) {
        let segment = span.segment;
        self.dissent.remove(&segment);
        self.votes += span.votes;
        self.names.on_placed(segment, span.name);
        self.totals.on_placed(segment, span.total);
        self.placed.insert(begin, span);
        self.others.remove(&segment);
        self.awaited.remove(&segment);
    }

    /// The place of a part that does not say where it belongs: a slot of its own.
    pub(crate) fn place_in_slot(
        &mut self,
        segment: u32,
        slot: u64,
        part: &Part,
    ) -> Result<Placed, Conflict> {
        if part.length > slot {
            return Err(Conflict::Unbelievable { given: part.length, bound: slot });
        }
        let offset = u64::from(segment) * slot;
        let mut placed = Placed::at(offset);
        if !self.placed.is_empty() {
            placed.refused_in_error = self.outvote(segment, self.placed.len())?;
            placed.evicted = self.evict(|_, _| true);
            self.others.extend(&placed.evicted);
            self.agreed = None;
            self.dissent.clear();
        }
        self.unplaced.insert(segment, part.length);
        self.others.remove(&segment);
        self.awaited.remove(&segment);
        Ok(placed)
    }

    /// The part was placed and could not be written.
    pub(crate) fn displace(&mut self, segment: u32) {
        self.evict(|_, span| span.segment == segment);
        self.unplaced.remove(&segment);
    }

    /// Whether the part was refused for what it says of the file, in which it may yet be right.
    pub(crate) fn is_disputed(&self, segment: u32) -> bool {
        self.dissent.contains_key(&segment) || self.others.contains(&segment)
    }

    /// Whether a damaged copy may lie at its place without harming what is known to be good.
    pub(crate) fn leaves_room_for(&self, segment: u32, part: &Part) -> Option<u64> {
        let range = self.claim(part).ok()?;
        let size = part.file_size.unwrap_or(range.end);
        let fits = self.unplaced.is_empty()
            && self.agreed.is_none_or(|agreed| size <= agreed)
            && part.file_size.is_none_or(|size| self.agreed.is_none_or(|agreed| size == agreed))
            && part.length > 0
            && self.overlapping(segment, &range).next().is_none();
        fits.then_some(range.start)
    }

    /// The size, once two parts agree on it or one part is the whole file.
    pub(crate) fn certain_size(&self) -> Option<u64> {
        let size = self.agreed?;
        let first = self.placed.first_key_value();
        let alone = first.is_some_and(|(&begin, span)| begin == 0 && span.length == size);
        (self.votes >= 2 || alone).then_some(size)
    }

    /// How the parts make up the file, if they leave no gap. `segments` is their number.
    pub(crate) fn layout(&self, segments: u32, slot: u64) -> Option<Layout> {
        if self.agreed.is_none() && self.unplaced.len() == segments as usize {
            let piece = |(&segment, &length)| Piece { offset: u64::from(segment) * slot, length };
            return Some(Layout::Pieces(self.unplaced.iter().map(piece).collect()));
        }
        let size = self.accepted_end.map(|(_, end)| end).or(self.agreed)?;
        let mut reached = 0;
        for (&begin, span) in &self.placed {
            if begin != reached {
                return None;
            }
            reached += span.length;
        }
        (reached == size).then_some(Layout::InPlace { size })
    }

    /// Where the part says it belongs, if that is within reason.
    fn claim(&self, part: &Part) -> Result<Range<u64>, Conflict> {
        let begin = part.begin.ok_or(Conflict::Unplaced)?;
        let end = begin.saturating_add(part.length);
        let size = part.file_size.unwrap_or(end).max(end);
        if size > self.bound {
            return Err(Conflict::Unbelievable { given: size, bound: self.bound });
        }
        Ok(begin..end)
    }

    /// Parts say where they belong or they do not, and most are believed. Gives who was refused
    /// before for being of the other kind.
    fn outvote(&mut self, segment: u32, against: usize) -> Result<Vec<u32>, Conflict> {
        self.others.insert(segment);
        self.awaited.remove(&segment);
        if self.others.len() <= against + self.awaited.len() {
            return Err(Conflict::Unplaced);
        }
        let refused_in_error = std::mem::take(&mut self.others);
        self.others = std::mem::replace(&mut self.awaited, refused_in_error);
        self.awaited.remove(&segment);
        Ok(self.awaited.iter().copied().collect())
    }

    /// The first article to come may be the liar: once more parts disagree with it than agree, they
    /// are believed instead. No claim is forgotten by that, nor for another copy's of the same
    /// part, which may be the lie. So whatever is believed has more votes than all that was before it,
    /// and overturning has an end; for each time all is fetched again.
    fn overturn(
        &mut self,
        segment: u32,
        claim: Claim,
        agreed: u64,
    ) -> Result<(Vec<u32>, Vec<u32>), Conflict> {
        let size = claim.size;
        remember(self.dissent.entry(segment).or_default(), claim);
        let votes = |size| self.claims(size).map(|(_, votes)| votes).sum::<u32>();
        if votes(size) <= self.votes + votes(agreed) {
            return Err(Conflict::Size { given: size, agreed });
        }
        let refused_in_error = self.claims(size).map(|(voter, _)| voter);
        let refused_in_error = refused_in_error.filter(|&voter| voter != segment).collect();
        for span in self.placed.values().filter(|span| span.votes > 0) {
            let overturned = Claim { size: agreed, votes: span.votes };
            remember(self.dissent.entry(span.segment).or_default(), overturned);
        }
        // Parts without a claim may lie anywhere by now, and are requested again with the others.
        Ok((self.evict(|_, _| true), refused_in_error))
    }

    /// The segments that were refused for this size of the file, and their votes.
    fn claims(&self, size: u64) -> impl Iterator<Item = (u32, u32)> {
        let claim = move |claims: &Vec<Claim>| claims.iter().copied().find(|it| it.size == size);
        self.dissent.iter().filter_map(move |(&voter, claims)| Some((voter, claim(claims)?.votes)))
    }

    /// Nearly all posts have parts of one length, so a part that lies at a multiple of its own, by
    /// its number, is believed rather than one that does not. Gives who had to go.
    fn make_room(
        &mut self,
        segment: u32,
        range: Range<u64>,
        regular: bool,
    ) -> Result<Vec<u32>, Conflict> {
        let in_the_way: Vec<Span> = self.overlapping(segment, &range).copied().collect();
        if in_the_way.iter().any(|span| span.regular || !regular) {
            return Err(Conflict::Overlap { begin: range.start, end: range.end });
        }
        if in_the_way.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.evict(|_, span| in_the_way.iter().any(|other| other.segment == span.segment)))
    }

    fn overlapping(&self, segment: u32, range: &Range<u64>) -> impl Iterator<Item = &Span> {
        let begin = range.start;
        let others = self.placed.range(..range.end).rev();
        let others = others.take_while(move |(at, span)| *at + span.length > begin);
        others.map(|(_, span)| span).filter(move |span| span.segment != segment)
    }

    fn evict(&mut self, goes: impl Fn(u64, &Span) -> bool) -> Vec<u32> {
        let mut evicted = Vec::new();
        let (votes, names, totals) = (&mut self.votes, &mut self.names, &mut self.totals);
        self.placed.retain(|&at, span| {
            if goes(at, span) {
                evicted.push(span.segment);
                *votes -= span.votes;
                names.on_evicted(span.name);
                totals.on_evicted(span.total);
                return false;
            }
            true
        });
        self.accepted_end.take_if(|(segment, _)| evicted.contains(segment));
        evicted
    }
}

fn remember(claims: &mut Vec<Claim>, claim: Claim) {
    let known = claims.iter().any(|known| known.size == claim.size);
    if !known && claims.len() < MOST_CLAIMS {
        claims.push(claim);
    }
}

/// As many sizes are remembered of one segment: two copies of each of sixteen servers.
const MOST_CLAIMS: usize = 32;

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
        Placements::new(1000, None)
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
    fn a_whole_file_is_no_part_of_another_one() {
        let mut file = placements();
        let alone = file.place(1, 2, true, &part(0, 70, 70));
        assert_eq!(alone, Err(Conflict::Overlap { begin: 0, end: 70 }));
        file.place(0, 1, false, &part(0, 70, 140)).unwrap();
        assert!(!file.is_disputed(1));
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
        assert_eq!(
            placed,
            Placed { evicted: vec![0], refused_in_error: vec![1], ..Placed::at(200) }
        );
        file.place(1, 2, false, &part(100, 100, 300)).unwrap();
        file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        assert_eq!(file.layout(3, 0), Some(Layout::InPlace { size: 300 }));
    }

    #[test]
    fn a_lie_about_a_part_does_not_unsay_what_a_good_copy_of_it_said() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 100, 900)).unwrap();
        assert!(file.place(1, 2, false, &part(100, 100, 300)).is_err());
        assert!(file.place(1, 2, false, &part(100, 100, 800)).is_err());
        let placed = file.place(2, 3, true, &part(200, 100, 300)).unwrap();
        assert_eq!((placed.evicted, placed.refused_in_error), (vec![0], vec![1]));
    }

    #[test]
    fn a_part_that_was_placed_has_said_its_last_word() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 100, 400)).unwrap();
        for (segment, begin) in [(1, 100), (2, 200)] {
            assert!(file.place(segment, segment + 1, false, &part(begin, 100, 900)).is_err());
            file.place(segment, segment + 1, false, &part(begin, 100, 400)).unwrap();
        }
        let liar = file.place(3, 4, false, &part(300, 100, 900));
        assert_eq!(liar, Err(Conflict::Size { given: 900, agreed: 400 }), "alone with it");
    }

    #[test]
    fn of_one_part_only_so_many_claims_are_remembered() {
        let mut file = placements();
        file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        for size in 400..500 {
            assert!(file.place(1, 2, false, &part(100, 100, size)).is_err());
        }
        assert_eq!(file.dissent[&1].len(), MOST_CLAIMS);
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
    fn a_part_that_names_no_size_has_no_say_in_it() {
        let silent = |begin, length| Part { file_size: None, ..part(begin, length, 0) };
        let mut file = placements();
        file.place(1, 2, false, &silent(100, 100)).unwrap();
        file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        assert_eq!(file.certain_size(), None, "one claim is none");
        file.place(2, 3, true, &part(200, 100, 300)).unwrap();
        assert_eq!(file.layout(3, 0), Some(Layout::InPlace { size: 300 }));
        assert!(file.place(3, 4, false, &silent(300, 1)).is_err(), "it lies behind the end");

        let mut file = placements();
        (0..3).for_each(|n| {
            let listed = n as u32 + 1;
            file.place(n as u32, listed, n == 2, &silent(n * 100, 100)).unwrap();
        });
        assert_eq!(file.layout(3, 0), Some(Layout::InPlace { size: 300 }), "the last part tells");
    }

    #[test]
    fn a_size_that_comes_late_evicts_what_lies_behind_it() {
        let mut file = placements();
        file.place(1, 2, false, &Part { file_size: None, ..part(900, 100, 0) }).unwrap();
        let placed = file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        assert_eq!(placed.evicted, [1]);
    }

    #[test]
    fn of_two_parts_over_each_other_the_regular_one_stays() {
        let mut file = placements();
        file.place(1, 2, false, &part(0, 100, 300)).unwrap();
        let placed = file.place(0, 1, false, &part(0, 100, 300)).unwrap();
        assert_eq!((placed.offset, placed.evicted), (0, vec![1]));
        assert!(file.place(1, 2, false, &part(0, 100, 300)).is_err(), "not the other way round");
        assert!(file.place(1, 2, false, &part(50, 100, 300)).is_err());
        file.place(1, 2, false, &part(200, 100, 300)).unwrap();
        assert_eq!(file.place(2, 3, true, &part(200, 100, 300)).unwrap().evicted, [1]);
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
    fn whether_parts_say_where_they_belong_is_what_most_of_them_do() {
        let silent = |length| Part { length, ..Part::default() };
        let mut file = placements();
        file.place_in_slot(1, 500, &silent(100)).unwrap();
        assert_eq!(file.place(0, 1, false, &part(0, 100, 300)), Err(Conflict::Unplaced));
        let placed = file.place(2, 3, true, &part(200, 100, 300)).unwrap();
        assert_eq!((placed.evicted, placed.refused_in_error), (vec![1], vec![0]));
        assert_eq!(file.place_in_slot(1, 500, &silent(100)), Err(Conflict::Unplaced));

        let mut file = placements();
        file.place(1, 2, false, &part(100, 100, 300)).unwrap();
        assert_eq!(file.place_in_slot(0, 500, &silent(100)), Err(Conflict::Unplaced));
        let placed = file.place_in_slot(2, 500, &silent(100)).unwrap();
        assert_eq!((placed.evicted, placed.refused_in_error), (vec![1], vec![0]));
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
