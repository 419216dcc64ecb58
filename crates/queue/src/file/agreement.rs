//! [`Agreement`]: what the parts of one file claim of it, such as its name, and which claim differs.
//!
//! A server may send the article of a sibling file: same part number, same place, a right checksum,
//! and only the name in it tells. Names are therefore compared within a file. Obfuscated posts give each
//! part a name of its own, so a claim is suspicious only where nearly all other parts agree.

use std::collections::BTreeMap;

use bergamot_types::fnv32;

/// Counts the claims of one file's parts by their value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agreement {
    /// How many parts claim a value.
    counts: Vec<(Claim, u32)>,
    /// What copies claim that were refused for it, of parts that are not placed.
    refused: BTreeMap<u32, Claim>,
    /// Too many values to compare anything.
    is_inconsistent: bool,
}

/// A value as far as it has to be told from others; none where a part claims nothing.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Claim(u32);

impl Claim {
    pub(crate) fn of_text(text: Option<&str>) -> Self {
        text.map_or(Self::default(), |text| Self(fnv32(text.bytes()) | 1))
    }

    pub(crate) fn of_number(number: Option<u32>) -> Self {
        number.map_or(Self::default(), |number| Self::of_text(Some(&number.to_string())))
    }

    fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl Agreement {
    /// Whether a copy of `segment` differs from what nearly all others claim. `beside` counts as one
    /// more part: what the NZB says of the file.
    pub(crate) fn is_suspicious(&self, segment: u32, claim: Claim, beside: Claim) -> bool {
        let common = self.common(beside);
        let differs = !claim.is_none() && common.is_some_and(|(common, _)| common != claim);
        // Counted as it would be if the copy was placed: else a part could be placed here and found to
        // be one of the few right behind that.
        let new = u32::from(!self.refused.contains_key(&segment));
        differs && are_few(self.differing(beside) + new, self.all() + new)
    }

    /// The claim that all placed parts should have, if some have another one that is suspicious.
    pub(crate) fn to_be_kept(&self, beside: Claim) -> Option<Claim> {
        let (common, _) = self.common(beside)?;
        let differing = self.differing(beside);
        let refused = self.refused.values().filter(|claim| **claim != common).count() as u32;
        (differing > refused && are_few(differing, self.all())).then_some(common)
    }

    /// The part is placed.
    pub(crate) fn on_placed(&mut self, segment: u32, claim: Claim) {
        self.forget_refused(segment);
        self.count(claim);
    }

    /// The part was placed and no longer is.
    pub(crate) fn on_evicted(&mut self, claim: Claim) {
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| *known == claim) {
            *count -= 1;
        }
        self.counts.retain(|(_, count)| *count > 0);
    }

    /// A copy of the part was refused for its claim, which may yet turn out to be the common one.
    pub(crate) fn on_refused(&mut self, segment: u32, claim: Claim) {
        self.forget_refused(segment);
        self.count(claim);
        self.refused.insert(segment, claim);
    }

    fn forget_refused(&mut self, segment: u32) {
        if let Some(before) = self.refused.remove(&segment) {
            self.on_evicted(before);
        }
    }

    fn count(&mut self, claim: Claim) {
        if claim.is_none() || self.is_inconsistent {
            return;
        }
        match self.counts.iter().position(|(known, _)| *known == claim) {
            Some(place) => self.counts[place].1 += 1,
            None if self.counts.len() < MOST_VALUES => self.counts.push((claim, 1)),
            None => *self = Self { is_inconsistent: true, ..Self::default() },
        }
    }

    /// What most parts claim, and how many: at least two.
    fn common(&self, beside: Claim) -> Option<(Claim, u32)> {
        let weight = |(claim, count): &(Claim, u32)| (*claim, count + u32::from(*claim == beside));
        let common = self.counts.iter().map(weight).max_by_key(|(_, count)| *count)?;
        (common.1 >= 2).then_some(common)
    }

    fn differing(&self, beside: Claim) -> u32 {
        let common = self.common(beside).map(|(claim, _)| claim);
        let others = self.counts.iter().filter(|(claim, _)| Some(*claim) != common);
        others.map(|(_, count)| count).sum()
    }

