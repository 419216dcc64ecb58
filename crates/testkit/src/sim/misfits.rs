//! Draws servers whose articles have right checksums and do not go with the rest of their file: articles
//! of sibling files in place of others, and sizes that are wrong in all parts of a server.
//!
//! Drawn by a chance of their own, so that days without them are as they were before there were any.

use bergamot_queue::{Part, SegmentKey};
use bergamot_types::SplitMix;

use super::day::{Day, ServerModel};
use super::kind::Kind;
use super::seed::Seed;

/// What is wrong with the articles of one server, all day long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Misfits {
    /// One article of each file is that of a sibling.
    pub siblings: bool,
    /// The size of files as all its articles claim it, in thousandths of the right one and bytes.
    pub size: Option<(u64, i64)>,
}

impl Misfits {
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self {
            Self { siblings: true, .. } => Some(Kind::SiblingSent),
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
    let siblings = chance.up_to(1) == 0;
    let chosen = chance.up_to(most as u64 - 1) as usize;
    for place in 0..most {
        if place == chosen || chance.up_to(2) == 0 {
            day.servers[place].misfits = match siblings {
                true => Misfits { siblings, size: None },
                false => Misfits { siblings, size: Some(wrong_size(chance)) },
            };
        }
    }
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
    let swapped = (u64::from(key.job.0) * 7919 + u64::from(key.file) * 104_729) % count;
    if server.misfits.siblings && u64::from(key.segment) == swapped {
        part.name = Some(format!("sibling of {}", key.file).into());
    }
}

/// Sets the chance of misfits apart from that of the rest of the day.
const SALT: u64 = 0x6d69_7366_6974_7321;
