//! How the watch folder is looked after.

use std::time::Duration;

use crate::reading::fields::Fields;

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
