//! [`Intake`]: the watch folder; owns its scan state and runs on the watch thread.

use std::cell::Cell;
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::File;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tracing::{debug, info};

use crate::claim::{self, Claim, Claimant, Foreign};
use crate::error::WatchError;
use crate::file_system;
use crate::folder::Folder;
use crate::identity::Identity;
use crate::judge::{Judge, Next, Verdict};
use crate::marking;
use crate::scan::{self, Listing};
use crate::watch::{News, Watch};

#[derive(Debug)]
pub struct Intake {
    settings: Settings,
    judge: Judge,
    reported: HashSet<WatchError>,
    wake: Waker,
    watch: Option<Watch>,
    trust: Trust,
    was_watched: bool,         // every folder was, at the last scan
    must_be_told: bool,        // and before that, so that its new files came with notices
    has_missed: bool,          // one did not
    is_local: bool,            // every folder is watched, and no other machine can write there
    foreign: Foreign,          // claims of other daemons
    untold: Vec<PathBuf>,      // new at the last scan, without a notice so far
    last_new: Option<Instant>, // when a file came, or the first scan was
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub path: PathBuf,
    /// Between scans without inotify, while files arrive.
    pub interval: Duration,
    /// Between scans without inotify, when no file has arrived for a long time.
    pub quiet_interval: Duration,
    /// Between scans while inotify was seen to work.
    pub watched_interval: Duration,
    /// Between scans on a local file system, where inotify sees every change. `None` never relies on that.
    pub local_interval: Option<Duration>,
    /// Whether to use inotify.
    pub watch: bool,
    /// Under which id files are claimed; no other daemon may have it.
    pub claimant: Claimant,
}

impl Settings {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            interval: Duration::from_secs(5),
            quiet_interval: Duration::from_secs(60),
            watched_interval: Duration::from_secs(60),
            local_interval: Some(Duration::from_secs(3600)),
            watch: true,
            claimant: Claimant::new(RandomState::new().hash_one(std::process::id())),
        }
    }
}

/// A file that may be complete.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// Relative to the watch folder; as the system has it, which need not be text.
    pub path: PathBuf,
    pub identity: Identity,
    /// The folder it lies in, as `a/b`.
    pub category: Option<String>,
}

#[derive(Debug)]
pub struct Scan {
    /// The oldest first, and never more than a bounded number.
    pub found: Vec<Found>,
    /// What was not said before.
    pub problems: Vec<WatchError>,
    /// There are more files to be found.
    pub more: bool,
}

/// A file to be read, and then to be marked. As long as it is open, no other file can have its
/// inode; so a mark hits this one or none.
#[derive(Debug)]
pub struct Opened {
    pub file: File,
    identity: Identity,
    path: PathBuf,
    claimed: Option<Claimed>,
}

/// Gives the file its name back when it is dropped, unless it has been marked.
#[derive(Debug)]
struct Claimed {
    folder: Folder,
    name: OsString,
    original: OsString,
    is_marked: Cell<bool>,
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.is_marked.get() {
            return;
        }
        // Should that fail, the next scan finds the claim and tries again.
        if let Err(errno) = claim::give_back(&self.folder, &self.name, &self.original) {
            debug!(%errno, "a claimed file did not get its name back");
        }
    }
}

impl Opened {
    /// What the file was when it was opened.
    pub fn identity(&self) -> Identity {
        self.identity
    }
}

/// Whether notices can be relied upon: shares accept a watch and stay silent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Trust {
    Unproven,
    Proven,
}

#[derive(Clone)]
struct Waker(Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Waker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waker")
    }
}

