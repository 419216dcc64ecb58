//! [`File`]: one target file, the state of its segments and the places of its parts. Pure.

pub(crate) mod agreement;
pub(crate) mod alternates;
pub(crate) mod part;
pub(crate) mod placements;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use bergamot_types::{GroupName, MessageId, MessageIdList, UnixTime};

use crate::file::alternates::{Alternates, Choices, repeated_ids};
use crate::file::part::{Conflict, Part};
use crate::file::placements::{Layout, Placed, Placements};

/// A file as an NZB lists it. The three lists of its segments run in parallel.
#[derive(Clone, Debug, Default)]
pub struct NewFile {
    /// The name in the subject.
    pub name: Option<String>,
    pub posted: Option<UnixTime>,
    pub groups: Arc<[GroupName]>,
    pub ids: MessageIdList,
    pub numbers: Vec<u32>,
    /// Encoded sizes as the NZB claims them; 0 is unknown.
    pub bytes: Vec<u32>,
    /// Further ids of some segments.
    pub alternates: Alternates,
    /// Segments that the NZB should list and does not, or lists with an impossible id.
    pub unlisted: u32,
    /// A PAR2 volume that is only needed for repair.
    pub is_extra: bool,
    /// Part of a PAR2 set, be it a volume or the file that describes the set.
    pub is_par2: bool,
}

#[derive(Clone, Debug)]
pub struct File {
    listed: NewFile,
    state: FileState,
    segments: Vec<SegmentState>,
    open: u32,          // segments that are neither done nor lost
    fresh: u32,         // segments before this one have been handed out
    restored: Vec<u32>, // those behind it that need not be, last first
    paused: bool,
    placements: Placements,
    reserved: bool,
    name_inside: Option<NameVote>,
    choices: Choices,               // which of its ids each segment is asked for by
    repeated: OnceLock<Box<[u32]>>, // segments with an id that others have, found when one is lost
}

