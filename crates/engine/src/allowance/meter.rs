//! [`Meter`]: one quota with what is used, in flight and on record; [`QuotaRecords`]: the records of all
//! quotas. Pure.

use std::collections::BTreeMap;

use bergamot_limit::{Quota, QuotaSettings, Record, Standing, Usage};
use bergamot_types::{ByteCount, ServerId, UnixTime};

/// What is used of each quota there is, as it is kept.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct QuotaRecords {
    /// Of all servers together, if that is counted.
    pub all: Option<Record>,
    pub servers: BTreeMap<ServerId, Record>,
}

impl QuotaRecords {
    pub(crate) fn of(&self, scope: Scope) -> Option<&Record> {
        match scope {
            None => self.all.as_ref(),
            Some(server) => self.servers.get(&server),
        }
    }
}

/// What a quota is of: one server, or all together.
pub(crate) type Scope = Option<ServerId>;

impl FromIterator<(Scope, Record)> for QuotaRecords {
    fn from_iter<I: IntoIterator<Item = (Scope, Record)>>(records: I) -> Self {
        let mut all = Self::default();
        for (scope, record) in records {
            match scope {
                None => all.all = Some(record),
                Some(server) => _ = all.servers.insert(server, record),
            }
        }
        all
    }
}

/// A quota, and how it stood at the last look.
#[derive(Debug)]
pub(crate) struct Meter {
    quota: Quota,
    standing: Standing,
    headroom: u64,
    under_way: u64,
    starved: bool, // an article waits for more headroom, and a new record would bring it
}

impl Meter {
    /// None for settings that limit nothing.
    pub(crate) fn new(settings: &QuotaSettings, used: Option<&Record>) -> Option<Self> {
        limits(settings).then(|| Self {
            quota: Quota::restore(settings.clone(), used.cloned().unwrap_or_default()),
            standing: Standing::Open { left: None },
            headroom: 0,
            under_way: 0,
            starved: false,
        })
    }

    /// With other settings; without, if those limit nothing, and then what is used. What is under way
    /// counts as used then, for it is not counted when it comes.
    pub(crate) fn changed(
        mut self,
        date: UnixTime,
        settings: &QuotaSettings,
    ) -> Result<Self, Record> {
        if !limits(settings) {
            self.book(date, self.under_way);
            return Err(self.close());
        }
        self.quota.set_settings(settings.clone());
        Ok(self)
    }

    pub(crate) fn book(&mut self, date: UnixTime, bytes: u64) {
        self.quota.add(date, ByteCount(bytes));
    }

    /// Whether it was reached or renewed since the last look, or is reached for another time.
    pub(crate) fn look(&mut self, date: UnixTime, under_way: u64) -> bool {
        let before = self.reached();
        self.standing = self.quota.standing(date);
        self.headroom = self.quota.headroom(date).0;
        self.under_way = under_way;
        self.starved = false;
        self.reached() != before
    }

    pub(crate) fn usage(&mut self, date: UnixTime) -> Vec<Usage> {
        self.quota.usage(date)
    }

    /// Reached, and until when, if there is an end to it.
    pub(crate) fn reached(&self) -> Option<Option<UnixTime>> {
        match self.standing {
            Standing::Open { .. } => None,
            Standing::Reached { until } => Some(until),
        }
    }

