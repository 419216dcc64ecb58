//! `[history]`

use super::{Fallback, Key, Kind, Table};

pub(crate) static HISTORY: Table = Table {
    name: "history",
    repeated: false,
    about: "How long ended jobs are remembered, with their NZBs for another try.",
    keys: &[
        Key {
            name: "keep",
            kind: Kind::Days { most: 25_000 },
            default: Fallback::Is("30"),
            about: "How many days a job stays in the history. Then it is removed, and what was downloaded of a \
                    job that failed is deleted with it, which the log says. Nothing is removed by age in the first \
                    hour after a start or after the clock jumped by more than a day, nor while the clock is before \
                    the newest date on record.",
        },
        Key {
            name: "most",
            kind: Kind::Number { least: 1, most: 1_000_000 },
            default: Fallback::Is("5000"),
            about: "The most jobs in it; the oldest go first, with what was downloaded of those that failed. This \
                    does not depend on the clock.",
        },
    ],
};
