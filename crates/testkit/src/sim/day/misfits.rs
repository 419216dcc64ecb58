//! Draws servers whose articles have right checksums and do not go with the rest of their file: articles
//! of sibling files in place of others, and sizes that are wrong in all parts of a server.
//!
//! Drawn by a chance of their own, so that days without them are as they were before there were any.

use bergamot_queue::{Part, SegmentKey};
use bergamot_types::SplitMix;

use crate::sim::day::{Day, ServerModel};
use crate::sim::kind::Kind;
use crate::sim::seed::Seed;

/// What is wrong with the articles of one server, all day long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Misfits {
    /// So many articles of each file are those of a sibling, the same on each such server.
    pub siblings: u64,
    /// These have the right name, and another number of parts.
    pub total_off: bool,
    /// The size of files as all its articles claim it, in thousandths of the right one and bytes.
    pub size: Option<(u64, i64)>,
}

impl Misfits {
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self {
            Self { siblings: 1.., total_off: true, .. } => Some(Kind::TotalOff),
            Self { siblings: 1.., .. } => Some(Kind::SiblingSent),
            Self { size: Some(_), .. } => Some(Kind::SizeOff),
            _ => None,
        }
    }
}

/// On one day in eight. A server that is reliable has none.
pub(crate) fn draw(day: &mut Day) {
    let Seed::Articles(number) = day.seed else { return };
    let chance = &mut SplitMix::seeded(number ^ SALT);
    let most = day.servers.len() - usize::from(day.reliable);
    if chance.up_to(7) > 0 || most == 0 {
        return;
    }
    day.names = true;
    let are_siblings = chance.up_to(1) == 0;
    let (siblings, total_off) = siblings(number);
    let chosen = chance.up_to(most as u64 - 1) as usize;
    for place in 0..most {
        if place == chosen || chance.up_to(2) == 0 {
            day.servers[place].misfits = match are_siblings {
                true => Misfits { siblings, total_off, size: None },
                false => Misfits { size: Some(wrong_size(chance)), ..Misfits::default() },
            };
        }
    }
}

/// How many articles of each file are those of a sibling: mostly one, or more than can be told from a post
/// that has several names. Drawn apart, so that it changes nothing else of the day.
fn siblings(number: u64) -> (u64, bool) {
    let chance = &mut SplitMix::seeded(number ^ SIBLINGS_SALT);
    let count = [1, 1, 1, 2, 3, 5][chance.up_to(5) as usize];
    (count, chance.up_to(3) == 0)
}

fn wrong_size(chance: &mut SplitMix) -> (u64, i64) {
    match chance.up_to(2) {
        0 => (1000, 1 + chance.up_to(9) as i64),
        1 => (1000, -1 - chance.up_to(9) as i64),
        _ => (1100 + chance.up_to(8900), 0),
    }
}

/// Spoils a part as the server does.
pub(crate) fn spoil(server: &ServerModel, key: SegmentKey, part: &mut Part) {
    if let Some((thousandths, bytes)) = server.misfits.size {
        let wrong = |size: u64| (size * thousandths / 1000).saturating_add_signed(bytes);
        part.file_size = part.file_size.map(wrong);
    }
    let count = u64::from(part.total.unwrap_or(1));
    let first = (u64::from(key.job.0) * 7919 + u64::from(key.file) * 104_729) % count;
    let behind_first = (u64::from(key.segment) + count - first) % count;
    if behind_first < server.misfits.siblings {
        match server.misfits.total_off {
            true => part.total = part.total.map(|total| total + 1),
            false => part.name = Some(format!("sibling of {}", key.file).into()),
        }
    }
}

/// Sets the chance of misfits apart from that of the rest of the day.
const SALT: u64 = 0x6d69_7366_6974_7321;
const SIBLINGS_SALT: u64 = 0x7369_626c_696e_6773;