    /// Whether an article may be asked for. What is under way counts as used, so a quota is exceeded
    /// by one article at most; and none is asked for that no record on disk has been charged with.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.has_some_left() && self.is_charged_with(bytes)
    }

    /// The same of one that is to be asked for now.
    pub(crate) fn fits(&mut self, bytes: u64) -> bool {
        let has_room = self.has_room(bytes);
        self.starved |= !has_room && self.has_some_left() && self.would_be_charged_with(bytes);
        has_room
    }

    fn has_some_left(&self) -> bool {
        match self.standing {
            Standing::Open { left } => left.is_none_or(|left| self.under_way < left.0),
            Standing::Reached { .. } => false,
        }
    }

    /// By a record that is made now; while much is under way, none is made for every article.
    fn would_be_charged_with(&self, bytes: u64) -> bool {
        let brings_some = self.headroom <= Quota::RESERVE.0 - WORTH_A_RECORD;
        let is_enough = self.under_way.saturating_add(bytes) <= Quota::RESERVE.0;
        self.is_alone() || brings_some && is_enough
    }

    /// One larger than any charge may come, alone.
    fn is_charged_with(&self, bytes: u64) -> bool {
        self.under_way.saturating_add(bytes) <= self.headroom
            || (self.is_alone() && self.headroom >= Quota::RESERVE.0)
    }

    fn is_alone(&self) -> bool {
        self.under_way == 0
    }

    pub(crate) fn on_asked(&mut self, bytes: u64) {
        self.under_way = self.under_way.saturating_add(bytes);
    }

    /// `calm`: no record is on its way that could bring headroom.
    pub(crate) fn wants_checkpoint(&mut self, date: UnixTime, calm: bool) -> bool {
        let starved = calm && self.starved;
        let is_used = self.reached().is_none() || self.under_way > 0;
        is_used && (starved || self.quota.wants_checkpoint(date))
    }

    /// The record to be kept, and the number by which to tell what became of it.
    pub(crate) fn checkpoint(&mut self, date: UnixTime) -> (u64, Record) {
        let checkpoint = self.quota.checkpoint(date);
        (checkpoint.number, checkpoint.record)
    }

    pub(crate) fn on_persisted(&mut self, number: u64, durable: bool) {
        if durable {
            self.quota.handle_recorded(number);
        } else {
            self.quota.handle_lost(number);
        }
    }

    pub(crate) fn close(self) -> Record {
        self.quota.close()
    }
}

fn limits(settings: &QuotaSettings) -> bool {
    settings.allowances.iter().any(|allowance| allowance.most.0 > 0)
}

/// Each record is waited for by a disk.
const WORTH_A_RECORD: u64 = Quota::RESERVE.0 / 4;

#[cfg(test)]
mod tests {
    use bergamot_limit::{Allowance, Period};

    use super::*;

    const NOW: UnixTime = UnixTime(20_000 * 86_400);
    const MIB: u64 = 1 << 20;

    /// A record is on the disk, and so much of what it is charged with has come since.
    fn meter(came: u64) -> Meter {
        let allowance = Allowance { period: Period::Ever, most: ByteCount(1 << 40) };
        let settings = QuotaSettings { allowances: vec![allowance], ..QuotaSettings::default() };
        let mut meter = Meter::new(&settings, None).expect("it limits something");
        let (number, _) = meter.checkpoint(NOW);
        meter.on_persisted(number, true);
        meter.book(NOW, came);
        meter
    }

    #[test]
    fn a_record_is_made_for_what_it_would_make_room_for() {
        for (came, under_way, wanted, starved) in [
            (4 * MIB, 11 * MIB, MIB, false),     // there is room
            (4 * MIB, 11 * MIB, 2 * MIB, true),  // for a new record would leave 16 MiB
            (4 * MIB, 11 * MIB, 6 * MIB, false), // which are not enough
            (3 * MIB, 12 * MIB, 2 * MIB, false), // and it would bring little
            (MIB, 0, 20 * MIB, true),            // but who is alone waits for nothing else
        ] {
            let mut meter = meter(came);
            meter.look(NOW, under_way);
            let charged = came + under_way + wanted <= Quota::RESERVE.0;
            assert_eq!(meter.fits(wanted), charged, "{came} {under_way} {wanted}");
            assert_eq!(meter.wants_checkpoint(NOW, true), starved, "{came} {under_way} {wanted}");
            assert!(!meter.wants_checkpoint(NOW, false), "one is on its way");
        }
    }
}
