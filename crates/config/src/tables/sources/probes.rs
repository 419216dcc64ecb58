//! Whether jobs that wait are looked after.

use std::time::Duration;

use crate::catalogue::{DAY, Fallback, Key, SECOND, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static PROBES: Table = Table {
    name: "probes",
    repeated: false,
    about: "Jobs that wait are looked after: a few of their articles are asked about, without fetching \
            them, so that a post that is gone is known before its turn. Servers with a quota are \
            never asked.",
    keys: &[
        Key {
            name: "enabled",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether that is done at all.",
        },
        Key {
            name: "interval",
            kind: Kind::Time { least: SECOND, most: DAY },
            default: Fallback::Is("\"15 min\""),
            about: "How often for each of the next jobs.",
        },
    ],
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Probes {
    pub enabled: bool,
    pub interval: Duration,
}

impl Probes {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        Self { enabled: fields.flag("enabled"), interval: fields.time("interval") }
    }
}
