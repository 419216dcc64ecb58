//! [`Schedule`]: the timetable, and the rule of it that was in force at the last event. Pure.

use bergamot_limit::{Effect, Timetable};
use bergamot_types::UnixTime;

/// The timetable, and what it said at the last look.
#[derive(Debug)]
pub(crate) struct Schedule {
    timetable: Timetable,
    looked: Option<UnixTime>,
    effect: Option<Effect>,
    until: Option<UnixTime>,
}

impl Schedule {
    pub(crate) fn new(timetable: Timetable) -> Self {
        Self { timetable, looked: None, effect: None, until: None }
    }

    /// To be looked at before it holds.
    pub(crate) fn change(&mut self, timetable: Timetable) {
        self.timetable = timetable;
        self.looked = None;
    }

    /// Whether another rule holds than at the last look. Cheap as long as the clock runs on within
    /// what was read off the timetable, so it can be asked with every event.
    pub(crate) fn look(&mut self, date: UnixTime) -> bool {
        let runs_on = self.looked.replace(date).is_some_and(|last| last <= date);
        if runs_on && self.until.is_none_or(|until| date < until) {
            return false;
        }
        let effect = self.timetable.active_at(date);
        self.until = self.timetable.next_change_after(date);
        std::mem::replace(&mut self.effect, effect) != effect
    }

    pub(crate) fn effect(&self) -> Option<Effect> {
        self.effect
    }

    /// When that changes, if ever.
    pub(crate) fn until(&self) -> Option<UnixTime> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use bergamot_limit::{Rule, Weekdays};

    use super::*;

    fn at(hour: i64, second: i64) -> UnixTime {
        UnixTime(20_000 * 86_400 + hour * 3600 + second)
    }

    #[test]
    fn a_rule_holds_from_its_first_second_to_its_last_and_again_when_the_clock_is_set_back() {
        let [from, to] = ["10:00", "14:00"].map(|time| time.parse().expect("a time"));
        let rule = Rule { days: Weekdays::DAILY, from, to, effect: Effect::Pause };
        let mut schedule = Schedule::new(Timetable::new(Default::default(), vec![rule]));
        for (date, changes, effect) in [
            (at(9, 0), false, None),
            (at(10, -1), false, None),
            (at(10, 0), true, Some(Effect::Pause)),
            (at(14, -1), false, Some(Effect::Pause)),
            (at(14, 0), true, None),
            (at(13, 0), true, Some(Effect::Pause)),
            (at(14, 0), true, None),
        ] {
            assert_eq!((schedule.look(date), schedule.effect()), (changes, effect), "{date:?}");
        }
    }
}
