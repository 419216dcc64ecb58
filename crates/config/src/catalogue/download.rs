//! `[download]`

use std::time::Duration;

use super::{DAY, Fallback, HOUR, Key, Kind, MIB, SECOND, Table};

pub(crate) static DOWNLOAD: Table = Table {
    name: "download",
    repeated: false,
    about: "How articles are fetched, whatever the server.",
    keys: &[
        Key {
            name: "article_retries",
            kind: Kind::Number { least: 0, most: 99 },
            default: Fallback::Is("3"),
            about: "New connections that one article may cost a server before another is asked.",
        },
        Key {
            name: "memory",
            kind: Kind::Size { least: 4 * MIB, most: 64 << 30 },
            default: Fallback::Is("\"40 MiB\""),
            about: "The memory for all that is under way: connections, and articles until they are on the \
                    disk. Where a control group limits the process, at most a third of that.",
        },
        Key {
            name: "rate",
            kind: Kind::Size { least: 0, most: 1 << 40 },
            default: Fallback::Is("\"0 B\""),
            about: "How much all connections together may read in a second; 0 B is no limit.",
        },
        Key {
            name: "propagation_delay",
            kind: Kind::Time { least: Duration::ZERO, most: DAY },
            default: Fallback::Is("\"0 s\""),
            about: "How old a post must be before it is downloaded: the articles of a fresh one may not \
                    have reached every server. Forced jobs do not wait.",
        },
        Key {
            name: "propagation_age",
            kind: Kind::Time { least: Duration::ZERO, most: DAY },
            default: Fallback::Is("\"1 h\""),
            about: "A download that lacks articles on every server is not given up at once while its post is \
                    younger than this, for they may still arrive, whatever `health_check` says.",
        },
        Key {
            name: "propagation_hold",
            kind: Kind::Time { least: Duration::ZERO, most: DAY },
            default: Fallback::Is("\"10 min\""),
            about: "How long such a download is held in all before it fails as `job.propagating`. It is asked \
                    for again four times meanwhile.",
        },
        Key {
            name: "pipeline",
            kind: Kind::Number { least: 1, most: 128 },
            default: Fallback::Is("128"),
            about: "The most articles asked for at once on each connection. How many are follows from \
                    how fast and how far away a server is; 1 waits for each answer.",
        },
        Key {
            name: "par2_volumes",
            kind: Kind::Choice(&["needed", "always"]),
            default: Fallback::Is("\"needed\""),
            about: "Fetch recovery volumes only when a download is damaged, or always.",
        },
        Key {
            name: "health_check",
            kind: Kind::Choice(&["park", "delete", "pause", "none"]),
            default: Fallback::Is("\"park\""),
            about: "When so much is lost that nothing can repair a download: give it up and keep \
                    what there is, give it up and delete it, pause it, or go on.",
        },
        Key {
            name: "verify",
            kind: Kind::Choice(&["crc", "read"]),
            default: Fallback::Is("\"crc\""),
            about: "What is checked before a file counts as verified: the checksum of each article as it \
                    comes, or also the whole file, read from the disk before it gets its name. Reading \
                    finds what other programs or the disk have changed meanwhile, and costs the disk as \
                    much again.",
        },
        Key {
            name: "idle",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"30 s\""),
            about: "A connection with nothing to do is kept this long.",
        },
        Key {
            name: "time_zone",
            kind: Kind::Text("a time zone like \"Europe/Berlin\" or \"UTC\""),
            default: Fallback::Told {
                words: "the variable TZ, else the zone of the machine (/etc/localtime), else UTC",
                example: "\"Europe/Berlin\"",
            },
            about: "The zone in which schedules and quotas count their days.",
        },
    ],
};
