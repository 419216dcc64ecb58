//! How articles are fetched, whatever the server.

use std::time::Duration;

use bergamot_engine::HealthAction;
use bergamot_limit::Zone;
use bergamot_queue::Propagation;
use bergamot_types::{ByteCount, ByteRate};

use crate::catalogue::{DAY, Fallback, HOUR, Key, MIB, SECOND, Table};
use crate::reading::environment::Environment;
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

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

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Download {
    pub article_retries: u8,
    pub memory: ByteCount,
    /// 0 is as fast as it goes.
    pub rate: ByteRate,
    /// How old a post must be.
    pub propagation_delay: Duration,
    /// How long a recent post that lacks articles is held.
    pub propagation: Propagation,
    pub pipeline: usize,
    pub par2_volumes: Par2Volumes,
    pub health_check: HealthAction,
    pub verify: Verify,
    pub idle: Duration,
    /// In which schedules and quotas count their days.
    pub time_zone: Zone,
}

/// What is checked before a file counts as verified.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verify {
    /// Each article as it comes.
    Crc,
    /// And each file, read back from the disk.
    Read,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Par2Volumes {
    Always,
    /// Only when a download is damaged.
    Needed,
}

impl Download {
    pub(crate) fn read(mut fields: Fields<'_, '_>, environment: &Environment) -> Self {
        let time_zone = fields.parsed("time_zone");
        Self {
            article_retries: fields.number("article_retries"),
            memory: fields.size("memory"),
            rate: ByteRate(fields.size("rate").0),
            propagation_delay: fields.time("propagation_delay"),
            propagation: Propagation {
                age: fields.time("propagation_age"),
                hold: fields.time("propagation_hold"),
            },
            pipeline: fields.number("pipeline"),
            par2_volumes: fields.choice(
                "par2_volumes",
                &[("needed", Par2Volumes::Needed), ("always", Par2Volumes::Always)],
            ),
            health_check: fields.choice(
                "health_check",
                &[
                    ("park", HealthAction::Park),
                    ("delete", HealthAction::Delete),
                    ("pause", HealthAction::Pause),
                    ("none", HealthAction::None),
                ],
            ),
            verify: fields.choice("verify", &[("crc", Verify::Crc), ("read", Verify::Read)]),
            idle: fields.time("idle"),
            time_zone: time_zone.or_else(|| environment.time_zone()).unwrap_or_default(),
        }
    }
}
