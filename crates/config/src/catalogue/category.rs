//! `[[category]]`

use super::{Fallback, Key, Kind, Table};

pub(crate) static CATEGORY: Table = Table {
    name: "category",
    repeated: true,
    about: "A category of downloads. Repeat the table for each one; without any there are tv, Movies, Music and Readarr, as other programs expect.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text("a name that no other category or alias has"),
            default: Fallback::Required { example: "\"tv\"" },
            about: "What the category is called; case does not matter when it is looked up.",
        },
        Key {
            name: "directory",
            kind: Kind::Path("a path without \"..\""),
            default: Fallback::Told { words: "the name", example: "\"tv\"" },
            about: "Where its downloads go; a relative path starts at directories.complete.",
        },
        Key {
            name: "aliases",
            kind: Kind::Texts("a list of names that no other category or alias has"),
            default: Fallback::Is("[]"),
            about: "Other names for it, such as those that indexers use.",
        },
        Key {
            name: "priority",
            kind: Kind::Number { least: -1000, most: 1000 },
            default: Fallback::Is("0"),
            about: "Downloads of a higher priority come first.",
        },
    ],
};
