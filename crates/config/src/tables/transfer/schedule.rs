//! `[[schedule]]`: [`Schedule`], a time of the week with its own rate limit or a pause.

use bergamot_limit::{Effect, Rule, TimeOfDay, Weekdays};
use bergamot_types::ByteRate;

use crate::catalogue::{Fallback, Key, TIME_OF_DAY, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static SCHEDULE: Table = Table {
    name: "schedule",
    repeated: true,
    about: "A time of the week with its own rate limit, or without downloads. Repeat the table for each one; \
            where they overlap, the later table applies.",
    keys: &[
        Key {
            name: "days",
            kind: Kind::Text("days of the week like \"mon-fri\", \"sat, sun\" or \"daily\""),
            default: Fallback::Is("\"daily\""),
            about: "The days on which it begins.",
        },
        Key {
            name: "from",
            kind: Kind::Text(TIME_OF_DAY),
            default: Fallback::Required { example: "\"08:00\"" },
            about: "The time at which it begins, in download.time_zone.",
        },
        Key {
            name: "to",
            kind: Kind::Text(TIME_OF_DAY),
            default: Fallback::Required { example: "\"22:30\"" },
            about: "The time at which it ends; on the next day if that is not later than `from`.",
        },
        Key {
            name: "rate",
            kind: Kind::Size { least: 0, most: 1 << 40 },
            default: Fallback::Described { words: "none", example: "\"2 MB\"" },
            about: "Bytes per second that all connections together may read, instead of download.rate; 0 B \
                    is no limit.",
        },
        Key {
            name: "pause",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Pause downloads; articles that were requested already still arrive. It is used instead \
                    of `rate`.",
        },
    ],
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Schedule {
    pub days: Weekdays,
    pub from: TimeOfDay,
    pub to: TimeOfDay,
    pub effect: Effect,
}

impl Schedule {
    /// None if something is wrong with it, which is reported.
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Option<Self> {
        let (days, from, to) = (fields.parsed("days"), fields.parsed("from"), fields.parsed("to"));
        let effect = read_effect(&mut fields);
        Some(Self { days: days?, from: from?, to: to?, effect: effect? })
    }

    pub(crate) fn rule(&self) -> Rule {
        Rule { days: self.days, from: self.from, to: self.to, effect: self.effect }
    }
}

fn read_effect(fields: &mut Fields<'_, '_>) -> Option<Effect> {
    match (fields.size_if_any("rate"), fields.flag("pause")) {
        (Some(rate), false) => Some(Effect::Limit(ByteRate(rate.0))),
        (None, true) => Some(Effect::Pause),
        (Some(_), true) => {
            fields.unfit("rate", "it is to pause as well; leave one of them out");
            None
        }
        (None, false) => {
            fields.unfit("rate", "there is neither a rate nor pause = true");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use bergamot_limit::Timetable;

    use super::*;
    use crate::trial::{config, problems};

    #[test]
    fn schedules_reach_the_engine_in_their_order() {
        let text = "
            [download]
            time_zone = 'Europe/Berlin'
            [[schedule]]
            from = '08:00'
            to = '22:00'
            rate = '2 MB'
            [[schedule]]
            days = 'sat, sun'
            from = '22:00'
            to = '06:00'
            pause = true
        ";
        let rule = |days: &str, from: &str, to: &str, effect| Rule {
            days: days.parse().unwrap(),
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            effect,
        };
        let rules = vec![
            rule("daily", "08:00", "22:00", Effect::Limit(ByteRate(2_000_000))),
            rule("sat,sun", "22:00", "06:00", Effect::Pause),
        ];
        let timetable = Timetable::new("Europe/Berlin".parse().unwrap(), rules);
        assert_eq!(config(text).engine_settings(0).timetable, timetable);
    }

    #[test]
    fn what_is_no_schedule_is_an_error() {
        let text = "
[[schedule]]
days = \"workdays\"
from = \"8\"
rate = \"2 MB\"
pause = true
[[schedule]]
from = \"08:00\"
to = \"09:00\"
";
        let rate = "expected a size with its unit, from \"0 B\" to \"1 TiB\"";
        assert_eq!(
            problems(text),
            [
                "line 2, column 1: schedule.to: missing; expected a time of day like \"06:30\", \
                 from \"00:00\" to \"23:59\""
                    .to_owned(),
                "line 3, column 8: schedule.days: expected days of the week like \"mon-fri\", \
                 \"sat, sun\" or \"daily\", but found \"workdays\""
                    .to_owned(),
                "line 4, column 8: schedule.from: expected a time of day like \"06:30\", from \
                 \"00:00\" to \"23:59\", but found \"8\""
                    .to_owned(),
                format!(
                    "line 5, column 8: schedule.rate: {rate}, but it is to pause as well; leave \
                     one of them out"
                ),
                format!(
                    "line 7, column 1: schedule.rate: {rate}, but there is neither a rate nor \
                     pause = true"
                ),
            ]
        );
    }
}
