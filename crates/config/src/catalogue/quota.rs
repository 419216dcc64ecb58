//! `[quota]`

use super::{Fallback, Key, Kind, MOST_QUOTA, TIME_OF_DAY, Table};

pub(crate) static QUOTA: Table = Table {
    name: "quota",
    repeated: false,
    about: "How much all servers together may give. When a quota is reached, downloads pause until it \
            begins anew; several hold together.",
    keys: &[
        Key {
            name: "daily",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much in a day; 0 is no limit.",
        },
        Key {
            name: "weekly",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much in a week; 0 is no limit.",
        },
        Key {
            name: "monthly",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much in a month; 0 is no limit.",
        },
        Key {
            name: "reset_time",
            kind: Kind::Text(TIME_OF_DAY),
            default: Fallback::Is("\"00:00\""),
            about: "When a day of a quota begins, here and for the quotas of servers.",
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
