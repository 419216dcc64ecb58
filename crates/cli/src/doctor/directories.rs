//! Checks of the directories: creating, writing, renaming, locking and watching files in each and between them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bergamot_config::Config;
use bergamot_storage::Reserve;
use bergamot_store::KnownMounts;
use bergamot_types::ByteCount;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;

use super::Finding;

pub(super) fn examine(config: &Config) -> Vec<Finding> {
    let directories = &config.directories;
    let mut findings = Vec::new();
    let grounds = KnownMounts::peek(&directories.state).unwrap_or_else(|why| {
        findings.push(forgotten(&directories.state, &why.to_string()));
        KnownMounts::default()
    });
    // Nothing is written below a mount point whose disk is missing.
    let is_firm = |path: &Path, findings: &mut Vec<Finding>| match grounds.check(path) {
        Err(error) => {
            let remedy = "Mount the missing disk.";
            findings.push(Finding::problem(shown(path), error.to_string(), remedy));
            false
        }
        Ok(()) => {
            findings.push(in_directory(path));
            true
        }
    };
    is_firm(&directories.state, &mut findings);
    if is_firm(&directories.watch, &mut findings) {
        findings.extend(of_inotify(&directories.watch));
    }
    let mut firm = Vec::new();
    for path in written(config) {
        if is_firm(path, &mut findings) {
            findings.extend(of_space(path, config.storage.reserve));
            firm.push(path);
        }
    }
    if firm.first() == Some(&directories.incomplete.as_path()) {
        findings.extend(firm[1..].iter().filter_map(|to| between(&directories.incomplete, to)));
    }
    findings
}

/// The directory of jobs under way first, then each that finished ones go to.
fn written(config: &Config) -> Vec<&Path> {
    let directories = &config.directories;
    let mut written = vec![directories.incomplete.as_path(), directories.complete.as_path()];
    for category in &config.categories {
        if !written.contains(&category.directory.as_path()) {
            written.push(&category.directory);
        }
    }
    written
}

fn forgotten(state: &Path, why: &str) -> Finding {
    Finding::warning(
        format!("{} (mounts)", state.display()),
        format!("the record of the mounts cannot be read: {why}"),
        "Check that all disks are mounted: the next start sets the file aside and accepts the disks that are \
         mounted then.",
    )
}

/// Writes, renames and reads back a file, as a download would.
fn in_directory(path: &Path) -> Finding {
    if !path.exists() {
        return missing(path);
    }
    match write_and_rename(path) {
        Ok(Trial { metadata, takes_modes }) => {
            let (mode, user, group) = (metadata.mode() & 0o7777, metadata.uid(), metadata.gid());
            let fact = format!("files get mode {mode:04o} and belong to {user}:{group}");
            match takes_modes {
                true => Finding::good(shown(path), fact),
                false => Finding::warning(
                    shown(path),
                    format!("{fact}; modes cannot be set"),
                    "No action needed, unless storage.file_mode or directory_mode is set: the share sets its \
                     own modes.",
                ),
            }
        }
        Err((what, error)) => Finding::problem(
            shown(path),
            format!("cannot {what} a file there: {error}"),
            "Give the directory to the user that runs bergamot (chown; PUID and PGID in a container), \
             or mount it writable.",
        ),
    }
}

/// What became of a file that was made.
struct Trial {
    metadata: fs::Metadata,
    takes_modes: bool,
}

fn missing(path: &Path) -> Finding {
    let nearest = path.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("/"));
    match write_and_rename(nearest) {
        Ok(_) => Finding::good(shown(path), "does not exist yet, and can be created"),
        Err((_, error)) => Finding::problem(
            shown(path),
            format!("does not exist, and cannot be created in {}: {error}", nearest.display()),
            "Create it, owned by the user that runs bergamot.",
        ),
    }
}

fn write_and_rename(path: &Path) -> Result<Trial, (&'static str, io::Error)> {
    let (first, second) = (test_path(path, "a"), test_path(path, "b"));
    let tried = (|| {
        let mut file = File::create_new(&first).map_err(|error| ("make", error))?;
        file.write_all(CONTENT).map_err(|error| ("write to", error))?;
        file.sync_all().map_err(|error| ("sync", error))?;
        fs::rename(&first, &second).map_err(|error| ("rename", error))?;
        let found = fs::read(&second).map_err(|error| ("read", error))?;
        if found != CONTENT {
            return Err(("read back", io::Error::other("its content differs")));
        }
        let metadata = second.metadata().map_err(|error| ("look at", error))?;
        let takes_modes = fs::set_permissions(&second, metadata.permissions()).is_ok();
        Ok(Trial { metadata, takes_modes })
    })();
    remove(&[first, second]);
    tried
}

/// Never replaces an existing file.
fn create(path: &Path) -> std::io::Result<()> {
    File::create_new(path)?.write_all(CONTENT)
}

