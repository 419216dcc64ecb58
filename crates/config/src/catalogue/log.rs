//! `[log]`

use super::{Fallback, Key, Kind, Table};

pub(crate) static LOG: Table = Table {
    name: "log",
    repeated: false,
    about: "What is written down, and where.",
    keys: &[
        Key {
            name: "level",
            kind: Kind::Text(
                "\"off\", \"error\", \"warn\", \"info\", \"debug\" or \"trace\", or a list such \
                 as \"info,bergamot_net=debug\"",
            ),
            default: Fallback::Is("\"info\""),
            about: "How much is logged, for everything or for each part of the program.",
        },
        Key {
            name: "file",
            kind: Kind::Path("a path"),
            default: Fallback::Told { words: "standard error", example: "\"bergamot.log\"" },
            about: "The file for the log; a relative path starts at the directory of the configuration \
                    file.",
        },
        Key {
            name: "rotate_at",
            kind: Kind::Size { least: 64 << 10, most: 64 << 30 },
            default: Fallback::Is("\"10 MiB\""),
            about: "A log file of this size is put aside and a new one begun.",
        },
        Key {
            name: "keep",
            kind: Kind::Number { least: 0, most: 1000 },
            default: Fallback::Is("5"),
            about: "Log files kept beside the one being written.",
        },
    ],
};
