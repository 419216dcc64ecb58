//! `[polling]`: [`Polling`], how the scheduler of recurring work runs its targets.

use std::time::Duration;

use bergamot_poll::{Cadence, Settings};

use crate::catalogue::{DAY, Fallback, Key, SECOND, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static POLLING: Table = Table {
    name: "polling",
    repeated: false,
    about: "The scheduler of recurring work (docs/polling.md). `bergamot targets` lists its targets.",
    keys: &[
        Key {
            name: "active_interval",
            kind: Kind::Time { least: MOMENT, most: DAY },
            default: Fallback::Is("\"200 ms\""),
            about: "How often the progress of the current job is published to subscribers.",
        },
        Key {
            name: "idle_interval",
            kind: Kind::Time { least: MOMENT, most: DAY },
            default: Fallback::Is("\"5 s\""),
            about: "How often the progress of other jobs is published.",
        },
        Key {
            name: "burst",
            kind: Kind::Number { least: 1, most: 1000 },
            default: Fallback::Is("2"),
            about: "The most targets that are started at once; more follow while there is room.",
        },
        Key {
            name: "jitter",
            kind: Kind::Time { least: Duration::ZERO, most: SECOND },
            default: Fallback::Is("\"150 ms\""),
            about: "The most random delay added to an interval; never more than a tenth of it.",
        },
        Key {
            name: "concurrency",
            kind: Kind::Number { least: 1, most: 100 },
            default: Fallback::Is("4"),
            about: "How many targets of one kind run at once; feeds have feeds.concurrency, and jobs \
                    are probed one at a time.",
        },
        Key {
            name: "active_check",
            kind: Kind::Time { least: SECOND, most: DAY },
            default: Fallback::Is("\"5 s\""),
            about: "How often the choice of the current job is checked while there are jobs.",
        },
    ],
};

/// Faster than a display can show.
const MOMENT: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Polling {
    pub queue: Settings,
    /// Of progress: of the current job, and of the others.
    pub cadence: Cadence,
    /// How often it is checked that the current job is still the current one.
    pub active_check: Duration,
}

impl Polling {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        Self {
            queue: Settings {
                burst: fields.number("burst"),
                concurrency: fields.number("concurrency"),
                jitter: fields.time("jitter"),
            },
            cadence: Cadence {
                active: fields.time("active_interval"),
                idle: fields.time("idle_interval"),
                ..Cadence::default()
            },
            active_check: fields.time("active_check"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::config;

    #[test]
    fn the_defaults_are_those_of_the_scheduler() {
        let Polling { queue, cadence, active_check } = config("").polling;
        assert_eq!((queue, cadence), (Settings::default(), Cadence::default()));
        assert_eq!(active_check, Duration::from_secs(5));
    }

    #[test]
    fn every_setting_can_be_changed() {
        let text = "[polling]\nactive_interval = '1 s'\nidle_interval = '9 s'\nburst = 3\n\
                    jitter = '10 ms'\nconcurrency = 7\nactive_check = '1 min'";
        let Polling { queue, cadence, active_check } = config(text).polling;
        let jitter = Duration::from_millis(10);
        assert_eq!(queue, Settings { burst: 3, concurrency: 7, jitter });
        assert_eq!((cadence.active.as_secs(), cadence.idle.as_secs()), (1, 9));
        assert_eq!(active_check, Duration::from_secs(60));
    }
}
