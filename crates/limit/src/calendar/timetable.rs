//! [`Timetable`]: which rate or pause holds at which time of the week.

use bergamot_types::{ByteRate, UnixTime};
use chrono::{Datelike, Days, NaiveDate};

use crate::calendar::time_of_day::TimeOfDay;
use crate::calendar::weekdays::Weekdays;
use crate::calendar::zone::Zone;

/// Rules by weekday and time, in one zone.
///
/// It is a function from a time to the rule that applies, not a list of events: after a sleep, a restart or a
/// jump of the clock the answer is right, with nothing to catch up on and nothing done twice.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Timetable {
    zone: Zone,
    rules: Vec<Rule>,
}

/// From a time on each of some days up to another, on the next day if that is not later. Equal times
/// are a whole day.
///
/// A time that clocks are put forward over is the first minute after the gap, so a rule that lies
/// in the gap as a whole does not hold that day. A time that clocks show twice is the first of the
/// two: a rule begins and ends once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Days on which it begins.
    pub days: Weekdays,
    pub from: TimeOfDay,
    pub to: TimeOfDay,
    pub effect: Effect,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Instead of the ordinary rate; 0 is no limit.
    Limit(ByteRate),
    Pause,
}

impl Timetable {
    /// Where rules overlap the later in the list holds: first the general, then exceptions.
    pub fn new(zone: Zone, rules: Vec<Rule>) -> Self {
        Self { zone, rules }
    }

    /// `None` when no rule holds and the ordinary settings do.
    pub fn active_at(&self, at: UnixTime) -> Option<Effect> {
        let today = self.zone.local(at).date();
        let holds = |rule: &&Rule| {
            let dates = dates(today, LOOK_BACK, 1);
            dates.filter_map(|date| self.span(rule, date)).any(|span| span.contains(at))
        };
        self.rules.iter().rev().find(holds).map(|rule| rule.effect)
    }

    /// When the answer will next be another one; `None` if it always stays the same.
    pub fn next_change_after(&self, at: UnixTime) -> Option<UnixTime> {
        let today = self.zone.local(at).date();
        let mut spans = Vec::new();
        for rule in self.rules.iter().rev() {
            let of_rule = dates(today, LOOK_BACK, LOOK_AHEAD);
            let of_rule = of_rule.filter_map(|date| self.span(rule, date));
            spans.extend(of_rule.map(|span| (span, rule.effect)));
        }
        let active =
            |at| spans.iter().find(|(span, _)| span.contains(at)).map(|(_, effect)| effect);
        let edges = spans.iter().flat_map(|(span, _)| [span.start, span.end]);
        // Past the last of those dates the spans that would join on are not there.
        let last = today.checked_add_days(Days::new(LOOK_AHEAD)).unwrap_or(today);
        let horizon = self.zone.instant(last, TimeOfDay::MIDNIGHT);
        let seen = edges.filter(|&edge| edge > at && edge <= horizon);
        seen.filter(|&edge| active(edge) != active(at)).min()
    }

    /// The stretch of time for which the rule holds that begins on that date, if one does.
    fn span(&self, rule: &Rule, date: NaiveDate) -> Option<Span> {
        if !rule.days.contains(date.weekday()) {
            return None;
        }
        let last = if rule.to > rule.from { date } else { date.succ_opt()? };
        let start = self.zone.instant(date, rule.from);
        Some(Span { start, end: self.zone.instant(last, rule.to) })
    }
}

/// Without its end.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: UnixTime,
    end: UnixTime,
}

impl Span {
    fn contains(self, at: UnixTime) -> bool {
        (self.start..self.end).contains(&at)
    }
}

fn dates(today: NaiveDate, back: u64, ahead: u64) -> impl Iterator<Item = NaiveDate> {
    let first = today.checked_sub_days(Days::new(back)).unwrap_or(today);
    first.iter_days().take((back + ahead + 1) as usize)
}

