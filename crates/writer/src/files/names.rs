//! [`Names`]: the file names that are taken in one directory.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::sync::atomic::AtomicBool;

use bergamot_types::SafeName;

use crate::error::{DiskError, Obstacle};
use crate::files::folder::{Folder, Renamed};
use crate::files::tree;

/// Keeps names apart that a case-insensitive or normalising file system would hold for the same,
/// wherever the job may be copied to one day.
#[derive(Debug)]
pub(crate) struct Names {
    taken: HashSet<String>,
    next: HashMap<String, u32>, // where to go on counting, so that n equal names cost n steps
}

/// How a number is put into a name.
pub(crate) type Numbered = fn(&SafeName, u32) -> SafeName;

impl Names {
    pub(crate) fn of(folder: &Folder) -> Result<Self, DiskError> {
        let key = |name: &OsStr| SafeName::collision_key_of(&name.to_string_lossy());
        let taken = folder.entries()?.iter().map(|(name, _)| key(name)).collect();
        Ok(Self { taken, next: HashMap::new() })
    }

    /// Renames `from` to the first free form of the name; `None` when that is another device.
    pub(crate) fn place(
        &mut self,
        from: (&Folder, &OsStr),
        to: &Folder,
        wanted: &SafeName,
        numbered: Numbered,
    ) -> Result<Option<SafeName>, DiskError> {
        let rename = |name: &SafeName| from.0.rename(from.1, to, OsStr::new(name.as_str()));
        match self.claim(to, wanted, numbered, rename)? {
            (name, Renamed::Done) => Ok(Some(name)),
            _ => Ok(None),
        }
    }

    /// Copies a file of the directory to the first free form of the name and removes it: for file systems
    /// that do not rename it.
    pub(crate) fn copy(
        &mut self,
        folder: &Folder,
        from: &OsStr,
        wanted: &SafeName,
        numbered: Numbered,
    ) -> Result<SafeName, DiskError> {
        let copy = |name: &SafeName| {
            let name = OsStr::new(name.as_str());
            match folder.create(name) {
                Ok(Some(file)) => {
                    let copied = tree::copy_into((folder, from), (folder, name, file), &NEVER);
                    if copied.is_err() {
                        let _ = folder.remove_file(name);
                    }
                    copied.map(|()| Renamed::Done)
                }
                Ok(None) => Ok(Renamed::Taken),
                Err(DiskError::BadName { .. }) => Ok(Renamed::TooLong),
                Err(error) => Err(error),
            }
        };
        let (name, _) = self.claim(folder, wanted, numbered, copy)?;
        folder.remove_file(from)?;
        Ok(name)
    }

    /// Makes a directory with the first free form of the name.
    pub(crate) fn make_folder(
        &mut self,
        parent: &Folder,
        wanted: &SafeName,
    ) -> Result<SafeName, DiskError> {
        let make = |name: &SafeName| match parent.make_folder(OsStr::new(name.as_str())) {
            Ok(true) => Ok(Renamed::Done),
            Ok(false) => Ok(Renamed::Taken),
            Err(DiskError::BadName { .. }) => Ok(Renamed::TooLong),
            Err(error) => Err(error),
        };
        Ok(self.claim(parent, wanted, SafeName::numbered_directory, make)?.0)
    }