/// The name that most articles gave, found by letting each other name cost it a vote (Boyer and
/// Moore): obfuscators give every article another one, and none of them is worth keeping.
#[derive(Clone, Debug)]
struct NameVote {
    name: String,
    votes: u32,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileState {
    /// A PAR2 volume that is not needed so far.
    HeldBack,
    Wanted,
    /// All parts are written; the file is getting its name.
    Finishing,
    Whole {
        verified: bool,
    },
    /// Some of it is nowhere to be had.
    Holed,
    /// The user has dropped it.
    Dropped,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SegmentState {
    /// Not in the file yet: not asked for, under way, or to be asked for again.
    Wanted,
    Written {
        verified: bool,
    },
    Damaged,
    Missing,
}

impl File {
    pub(crate) fn new(listed: NewFile) -> Self {
        let count = listed.ids.len();
        assert!(count == listed.numbers.len() && count == listed.bytes.len(), "parallel lists");
        let state = if count == 0 {
            FileState::Holed
        } else if listed.is_extra {
            FileState::HeldBack
        } else {
            FileState::Wanted
        };
        Self {
            state,
            segments: vec![SegmentState::Wanted; count],
            open: count as u32,
            fresh: 0,
            restored: Vec::new(),
            paused: false,
            placements: Placements::new(largest_believable(&listed), listed.name.as_deref()),
            reserved: false,
            name_inside: None,
            choices: Choices::default(),
            repeated: OnceLock::new(),
            listed,
        }
    }

    pub fn state(&self) -> FileState {
        self.state
    }

    /// Nothing of a paused file is handed out.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Drops the file; whether it was wanted and not whole yet.
    pub(crate) fn give_away(&mut self) -> bool {
        let dropped =
            matches!(self.state, FileState::HeldBack | FileState::Holed | FileState::Wanted);
        if dropped {
            self.state = FileState::Dropped;
        }
        dropped
    }

    /// Whether anything of it was ever asked for, or lies on the disk.
    pub fn is_begun(&self) -> bool {
        self.fresh > 0 || !self.restored.is_empty()
    }

    pub fn listed(&self) -> &NewFile {
        &self.listed
    }

    pub(crate) fn is_par2(&self) -> bool {
        self.listed.is_par2 || self.listed.is_extra
    }

    /// All that the NZB claims of it.
    pub(crate) fn all_claimed_bytes(&self) -> u64 {
        self.listed.bytes.iter().map(|&bytes| u64::from(bytes)).sum()
    }

    /// The name that the articles themselves gave.
    pub fn name_inside(&self) -> Option<&str> {
        self.name_inside.as_ref().map(|vote| vote.name.as_str())
    }

    pub fn segment_count(&self) -> u32 {
        self.segments.len() as u32
    }

    pub fn segment(&self, segment: u32) -> SegmentState {
        self.segments[segment as usize]
    }

    /// Segments that are neither done nor lost.
    pub fn open_count(&self) -> u32 {
        self.open
    }

    pub fn is_written(&self, segment: u32) -> bool {
        matches!(self.segment(segment), SegmentState::Written { .. })
    }

    /// What the NZB claims of the segments that are still to be had.
    pub fn bytes_left(&self) -> u64 {
        if self.state != FileState::Wanted {
            return 0;
        }
        let wanted = self.segments.iter().zip(&self.listed.bytes);
        let wanted = wanted.filter(|(state, _)| **state == SegmentState::Wanted);
        wanted.map(|(_, &bytes)| u64::from(bytes)).sum()
    }

    /// The id that the segment is asked for by at present.
    pub fn message_id(&self, segment: u32) -> MessageId {
        self.id_of(segment, self.chosen_id(segment))
    }

    /// Which of its ids that is: 0 is the one that the NZB lists first.
    pub fn chosen_id(&self, segment: u32) -> u32 {
        self.choices.current(segment)
    }

    fn id_of(&self, segment: u32, choice: u32) -> MessageId {
        match choice.checked_sub(1) {
            None => self.listed.ids.id(segment as usize),
            Some(alternate) => self.listed.alternates.id(segment, alternate),
        }
    }

    /// Goes on to the next id of the segment, after the last with the first; whether there is one that
    /// was not tried.
    pub(crate) fn choose_next_id(&mut self, segment: u32) -> bool {
        self.choices.choose_next(segment, self.listed.alternates.count(segment))
    }

    pub(crate) fn choose_id(&mut self, segment: u32, choice: u32) {
        self.choices.choose(segment, choice);
    }

    /// The encoded size that the NZB claims; 0 is unknown.
    pub fn claimed_bytes(&self, segment: u32) -> u32 {
        self.listed.bytes[segment as usize]
    }

    /// The ids of articles that could not be had, or only damaged.
    pub fn lost_ids(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.lost().map(|segment| self.message_id(segment))
    }

    pub(crate) fn lost(&self) -> impl Iterator<Item = u32> + '_ {
        let lost = |state| matches!(state, SegmentState::Damaged | SegmentState::Missing);
        (0..self.segment_count()).filter(move |segment| lost(self.segment(*segment)))
    }

    pub(crate) fn release(&mut self) {
        if self.state == FileState::HeldBack {
            self.state = FileState::Wanted;
        }
    }

    fn is_offered(&self) -> bool {
        self.state == FileState::Wanted && !self.paused
    }

    /// Whether the segment is still to be had.
    pub(crate) fn wants(&self, segment: u32) -> bool {
        self.segment(segment) == SegmentState::Wanted && self.state != FileState::Dropped
    }

    pub(crate) fn fresh_count(&self) -> usize {
        if !self.is_offered() {
            return 0;
        }
        self.segments.len() - self.fresh as usize - self.restored.len()
    }

    /// The bytes that the NZB claims for them.
    pub(crate) fn fresh_bytes(&self) -> u64 {
        if !self.is_offered() {
            return 0;
        }
        let sum = |bytes: &mut dyn Iterator<Item = u32>| bytes.map(u64::from).sum::<u64>();
        let all = sum(&mut self.listed.bytes[self.fresh as usize..].iter().copied());
        all - sum(&mut self.restored.iter().map(|&segment| self.claimed_bytes(segment)))
    }

    /// The next segment that was never handed out.
    pub(crate) fn peek_fresh(&self) -> Option<u32> {
        (self.fresh_count() > 0).then_some(self.fresh)
    }

    /// The same, whether or not it is paused.
    pub(crate) fn first_unasked(&self) -> Option<u32> {
        let has_any = self.segments.len() > self.fresh as usize + self.restored.len();
        (self.state == FileState::Wanted && has_any).then_some(self.fresh)
    }

    pub(crate) fn take_fresh(&mut self) {
        self.fresh += 1;
        self.skip_restored();
    }

    fn skip_restored(&mut self) {
        while self.restored.pop_if(|segment| *segment == self.fresh).is_some() {
            self.fresh += 1;
        }
    }

    /// Believes what an earlier run had written of a segment, if it goes with the rest.
    pub(crate) fn restore(&mut self, segment: u32, part: &Part) -> Result<(), Conflict> {
        let placed = match self.place(segment, part) {
            // It had been accepted for want of a better one.
            Err(conflict) if conflict.is_suspicion() && !part.verified => {
                self.accept(segment, part)?
            }
            placed => placed?,
        };
        for again in placed.evicted {
            self.reopen(again);
        }
        self.resolve(segment, SegmentState::Written { verified: part.verified });
        Ok(())
    }

    /// All that was written is known now: the rest is to be handed out, or the file is whole. A PAR2
    /// volume that had been begun had been needed.
    pub(crate) fn settle_restored(&mut self) -> Option<Layout> {
        let written = |&segment: &u32| self.segment(segment) != SegmentState::Wanted;
        self.restored = (0..self.segment_count()).rev().filter(written).collect();
        if self.restored.is_empty() {
            return None;
        }
        self.skip_restored();
        self.release();
        self.settle()
    }

    /// Finds the place of a good copy.
    pub(crate) fn place(&mut self, segment: u32, part: &Part) -> Result<Placed, Conflict> {
        debug_assert!(self.segment(segment) == SegmentState::Wanted, "placed once");
        let all_listed = self.listed.unlisted == 0;
        let alone = all_listed && self.segment_count() == 1;
        let is_last = all_listed && segment + 1 == self.segment_count();
        let number = self.number(segment);
        let mut placed = match part.begin {
            None if alone => {
                let whole = Part { begin: Some(0), file_size: None, ..part.clone() };
                self.placements.place(segment, number, is_last, &whole)?
            }
            None => self.placements.place_in_slot(segment, self.slot(), part)?,
            Some(_) => self.placements.place(segment, number, is_last, part)?,
        };
        self.count_name(part.name.as_deref());
        // A refused segment that is still open is being asked for as it is.
        let is_wanted = |other: &u32| self.segment(*other) == SegmentState::Wanted;
        (placed.reset_tries, placed.refused_in_error) =
            placed.refused_in_error.into_iter().partition(is_wanted);
        placed.reset_tries.iter().for_each(|segment| self.choices.begin_anew(*segment));
        Ok(placed)
    }

    /// Finds the place of a copy that is suspicious, where no server has a better one.
    pub(crate) fn accept(&mut self, segment: u32, part: &Part) -> Result<Placed, Conflict> {
        debug_assert!(self.segment(segment) == SegmentState::Wanted, "placed once");
        let is_last = self.listed.unlisted == 0 && segment + 1 == self.segment_count();
        // Where an id is listed under two numbers, those behind it may be one too high: the number that
        // the copy has itself shows its place as well.
        let own = part.number.filter(|_| !self.repeated().is_empty());
        self.placements.accept(segment, [Some(self.number(segment)), own], is_last, part)
    }

    pub(crate) fn displace(&mut self, segment: u32) {
        self.placements.displace(segment);
    }

    pub(crate) fn room_for_damaged(&self, segment: u32, part: &Part) -> Option<u64> {
        self.placements.leaves_room_for(segment, part)
    }

    /// Whether the segment may turn out not to be lost: it may be right in what it says of the file, or
    /// its article may be that of another segment.
    pub(crate) fn is_disputed(&self, segment: u32) -> bool {
        self.placements.is_disputed(segment) || self.repeated().binary_search(&segment).is_ok()
    }

    fn repeated(&self) -> &[u32] {
        self.repeated.get_or_init(|| repeated_ids(&self.listed.ids, &self.listed.alternates))
    }

    /// Whether the lost segments are none of the file's: the NZB lists the article of each under another
    /// number as well, and there it was right.
    fn are_lost_superfluous(&self) -> bool {
        let right = self.repeated().iter().filter(|segment| self.is_written(**segment));
        let right: HashSet<_> = right.map(|segment| self.message_id(*segment)).collect();
        self.lost().all(|lost| {
            let mut ids = 0..=self.listed.alternates.count(lost);
            !right.is_empty() && ids.any(|choice| right.contains(&self.id_of(lost, choice)))
        })
    }

    /// Whether its room on disk was asked for.
    pub fn is_reserved(&self) -> bool {
        self.reserved
    }

    /// The size to reserve on disk, once, when it has become certain.
    pub(crate) fn size_to_reserve(&mut self) -> Option<u64> {
        let size = self.placements.certain_size().filter(|_| !self.reserved)?;
        self.reserved = true;
        Some(size)
    }

    pub(crate) fn resolve(&mut self, segment: u32, state: SegmentState) {
        let before = std::mem::replace(&mut self.segments[segment as usize], state);
        self.open -= u32::from(before == SegmentState::Wanted);
    }

    /// When nothing is open any more: how the parts make up the file, or `Holed`.
    pub(crate) fn settle(&mut self) -> Option<Layout> {
        if self.open > 0 || self.state != FileState::Wanted {
            return None;
        }
        let all = self.segments.iter().all(|state| matches!(state, SegmentState::Written { .. }));
        let layout = self.placements.layout(self.segment_count(), self.slot());
        // Where every byte lies in its place, a larger number of parts was wrong.
        let in_place = matches!(layout, Some(Layout::InPlace { .. }));
        let all = all || in_place && self.are_lost_superfluous();
        let layout = layout.filter(|_| all && (in_place || self.listed.unlisted == 0));
        self.state = if layout.is_some() { FileState::Finishing } else { FileState::Holed };
        layout
    }

    /// Nothing of what was written can be trusted: the file is wanted from its first byte.
    pub(crate) fn forget(&mut self) {
        let (listed, paused) = (std::mem::take(&mut self.listed), self.paused);
        *self = Self { paused, ..Self::new(listed) };
        self.release();
    }

    pub(crate) fn finish(&mut self, whole: bool) {
        // What is lost of a file that is whole was none of its parts.
        let verified = |state: &SegmentState| *state != SegmentState::Written { verified: false };
        let verified = self.segments.iter().all(verified);
        self.state = if whole { FileState::Whole { verified } } else { FileState::Holed };
    }

    /// How many segments are in the file, and their claimed bytes.
    pub(crate) fn written(&self) -> (u32, u64) {
        let written = self.segments.iter().zip(&self.listed.bytes);
        let written = written.filter(|(state, _)| matches!(state, SegmentState::Written { .. }));
        written.fold((0, 0), |(count, sum), (_, &bytes)| (count + 1, sum + u64::from(bytes)))
    }

    /// The file lay finished on disk when the daemon started.
    pub(crate) fn restore_whole(&mut self, verified: bool) {
        self.state = FileState::Whole { verified };
        self.open = 0;
        self.fresh = self.segment_count();
        self.segments.fill(SegmentState::Written { verified });
    }

    /// Wants the segment again; what it had been.
    pub(crate) fn reopen(&mut self, segment: u32) -> SegmentState {
        self.choices.begin_anew(segment);
        let before = std::mem::replace(&mut self.segments[segment as usize], SegmentState::Wanted);
        self.open += u32::from(before != SegmentState::Wanted);
        before
    }

    fn count_name(&mut self, name: Option<&str>) {
        let Some(name) = name else { return };
        match &mut self.name_inside {
            Some(vote) if vote.name == name => vote.votes += 1,
            Some(vote) if vote.votes > 0 => vote.votes -= 1,
            other => *other = Some(NameVote { name: name.to_owned(), votes: 1 }),
        }
    }

    fn number(&self, segment: u32) -> u32 {
        self.listed.numbers[segment as usize]
    }

    fn slot(&self) -> u64 {
        slot_size(self.listed.bytes.iter().copied())
    }
}

/// Segments that do not say where they belong lie so far apart in a file that is not finished, in the order
/// of the NZB. `listed` are their sizes there: decoding never makes an article longer, so no decoded
/// part outgrows the longest encoded one.
pub fn slot_size(listed: impl IntoIterator<Item = u32>) -> u64 {
    let longest = listed.into_iter().max().unwrap_or(0);
    u64::from(longest).max(SMALLEST_SLOT)
}

/// NZBs may be off by some; what is far beyond them is a lie about a file size.
fn largest_believable(listed: &NewFile) -> u64 {
    let article = |&bytes: &u32| if bytes == 0 { UNKNOWN_ARTICLE } else { u64::from(bytes) };
    let largest = listed.bytes.iter().map(article).max().unwrap_or(0);
    let unlisted = largest.saturating_mul(u64::from(listed.unlisted));
    let listed = listed.bytes.iter().map(article).fold(unlisted, u64::saturating_add);
    listed.saturating_mul(2).saturating_add(SMALLEST_SLOT)
}

/// Where the NZB gives no sizes: the largest article that is read at all.
const UNKNOWN_ARTICLE: u64 = 32 << 20;

/// The largest articles that are common on Usenet, so that a wrong size in the NZB does no harm.
const SMALLEST_SLOT: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn file(segments: u32) -> File {
        let mut ids = MessageIdList::new();
        (1..=segments).for_each(|n| ids.push(&format!("{n}@x")).unwrap());
        File::new(NewFile {
            ids,
            numbers: (1..=segments).collect(),
            bytes: vec![110; segments as usize],
            ..NewFile::default()
        })
    }

