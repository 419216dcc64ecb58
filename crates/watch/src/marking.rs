//! [`mark`]: renames a file to show its result.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::WatchError;
use crate::folder::Folder;
use crate::identity::Identity;

/// Renames the file, if it is still the one that was read, and returns its new path. That one must
/// be open still, or another might have got its inode. While it is claimed it has the name `claimed`.
pub(crate) fn mark(
    root: &Path,
    relative: &Path,
    claimed: Option<&OsStr>,
    identity: &Identity,
    suffix: &str,
) -> Result<PathBuf, WatchError> {
    let path = root.join(relative);
    let fail = |errno| match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => WatchError::Vanished { path: path.clone() },
        errno => WatchError::Unmarkable { path: path.clone(), errno },
    };
    let (folder, name) = Folder::parent_of(root, relative).map_err(fail)?;
    let is_ours =
        |name: &OsStr| folder.stat(name).map(|stat| Identity::of(&stat).is_same_file(identity));
    let current = claimed.unwrap_or(name);
    if !is_ours(current).map_err(fail)? {
        return Err(WatchError::Vanished { path });
    }
    let marked = rename(&folder, current, name, suffix).map_err(fail)?;
    if !is_ours(&marked).map_err(fail)? {
        // Another file took its place in the last moment: that one was not read.
        folder.rename(&marked, current).map_err(fail)?;
        return Err(WatchError::Vanished { path });
    }
    Ok(path.with_file_name(marked))
}

/// Puts the reason beside a marked file, as `name.nzb.error.txt`.
pub(crate) fn explain(root: &Path, marked: &Path, reason: &str) -> Result<(), WatchError> {
    let fail = |errno| WatchError::Unmarkable { path: marked.to_owned(), errno };
    let relative = marked.strip_prefix(root).unwrap_or(marked);
    let (folder, name) = Folder::parent_of(root, relative).map_err(fail)?;
    let file = numbered(name, "txt", |name| folder.create_file(name)).map_err(fail)?.1;
    let mut file = std::fs::File::from(file);
    let written = writeln!(file, "{reason}");
    written.map_err(|error| fail(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
}

fn rename(folder: &Folder, current: &OsStr, name: &OsStr, suffix: &str) -> Result<OsString, Errno> {
    let attempt = |base: &OsStr| numbered(base, suffix, |marked| folder.rename(current, marked));
    match attempt(name) {
        Err(Errno::NAMETOOLONG) => Ok(attempt(&cut(name))?.0),
        result => Ok(result?.0),
    }
}

/// `name.suffix`, then `name.2.suffix` and so on, until one is free.
fn numbered<T>(
    name: &OsStr,
    suffix: &str,
    attempt: impl Fn(&OsStr) -> Result<T, Errno>,
) -> Result<(OsString, T), Errno> {
    for number in 1..=MOST_NUMBERS {
        let mut marked = name.to_owned();
        match number {
            1 => marked.push(format!(".{suffix}")),
            _ => marked.push(format!(".{number}.{suffix}")),
        }
        match attempt(&marked) {
            Ok(value) => return Ok((marked, value)),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

/// Bytes, for the name need not be text; but text is not cut within a character.
fn cut(name: &OsStr) -> OsString {
    let bytes = name.as_bytes();
    let mut end = bytes.len().min(ROOM_FOR_SUFFIXES);
    while end > 1 && bytes.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    OsString::from_vec(bytes[..end].to_vec())
}

/// Of files of one name.
const MOST_NUMBERS: u32 = 10_000;
/// Encrypted shares take 143 bytes.
const ROOM_FOR_SUFFIXES: usize = 112;
