//! Draws outages behind the greeting: servers that can be reached and deliver nothing for a while.
//!
//! Drawn by a chance of their own, so that days without one are as they were before there were any.

use std::time::Duration;

use bergamot_types::SplitMix;

use crate::sim::day::{Day, Outage};
use crate::sim::kind::Kind;
use crate::sim::seed::Seed;

/// On one day in eight; half of the outages last from the start until the day heals.
pub(crate) fn draw(day: &mut Day) {
    let Seed::Articles(number) = day.seed else { return };
    let chance = &mut SplitMix::seeded(number ^ SALT);
    if chance.up_to(7) > 0 {
        return;
    }
    let chosen = chance.up_to(day.servers.len() as u64 - 1) as usize;
    for place in 0..day.servers.len() {
        if place == chosen || chance.up_to(2) == 0 {
            let outage = outage(day.heals_at, chance);
            day.heals_at = day.heals_at.max(outage.to);
            day.servers[place].outages.push(outage);
        }
    }
}

/// Bodies without an end bring more than was reserved for them; many of them side by side would exceed
/// what a quota has on record, which is measured for one at a time.
pub(crate) fn spare_quotas(day: &mut Day) {
    if day.calendar.quota.allowances.is_empty() && day.calendar.blocks.is_empty() {
        return;
    }
    let outages = day.servers.iter_mut().flat_map(|server| &mut server.outages);
    let endless = outages.filter(|outage| outage.answer == Kind::Endless);
    endless.for_each(|outage| outage.answer = Kind::Reset);
}

fn outage(heals_at: Duration, chance: &mut SplitMix) -> Outage {
    let answer = ANSWERS[chance.up_to(ANSWERS.len() as u64 - 1) as usize];
    let knows_missing = chance.up_to(1) == 0;
    if chance.up_to(1) == 0 {
        let kind = Kind::NeverDelivers;
        return Outage { kind, answer, knows_missing, from: Duration::ZERO, to: heals_at };
    }
    let from = Duration::from_millis(chance.up_to(15_000));
    // From a second to an hour, with short ones as likely as long ones.
    let longest = 1000 << chance.up_to(12);
    let to = from + Duration::from_millis(1000 + chance.up_to(longest).min(HOUR));
    Outage { kind: Kind::OutOfOrder, answer, knows_missing, from, to }
}

/// How a server fails that is out of order: 503, 400 and a close, 502, a reset, an endless body.
const ANSWERS: [Kind; 6] = [
    Kind::Endless,
    Kind::Goodbye,
    Kind::LoginForgotten,
    Kind::RefusedAnswer,
    Kind::RefusedMidway,
    Kind::Reset,
];

const HOUR: u64 = 3_600_000;

/// Sets the chance of outages apart from that of the rest of the day.
const SALT: u64 = 0x6f75_7461_6765_7321;
