//! [`test_disk`]: measures the write speed of a disk with an unnamed file. Runs in the task of the request;
//! blocking calls run on a thread of tokio.
//!
//! Without a name the file disappears even if the process is killed. It is created only in directories that jobs are
//! written to anyway, and leaves the reserve of free space there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bergamot_api::Refusal;
use bergamot_api::request::DiskTest;
use bergamot_api::view::{Disk, DiskSpeed};
use tokio::sync::Mutex;

use crate::clock;
use crate::control::handle::aside;
use crate::disk::disk_info::DiskInfo;
use crate::settings::JobSettings;

/// One test after another, or each would find the disk slow for the others.
pub(crate) async fn test_disk(
    settings: &JobSettings,
    disk_info: &DiskInfo,
    test: DiskTest,
) -> Result<DiskSpeed, Refusal> {
    let Ok(_turn) = TURN.try_lock() else {
        return Err(Refusal::Unavailable("a disk is being tried out already".to_owned()));
    };
    let path = PathBuf::from(&test.path);
    let is_above = |configured: &&Path| path.starts_with(configured);
    let Some(configured) = settings.directories.all().into_iter().find(is_above) else {
        let text = format!("{} is below no configured directory", test.path);
        return Err(Refusal::Invalid(text));
    };
    let disk = disk_info.disk(configured, settings.reserve).await;
    let most = room_for(&disk, test.most.0)?;
    let configured = configured.to_owned();
    let tested = aside(move || {
        let directory = within(&configured, &path)?;
        write(tempfile::tempfile_in(directory)?, most, test.buffer, test.patience)
    });
    let tested = tested.await?;
    tested.map_err(|error| Refusal::Unavailable(format!("{}: {error}", disk.path)))
}

/// So much of it as leaves alone what is kept free.
fn room_for(disk: &Disk, wanted: u64) -> Result<u64, Refusal> {
    if let Some(trouble) = &disk.trouble {
        return Err(Refusal::Unavailable(trouble.clone()));
    }
    match disk.free.saturating_sub(disk.reserve) {
        0 => Err(Refusal::Unavailable(format!("disk.full: {} has no room to spare", disk.path))),
        room => Ok(wanted.min(room)),
    }
}

/// Where the path leads in truth, which links and dots may hide.
fn within(configured: &Path, path: &Path) -> io::Result<PathBuf> {
    let (configured, path) = (fs::canonicalize(configured)?, fs::canonicalize(path)?);
    match path.starts_with(&configured) {
        true => Ok(path),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it leads elsewhere")),
    }
}

/// What is only in memory does not count, so it is made durable piece by piece.
fn write(mut file: File, most: u64, buffer: usize, patience: Duration) -> io::Result<DiskSpeed> {
    let bytes = vec![0x5a; buffer];
    let start = clock::now().instant;
    let end: Instant = start + patience;
    let (mut written, mut unsynced) = (0, 0);
    while written < most && clock::now().instant < end {
        let length = bytes.len().min(usize::try_from(most - written).unwrap_or(usize::MAX));
        file.write_all(&bytes[..length])?;
        written += length as u64;
        unsynced += length as u64;
        if unsynced >= SYNCED_AT_ONCE {
            file.sync_data()?;
            unsynced = 0;
        }
    }
    file.sync_data()?;
    Ok(DiskSpeed { written, took: clock::now().instant - start })
}

static TURN: Mutex<()> = Mutex::const_new(());
/// So that the end of its time finds little that has still to be written.
const SYNCED_AT_ONCE: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use bergamot_types::ByteCount;

    use super::*;

    #[test]
    fn as_much_is_written_as_was_asked_for_and_nothing_stays() {
        let directory = tempfile::tempdir().unwrap();
        let file = tempfile::tempfile_in(directory.path()).unwrap();
        let speed = write(file, 1_000_001, 4096, Duration::from_secs(60)).unwrap();
        assert_eq!(speed.written, 1_000_001);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        let file = tempfile::tempfile_in(directory.path()).unwrap();
        assert_eq!(write(file, u64::MAX, 4096, Duration::ZERO).unwrap().written, 0);
    }

    #[test]
    fn links_and_dots_lead_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let configured = directory.path().join("configured");
        fs::create_dir_all(configured.join("in")).unwrap();
        std::os::unix::fs::symlink("/tmp", configured.join("link")).unwrap();
        assert!(within(&configured, &configured.join("in")).is_ok());
        for odd in ["link", "in/../..", "nothing"] {
            assert!(within(&configured, &configured.join(odd)).is_err(), "{odd}");
        }
    }

    #[test]
    fn what_is_kept_free_stays_free() {
        let disk = Disk { free: 100, reserve: 40, ..Disk::default() };
        assert_eq!(room_for(&disk, ByteCount(1000).0), Ok(60));
        assert_eq!(room_for(&disk, 10), Ok(10));
        assert!(room_for(&Disk { free: 40, ..disk.clone() }, 10).is_err());
        let trouble = Some("disk.unmounted".to_owned());
        assert!(room_for(&Disk { trouble, ..disk }, 10).is_err());
    }
}
