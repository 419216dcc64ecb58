//! `[limits]`

use super::{Fallback, HOUR, Key, Kind, SECOND, TEN_MINUTES, Table};

pub(crate) static LIMITS: Table = Table {
    name: "limits",
    repeated: false,
    about: "How long a server may take before its connection is given up.",
    keys: &[
        Key {
            name: "connect",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"15 s\""),
            about: "To look up the host and reach it.",
        },
        Key {
            name: "handshake",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"15 s\""),
            about: "To agree on TLS.",
        },
        Key {
            name: "first_byte",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"30 s\""),
            about: "To begin an answer.",
        },
        Key {
            name: "silence",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"30 s\""),
            about: "Between two bytes of an article, and for the whole of any other answer.",
        },
        Key {
            name: "slowest_bytes",
            kind: Kind::Size { least: 0, most: 1 << 30 },
            default: Fallback::Is("\"30 KiB\""),
            about: "An article has to bring this much in every slowest_window; \"0 B\" lets it \
                    crawl.",
        },
        Key {
            name: "slowest_window",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"30 s\""),
            about: "The time for slowest_bytes.",
        },
    ],
};