    fn part(segment: u32, name: &str) -> Part {
        Part {
            begin: Some(u64::from(segment) * 100),
            length: 100,
            file_size: Some(300),
            number: Some(segment + 1),
            total: None,
            verified: true,
            name: Some(name.into()),
            crc32: None,
        }
    }

    #[test]
    fn the_name_is_the_one_that_most_articles_give() {
        for names in [["x", "a", "a"], ["a", "x", "a"], ["a", "a", "x"]] {
            let mut file = file(3);
            for (segment, name) in (0..).zip(names) {
                let _ = file.place(segment, &part(segment, name));
            }
            assert_eq!(file.name_inside(), Some("a"), "{names:?}");
        }
    }

    #[test]
    fn a_part_whose_name_differs_is_refused_and_accepted_only_as_the_last_resort() {
        let mut file = file(3);
        (0..2).for_each(|segment| _ = file.place(segment, &part(segment, "a")).unwrap());
        let sibling = part(2, "b");
        assert_eq!(file.place(2, &sibling), Err(Conflict::Name));
        let accepted = file.accept(2, &Part { verified: false, ..sibling }).unwrap();
        assert_eq!((accepted.offset, accepted.evicted), (200, vec![]));
    }

    #[test]
    fn a_part_placed_before_the_names_of_others_were_known_is_asked_for_again() {
        let mut file = file(3);
        file.place(0, &part(0, "b")).unwrap();
        file.place(1, &part(1, "a")).unwrap();
        assert_eq!(file.place(2, &part(2, "a")).unwrap().evicted, [0]);
        assert_eq!(file.place(0, &part(0, "b")), Err(Conflict::Name));
        file.place(0, &part(0, "a")).unwrap();
    }