/// How a finished job gets there, and whether files can have a second name beside it.
fn between(from: &Path, to: &Path) -> Option<Finding> {
    let about = format!("{} to {}", from.display(), to.display());
    if !(from.is_dir() && to.is_dir()) {
        return None;
    }
    let (source, target) = (test_path(from, "move"), test_path(to, "move"));
    create(&source).ok()?;
    let renamed = fs::rename(&source, &target);
    let finding = match renamed {
        Ok(()) => {
            let second = test_path(to, "link");
            let linked = fs::hard_link(&target, &second);
            remove(&[second]);
            let links = if linked.is_ok() { "hard links work" } else { "hard links do not work" };
            Finding::good(about, format!("jobs are renamed, which takes no time; {links}"))
        }
        Err(error) if error.kind() == ErrorKind::CrossesDevices => Finding::warning(
            about,
            "they are on different volumes: every job is copied",
            "Put both on one volume, in a container below one mount; then jobs are renamed instead of \
             copied.",
        ),
        Err(error) => Finding::problem(
            about,
            format!("cannot rename: {error}"),
            "Check the permissions of both directories.",
        ),
    };
    remove(&[source, target]);
    Some(finding)
}

/// Whether inotify reports a new file.
fn of_inotify(path: &Path) -> Option<Finding> {
    let about = format!("{} (inotify)", path.display());
    let file = test_path(path, "notice");
    let heard = (|| -> Result<bool, Errno> {
        let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&watch, path, WatchFlags::CREATE)?;
        create(&file).map_err(|_| Errno::ACCESS)?;
        let mut buffer = [0; 4096];
        for _ in 0..NOTICE_TRIES {
            match rustix::io::read(&watch, &mut buffer) {
                Err(Errno::AGAIN) => std::thread::sleep(NOTICE_PAUSE),
                read => return read.map(|count| count > 0),
            }
        }
        Ok(false)
    })();
    remove(&[file]);
    Some(match heard {
        Ok(true) => Finding::good(about, "inotify reports new files"),
        Ok(false) | Err(Errno::NOSYS) => Finding::warning(
            about,
            "inotify does not report new files",
            "No action needed: the folder is scanned every few seconds instead.",
        ),
        Err(Errno::NOSPC | Errno::MFILE) => Finding::warning(
            about,
            "there are no more inotify watches",
            "Raise fs.inotify.max_user_watches; until then the folder is scanned instead.",
        ),
        Err(Errno::ACCESS | Errno::NOENT) => return None, // reported with the directory already
        Err(errno) => Finding::warning(
            about,
            errno.to_string(),
            "No action needed: the folder is scanned instead.",
        ),
    })
}

/// The mount that the guard sees, and whether the volume delivers what it reports.
fn of_space(path: &Path, reserve: Reserve) -> Option<Finding> {
    let nearest = path.ancestors().find(|above| above.is_dir())?;
    let space = bergamot_writer::space(nearest).ok()?;
    let volume = statvfs(nearest).ok()?;
    let kept = reserve.of(space.total);
    let about = format!("{} (room)", path.display());
    let inodes = spoken_inodes(volume.f_favail, volume.f_files);
    let fact =
        format!("{} of {} free, of which {kept} are kept; {inodes}", space.free, space.total);
    let for_jobs = space.free.0.saturating_sub(kept.0);
    if for_jobs == 0 {
        return Some(Finding::problem(
            about,
            fact,
            "Free some space, or lower storage.reserve: until then every job waits.",
        ));
    }
    Some(match set_aside(nearest, for_jobs.min(MOST_SET_ASIDE)) {
        Err(Errno::NOSPC | Errno::DQUOT) => Finding::problem(
            about,
            format!(
                "{fact}; but {} could not be allocated",
                ByteCount(for_jobs.min(MOST_SET_ASIDE))
            ),
            "Check the disk quota of the user, which the volume does not report.",
        ),
        _ if volume.f_files > 0 && volume.f_favail < FEW_INODES => Finding::warning(
            about,
            fact,
            "Remove small files: without free inodes no file can be created, however much space is free.",
        ),
        Err(Errno::OPNOTSUPP) => {
            Finding::good(about, format!("{fact}; space cannot be preallocated"))
        }
        _ => Finding::good(about, fact),
    })
}

/// Some file systems make them as they are needed, and count none.
fn spoken_inodes(free: u64, total: u64) -> String {
    match total {
        0 => "inodes are not limited".to_owned(),
        _ => format!("{free} of {total} inodes free"),
    }
}

fn set_aside(path: &Path, bytes: u64) -> Result<(), Errno> {
    let name = test_path(path, "room");
    let Ok(file) = File::create_new(&name) else { return Ok(()) };
    let result = fallocate(&file, FallocateFlags::empty(), 0, bytes);
    remove(&[name]);
    result
}

/// Hidden, and unique for each run.
fn test_path(path: &Path, what: &str) -> PathBuf {
    path.join(format!(".bergamot-doctor-{}-{what}", std::process::id()))
}

fn remove(paths: &[PathBuf]) {
    for path in paths {
        // It may not have come to be.
        let _ = fs::remove_file(path);
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

const CONTENT: &[u8] = b"bergamot doctor was here\n";

/// Long enough to find a quota out, and gone again at once.
const MOST_SET_ASIDE: u64 = 64 << 20;

/// A few large jobs.
const FEW_INODES: u64 = 1_000;

/// A notice comes within milliseconds, or never.
const NOTICE_PAUSE: Duration = Duration::from_millis(20);
const NOTICE_TRIES: u32 = 25;
