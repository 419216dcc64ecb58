//! [`Claim`]: a file of the watch folder that this daemon has renamed so that no other daemon takes it.
//!
//! Several daemons may share a folder, also over a network. Before a file is copied into the spool it is
//! renamed to a hidden name that carries the id of the daemon. A rename is atomic on every file system,
//! so of two daemons one succeeds; the other finds the file gone. The name is short-lived: the file is
//! marked when it is in the spool, or gets its name back.
//!
//! A daemon that is killed in between leaves its claim behind. It recognises its own by the id, and takes
//! them back at its next scan. Those of another daemon are taken back when they have been seen for
//! [`ABANDONED_AFTER`], by the clock of the daemon that looks, since clocks of machines differ; and on a
//! local file system only if the lock is free that a running daemon holds on its claim.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::folder::Folder;
use crate::identity::Identity;

/// Who claims: a daemon, the same across its restarts.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Claimant(u64);

impl Claimant {
    pub fn new(id: u64) -> Self {
        Self(id)
    }

    pub(crate) fn name(&self, original: &OsStr) -> OsString {
        let mut name = OsString::from(".");
        name.push(original);
        name.push(format!(".{:0DIGITS$x}{SUFFIX}", self.0));
        name
    }
}

/// A claim as a scan finds it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Claim {
    /// Relative to the watch folder.
    pub(crate) path: PathBuf,
    pub(crate) original: OsString,
    pub(crate) claimant: Claimant,
    pub(crate) identity: Identity,
}

/// The original name and the id of the claiming daemon.
pub(crate) fn parse(name: &OsStr) -> Option<(OsString, Claimant)> {
    let rest = name.as_bytes().strip_prefix(b".")?.strip_suffix(SUFFIX.as_bytes())?;
    let (original, id) = rest.split_at_checked(rest.len().checked_sub(DIGITS + 1)?)?;
    let id = std::str::from_utf8(id.strip_prefix(b".")?).ok()?;
    let id = u64::from_str_radix(id, 16).ok()?;
    (!original.is_empty()).then(|| (OsString::from_vec(original.to_vec()), Claimant(id)))
}

/// Claims of others, and since when each has been seen.
#[derive(Debug, Default)]
pub(crate) struct Foreign(HashMap<PathBuf, (Identity, Instant)>);

impl Foreign {
    /// Those of a whole scan; the ones that have been there too long.
    pub(crate) fn observe<'a>(&mut self, now: Instant, claims: &'a [Claim]) -> Vec<&'a Claim> {
        let known = std::mem::take(&mut self.0);
        let since = |claim: &Claim| match known.get(&claim.path) {
            Some((identity, since)) if *identity == claim.identity => *since,
            _ => now,
        };
        self.0.extend(claims.iter().map(|it| (it.path.clone(), (it.identity, since(it)))));
        let is_abandoned = |claim: &&Claim| now.duration_since(since(claim)) >= ABANDONED_AFTER;
        claims.iter().filter(is_abandoned).collect()
    }

    /// When the next may have been there too long.
    pub(crate) fn next_abandoned(&self) -> Option<Instant> {
        self.0.values().map(|(_, since)| *since + ABANDONED_AFTER).min()
    }
}

/// Gives a claimed file its name back, or one like it if that is taken by now.
pub(crate) fn give_back(folder: &Folder, claimed: &OsStr, original: &OsStr) -> Result<(), Errno> {
    let mut result = folder.rename(claimed, original);
    for number in 2..=MOST_NUMBERS {
        if result != Err(Errno::EXIST) {
            break;
        }
        result = folder.rename(claimed, &numbered(original, number));
    }
    result
}

/// The number stands before the extension, so that the file is still one to be found.
fn numbered(original: &OsStr, number: u32) -> OsString {
    let path = Path::new(original);
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(" ({number})"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    name
}

const SUFFIX: &str = ".claim";
const DIGITS: usize = 16;
/// Spooling takes seconds on a slow disk; a daemon that hangs on a share for this long cannot be
/// distinguished from one that was killed.
pub(crate) const ABANDONED_AFTER: Duration = Duration::from_secs(600);
/// Of files of one name that came while another of it was being taken.
const MOST_NUMBERS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_tells_what_the_file_was_called_and_by_whom_it_is_claimed() {
        let claimant = Claimant::new(0xdead_beef);
        for name in [b"a.nzb".as_slice(), b".nzb", b"caf\xe9 b.claim.nzb.gz"] {
            let name = OsStr::from_bytes(name);
            let claimed = claimant.name(name);
            assert_eq!(parse(&claimed), Some((name.to_owned(), claimant.clone())), "{claimed:?}");
            assert!(!crate::scan::is_offered(&claimed), "{claimed:?}");
        }
        for other in
            [".claim", ".a.claim", "a.nzb.00000000deadbeef.claim", ".00000000deadbeef.claim"]
        {
            assert_eq!(parse(OsStr::new(other)), None, "{other}");
        }
        assert_eq!(numbered(OsStr::new("a b.nzb"), 2), "a b (2).nzb");
    }

    #[test]
    fn a_claim_is_abandoned_when_it_does_not_change_for_ten_minutes() {
        let (mut foreign, start) = (Foreign::default(), Instant::now());
        let claim = |size| Claim {
            path: "x".into(),
            original: "a.nzb".into(),
            claimant: Claimant::new(1),
            identity: Identity { modified: (1, 0), device: 1, inode: 1, size },
        };
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(foreign.observe(at(0), &[claim(1)]).is_empty());
        assert_eq!(foreign.next_abandoned(), Some(at(600)));
        assert!(foreign.observe(at(599), &[claim(1)]).is_empty());
        assert!(foreign.observe(at(600), &[claim(2)]).is_empty(), "another file");
        assert!(foreign.observe(at(601), &[]).is_empty());
        assert!(foreign.observe(at(1000), &[claim(2)]).is_empty(), "a new claim");
        assert_eq!(foreign.observe(at(1600), &[claim(2)]).len(), 1);
    }
}
