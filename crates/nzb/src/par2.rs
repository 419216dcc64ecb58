//! Recognises PAR2 files by their names. Pure.

/// What a file is to a PAR2 set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Par2 {
    /// `name.par2`: describes the set and repairs nothing.
    Index,
    /// `name.vol03+04.par2`: holds recovery blocks 3 to 6.
    Volume { first: u32, blocks: u32 },
}

impl Par2 {
    pub fn of_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let stem = lower.strip_suffix(".par2")?;
        Some(volume(stem).unwrap_or(Self::Index))
    }
}

fn volume(stem: &str) -> Option<Par2> {
    let (_, counts) = stem.rsplit_once(".vol")?;
    let (first, blocks) = counts.split_once('+')?;
    Some(Par2::Volume { first: first.parse().ok()?, blocks: blocks.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_say_how_many_blocks_they_hold() {
        let volume = |first, blocks| Some(Par2::Volume { first, blocks });
        for (name, expected) in [
            ("a.par2", Some(Par2::Index)),
            ("A.PAR2", Some(Par2::Index)),
            ("a.vol03+04.par2", volume(3, 4)),
            ("a.VOL000+100.PAR2", volume(0, 100)),
            ("a.vol1.par2", Some(Par2::Index)),
            ("a.vol1+99999999999.par2", Some(Par2::Index)),
            ("a.vol03+04.rar", None),
            ("par2", None),
        ] {
            assert_eq!(Par2::of_name(name), expected, "{name}");
        }
    }
}