    #[test]
    fn where_parts_of_two_names_make_up_a_file_none_is_asked_for_again_for_ever() {
        for (segments, others) in [(16, 2), (24, 3), (32, 4), (40, 5)] {
            let mut file = file(segments);
            let size = Some(u64::from(segments) * 100);
            let of = |segment, name| Part { file_size: size, ..part(segment, name) };
            for segment in 0..segments - others {
                file.place(segment, &of(segment, "a")).unwrap();
            }
            for segment in segments - others..segments {
                if let Ok(placed) = file.place(segment, &of(segment, "b")) {
                    assert!(!placed.evicted.contains(&segment), "{segment} of {segments}");
                }
            }
        }
    }

    #[test]
    fn a_lone_part_that_is_wrong_about_the_size_is_accepted_as_the_last_resort() {
        let mut file = file(1);
        let wrong = Part { file_size: Some(101), ..part(0, "a") };
        assert!(file.place(0, &wrong).is_err());
        assert_eq!(file.accept(0, &Part { verified: false, ..wrong }).unwrap().offset, 0);
        file.resolve(0, SegmentState::Written { verified: false });
        assert_eq!(file.settle(), Some(Layout::InPlace { size: 100 }));
    }

    #[test]
    fn a_wrong_number_of_parts_is_suspicious() {
        let mut file = file(3);
        let with_total = |segment, total| Part { total: Some(total), ..part(segment, "a") };
        (0..2).for_each(|segment| _ = file.place(segment, &with_total(segment, 3)).unwrap());
        assert_eq!(file.place(2, &with_total(2, 9)), Err(Conflict::Total { given: 9 }));
        file.place(2, &with_total(2, 3)).unwrap();
    }

