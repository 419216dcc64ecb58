//! `[watch]`: [`Watch`], how the watch folder is scanned.

use std::time::Duration;

use crate::catalogue::{Fallback, HOUR, Key, SECOND, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static WATCH: Table = Table {
    name: "watch",
    repeated: false,
    about: "How the watch folder is scanned.",
    keys: &[
        Key {
            name: "scan_interval",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"5 s\""),
            about: "The time between two scans of the folder, where inotify is not available. It grows to a \
                    minute while no files appear.",
        },
        Key {
            name: "inotify",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Also detect new files by inotify. Network shares do not report them, so the folder is \
                    still scanned.",
        },
        Key {
            name: "duplicates",
            kind: Kind::Choice(&["refuse", "accept"]),
            default: Fallback::Is("\"refuse\""),
            about: "Whether an NZB that was queued before is refused or downloaded again.",
        },
    ],
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Watch {
    pub scan_interval: Duration,
    pub inotify: bool,
    pub duplicates: Duplicates,
}

/// What becomes of an NZB that was queued before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Duplicates {
    Accept,
    Refuse,
}

impl Watch {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        Self {
            scan_interval: fields.time("scan_interval"),
            inotify: fields.flag("inotify"),
            duplicates: fields.choice(
                "duplicates",
                &[("refuse", Duplicates::Refuse), ("accept", Duplicates::Accept)],
            ),
        }
    }
}