impl Intake {
    /// `wake` is called, from another thread, when a scan before its time would find something.
    pub fn new(settings: Settings, wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            settings,
            judge: Judge::new(),
            reported: HashSet::new(),
            wake: Waker(Arc::new(wake)),
            watch: None,
            trust: Trust::Unproven,
            was_watched: false,
            must_be_told: false,
            has_missed: false,
            is_local: false,
            foreign: Foreign::default(),
            untold: Vec::new(),
            last_new: None,
        }
    }

    /// Whether inotify was seen to report new files.
    pub fn is_watched(&self) -> bool {
        self.watch.is_some() && self.trust == Trust::Proven
    }

    /// Files that may be complete now. Each is found once; then a [`Intake::verdict`] is due.
    pub fn scan(&mut self, now: Instant) -> Scan {
        self.start_watch();
        let news = self.watch.as_ref().map(Watch::take_news).unwrap_or_default();
        let watch = self.watch.as_ref();
        let (mut followed, mut all_local) = (Vec::new(), true);
        let mut follow = |folder: &Path| {
            followed.push(watch.is_some_and(|watch| watch.follow(folder)));
            all_local &= file_system::is_local(&self.settings.path.join(folder));
        };
        let mut listing = scan::scan(&self.settings.path, &mut follow);
        if self.take_back(now, &listing.claims) {
            listing = scan::scan(&self.settings.path, &mut |_| {});
        }
        // A folder that may not be read may not be watched either.
        let is_closed = |problem: &_| matches!(problem, WatchError::FolderUnreadable { .. });
        let all_watched = !followed.is_empty()
            && followed.iter().all(|&watched| watched)
            && !listing.problems.iter().any(is_closed);
        let has_new = listing.files.iter().any(|(path, _)| !self.judge.knows(path));
        if has_new || self.last_new.is_none() {
            self.last_new = Some(now);
        }
        self.judge_watch(&listing, &news, all_watched);
        self.is_local = all_watched && all_local && !self.has_missed;
        let (found, more) = self.ready(now, &listing, &news);
        self.judge.retain(&listing.files.into_iter().map(|(path, _)| path).collect());
        let problems = self.unreported(listing.problems);
        Scan { found, problems, more }
    }

    /// Files that a dead daemon has left claimed get their names back; whether there were any. Our own
    /// claims are all settled between two scans, so one that is found is of an earlier run.
    fn take_back(&mut self, now: Instant, claims: &[Claim]) -> bool {
        let is_own = |claim: &Claim| claim.claimant == self.settings.claimant;
        let (mut dead, foreign): (Vec<Claim>, Vec<Claim>) =
            claims.iter().cloned().partition(is_own);
        dead.extend(self.foreign.observe(now, &foreign).into_iter().cloned());
        let root = &self.settings.path;
        dead.iter().filter(|claim| give_back(root, claim)).count() > 0
    }

    fn start_watch(&mut self) {
        if !self.settings.watch || self.watch.is_some() {
            return;
        }
        let wake = self.wake.clone();
        match Watch::start(&self.settings.path, move || (wake.0)()) {
            Ok(watch) => self.watch = Some(watch),
            Err(errno) => debug!(%errno, "the watch folder is only polled"),
        }
    }

    /// Whether inotify works here: a new file without an event by the next scan shows that it does not, one
    /// with an event that it does.
    fn judge_watch(&mut self, listing: &Listing, news: &News, all_watched: bool) {
        let told = |path: &PathBuf| news.touched.contains(path);
        let missed = self.untold.iter().any(|path| !told(path));
        let new = listing.files.iter().map(|(path, _)| path).filter(|path| !self.judge.knows(path));
        self.untold = new.filter(|path| !told(path)).cloned().collect();
        // Only what was there before the watch began may come without a notice.
        self.has_missed |= missed && self.must_be_told;
        self.must_be_told = self.was_watched && all_watched;
        self.was_watched = all_watched;
        if missed || !all_watched {
            self.trust = Trust::Unproven;
        } else if listing.files.iter().any(|(path, _)| told(path)) {
            self.trust = Trust::Proven;
            self.has_missed = false;
        }
    }

    fn ready(&mut self, now: Instant, listing: &Listing, news: &News) -> (Vec<Found>, bool) {
        let mut found: Vec<Found> = Vec::new();
        for (path, identity) in &listing.files {
            if self.judge.observe(now, path, *identity, news.closed.contains(path)) {
                let category = category(path);
                found.push(Found { path: path.clone(), identity: *identity, category });
            }
        }
        found.sort_by(|a, b| (a.identity.modified, &a.path).cmp(&(b.identity.modified, &b.path)));
        let more = found.len() > MOST_FOUND;
        found.truncate(MOST_FOUND);
        found.iter().for_each(|found| self.judge.offer(&found.path));
        (found, more)
    }

    fn unreported(&mut self, problems: Vec<WatchError>) -> Vec<WatchError> {
        let known = std::mem::take(&mut self.reported);
        self.reported = problems.iter().cloned().collect();
        problems.into_iter().filter(|problem| !known.contains(problem)).collect()
    }

    /// How long the next scan may wait, once what was found has its verdicts.
    pub fn pause(&self, now: Instant) -> Duration {
        let Settings { watched_interval, local_interval, .. } = self.settings;
        let longest = match (local_interval, self.is_watched()) {
            (Some(local_interval), _) if self.is_local => local_interval,
            (_, true) => watched_interval,
            (_, false) => self.unwatched_interval(now),
        };
        let next = self.judge.next_ready().into_iter().chain(self.foreign.next_abandoned()).min();
        let next = next.map(|at| at.saturating_duration_since(now));
        next.map_or(longest, |next| next.min(longest))
    }

    /// Short after a new file, because more may follow; longer when nothing has arrived for ten minutes, so
    /// that the disks of a share can sleep.
    fn unwatched_interval(&self, now: Instant) -> Duration {
        let Settings { interval, quiet_interval, .. } = self.settings;
        let quiet = self.last_new.map(|at| now.saturating_duration_since(at)).unwrap_or_default();
        (quiet / QUIET_PARTS).clamp(interval, quiet_interval.max(interval))
    }

    /// Opens a file that was found, if it is still a plain file and the same.
    pub fn open(&self, found: &Found) -> Result<Opened, WatchError> {
        let path = self.settings.path.join(&found.path);
        let opened = Folder::parent_of(&self.settings.path, &found.path)
            .and_then(|(folder, name)| folder.open_file(name));
        match opened {
            Ok((file, stat)) if Identity::of(&stat).is_same_file(&found.identity) => {
                let (file, identity) = (File::from(file), Identity::of(&stat));
                Ok(Opened { file, identity, path: found.path.clone(), claimed: None })
            }
            Ok(_) | Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::STALE) => {
                Err(WatchError::Vanished { path })
            }
            Err(errno) => Err(WatchError::Unreadable { path, errno }),
        }
    }

    /// Takes the file out of the reach of other daemons, if it is still the one that was opened and has
    /// not changed. Where it cannot be renamed it is taken without a claim, as it could not be marked
    /// either; so is one whose name leaves no room for a claim.
    ///
    /// This comes after the file was read and found complete, for one that still grows must keep its
    /// name, and before it is copied into the spool.
    pub fn claim(&self, opened: &mut Opened) -> Result<(), WatchError> {
        let path = self.settings.path.join(&opened.path);
        let gone = || WatchError::Vanished { path: path.clone() };
        let stat = rustix::fs::fstat(&opened.file);
        if !stat.is_ok_and(|stat| Identity::of(&stat) == opened.identity) {
            return Err(gone());
        }
        let parent = Folder::parent_of(&self.settings.path, &opened.path);
        let (folder, original) = parent.map_err(|_| gone())?;
        // Released by the kernel when the daemon ends. Not every share supports locks.
        if let Err(Errno::WOULDBLOCK) = flock(&opened.file, LOCK) {
            return Err(gone());
        }
        let name = self.settings.claimant.name(original);
        match folder.rename(original, &name) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE) => return Err(gone()),
            Err(errno) => {
                debug!(%errno, "taken without a claim");
                return Ok(());
            }
        }
        let is_ours =
            folder.stat(&name).is_ok_and(|stat| Identity::of(&stat).is_same_file(&opened.identity));
        let original = original.to_owned();
        let claimed = Claimed { folder, name, original, is_marked: Cell::new(false) };
        if !is_ours {
            return Err(gone()); // another file took its place in the last moment, and gets it back
        }
        opened.claimed = Some(claimed);
        Ok(())
    }

    /// What reading the file came to. It is remembered, so a file that cannot be renamed is not
    /// found again by every scan.
    pub fn verdict(&mut self, now: Instant, found: &Found, verdict: Verdict) -> Next {
        self.judge.verdict(now, &found.path, verdict)
    }

    /// `name.nzb.queued`. Like the other marks it returns the new path, and leaves a file alone that
    /// is not the one that was read any more.
    pub fn mark_queued(&mut self, opened: &Opened) -> Result<PathBuf, WatchError> {
        self.mark(opened, "queued")
    }

    /// `name.nzb.error`, and beside it `name.nzb.error.txt` with the reason.
    pub fn mark_failed(&mut self, opened: &Opened, reason: &str) -> Result<PathBuf, WatchError> {
        let marked = self.mark(opened, "error")?;
        marking::explain(&self.settings.path, &marked, reason)?;
        Ok(marked)
    }

    /// `name.nzb.duplicate`, with the reason likewise.
    pub fn mark_duplicate(&mut self, opened: &Opened, reason: &str) -> Result<PathBuf, WatchError> {
        let marked = self.mark(opened, "duplicate")?;
        marking::explain(&self.settings.path, &marked, reason)?;
        Ok(marked)
    }

    /// Its old name may be given to a file again, be it the same one.
    fn mark(&mut self, opened: &Opened, suffix: &str) -> Result<PathBuf, WatchError> {
        let Opened { path, identity, claimed, .. } = opened;
        let name = claimed.as_ref().map(|claimed| claimed.name.as_os_str());
        let marked = marking::mark(&self.settings.path, path, name, identity, suffix)?;
        if let Some(claimed) = claimed {
            claimed.is_marked.set(true);
        }
        self.judge.forget(path);
        Ok(marked)
    }
}

fn give_back(root: &Path, claim: &Claim) -> bool {
    let Ok((folder, name)) = Folder::parent_of(root, &claim.path) else { return false };
    let is_local = file_system::is_local(&root.join(&claim.path));
    // On a file system of this machine a lock tells that its daemon lives.
    if is_local
        && let Ok((file, _)) = folder.open_file(name)
        && flock(&file, LOCK) == Err(Errno::WOULDBLOCK)
    {
        return false;
    }
    match claim::give_back(&folder, name, &claim.original) {
        Ok(()) => {
            // Without its name, which may hold a password.
            info!("a file that a daemon had claimed and not taken is found again");
            true
        }
        Err(errno) => {
            debug!(%errno, "an abandoned claim cannot be taken back");
            false
        }
    }
}

fn category(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    Some(folder.to_string_lossy().into_owned())
}

const LOCK: FlockOperation = FlockOperation::NonBlockingLockExclusive;

/// The quieter, the rarer: so many scans in the time that nothing came in.
const QUIET_PARTS: u32 = 10;

/// Of one scan: ten thousand files at once must not keep the daemon from all else.
const MOST_FOUND: usize = 256;
