//! [`ZoneTable`]: the offsets of a time zone from UTC, read from TZif bytes in place.
//!
//! Zone files (RFC 8536) are compiled in as bytes. A table of pointers made of them, as in other libraries,
//! would take ten times the memory before any zone is used.

use crate::calendar::zone_rule::Rule;

/// A zone file: when clocks were set, and by what rule they are set since.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ZoneTable {
    times: &'static [u8],   // of eight bytes each
    kinds: &'static [u8],   // which offset holds from each of them on
    offsets: &'static [u8], // of six bytes each, of which four count
    rule: Option<Rule>,
}

impl ZoneTable {
    pub(crate) const UTC: Self =
        Self { times: &[], kinds: &[], offsets: &[0; OFFSET_SIZE], rule: None };

    /// The second, larger table of the file and the rule behind it.
    pub(crate) fn read(file: &'static [u8]) -> Option<Self> {
        let old = Head::read(file)?;
        let rest = file.get(HEAD_SIZE + old.size(4)..)?;
        let head = Head::read(rest)?;
        let table = rest.get(HEAD_SIZE..)?;
        let (times, table) = table.split_at_checked(head.times * TIME_SIZE)?;
        let (kinds, table) = table.split_at_checked(head.times)?;
        let (offsets, _) = table.split_at_checked(head.kinds * OFFSET_SIZE)?;
        let footer = rest.get(HEAD_SIZE + head.size(TIME_SIZE)..)?;
        let footer = std::str::from_utf8(footer).ok()?.trim_matches('\n');
        let rule = if footer.is_empty() { None } else { Some(Rule::parse(footer)?) };
        let known = offsets.len() / OFFSET_SIZE;
        let is_sound = known > 0 && kinds.iter().all(|kind| usize::from(*kind) < known);
        is_sound.then_some(Self { times, kinds, offsets, rule })
    }

    /// Seconds east of UTC at that moment.
    pub(crate) fn offset(&self, utc: i64) -> i32 {
        let (times, _) = self.times.as_chunks::<TIME_SIZE>();
        let passed = times.partition_point(|time| i64::from_be_bytes(*time) <= utc);
        match self.rule {
            Some(rule) if passed == times.len() => rule.offset(utc),
            _ => self.kind(passed.checked_sub(1).map_or(0, |last| self.kinds[last])),
        }
    }

    fn kind(&self, kind: u8) -> i32 {
        let (offsets, _) = self.offsets.as_chunks::<OFFSET_SIZE>();
        let [a, b, c, d, ..] = offsets[usize::from(kind)];
        i32::from_be_bytes([a, b, c, d])
    }
}

/// How many there are of what in one table.
struct Head {
    utc_marks: usize,
    standard_marks: usize,
    leaps: usize,
    times: usize,
    kinds: usize,
    letters: usize,
}

impl Head {
    fn read(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..HEAD_SIZE)?;
        let (numbers, _) = head[20..].as_chunks::<4>();
        let number = |place: usize| {
            let number = usize::try_from(u32::from_be_bytes(numbers[place])).ok();
            number.filter(|number| *number <= MOST_ENTRIES)
        };
        let head = Self {
            utc_marks: number(0)?,
            standard_marks: number(1)?,
            leaps: number(2)?,
            times: number(3)?,
            kinds: number(4)?,
            letters: number(5)?,
        };
        bytes.starts_with(b"TZif").then_some(head)
    }

    /// Of what follows, where a time has so many bytes.
    fn size(&self, time: usize) -> usize {
        let times = self.times * (time + 1) + self.leaps * (time + 4);
        times + self.kinds * OFFSET_SIZE + self.letters + self.utc_marks + self.standard_marks
    }
}

/// Of one kind in one table; keeps sizes from overflowing where a file is damaged.
const MOST_ENTRIES: usize = 1 << 16;
const HEAD_SIZE: usize = 44;
const TIME_SIZE: usize = 8;
const OFFSET_SIZE: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of clocks that were set all at once, with this in both tables and so much of what
    /// nobody reads: marks of two kinds, leap seconds and letters.
    fn file(kinds: &[u8], offsets: usize, unread: [usize; 4], rule: &str) -> &'static [u8] {
        let [utc_marks, standard_marks, leaps, letters] = unread;
        let numbers = [utc_marks, standard_marks, leaps, kinds.len(), offsets, letters];
        let mut file = Vec::new();
        for time_size in [4, TIME_SIZE] {
            let table = file.len();
            file.extend(b"TZif2");
            file.resize(table + HEAD_SIZE - 6 * 4, 0);
            file.extend(numbers.into_iter().flat_map(|number| (number as u32).to_be_bytes()));
            file.resize(file.len() + kinds.len() * time_size, 0);
            file.extend(kinds);
            file.resize(file.len() + offsets * OFFSET_SIZE, 0);
            let leaps = leaps * (time_size + 4);
            file.resize(file.len() + letters + leaps + standard_marks + utc_marks, b'?');
        }
        file.extend(format!("\n{rule}\n").bytes());
        file.leak()
    }

    #[test]
    fn the_rule_stands_behind_all_that_nobody_reads() {
        let table = ZoneTable::read(file(&[0, 1, 0], 2, [1, 3, 5, 7], "CET-1"));
        let rule = table.map(|table| table.rule);
        assert_eq!(rule, Some(Rule::parse("CET-1")));
    }

    #[test]
    fn a_file_that_names_offsets_it_does_not_have_is_refused() {
        for (kinds, offsets, is_sound) in
            [(&[0, 1][..], 2, true), (&[0, 2], 2, false), (&[], 1, true), (&[], 0, false)]
        {
            let table = ZoneTable::read(file(kinds, offsets, [0; 4], ""));
            assert_eq!(table.is_some(), is_sound, "{kinds:?}");
        }
    }
}