    fn claim(
        &mut self,
        folder: &Folder,
        wanted: &SafeName,
        numbered: Numbered,
        attempt: impl Fn(&SafeName) -> Result<Renamed, DiskError>,
    ) -> Result<(SafeName, Renamed), DiskError> {
        let wanted_key = wanted.collision_key();
        let mut limit = SafeName::LONGEST;
        let mut number = self.next.get(&wanted_key).copied().unwrap_or(1);
        while number <= MOST_NUMBERS {
            let name = if number == 1 { wanted.clone() } else { numbered(wanted, number) };
            let name = name.shortened(limit);
            let key = name.collision_key();
            let result = if self.taken.contains(&key) { Renamed::Taken } else { attempt(&name)? };
            match result {
                Renamed::Done => {
                    self.taken.insert(key);
                    self.next.insert(wanted_key, number + 1);
                    return Ok((name, result));
                }
                Renamed::OtherDevice => return Ok((name, result)),
                Renamed::Taken => number += 1,
                Renamed::TooLong if limit > SafeName::LONGEST_ENCRYPTED => {
                    limit = SafeName::LONGEST_ENCRYPTED;
                }
                Renamed::TooLong => {
                    return Err(DiskError::BadName { path: folder.path().join(name.as_str()) });
                }
            }
        }
        let path = folder.path().join(wanted.as_str());
        Err(DiskError::Obstructed { path, by: Obstacle::File })
    }
}

/// Such a copy is not stopped: a stop waits no longer for it than for a flush.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Twice the files an NZB may have: all of one name, and as many foreign files.
const MOST_NUMBERS: u32 = 200_000;

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;
    use std::sync::Arc;

    use bergamot_types::ByteCount;
    use rustix::io::{Errno, Result};
    use tempfile::TempDir;

    use super::*;
    use crate::Root;
    use crate::files::kernel::{Kernel, Linux};

    /// A share with names of at most 143 bytes, or one that cannot rename exclusively.
    #[derive(Debug)]
    enum Odd {
        Encrypted,
        Old(Errno),
        /// One that takes no rename at all.
        Fixed,
    }

    impl Kernel for Odd {
        fn rename_exclusive(
            &self,
            from: (BorrowedFd<'_>, &OsStr),
            to: (BorrowedFd<'_>, &OsStr),
        ) -> Result<()> {
            match self {
                Self::Encrypted if to.1.len() > 143 => Err(Errno::NAMETOOLONG),
                Self::Encrypted => Linux.rename_exclusive(from, to),
                Self::Old(errno) => Err(*errno),
                Self::Fixed => Err(Errno::XDEV),
            }
        }

        fn rename(
            &self,
            from: (BorrowedFd<'_>, &OsStr),
            to: (BorrowedFd<'_>, &OsStr),
        ) -> Result<()> {
            match self {
                Self::Fixed => Err(Errno::XDEV),
                _ => Linux.rename(from, to),
            }
        }
    }

    fn finish_twice(kernel: Odd, wanted: &str) -> [SafeName; 2] {
        let temp = TempDir::new().unwrap();
        let root = Root::with_kernel(temp.path(), Arc::new(kernel)).unwrap();
        let dir = root.job_dir(&SafeName::from_raw("job")).unwrap();
        [0, 1].map(|index| {
            let part = dir.part(index).unwrap();
            let wanted = SafeName::from_raw(wanted);
            let name = dir.finish(&part, ByteCount(0), &[], &wanted).unwrap();
            assert!(dir.path().join(name.as_str()).exists());
            assert!(!dir.path().join(format!("000{index}.part")).exists());
            name
        })
    }

    #[test]
    fn names_too_long_for_an_encrypted_share_are_cut_further() {
        let [first, second] = finish_twice(Odd::Encrypted, &("x".repeat(200) + ".mkv"));
        assert_ne!(first, second);
        for name in [first, second] {
            assert!(name.as_str().len() <= 143 && name.as_str().ends_with(".mkv"));
        }
    }

    #[test]
    fn without_an_exclusive_rename_nothing_is_replaced_either() {
        for errno in [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::XDEV] {
            let names = finish_twice(Odd::Old(errno), "a.mkv").map(|name| name.to_string());
            assert_eq!(names, ["a.mkv", "a (2).mkv"]);
        }
    }

    #[test]
    fn where_nothing_can_be_renamed_a_file_is_copied_to_its_name() {
        let names = finish_twice(Odd::Fixed, "a.mkv").map(|name| name.to_string());
        assert_eq!(names, ["a.mkv", "a (2).mkv"]);
    }
}
