//! [`DiskInfo`]: free space, volume and errors of a directory, read on blocking threads behind a [`HangGuard`].
//! Shared by the main loop and the tasks of requests.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bergamot_api::view::Disk;
use bergamot_jobs::admission::{Surveyed, Unusable};
use bergamot_storage::{Reserve, Space, VolumeId};
use bergamot_types::{ByteCount, JobId, SafeName, Shown};
use bergamot_writer::{DiskError, Root};

use crate::disk::hang_guard::{Answer, HangGuard};
use crate::disk::mount_guard::MountGuard;
use crate::views::counters::is_writable;

/// May be held by as many as look at directories.
#[derive(Clone, Debug)]
pub(crate) struct DiskInfo {
    mounts: MountGuard,
    states: HangGuard<DiskState>,
    begun: HangGuard<BTreeMap<JobId, ByteCount>>,
    writable: HangGuard<bool>,
}

/// What one look at a directory, which need not be there yet, brought.
#[derive(Clone, Debug)]
pub(crate) struct DiskState {
    /// Why nothing can be written there.
    trouble: Option<String>,
    volume: Option<VolumeId>,
    space: Space,
}

impl DiskInfo {
    pub(crate) fn new(mounts: MountGuard) -> Self {
        let (states, begun, writable) =
            (HangGuard::default(), HangGuard::default(), HangGuard::default());
        Self { mounts, states, begun, writable }
    }

    pub(crate) async fn survey(&self, path: &Path) -> Surveyed {
        match self.state(path).await {
            Answer::Received(state) => state.usable(),
            Answer::Silent(last) => {
                let last = last.and_then(|state| Some((state.volume?, state.space)));
                Err(Unusable { why: silence(path), is_silent: true, last })
            }
        }
    }

    pub(crate) async fn disk(&self, path: &Path, reserve: Reserve) -> Disk {
        let (space, trouble) = match self.state(path).await {
            Answer::Received(state) => (state.space, state.trouble),
            Answer::Silent(last) => {
                (last.map_or_else(Space::default, |state| state.space), Some(silence(path)))
            }
        };
        Disk {
            path: path.to_string_lossy().into_owned(),
            free: space.free.0,
            total: space.total.0,
            reserve: reserve.of(space.total).0,
            trouble,
        }
    }

    /// Reads all paths concurrently, so that several hung ones cost one timeout.
    pub(crate) async fn disks(&self, paths: &[&Path], reserve: Reserve) -> Vec<Disk> {
        let look = |path: &&Path| {
            let (disk_info, path) = (self.clone(), path.to_path_buf());
            tokio::spawn(async move { disk_info.disk(&path, reserve).await })
        };
        let looks: Vec<_> = paths.iter().map(look).collect();
        let mut disks = Vec::new();
        for look in looks {
            disks.extend(look.await);
        }
        disks
    }

    /// The bytes that jobs have on the disk already; unknown for a disk that does not respond.
    pub(crate) async fn measured(
        &self,
        incomplete: &Path,
        begun: Vec<(JobId, SafeName)>,
    ) -> BTreeMap<JobId, ByteCount> {
        let directory = incomplete.to_owned();
        match self.begun.run(incomplete, PATIENCE, move || measure(&directory, &begun)).await {
            Answer::Received(measured) => measured,
            Answer::Silent(_) => BTreeMap::new(),
        }
    }

    pub(crate) async fn is_writable(&self, state: PathBuf) -> bool {
        let directory = state.clone();
        let look = self.writable.run(&state, PATIENCE, move || is_writable(&directory));
        look.await == Answer::Received(true)
    }

    async fn state(&self, path: &Path) -> Answer<DiskState> {
        let (mounts, directory) = (self.mounts.clone(), path.to_owned());
        self.states.run(path, PATIENCE, move || DiskState::of(&mounts, &directory)).await
    }
}

impl DiskState {
    fn of(mounts: &MountGuard, path: &Path) -> Self {
        let unmounted = mounts.check(path).err().map(DiskError::from);
        let mut trouble = unmounted.map(|error| format!("{}: {error}", error.code()));
        // It need not be there yet; then it is made where the nearest one above it is.
        let nearest = path.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
        let Some((there, metadata)) = nearest else {
            let missing = || format!("disk.dest_missing: {}: no such directory", shown(path));
            let trouble = Some(trouble.unwrap_or_else(missing));
            return Self { trouble, volume: None, space: Space::default() };
        };
        let space = bergamot_writer::space(there).unwrap_or_else(|error| {
            trouble.get_or_insert(format!("{}: {error}", error.code()));
            bergamot_writer::Space::default()
        });
        let space = Space { free: space.free, total: space.total };
        Self { trouble, volume: Some(VolumeId(metadata.dev())), space }
    }

    fn usable(self) -> Surveyed {
        match (self.trouble, self.volume) {
            (None, Some(volume)) => Ok((volume, self.space)),
            (trouble, _) => {
                Err(Unusable { why: trouble.unwrap_or_default(), is_silent: false, last: None })
            }
        }
    }
}

fn measure(incomplete: &Path, begun: &[(JobId, SafeName)]) -> BTreeMap<JobId, ByteCount> {
    let Ok(incomplete) = Root::open(incomplete) else { return BTreeMap::new() };
    let measured = |(job, name): &(JobId, SafeName)| Some((*job, incomplete.allocated(name).ok()?));
    begun.iter().filter_map(measured).collect()
}

pub(crate) fn silence(path: &Path) -> String {
    format!("disk.silent: {}: the disk or share does not answer", shown(path))
}

fn shown(path: &Path) -> String {
    Shown(&path.to_string_lossy()).to_string()
}

/// A disk that sleeps may take longer to wake; then it is seen with a later look.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
