//! `[quota]` and the `quota_` keys of a server: [`Quota`] and [`ServerQuota`].

use bergamot_limit::{Allowance, Calendar, Period, QuotaSettings, TimeOfDay, Weekday, Zone};
use bergamot_types::ByteCount;

use crate::catalogue::{Fallback, Key, MOST_QUOTA, TIME_OF_DAY, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static QUOTA: Table = Table {
    name: "quota",
    repeated: false,
    about: "Limits on what is downloaded from all servers together. When one of them is reached, downloads \
            pause until its next period begins; several can be set at the same time.",
    keys: &[
        Key {
            name: "daily",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "Bytes per day; 0 is no limit.",
        },
        Key {
            name: "weekly",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "Bytes per week; 0 is no limit.",
        },
        Key {
            name: "monthly",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "Bytes per month; 0 is no limit.",
        },
        Key {
            name: "reset_time",
            kind: Kind::Text(TIME_OF_DAY),
            default: Fallback::Is("\"00:00\""),
            about: "The time at which a day of a quota begins, here and for the quotas of servers.",
        },
        Key {
            name: "reset_weekday",
            kind: Kind::Choice(&["mon", "tue", "wed", "thu", "fri", "sat", "sun"]),
            default: Fallback::Is("\"mon\""),
            about: "The day on which a week begins.",
        },
        Key {
            name: "reset_day",
            kind: Kind::Number { least: 1, most: 31 },
            default: Fallback::Is("1"),
            about: "The day on which a month begins; in a shorter month it is the last day.",
        },
    ],
};

/// Of all servers together; 0 is no limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quota {
    pub daily: ByteCount,
    pub weekly: ByteCount,
    pub monthly: ByteCount,
    pub reset_time: TimeOfDay,
    pub reset_weekday: Weekday,
    pub reset_day: u8,
}

/// Of one server; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ServerQuota {
    pub daily: ByteCount,
    pub monthly: ByteCount,
    /// Of a block account.
    pub total: ByteCount,
    /// Unless it is the one of all servers.
    pub reset_day: Option<u8>,
}

impl Quota {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        Self {
            daily: fields.size("daily"),
            weekly: fields.size("weekly"),
            monthly: fields.size("monthly"),
            reset_time: fields.parsed("reset_time").unwrap_or_default(),
            reset_weekday: fields.choice("reset_weekday", WEEKDAYS),
            reset_day: fields.number("reset_day"),
        }
    }

    pub(crate) fn settings(&self, zone: Zone) -> QuotaSettings {
        let allowances = [
            (Period::Day, self.daily),
            (Period::Week { first: self.reset_weekday }, self.weekly),
            (Period::Month { first: self.reset_day }, self.monthly),
        ];
        settings(self.calendar(zone), &allowances)
    }

    fn calendar(&self, zone: Zone) -> Calendar {
        Calendar { zone, reset: self.reset_time }
    }
}

impl ServerQuota {
    pub(crate) fn read(fields: &mut Fields<'_, '_>) -> Self {
        Self {
            daily: fields.size("quota_daily"),
            monthly: fields.size("quota_monthly"),
            total: fields.size("quota_total"),
            reset_day: fields.number_if_any("quota_reset_day"),
        }
    }

    /// `all` defines when days begin, and months unless the server has a day of its own.
    pub(crate) fn settings(&self, all: &Quota, zone: Zone) -> QuotaSettings {
        let first = self.reset_day.unwrap_or(all.reset_day);
        let allowances = [
            (Period::Day, self.daily),
            (Period::Month { first }, self.monthly),
            (Period::Ever, self.total),
        ];
        settings(all.calendar(zone), &allowances)
    }
}

fn settings(calendar: Calendar, allowances: &[(Period, ByteCount)]) -> QuotaSettings {
    let limited = allowances.iter().filter(|(_, most)| most.0 > 0);
    let allowances = limited.map(|&(period, most)| Allowance { period, most });
    QuotaSettings { calendar, allowances: allowances.collect() }
}

const WEEKDAYS: &[(&str, Weekday)] = &[
    ("mon", Weekday::Mon),
    ("tue", Weekday::Tue),
    ("wed", Weekday::Wed),
    ("thu", Weekday::Thu),
    ("fri", Weekday::Fri),
    ("sat", Weekday::Sat),
    ("sun", Weekday::Sun),
];

#[cfg(test)]
mod tests {
    use bergamot_types::ServerId;

    use super::*;
    use crate::trial::{config, environment, problems, read_with};

