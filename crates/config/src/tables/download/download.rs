//! How articles are fetched, whatever the server.

use std::time::Duration;

use bergamot_engine::HealthAction;
use bergamot_limit::Zone;
use bergamot_queue::Propagation;
use bergamot_types::{ByteCount, ByteRate};

use crate::reading::environment::Environment;
use crate::reading::fields::Fields;

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