    #[test]
    fn the_last_part_ends_the_file_where_all_others_claim_another_size() {
        let mut file = file(3);
        let with_size = |segment, size| Part { file_size: Some(size), ..part(segment, "a") };
        (0..2).for_each(|segment| _ = file.place(segment, &with_size(segment, 301)).unwrap());
        assert!(file.place(2, &with_size(2, 301)).is_err(), "it ends at 300");
        assert!(file.place(2, &with_size(2, 300)).is_err(), "others say 301");
        file.accept(2, &Part { verified: false, ..with_size(2, 300) }).unwrap();
        for segment in 0..3 {
            file.resolve(segment, SegmentState::Written { verified: segment < 2 });
        }
        assert_eq!(file.settle(), Some(Layout::InPlace { size: 300 }));
    }

    #[test]
    fn nothing_is_accepted_outside_its_regular_place_or_over_another_part() {
        let mut file = file(3);
        file.place(0, &part(0, "a")).unwrap();
        let other = Part { number: Some(2), ..part(2, "a") };
        assert!(file.accept(1, &other).is_err(), "it lies where the next part belongs");
        let wide = Part { length: 150, ..part(1, "a") };
        assert!(file.accept(1, &wide).is_err());
        let misnumbered = Part { number: Some(3), ..part(1, "a") };
        assert_eq!(file.place(1, &misnumbered), Err(Conflict::Number { given: 3, listed: 2 }));
        assert_eq!(file.accept(1, &misnumbered).unwrap().offset, 100);
    }

    #[test]
    fn an_article_that_is_refused_names_nothing() {
        let mut file = file(3);
        assert!(file.place(0, &part(1, "of another part")).is_err());
        assert_eq!(file.name_inside(), None);
    }
}
