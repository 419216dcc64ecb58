//! [`Quota`]: how many bytes may still be used in a period.

pub(crate) mod checkpoint;
pub(crate) mod ledger;

use bergamot_types::{ByteCount, UnixTime};

use crate::calendar::day_cache::DayCache;
use crate::calendar::window::{Calendar, Period, Window};
use crate::quota::checkpoint::{Checkpoint, Checkpoints};
use crate::quota::ledger::{Ledger, Record};

/// The bytes used, and the allowances they count against: one for all servers together, one for each server
/// with allowances of its own.
///
/// Windows are computed from the given time and the bytes booked on each day. So a new window begins even if
/// the machine was off or asleep at that moment, and new settings apply to what is already used.
#[derive(Debug)]
pub struct Quota {
    settings: QuotaSettings,
    day_cache: DayCache,
    ledger: Ledger,
    checkpoints: Checkpoints,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct QuotaSettings {
    pub calendar: Calendar,
    /// All of them hold.
    pub allowances: Vec<Allowance>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Allowance {
    pub period: Period,
    /// 0 is no limit.
    pub most: ByteCount,
}

/// Whether more may be fetched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// So much is left, if anything limits it.
    Open { left: Option<ByteCount> },
    /// Nothing until then; without a time, until the account is renewed or the settings change.
    Reached { until: Option<UnixTime> },
}

/// The state of one allowance, for display.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Usage {
    pub allowance: Allowance,
    pub used: ByteCount,
    pub window: Option<Window>,
}

impl Quota {
    /// What one checkpoint is charged in advance: the most headroom there ever is.
    pub const RESERVE: ByteCount = Checkpoints::RESERVE;

    pub fn new(settings: QuotaSettings) -> Self {
        Self::restore(settings, Record::default())
    }

    /// What a record was charged in advance counts as used.
    pub fn restore(settings: QuotaSettings, record: Record) -> Self {
        let (day_cache, ledger) = (DayCache::new(settings.calendar), Ledger::restore(record));
        Self { settings, day_cache, ledger, checkpoints: Checkpoints::default() }
    }

    /// Holds for what is already used, too. In another zone or with another time of reset, days
    /// before the change keep what they have.
    pub fn set_settings(&mut self, settings: QuotaSettings) {
        self.day_cache = DayCache::new(settings.calendar);
        self.settings = settings;
    }

    pub fn add(&mut self, now: UnixTime, bytes: ByteCount) {
        let day = self.ledger.observe(&mut self.day_cache, now);
        self.ledger.book(day, bytes.0);
        self.checkpoints.book(bytes.0);
    }

    /// Ask again at the time it names, and whenever the clock jumped.
    pub fn standing(&mut self, now: UnixTime) -> Standing {
        let mut left: Option<ByteCount> = None;
        let mut until: Option<Option<UnixTime>> = None;
        for usage in self.usage(now).into_iter().filter(|usage| usage.allowance.most.0 > 0) {
            let rest = ByteCount(usage.allowance.most.0.saturating_sub(usage.used.0));
            left = Some(left.map_or(rest, |left| left.min(rest)));
            if rest.0 == 0 {
                let end = usage.window.map(|window| window.end);
                // The last of them to end; one without an end outlasts all.
                until = Some(until.map_or(end, |until| Some(until?.max(end?))));
            }
        }
        until.map_or(Standing::Open { left }, |until| Standing::Reached { until })
    }

    pub fn usage(&mut self, now: UnixTime) -> Vec<Usage> {
        self.ledger.observe(&mut self.day_cache, now);
        let now = self.ledger.effective(&self.day_cache, now);
        let usage = |&allowance: &Allowance| {
            let window = self.day_cache.window(allowance.period, now);
            let used =
                window.map_or(self.ledger.used_ever(), |window| self.ledger.used_in(&window));
            Usage { allowance, used, window }
        };
        self.settings.allowances.iter().map(usage).collect()
    }

    /// The account was renewed: the total use is reset to 0.
    pub fn renew(&mut self) {
        self.ledger.renew();
        self.checkpoints.invalidate();
    }

    /// The record to be kept, charged in advance with [`Self::RESERVE`]. Once it is durable so much may
    /// be used, and after a sudden end the record claims no less than was used.
    pub fn checkpoint(&mut self, now: UnixTime) -> Checkpoint {
        let day = self.ledger.observe(&mut self.day_cache, now);
        self.ledger.book(day, 0); // a day that is charged has come, whatever the clock says next
        let mut charged = self.ledger.clone();
        charged.book(day, Checkpoints::RESERVE.0);
        self.checkpoints.issue(day, charged.record().clone())
    }

    pub fn handle_recorded(&mut self, number: u64) {
        self.checkpoints.on_recorded(number);
    }

    /// It could not be written.
    pub fn handle_lost(&mut self, number: u64) {
        self.checkpoints.on_lost(number);
    }

    /// What may be used before the next checkpoint is durable. No more than this may be under way.
    pub fn headroom(&mut self, now: UnixTime) -> ByteCount {
        if !self.is_limited() {
            return ByteCount(u64::MAX);
        }
        let day = self.ledger.observe(&mut self.day_cache, now);
        self.checkpoints.headroom(day)
    }

    /// Whether it is time for one; to be asked while there is something to fetch, so that an idle
    /// daemon writes nothing.
    pub fn wants_checkpoint(&mut self, now: UnixTime) -> bool {
        let day = self.ledger.observe(&mut self.day_cache, now);
        self.is_limited() && self.checkpoints.is_due(day)
    }

    /// The exact record, for an orderly end.
    pub fn close(self) -> Record {
        self.ledger.record().clone()
    }

    fn is_limited(&self) -> bool {
        self.settings.allowances.iter().any(|allowance| allowance.most.0 > 0)
    }
}
