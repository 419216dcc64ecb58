//! `[feeds]`

use super::{Fallback, Key, Kind, Table};

pub(crate) static FEEDS: Table = Table {
    name: "feeds",
    repeated: false,
    about: "How feeds are followed, and the one that bergamot writes itself.",
    keys: &[
        Key {
            name: "concurrency",
            kind: Kind::Number { least: 1, most: 50 },
            default: Fallback::Is("5"),
            about: "How many feeds are read at once; one host is never asked twice at the same time.",
        },
        Key {
            name: "output",
            kind: Kind::Path("a path"),
            default: Fallback::Told { words: "none", example: "\"finished.xml\"" },
            about: "A file for an RSS feed of what was downloaded; it is served as `/rss` in any case.",
        },
        Key {
            name: "output_items",
            kind: Kind::Number { least: 1, most: 10_000 },
            default: Fallback::Is("100"),
            about: "How many of the last downloads that feed has.",
        },
        Key {
            name: "output_link",
            kind: Kind::Text("an address"),
            default: Fallback::Is("\"http://localhost/\""),
            about: "The page that the feed is said to belong to.",
        },
    ],
};
