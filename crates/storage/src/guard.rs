//! [`Guard`]: which jobs fit on the volumes they write to, by reserves and claims. Pure.
//!
//! Bytes that a job writes reduce the free space and its claim by the same amount, so the remaining space
//! changes only when jobs are admitted, when they end, and when other programs write. Admissions are counted
//! here at once, the rest with the next survey.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use bergamot_types::{ByteCount, JobId};

/// A file system, by the number of its device.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct VolumeId(pub u64);

/// The size of a volume, as it reports it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Space {
    pub free: ByteCount,
    pub total: ByteCount,
}

/// How much of each volume is left to others, and to our own state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Reserve {
    Bytes(ByteCount),
    /// A fiftieth, but no more than 1 GiB: a large disk need not lose 80 GB to a rule that is meant to
    /// leave room for journals, logs and the other programs of a NAS; a small card could not spare 1 GiB.
    #[default]
    Usual,
}

impl Reserve {
    pub fn of(self, total: ByteCount) -> ByteCount {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Usual => ByteCount((total.0 / USUAL_PART).min(USUAL_MOST)),
        }
    }
}

/// What a job will still write to a volume.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Claim {
    pub volume: VolumeId,
    pub bytes: ByteCount,
}

/// Why a job has to wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shortage {
    pub volume: VolumeId,
    pub needed: ByteCount,
    pub free: ByteCount,
    pub reserve: ByteCount,
    /// What other jobs will still write.
    pub claimed: ByteCount,
    /// The volume refused a write, whatever free space it reports.
    pub latched: bool,
}

/// Knows the volumes that jobs write to.
#[derive(Debug, Default)]
pub struct Guard {
    reserve: Reserve,
    volumes: BTreeMap<VolumeId, Volume>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Volume {
    space: Space,
    claimed: u64, // by the jobs that run
    latch: Option<Latch>,
    refusals: u32, // since it last took everything for a while
}

/// A volume that is full, by its own word.
#[derive(Clone, Copy, Debug)]
struct Latch {
    again: Instant,
}

impl Guard {
    pub fn new(reserve: Reserve) -> Self {
        Self { reserve, volumes: BTreeMap::new() }
    }

    /// Holds for whatever is decided from now on, also for volumes that are latched already.
    pub fn set_reserve(&mut self, reserve: Reserve) {
        self.reserve = reserve;
    }

    /// Takes the figures of the volumes, and what the running jobs will still write, in their order. Returns
    /// the jobs that have to stop.
    ///
    /// Jobs that run may use up to half of the reserve before they are stopped, so that a job that just
    /// fitted is not stopped because another program wrote a few bytes.
    pub fn handle_survey(
        &mut self,
        now: Instant,
        seen: &[(VolumeId, Space)],
        running: &[(JobId, Vec<Claim>)],
    ) -> Vec<(JobId, Shortage)> {
        self.volumes.retain(|id, _| seen.iter().any(|(volume, _)| volume == id));
        for &(id, space) in seen {
            let volume = self.volumes.entry(id).or_default();
            (volume.space, volume.claimed) = (space, 0);
            let threshold = self.reserve.of(space.total).0;
            // By the threshold as it is now; it may have been lowered to let jobs run.
            let is_over = |latch: &mut Latch| now >= latch.again && space.free.0 >= threshold;
            volume.latch.take_if(is_over);
        }
        let mut stopped = Vec::new();
        for (job, claims) in running {
            match self.shortage(claims, |reserve| reserve / 2) {
                // What is refused is asked for again as soon as the volume opens, not begun anew.
                Some(shortage) if !shortage.latched => stopped.push((*job, shortage)),
                _ => self.count(claims),
            }
        }
        stopped
    }

    /// Lets a job in that fits beside all others.
    pub fn admit(&mut self, claims: &[Claim]) -> Result<(), Shortage> {
        match self.shortage(claims, |reserve| reserve) {
            Some(shortage) => Err(shortage),
            None => {
                self.count(claims);
                Ok(())
            }
        }
    }

