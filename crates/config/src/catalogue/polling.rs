//! `[polling]`

use std::time::Duration;

use super::{DAY, Fallback, Key, Kind, SECOND, Table};

pub(crate) static POLLING: Table = Table {
    name: "polling",
    repeated: false,
    about: "The scheduler of everything that is done again and again (docs/polling.md). `bergamot \
            targets` lists what it has to do.",
    keys: &[
        Key {
            name: "active_interval",
            kind: Kind::Time { least: MOMENT, most: DAY },
            default: Fallback::Is("\"200 ms\""),
            about: "How often the progress of the current job is told to those who watch.",
        },
        Key {
            name: "idle_interval",
            kind: Kind::Time { least: MOMENT, most: DAY },
            default: Fallback::Is("\"5 s\""),
            about: "How often that of other jobs.",
        },
        Key {
            name: "burst",
            kind: Kind::Number { least: 1, most: 1000 },
            default: Fallback::Is("2"),
            about: "The most targets that are taken at once; more follow while there is room.",
        },
        Key {
            name: "jitter",
            kind: Kind::Time { least: Duration::ZERO, most: SECOND },
            default: Fallback::Is("\"150 ms\""),
            about: "The most that is added to an interval by chance; never more than a tenth of it.",
        },
        Key {
            name: "concurrency",
            kind: Kind::Number { least: 1, most: 100 },
            default: Fallback::Is("4"),
            about: "How many targets of one kind run at once; feeds have feeds.concurrency, and jobs \
                    are probed one at a time.",
        },
        Key {
            name: "active_check",
            kind: Kind::Time { least: SECOND, most: DAY },
            default: Fallback::Is("\"5 s\""),
            about: "How often it is checked, while there are jobs, that the current job still is.",
        },
    ],
};

/// More often than anybody can read it.
const MOMENT: Duration = Duration::from_millis(50);
