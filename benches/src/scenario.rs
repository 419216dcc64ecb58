//! What is run, and by whom.

use crate::contestant::Contestant;
use crate::payload::Shape;

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) connections: usize,
    pub(crate) tls: bool,
    pub(crate) round_trip_ms: u64,
    /// Positional writes take long.
    pub(crate) slow_disk: bool,
    /// The first floor that writes is the one that all are held against.
    pub(crate) contestants: Vec<Contestant>,
}

/// How much is run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Length {
    Full,
    /// Within a few minutes on two busy cores.
    Quick,
}

/// All scenarios, in the order in which they are shown.
pub(crate) fn all(length: Length) -> Vec<Scenario> {
    let quick = length == Length::Quick;
    let one = |mebibytes: u64| Shape { files: 1, file_size: mebibytes << 20 };
    let others: &[Contestant] =
        if quick { &[Contestant::Nzbget] } else { &[Contestant::Nzbget, Contestant::Sabnzbd] };
    let against = |floors: &[Contestant], others: &[Contestant]| {
        [floors, &[Contestant::Bergamot], others].concat()
    };
    let raw = Scenario {
        name: "raw-plain",
        shape: one(if quick { 256 } else { 1024 }),
        connections: 8,
        tls: false,
        round_trip_ms: 0,
        slow_disk: false,
        contestants: against(&[READ_ONLY, READ_AND_WRITE], others),
    };
    let small = Shape { files: if quick { 50 } else { 200 }, file_size: 2_000_000 };
    let mut scenarios = vec![
        raw.clone(),
        Scenario { name: "raw-tls", tls: true, ..raw.clone() },
        Scenario {
            name: "rtt-50ms",
            shape: one(if quick { 128 } else { 512 }),
            round_trip_ms: 50,
            contestants: against(&[PIPELINED], others),
            ..raw.clone()
        },
        Scenario {
            name: "many-small",
            shape: small,
            contestants: against(&[READ_AND_WRITE], others),
            ..raw.clone()
        },
    ];
    if !quick {
        let ours = against(&[READ_AND_WRITE], &[]);
        scenarios.push(Scenario {
            name: "slow-disk",
            shape: one(256),
            slow_disk: true,
            contestants: ours.clone(),
            ..raw.clone()
        });
        scenarios.push(Scenario {
            name: "500-connections",
            connections: 500,
            contestants: ours,
            ..raw
        });
    }
    scenarios
}

const READ_ONLY: Contestant = Contestant::Floor { write: false, depth: 1 };
const READ_AND_WRITE: Contestant = Contestant::Floor { write: true, depth: 1 };
const PIPELINED: Contestant = Contestant::Floor { write: true, depth: 20 };
