//! `[[feed]]`

use super::{Fallback, Key, Kind, MINUTE, Table, WEEK};

pub(crate) static FEED: Table = Table {
    name: "feed",
    repeated: true,
    about: "A feed of an indexer: RSS, Atom or Newznab. Repeat the table for each one; what its rules \
            accept is downloaded.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text("a name of at most 64 characters that no other feed has"),
            default: Fallback::Required { example: "\"indexer\"" },
            about: "What the feed is called in logs and records; under another name it begins anew.",
        },
        Key {
            name: "url",
            kind: Kind::Secret("an http or https address"),
            default: Fallback::Required { example: "\"https://indexer.example/api?t=search\"" },
            about: "Where it is; `{api_key}` stands for the key, which else is added as `apikey`.",
        },
        Key {
            name: "api_key",
            kind: Kind::Secret("a key"),
            default: Fallback::Told { words: "none", example: "\"secret\"" },
            about: "The key of the account. BERGAMOT_FEED_<NAME>_API_KEY in the environment stands in \
                    for it.",
        },
        Key {
            name: "api_key_file",
            kind: Kind::Path("the path of a file that holds the key and nothing else"),
            default: Fallback::Told { words: "none", example: "\"indexer.key\"" },
            about: "A file with the key, instead of the key itself.",
        },
        Key {
            name: "active",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether the feed is read at all.",
        },
        Key {
            name: "rules",
            kind: Kind::Text("rules, one a line"),
            default: Fallback::Told {
                words: "everything is taken",
                example: "\"Accept: debian -beta size:<5GB\"",
            },
            about: "Which items are taken, and what becomes of them; see docs/feeds.md.",
        },
        Key {
            name: "category",
            kind: Kind::Text("the name or an alias of a category"),
            default: Fallback::Told { words: "none", example: "\"tv\"" },
            about: "The category of its jobs, unless a rule says otherwise.",
        },
        Key {
            name: "priority",
            kind: Kind::Number { least: -1000, most: 1000 },
            default: Fallback::Told { words: "that of the category", example: "50" },
            about: "The priority of its jobs, unless a rule says otherwise.",
        },
        Key {
            name: "pause",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Queue its jobs paused, unless a rule says otherwise.",
        },
        Key {
            name: "backlog",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Also take what is in the feed when it is read for the first time.",
        },
        Key {
            name: "interval",
            kind: Kind::Time { least: MINUTE, most: WEEK },
            default: Fallback::Told {
                words: "as often as it brings something",
                example: "\"1 h\"",
            },
            about: "The pause between two looks, instead of one that follows the pace of the feed.",
        },
        Key {
            name: "pages",
            kind: Kind::Number { least: 1, most: 100 },
            default: Fallback::Is("5"),
            about: "How many pages of a Newznab feed are read to catch up.",
        },
        Key {
            name: "allow_private",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Whether what it leads to may be in a private network; its own address always may.",
        },
    ],
};
