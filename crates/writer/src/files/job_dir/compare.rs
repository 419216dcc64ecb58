//! [`Compared`]: the files of a job, read and compared with the checksums of their articles; on the calling thread.

use std::ffi::OsStr;

use bergamot_types::FileStatus;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::DiskError;
use crate::files::job_dir::working_name::part_name;
use crate::files::job_dir::{JobDir, KnownPart, lock};
use crate::files::part_file::PartFile;

/// The result of comparing a file with checksums.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Compared {
    /// Which ranges have the right checksum.
    pub agrees: Vec<bool>,
    /// The status of the file that was read, taken after reading; `None` if it does not exist.
    pub status: Option<FileStatus>,
}

/// The expected checksum of a range of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sum {
    pub from: u64,
    pub length: u64,
    pub crc32: u32,
}

impl JobDir {
    /// Which of these ranges of the unfinished file have the right checksum. The file that was read is the
    /// one that is continued.
    ///
    /// An error says nothing about the content, and is never `Vanished` or `Changed`.
    pub fn compare_part(&self, index: u32, sums: &[Option<Sum>]) -> Result<Compared, DiskError> {
        let compared = self.compare(&part_name(index), sums)?;
        if let Some(status) = compared.status {
            self.know_part(&mut lock(&self.parts), index, KnownPart::new(status));
        }
        Ok(compared)
    }

    /// The same of a finished file.
    pub fn compare_finished(
        &self,
        name: &str,
        sums: &[Option<Sum>],
    ) -> Result<Compared, DiskError> {
        self.compare(OsStr::new(name), sums)
    }

    fn compare(&self, name: &OsStr, sums: &[Option<Sum>]) -> Result<Compared, DiskError> {
        self.read_and_compare(name, sums).map_err(|error| match error {
            // `ESTALE` of a network share does not mean that the file was removed.
            DiskError::Vanished { path } => DiskError::Broken { path, errno: Errno::STALE },
            error => error,
        })
    }

    /// A range without a checksum never agrees.
    fn read_and_compare(&self, name: &OsStr, sums: &[Option<Sum>]) -> Result<Compared, DiskError> {
        if self.folder.stat(name)?.is_none() {
            return Ok(Compared { agrees: vec![false; sums.len()], status: None });
        }
        let (file, _) = self.folder.open(name, OFlags::RDONLY)?;
        let part = PartFile::new(0, file, self.folder.path().join(name), &self.folder);
        let agrees = |sum: &Option<Sum>| sum.map_or(Ok(false), |sum| part.agrees_with(&sum));
        let agrees = sums.iter().map(agrees).collect::<Result<_, _>>()?;
        Ok(Compared { agrees, status: Some(part.status()?) })
    }
}
