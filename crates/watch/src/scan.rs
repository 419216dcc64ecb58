//! [`Listing`]: the files in the watch folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::claim::{self, Claim};
use crate::error::WatchError;
use crate::folder::Folder;
use crate::identity::Identity;

/// One walk through the folder and those below it.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// By path relative to the folder.
    pub(crate) files: Vec<(PathBuf, Identity)>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) problems: Vec<WatchError>,
}

/// `on_folder` is called for each directory before it is listed, so that a file that is added meanwhile is
/// noticed either way.
pub(crate) fn scan(root: &Path, on_folder: &mut dyn FnMut(&Path)) -> Listing {
    let mut walk = Walk { root, on_folder, listing: Listing::default(), left: MOST_ENTRIES };
    match Folder::open(root) {
        Ok(folder) => walk.enter(&folder, Path::new(""), 0),
        Err(errno) => walk.listing.problems.push(folder_problem(root.to_owned(), errno)),
    }
    walk.listing
}

struct Walk<'a> {
    root: &'a Path,
    on_folder: &'a mut dyn FnMut(&Path),
    listing: Listing,
    left: usize,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Folder, relative: &Path, depth: usize) {
        (self.on_folder)(relative);
        let names = match folder.names(self.left) {
            Ok(names) => names,
            Err(errno) => {
                let path = self.root.join(relative);
                return self.listing.problems.push(folder_problem(path, errno));
            }
        };
        self.left -= names.len();
        if self.left == 0 {
            let path = self.root.join(relative);
            self.listing.problems.push(WatchError::TooMany { path, limit: MOST_ENTRIES });
        }
        for name in names {
            let path = relative.join(&name);
            // Removed since it was listed, or not readable: then there is nothing to report.
            let Ok(stat) = folder.stat(&name) else { continue };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth < DEEPEST => self.descend(folder, &name, &path, depth),
                FileType::Directory => {}
                FileType::RegularFile if claim::parse(&name).is_some() => {
                    let identity = Identity::of(&stat);
                    let claim = claim::parse(&name).map(|(original, claimant)| Claim {
                        path,
                        original,
                        claimant,
                        identity,
                    });
                    self.listing.claims.extend(claim);
                }
                kind if is_offered(&name) => self.consider(path, kind, &stat),
                _ => {}
            }
        }
    }

    fn descend(&mut self, folder: &Folder, name: &OsStr, path: &Path, depth: usize) {
        match folder.subfolder(name) {
            Ok(folder) => self.enter(&folder, path, depth + 1),
            Err(Errno::NOENT) => {}
            Err(errno) => {
                self.listing.problems.push(folder_problem(self.root.join(path), errno));
            }
        }
    }

    fn consider(&mut self, path: PathBuf, kind: FileType, stat: &Stat) {
        let what = match kind {
            FileType::RegularFile if stat.st_nlink <= 1 => {
                return self.listing.files.push((path, Identity::of(stat)));
            }
            FileType::RegularFile => "a file with a second name",
            FileType::Symlink => "a symbolic link",
            _ => "a device, pipe or socket",
        };
        self.listing.problems.push(WatchError::NotPlain { path: self.root.join(path), what });
    }
}

/// Whether a file of that name is meant for us. What we marked ends otherwise, but so does much
/// else, and all that is left alone.
pub(crate) fn is_offered(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    TAKEN.iter().any(|suffix| {
        name.len() > suffix.len()
            && name[name.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
    })
}

fn folder_problem(path: PathBuf, errno: Errno) -> WatchError {
    match errno {
        Errno::NOENT => WatchError::Missing { path },
        Errno::NOTDIR | Errno::LOOP => WatchError::NotAFolder { path },
        errno => WatchError::FolderUnreadable { path, errno },
    }
}

const TAKEN: [&str; 2] = [".nzb", ".gz"];
/// Folders in folders are categories; more levels are not in use.
const DEEPEST: usize = 8;
/// Of one walk, so that a directory of millions costs neither memory nor minutes.
const MOST_ENTRIES: usize = 100_000;