/// Days: a rule lasts for one, and Samoa once left one out.
const LOOK_BACK: u64 = 3;
/// Days: a week, and another in case a gap swallowed the rule in the first.
const LOOK_AHEAD: u64 = 16;

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn rule(days: &str, from: &str, to: &str, effect: Effect) -> Rule {
        let [from, to] = [from, to].map(|time| time.parse().unwrap());
        Rule { days: days.parse().unwrap(), from, to, effect }
    }

    fn table(zone: &str, rules: &[Rule]) -> Timetable {
        Timetable::new(zone.parse().unwrap(), rules.to_vec())
    }

    fn at(text: &str) -> UnixTime {
        UnixTime(DateTime::parse_from_rfc3339(&format!("{text}:00Z")).unwrap().timestamp())
    }

    const SLOW: Effect = Effect::Limit(ByteRate(1_000_000));
    const FULL: Effect = Effect::Limit(ByteRate(0));

    #[test]
    fn a_week_with_exceptions() {
        let rules = [
            rule("mon-fri", "08:00", "18:00", SLOW),
            rule("wed", "12:00", "13:00", FULL),
            rule("fri", "22:00", "06:00", Effect::Pause),
        ];
        let table = table("Europe/Berlin", &rules);
        // Monday, 16 November 2026, an hour ahead of UTC.
        let mut now = at("2026-11-16T00:00");
        let mut changes = Vec::new();
        for _ in 0..14 {
            now = table.next_change_after(now).unwrap();
            let time = DateTime::from_timestamp(now.0, 0).unwrap().format("%a %R").to_string();
            changes.push((time, table.active_at(now)));
        }
        let expected = [
            ("Mon 07:00", Some(SLOW)),
            ("Mon 17:00", None),
            ("Tue 07:00", Some(SLOW)),
            ("Tue 17:00", None),
            ("Wed 07:00", Some(SLOW)),
            ("Wed 11:00", Some(FULL)),
            ("Wed 12:00", Some(SLOW)),
            ("Wed 17:00", None),
            ("Thu 07:00", Some(SLOW)),
            ("Thu 17:00", None),
            ("Fri 07:00", Some(SLOW)),
            ("Fri 17:00", None),
            ("Fri 21:00", Some(Effect::Pause)),
            ("Sat 05:00", None),
        ];
        assert_eq!(changes, expected.map(|(time, effect)| (time.to_owned(), effect)));
    }

    #[test]
    fn what_never_changes_has_no_next_change() {
        let now = at("2026-11-16T00:00");
        assert_eq!(table("UTC", &[]).next_change_after(now), None);
        let always = table("Europe/Berlin", &[rule("daily", "00:00", "00:00", SLOW)]);
        assert_eq!(always.next_change_after(now), None);
        for hours in 0..24 * 400 {
            assert_eq!(always.active_at(UnixTime(now.0 + hours * 3_600)), Some(SLOW));
        }
    }

    #[test]
    fn clocks_put_forward_and_back() {
        let night = table("Europe/Berlin", &[rule("daily", "02:30", "02:45", Effect::Pause)]);
        // Skipped as a whole: it does not hold that night, and the next change is a day later.
        let before = at("2026-03-28T12:00");
        assert_eq!(night.next_change_after(before), Some(at("2026-03-30T00:30")));
        // Shown twice: once only.
        let first = at("2026-10-25T00:30");
        assert_eq!(night.next_change_after(at("2026-10-24T12:00")), Some(first));
        assert_eq!(night.next_change_after(first), Some(at("2026-10-25T00:45")));
        assert_eq!(night.active_at(at("2026-10-25T01:35")), None);

        let edges = table("Europe/Berlin", &[rule("daily", "02:30", "05:00", Effect::Pause)]);
        assert_eq!(
            edges.next_change_after(before),
            Some(at("2026-03-29T01:00")),
            "the first minute"
        );
        let weekly = table("Europe/Berlin", &[rule("sun", "02:10", "02:40", Effect::Pause)]);
        assert_eq!(weekly.next_change_after(before), Some(at("2026-04-05T00:10")));
    }

    #[test]
    fn a_rule_that_began_at_midnight_holds_on_when_clocks_go_back_to_the_day_before() {
        // Newfoundland, a minute after midnight: clocks on the wall show 23:01 of the 28th again.
        let sunday = table("America/St_Johns", &[rule("sun", "00:00", "06:00", Effect::Pause)]);
        assert_eq!(sunday.active_at(at("2006-10-29T02:29")), None);
        for time in ["2006-10-29T02:30", "2006-10-29T02:31", "2006-10-29T03:29"] {
            assert_eq!(sunday.active_at(at(time)), Some(Effect::Pause), "{time}");
            assert_eq!(sunday.next_change_after(at(time)), Some(at("2006-10-29T09:30")), "{time}");
        }
    }

    #[test]
    fn a_rule_holds_from_its_first_second_up_to_its_last() {
        let morning = table("UTC", &[rule("daily", "08:00", "09:00", SLOW)]);
        let (from, to) = (at("2026-11-16T08:00"), at("2026-11-16T09:00"));
        let second = |at: UnixTime, offset| UnixTime(at.0 + offset);
        for (time, effect, next) in [
            (second(from, -1), None, from),
            (from, Some(SLOW), to),
            (second(to, -1), Some(SLOW), to),
            (to, None, at("2026-11-17T08:00")),
        ] {
            assert_eq!(morning.active_at(time), effect, "{time:?}");
            assert_eq!(morning.next_change_after(time), Some(next), "{time:?}");
        }
    }

    #[test]
    fn broken_clocks_are_no_panic() {
        let table = table("Pacific/Apia", &[rule("daily", "22:00", "06:00", SLOW)]);
        for seconds in [i64::MIN, 0, i64::MAX] {
            table.active_at(UnixTime(seconds));
            table.next_change_after(UnixTime(seconds));
        }
    }
}
