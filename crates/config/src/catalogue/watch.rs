//! `[watch]`

use super::{Fallback, HOUR, Key, Kind, SECOND, Table};

pub(crate) static WATCH: Table = Table {
    name: "watch",
    repeated: false,
    about: "How the watch folder is looked after.",
    keys: &[
        Key {
            name: "scan_interval",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"5 s\""),
            about: "The pause between two looks into the folder, where the kernel does not tell of new files. It grows to a minute while none come.",
        },
        Key {
            name: "inotify",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Let the kernel tell of new files as well; network shares do not, so they are \
                    still looked for.",
        },
        Key {
            name: "duplicates",
            kind: Kind::Choice(&["refuse", "accept"]),
            default: Fallback::Is("\"refuse\""),
            about: "Whether an NZB that was queued before is refused, or downloaded again.",
        },
    ],
};
