//! `[probes]`: [`Probes`], whether and how often waiting jobs are probed.

use std::time::Duration;

use crate::catalogue::{DAY, Fallback, Key, SECOND, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static PROBES: Table = Table {
    name: "probes",
    repeated: false,
    about: "Probes of waiting jobs: a sample of their articles is checked with STAT, without downloading \
            them, so that a post that was taken down is detected before its turn. Servers with a quota are \
            never asked.",
    keys: &[
        Key {
            name: "enabled",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether waiting jobs are probed.",
        },
        Key {
            name: "interval",
            kind: Kind::Time { least: SECOND, most: DAY },
            default: Fallback::Is("\"15 min\""),
            about: "The time between two probes of each of the next jobs.",
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
