//! [`UserAction`]: what a user does on a day, and restarts of the daemon. Pure.

use std::time::Duration;

use bergamot_engine::{Event, FORCE_PRIORITY, ServerSettings};
use bergamot_queue::FileKey;
use bergamot_types::{ByteRate, JobId, SplitMix};

use crate::sim::day::Day;
use crate::sim::day::draw;
use crate::sim::kind::Kind;

#[derive(Clone, Debug)]
pub enum UserAction {
    DropFile(FileKey),
    PauseAll(bool),
    PauseFile(FileKey, bool),
    PauseJob(JobId, bool),
    Place {
        job: JobId,
        priority: i32,
        rank: i64,
    },
    /// That all connections together may read at.
    Rate(Option<ByteRate>),
    /// Only these servers from now on.
    Reload(Vec<ServerSettings>),
    /// So much of what was noted last had not reached the disk.
    Restart {
        torn: usize,
    },
}

impl UserAction {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::DropFile(_) => Kind::FileDropped,
            Self::PauseAll(_) => Kind::AllPaused,
            Self::PauseFile(..) => Kind::FilePaused,
            Self::PauseJob(..) => Kind::JobPaused,
            Self::Place { .. } => Kind::JobPlaced,
            Self::Rate(_) => Kind::RateChanged,
            Self::Reload(_) => Kind::Reloaded,
            Self::Restart { .. } => Kind::Restarted,
        }
    }

    /// The job it is about.
    pub(crate) fn job(&self) -> Option<JobId> {
        match self {
            Self::DropFile(file) | Self::PauseFile(file, _) => Some(file.job),
            Self::PauseJob(job, _) | Self::Place { job, .. } => Some(*job),
            Self::PauseAll(_) | Self::Rate(_) | Self::Reload(_) | Self::Restart { .. } => None,
        }
    }

    /// What the engine hears of one that concerns jobs.
    pub(crate) fn event(&self) -> Option<Event> {
        Some(match *self {
            Self::DropFile(file) => Event::FileDropped(file),
            Self::PauseAll(true) => Event::DownloadPaused,
            Self::PauseAll(false) => Event::DownloadResumed,
            Self::PauseFile(file, true) => Event::FilePaused(file),
            Self::PauseFile(file, false) => Event::FileResumed(file),
            Self::PauseJob(job, true) => Event::JobPaused(job),
            Self::PauseJob(job, false) => Event::JobResumed(job),
            Self::Place { job, priority, rank } => Event::JobPlaced { job, priority, rank },
            Self::Rate(rate) => Event::RateChanged(rate),
            Self::Reload(_) | Self::Restart { .. } => return None,
        })
    }
}

/// They have a chance of their own, so that a day is like it would be without them, but for them.
pub(crate) fn user_actions(day: &Day) -> Vec<(Duration, UserAction)> {
    let mut chance = SplitMix::seeded(day.seed.number().rotate_left(17) ^ STREAM);
    let chance = &mut chance;
    let mut user_actions = Vec::new();
    if chance.up_to(2) > 0 {
        return user_actions; // most days nobody wants anything
    }
    for _ in 0..1 + chance.up_to(3) {
        user_action(day, &mut user_actions, chance);
    }
    user_actions
}

fn user_action(day: &Day, user_actions: &mut Vec<(Duration, UserAction)>, chance: &mut SplitMix) {
    let from = moment(day, Duration::ZERO, chance);
    let to = moment(day, from, chance);
    let job = JobId(1 + chance.up_to(day.jobs.len() as u64 - 1) as u32);
    let files = day.jobs[job.0 as usize - 1].files.len() as u64;
    let file = FileKey { job, file: chance.up_to(files - 1) as u32 };
    match chance.up_to(7) {
        0 => user_actions
            .extend([(from, UserAction::PauseAll(true)), (to, UserAction::PauseAll(false))]),
        1 => {
            user_actions.extend([
                (from, UserAction::PauseFile(file, true)),
                (to, UserAction::PauseFile(file, false)),
            ]);
        }
        2 => user_actions.extend([
            (from, UserAction::PauseJob(job, true)),
            (to, UserAction::PauseJob(job, false)),
        ]),
        3 => {
            let priority = PRIORITIES[chance.up_to(PRIORITIES.len() as u64 - 1) as usize];
            let rank = chance.up_to(4) as i64 - 2;
            user_actions.push((from, UserAction::Place { job, priority, rank }));
        }
        // Of a job of which every file is dropped nothing can come.
        4 if file.file > 0 => user_actions.push((from, UserAction::DropFile(file))),
        5 => reload(day, [from, to], user_actions, chance),
        6 => {
            let rate = draw::rate(day, chance);
            user_actions
                .extend([(from, UserAction::Rate(Some(rate))), (to, UserAction::Rate(None))]);
        }
        _ => user_actions.push((from, UserAction::Restart { torn: chance.up_to(5) as usize })),
    }
}

/// In the end it is all as it was.
fn reload(
    day: &Day,
    [from, to]: [Duration; 2],
    user_actions: &mut Vec<(Duration, UserAction)>,
    chance: &mut SplitMix,
) {
    let all: Vec<_> = day.servers.iter().map(|server| server.settings.clone()).collect();
    if all.len() > FEW_SERVERS || all.iter().any(|server| server.connections > FEW_CONNECTIONS) {
        return;
    }
    let mut some = all.clone();
    let last = some.len() - 1;
    for (place, server) in some.iter_mut().enumerate() {
        let needed = place == last && day.reliable;
        match chance.up_to(4) {
            0 | 1 => server.connections = 1 + chance.up_to(9) as usize,
            2 if !needed => server.level = chance.up_to(2) as u32,
            3 if !needed => server.active = false,
            _ => {}
        }
    }
    if last > 0 && chance.up_to(2) == 0 {
        some.remove(chance.up_to(last as u64 - 1) as usize);
    }
    user_actions.extend([(from, UserAction::Reload(some)), (to, UserAction::Reload(all))]);
}

/// Half of the days are over in a few seconds, and after its faults have healed no day has user_actions.
fn moment(day: &Day, after: Duration, chance: &mut SplitMix) -> Duration {
    let left = day.heals_at.saturating_sub(after).as_millis() as u64;
    let soon = if chance.up_to(1) == 0 { left } else { left.min(3_000) };
    after + Duration::from_millis(chance.up_to(soon))
}

const STREAM: u64 = 0x6a09_e667_f3bc_c908;

const PRIORITIES: [i32; 4] = [-50, 0, 1, FORCE_PRIORITY];

/// A crowd is hard on the simulator as it is.
const FEW_SERVERS: usize = 10;
const FEW_CONNECTIONS: usize = 50;