    fn all(&self) -> u32 {
        self.counts.iter().map(|(_, count)| count).sum()
    }
}

fn are_few(differing: u32, all: u32) -> bool {
    differing <= (all / FEW).max(1)
}

/// A file whose parts claim more different values than these has none in common.
const MOST_VALUES: usize = 16;

/// One part in so many may differ, and one in any case; where more do, it is the way of the post.
const FEW: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str) -> Claim {
        Claim::of_text(Some(text))
    }

    fn agreement(placed: &[&str]) -> Agreement {
        let mut agreement = Agreement::default();
        (0..).zip(placed).for_each(|(segment, text)| agreement.on_placed(segment, claim(text)));
        agreement
    }

    #[test]
    fn one_that_differs_where_all_others_agree_is_suspicious() {
        let none = Claim::default();
        assert!(agreement(&["a", "a"]).is_suspicious(9, claim("b"), none));
        assert!(!agreement(&["a", "a"]).is_suspicious(9, claim("a"), none));
        assert!(!agreement(&["a", "a"]).is_suspicious(9, none, none), "it claims nothing");
        assert!(!agreement(&["a"]).is_suspicious(9, claim("b"), none), "one against one");
        assert!(agreement(&["a"]).is_suspicious(9, claim("b"), claim("a")), "the NZB says so too");
    }

    #[test]
    fn obfuscated_names_are_never_suspicious() {
        let mut agreement = Agreement::default();
        for segment in 0..200 {
            let name =
                claim(&format!("{:x}", u64::from(segment).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            assert!(!agreement.is_suspicious(segment, name, claim("subject")), "{segment}");
            agreement.on_placed(segment, name);
            assert_eq!(agreement.to_be_kept(claim("subject")), None);
        }
    }

    #[test]
    fn the_first_part_may_be_the_one_that_differs() {
        assert_eq!(agreement(&["b", "a"]).to_be_kept(Claim::default()), None);
        assert_eq!(agreement(&["b", "a", "a"]).to_be_kept(Claim::default()), Some(claim("a")));
        assert_eq!(agreement(&["a", "a", "a"]).to_be_kept(Claim::default()), None);
    }

    #[test]
    fn where_many_differ_it_is_the_way_of_the_post() {
        let parts = ["a", "a", "a", "b", "b"];
        assert!(!agreement(&parts).is_suspicious(9, claim("b"), Claim::default()));
        assert_eq!(agreement(&parts).to_be_kept(Claim::default()), None);
    }

    #[test]
    fn a_part_that_is_placed_is_not_one_of_the_few_by_being_placed() {
        for all in [16, 24, 32, 80] {
            for differing in 1..all / 4 {
                let mut agreement = Agreement::default();
                for segment in 0..all {
                    let name = claim(if segment >= all - differing { "b" } else { "a" });
                    match agreement.is_suspicious(segment, name, Claim::default()) {
                        true => agreement.on_refused(segment, name),
                        false => {
                            agreement.on_placed(segment, name);
                            let kept = agreement.to_be_kept(Claim::default());
                            assert!(kept.is_none_or(|kept| kept == name), "{differing} of {all}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_refused_counts_and_may_become_what_most_claim() {
        let mut agreement = agreement(&["b", "b"]);
        let refused = |agreement: &mut Agreement, segment| {
            let is_suspicious = agreement.is_suspicious(segment, claim("a"), Claim::default());
            if is_suspicious {
                agreement.on_refused(segment, claim("a"));
            } else {
                agreement.on_placed(segment, claim("a"));
            }
            is_suspicious
        };
        assert!(refused(&mut agreement, 2));
        assert!(refused(&mut agreement, 2), "another copy of the same part says nothing new");
        assert!(!refused(&mut agreement, 3));
        (4..40).for_each(|segment| _ = refused(&mut agreement, segment));
        assert_eq!(agreement.to_be_kept(Claim::default()), Some(claim("a")));
    }
}
