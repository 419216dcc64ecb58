//! `[history]`: [`History`], how long ended jobs are kept.

use crate::catalogue::{Fallback, Key, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static HISTORY: Table = Table {
    name: "history",
    repeated: false,
    about: "How long ended jobs are kept, with their NZBs so that they can be retried.",
    keys: &[
        Key {
            name: "keep",
            kind: Kind::Days { most: 25_000 },
            default: Fallback::Is("30"),
            about: "How many days a job stays in the history. Then it is removed, together with the files of \
                    a failed job, and the log says so. Nothing is removed by age in the first hour after a \
                    start or after the clock jumped by more than a day, nor while the clock is before the \
                    newest date on record.",
        },
        Key {
            name: "most",
            kind: Kind::Number { least: 1, most: 1_000_000 },
            default: Fallback::Is("5000"),
            about: "The most jobs in the history; the oldest are removed first, together with the files of \
                    failed jobs. This does not depend on the clock.",
        },
    ],
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct History {
    pub keep_days: u32,
    pub most: usize,
}

impl History {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        let keep_days = fields.number("keep");
        if keep_days == 0 {
            fields.unfit("keep", "it is 0, and programs look for what ended in the history");
        }
        Self { keep_days, most: fields.number("most") }
    }
}