    /// A write was refused for lack of space: `ENOSPC`, or a quota that the volume does not report. The
    /// volume is not used for a time that doubles with each refusal, and then only if it also reports enough
    /// free space.
    pub fn handle_full(&mut self, now: Instant, id: VolumeId) {
        let volume = self.volumes.entry(id).or_default();
        if volume.latch.is_some() {
            return; // others of the same moment
        }
        let pause = SHORTEST_PAUSE.saturating_mul(1 << volume.refusals.min(MOST_DOUBLINGS));
        volume.refusals += 1;
        volume.latch = Some(Latch { again: now + pause.min(LONGEST_PAUSE) });
    }

    /// A job was completed on the volume: what it refused before is past.
    pub fn handle_success(&mut self, id: VolumeId) {
        if let Some(volume) = self.volumes.get_mut(&id) {
            volume.refusals = 0;
        }
    }

    pub fn is_latched(&self, id: VolumeId) -> bool {
        self.volumes.get(&id).is_some_and(|volume| volume.latch.is_some())
    }

    fn shortage(&self, claims: &[Claim], least: impl Fn(u64) -> u64) -> Option<Shortage> {
        claims.iter().find_map(|claim| {
            // A volume that was not surveyed yet is checked with its first survey.
            let volume = self.volumes.get(&claim.volume)?;
            let reserve = self.reserve.of(volume.space.total).0;
            let taken = volume.claimed.saturating_add(claim.bytes.0).saturating_add(least(reserve));
            let fits = taken <= volume.space.free.0 || claim.bytes.0 == 0;
            (volume.latch.is_some() || !fits).then_some(Shortage {
                volume: claim.volume,
                needed: claim.bytes,
                free: volume.space.free,
                reserve: ByteCount(reserve),
                claimed: ByteCount(volume.claimed),
                latched: volume.latch.is_some(),
            })
        })
    }

    fn count(&mut self, claims: &[Claim]) {
        for claim in claims {
            if let Some(volume) = self.volumes.get_mut(&claim.volume) {
                volume.claimed = volume.claimed.saturating_add(claim.bytes.0);
            }
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, free, reserve, claimed, latched, .. } = self;
        if *latched {
            return write!(f, "the disk takes nothing more; {free} free, {reserve} are kept");
        }
        write!(f, "no room; {needed} needed, {free} free, of which {reserve} are kept")?;
        match claimed.0 {
            0 => Ok(()),
            _ => write!(f, " and {claimed} are for jobs before it"),
        }
    }
}

const USUAL_PART: u64 = 50;
const USUAL_MOST: u64 = 1 << 30;

/// Doubled with each refusal: a used-up quota is only noticed by a refused write, and each attempt wastes the
/// articles that were requested.
const SHORTEST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
const MOST_DOUBLINGS: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: VolumeId = VolumeId(1);
    const THERE: VolumeId = VolumeId(2);

    fn guard(reserve: u64) -> Guard {
        Guard::new(Reserve::Bytes(ByteCount(reserve)))
    }

    fn space(free: u64) -> Space {
        Space { free: ByteCount(free), total: ByteCount(10_000) }
    }

    fn claim(volume: VolumeId, bytes: u64) -> Claim {
        Claim { volume, bytes: ByteCount(bytes) }
    }

    fn survey(guard: &mut Guard, now: Instant, free: u64, running: &[u64]) -> Vec<u32> {
        let jobs = (1..).map(JobId).zip(running);
        let running: Vec<_> = jobs.map(|(job, &bytes)| (job, vec![claim(HERE, bytes)])).collect();
        let stopped = guard.handle_survey(now, &[(HERE, space(free))], &running);
        stopped.into_iter().map(|(job, _)| job.0).collect()
    }

