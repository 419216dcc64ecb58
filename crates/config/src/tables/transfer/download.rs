//! `[download]`: [`Download`], how articles are fetched, for all servers.

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
    about: "How articles are fetched, for all servers.",
    keys: &[
        Key {
            name: "article_retries",
            kind: Kind::Number { least: 0, most: 99 },
            default: Fallback::Is("3"),
            about: "How often an article whose connection broke is requested again from the same server, on \
                    a new connection each time, before the next server is asked.",
        },
        Key {
            name: "memory",
            kind: Kind::Size { least: 4 * MIB, most: 64 << 30 },
            default: Fallback::Is("\"40 MiB\""),
            about: "The memory for connections, and for articles until they are written to disk. If a \
                    control group limits the process, at most a third of that limit is used.",
        },
        Key {
            name: "rate",
            kind: Kind::Size { least: 0, most: 1 << 40 },
            default: Fallback::Is("\"0 B\""),
            about: "Bytes per second that all connections together may read; 0 B is no limit.",
        },
        Key {
            name: "propagation_delay",
            kind: Kind::Time { least: Duration::ZERO, most: DAY },
            default: Fallback::Is("\"0 s\""),
            about: "How old a post must be before it is downloaded: the articles of a recent post may not \
                    have reached every server yet. Forced jobs do not wait.",
        },
        Key {
            name: "propagation_age",
            kind: Kind::Time { least: Duration::ZERO, most: DAY },
            default: Fallback::Is("\"1 h\""),
            about: "If articles are missing on every server, a job whose post is younger than this does not \
                    fail at once, whatever `health_check` is, because they may still arrive.",
        },
        Key {
            name: "propagation_hold",
            kind: Kind::Time { least: Duration::ZERO, most: DAY },
            default: Fallback::Is("\"10 min\""),
            about: "How long such a job is held in total before it fails as `job.propagating`. Its missing \
                    articles are requested four more times in that time.",
        },
        Key {
            name: "pipeline",
            kind: Kind::Number { least: 1, most: 128 },
            default: Fallback::Is("128"),
            about: "The most articles requested at once on each connection. The actual number follows the \
                    speed and the round-trip time of the server; 1 waits for each answer.",
        },
        Key {
            name: "par2_volumes",
            kind: Kind::Choice(&["needed", "always"]),
            default: Fallback::Is("\"needed\""),
            about: "Download recovery volumes only if a job is damaged, or always.",
        },
        Key {
            name: "health_check",
            kind: Kind::Choice(&["park", "delete", "pause", "none"]),
            default: Fallback::Is("\"park\""),
            about: "What to do with a job that is damaged beyond repair: fail it and keep its files, fail it \
                    and delete its files, pause it, or continue.",
        },
        Key {
            name: "verify",
            kind: Kind::Choice(&["crc", "read"]),
            default: Fallback::Is("\"crc\""),
            about: "What is checked before a file counts as verified: the checksum of each article as it \
                    arrives, or also the whole file, read back from disk before it is renamed to its final \
                    name. Reading back finds changes by other programs or by the disk, and reads as much as \
                    was written.",
        },
        Key {
            name: "idle",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"30 s\""),
            about: "How long an idle connection is kept open.",
        },
        Key {
            name: "time_zone",
            kind: Kind::Text("a time zone like \"Europe/Berlin\" or \"UTC\""),
            default: Fallback::Described {
                words: "the variable TZ, else the zone of the machine (/etc/localtime), else UTC",
                example: "\"Europe/Berlin\"",
            },
            about: "The time zone of schedules and quotas.",
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