    const TEXT: &str = "
        [quota]
        daily = '5 GB'
        weekly = '20 GB'
        monthly = '50 GB'
        reset_time = '06:30'
        reset_weekday = 'sun'
        reset_day = 31
        [[server]]
        name = 'a'
        host = 'a.example'
        [[server]]
        name = 'b'
        host = 'b.example'
        quota_daily = '1 GB'
        quota_monthly = '10 GB'
        [[server]]
        name = 'c'
        host = 'c.example'
        quota_monthly = '10 GB'
        quota_reset_day = 15
        quota_total = '500 GB'
    ";

    fn gigabytes(count: u64) -> ByteCount {
        ByteCount(count * 1_000_000_000)
    }

    #[test]
    fn quotas_reach_the_engine() {
        let zone = environment(&[("TZ", "Europe/Berlin")]);
        let settings = read_with(TEXT, &zone).unwrap().engine_settings(0);
        let allowance = |(period, most)| Allowance { period, most: gigabytes(most) };
        let all = [
            (Period::Day, 5),
            (Period::Week { first: Weekday::Sun }, 20),
            (Period::Month { first: 31 }, 50),
        ];
        assert_eq!(settings.quota.allowances, all.map(allowance));
        let reset = "06:30".parse().unwrap();
        let calendar = Calendar { zone: "Europe/Berlin".parse().unwrap(), reset };
        assert_eq!(settings.quota.calendar, calendar);
        let ids: Vec<_> = settings.server_quotas.keys().copied().collect();
        assert_eq!(ids, [ServerId(2), ServerId(3)], "only those that have one");
        let b = [(Period::Day, 1), (Period::Month { first: 31 }, 10)];
        assert_eq!(settings.server_quotas[&ServerId(2)].allowances, b.map(allowance));
        let c = [(Period::Month { first: 15 }, 10), (Period::Ever, 500)];
        assert_eq!(settings.server_quotas[&ServerId(3)].allowances, c.map(allowance));
        assert!(settings.server_quotas.values().all(|quota| quota.calendar == calendar));
    }

    #[test]
    fn a_zone_that_nobody_knows_is_warned_of() {
        let told = |text: &str, zone: &str| {
            let config = read_with(text, &environment(&[("TZ", zone)])).unwrap();
            config.warnings.iter().any(|warning| warning.to_string().contains("TZ is"))
        };
        assert!(told("", "Europe/Berln"));
        assert!(!told("[download]\ntime_zone = 'UTC'", "Europe/Berln"));
        for fine in ["Europe/Berlin", "", ":/etc/localtime", "CET-1CEST,M3.5.0,M10.5.0/3"] {
            assert!(!told("", fine), "{fine}");
        }
    }

    #[test]
    fn the_file_knows_the_zone_better_than_the_environment() {
        let text = format!("[download]\ntime_zone = 'Asia/Kolkata'\n{TEXT}");
        let config = read_with(&text, &environment(&[("TZ", "Europe/Berlin")])).unwrap();
        assert_eq!(config.download.time_zone.to_string(), "Asia/Kolkata");
        assert_eq!(crate::trial::config("").download.time_zone, Zone::UTC);
    }

    #[test]
    fn what_is_no_quota_is_an_error() {
        let text = "
[download]
time_zone = \"Berlin\"
[quota]
daily = 5
monthly = \"5 PB\"
reset_time = \"24:00\"
reset_weekday = \"Monday\"
reset_day = 32
";
        assert_eq!(
            problems(text),
            [
                "line 3, column 13: download.time_zone: expected a time zone like \
                 \"Europe/Berlin\" or \"UTC\", but found \"Berlin\"",
                "line 5, column 9: quota.daily: expected a size with its unit, from \"0 B\" to \
                 \"1024 TiB\", found 5; write \"5 GB\"",
                "line 6, column 11: quota.monthly: expected a size with its unit, from \"0 B\" to \
                 \"1024 TiB\", found \"5 PB\"",
                "line 7, column 14: quota.reset_time: expected a time of day like \"06:30\", from \
                 \"00:00\" to \"23:59\", but found \"24:00\"",
                "line 8, column 17: quota.reset_weekday: expected \"mon\", \"tue\", \"wed\", \
                 \"thu\", \"fri\", \"sat\" or \"sun\", found \"Monday\"",
                "line 9, column 13: quota.reset_day: expected a whole number from 1 to 31, found 32",
            ]
        );
        assert_eq!(config("[quota]\ndaily = \"0 B\"").quota, config("").quota);
    }
}