    #[test]
    fn a_job_that_does_not_fit_waits_and_the_next_that_does_runs() {
        let mut guard = guard(100);
        survey(&mut guard, Instant::now(), 1_000, &[]);
        let shortage = guard.admit(&[claim(HERE, 901)]).unwrap_err();
        assert_eq!((shortage.needed, shortage.free), (ByteCount(901), ByteCount(1_000)));
        guard.admit(&[claim(HERE, 500)]).unwrap();
        assert_eq!(guard.admit(&[claim(HERE, 401)]).unwrap_err().claimed, ByteCount(500));
        guard.admit(&[claim(HERE, 400)]).unwrap();
        assert!(guard.admit(&[claim(HERE, 1)]).is_err());
        guard.admit(&[claim(HERE, 0)]).expect("what writes nothing always fits");
    }

    #[test]
    fn what_our_jobs_write_changes_nothing() {
        let (mut guard, now) = (guard(100), Instant::now());
        survey(&mut guard, now, 1_000, &[600]);
        guard.admit(&[claim(HERE, 300)]).unwrap();
        assert!(survey(&mut guard, now, 700, &[500, 100]).is_empty());
        assert!(guard.admit(&[claim(HERE, 1)]).is_err());
    }

    #[test]
    fn jobs_that_run_stop_when_others_have_taken_half_of_the_reserve() {
        let (mut guard, now) = (guard(100), Instant::now());
        assert!(survey(&mut guard, now, 950, &[900]).is_empty());
        assert_eq!(survey(&mut guard, now, 949, &[900]), [1]);
        assert_eq!(survey(&mut guard, now, 949, &[900, 50]), [1], "the next that fits runs on");
    }

    #[test]
    fn a_copy_to_another_volume_has_to_fit_there_too() {
        let (mut guard, now) = (guard(100), Instant::now());
        guard.handle_survey(now, &[(HERE, space(5_000)), (THERE, space(600))], &[]);
        let both = |bytes| [claim(HERE, bytes), claim(THERE, bytes)];
        assert_eq!(guard.admit(&both(501)).unwrap_err().volume, THERE);
        guard.admit(&both(500)).unwrap();
        guard.admit(&[claim(HERE, 4_400)]).expect("a refused job claims nothing");
    }

    #[test]
    fn a_refusal_latches_until_there_is_room_by_the_reserve_of_today() {
        let (mut guard, now) = (guard(100), Instant::now());
        survey(&mut guard, now, 5_000, &[]);
        guard.handle_full(now, HERE);
        let later = now + SHORTEST_PAUSE;
        assert!(survey(&mut guard, later, 99, &[900]).is_empty(), "it is held, not put out");
        assert!(guard.is_latched(HERE) && guard.admit(&[claim(HERE, 1)]).unwrap_err().latched);
        guard.set_reserve(Reserve::Bytes(ByteCount(50)));
        survey(&mut guard, later, 99, &[]);
        assert!(!guard.is_latched(HERE));
        guard.admit(&[claim(HERE, 49)]).unwrap();
    }

    #[test]
    fn a_quota_nobody_tells_of_is_tried_less_and_less_often() {
        let (mut guard, mut now) = (guard(0), Instant::now());
        for pause in [5, 10, 20, 40, 80, 160, 300, 300] {
            guard.handle_full(now, HERE);
            guard.handle_full(now, HERE);
            survey(&mut guard, now + Duration::from_secs(pause - 1), 5_000, &[]);
            assert!(guard.is_latched(HERE), "{pause}");
            now += Duration::from_secs(pause);
            survey(&mut guard, now, 5_000, &[]);
            assert!(!guard.is_latched(HERE), "{pause}");
        }
        guard.handle_success(HERE);
        guard.handle_full(now, HERE);
        survey(&mut guard, now + SHORTEST_PAUSE, 5_000, &[]);
        assert!(!guard.is_latched(HERE));
    }

    #[test]
    fn the_usual_reserve_suits_small_and_large_disks() {
        for (total, reserve) in [(8 << 20, (8 << 20) / 50), (4 << 40, 1 << 30), (0, 0)] {
            assert_eq!(Reserve::Usual.of(ByteCount(total)), ByteCount(reserve));
        }
        let mut guard = Guard::default();
        guard.handle_survey(Instant::now(), &[(HERE, Space::default())], &[]);
        assert!(guard.admit(&[claim(HERE, u64::MAX)]).is_err());
    }
}
