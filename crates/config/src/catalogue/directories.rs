//! `[directories]`

use super::{Fallback, Key, Kind, Table};

pub(crate) static DIRECTORIES: Table = Table {
    name: "directories",
    repeated: false,
    about: "Where things lie. A relative path starts at the directory of the configuration file.",
    keys: &[
        Key {
            name: "watch",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"watch\""),
            about: "NZB files put here are downloaded; the name of a subfolder is the category.",
        },
        Key {
            name: "incomplete",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"incomplete\""),
            about: "Downloads that are under way, and those that failed.",
        },
        Key {
            name: "complete",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"complete\""),
            about: "Finished downloads, each in a directory of its own.",
        },
        Key {
            name: "state",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"state\""),
            about: "The queue, which outlives a restart, which files of each job are finished, and what is \
                    used of quotas.",
        },
    ],
};
