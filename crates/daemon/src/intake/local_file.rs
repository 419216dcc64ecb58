//! [`read`]: reads an NZB on this machine that a client names by its path, on a blocking thread.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a file is not taken. A missing file and one outside the allowed directories give the same error, so that
/// clients cannot probe for files on this machine.
#[derive(Debug, Error)]
pub(crate) enum LocalNzbError {
    #[error("there is no such file in the watch folder or in control.local_directories")]
    NotThere,
    #[error("it has more than {LARGEST} bytes")]
    TooLarge,
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// Links are followed first, so that none leads out of the directories.
pub(crate) fn read(path: &Path, directories: &[PathBuf]) -> Result<Vec<u8>, LocalNzbError> {
    let path = path.canonicalize().map_err(|_| LocalNzbError::NotThere)?;
    let allowed = directories.iter().filter_map(|directory| directory.canonicalize().ok());
    if !allowed.into_iter().any(|directory| path.starts_with(directory)) || !path.is_file() {
        return Err(LocalNzbError::NotThere);
    }
    let mut content = Vec::new();
    File::open(&path)?.take(LARGEST + 1).read_to_end(&mut content)?;
    match content.len() as u64 <= LARGEST {
        true => Ok(content),
        false => Err(LocalNzbError::TooLarge),
    }
}

/// As much as may be sent.
const LARGEST: u64 = 128 << 20;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nothing_is_read_from_elsewhere() {
        let home = tempfile::tempdir().expect("a directory");
        let (watch, other) = (home.path().join("watch"), home.path().join("other"));
        fs::create_dir_all(watch.join("tv")).expect("a directory");
        fs::create_dir(&other).expect("a directory");
        fs::write(watch.join("tv/a.nzb"), "a").expect("a file");
        fs::write(other.join("b.nzb"), "b").expect("a file");
        std::os::unix::fs::symlink(other.join("b.nzb"), watch.join("b.nzb")).expect("a link");
        let from = |path: PathBuf| read(&path, std::slice::from_ref(&watch)).ok();
        assert_eq!(from(watch.join("tv/a.nzb")), Some(b"a".to_vec()));
        assert_eq!(from(watch.join("tv/../tv/a.nzb")), Some(b"a".to_vec()));
        for path in ["other/b.nzb", "watch/../other/b.nzb", "watch/b.nzb", "watch/tv", "watch/none"]
        {
            assert_eq!(from(home.path().join(path)), None, "{path}");
        }
        assert_eq!(from("/dev/zero".into()), None);
    }
}
