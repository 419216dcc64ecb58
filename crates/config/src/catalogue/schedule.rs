//! `[[schedule]]`

use super::{Fallback, Key, Kind, TIME_OF_DAY, Table};

pub(crate) static SCHEDULE: Table = Table {
    name: "schedule",
    repeated: true,
    about: "A time of the week with a rate of its own, or without downloads. Repeat the table for each \
            one; where they overlap the later one holds.",
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
            about: "When it begins, by clocks in download.time_zone.",
        },
        Key {
            name: "to",
            kind: Kind::Text(TIME_OF_DAY),
            default: Fallback::Required { example: "\"22:30\"" },
            about: "When it ends; on the next day, if that is not later than its begin.",
        },
        Key {
            name: "rate",
            kind: Kind::Size { least: 0, most: 1 << 40 },
            default: Fallback::Told { words: "none", example: "\"2 MB\"" },
            about: "How much all connections together may read in a second, instead of download.rate; \
                    0 B is no limit.",
        },
        Key {
            name: "pause",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Fetch nothing; articles that were asked for still come. It stands in place of a \
                    rate.",
        },
    ],
};
