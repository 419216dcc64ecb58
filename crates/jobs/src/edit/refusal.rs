//! [`EditRefusal`]: why an edit was not carried out, by the decision a caller can take. Plain data.

use bergamot_types::{JobId, Shown};
use thiserror::Error;

/// Why nothing was changed.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum EditRefusal {
    #[error("there is no job {0}")]
    NoSuchJob(JobId),
    #[error("there is no file {0}")]
    NoSuchFile(u32),
    #[error("a job needs a name")]
    NoName,
    #[error("no jobs are given")]
    NoJobs,
    #[error("two jobs are needed, or more")]
    OneJob,
    #[error("no files are given")]
    NoFiles,
    #[error("{0} is not there")]
    Unsupported(&'static str),
    #[error("job {0} has ended")]
    Ended(JobId),
    #[error("job {0} has just ended")]
    JustEnded(JobId),
    #[error("job {0} has not ended")]
    NotEnded(JobId),
    #[error("job {0} is being moved")]
    BeingMoved(JobId),
    #[error("job {0} is being processed")]
    BeingProcessed(JobId),
    #[error("job {0} is being joined or split")]
    BeingJoined(JobId),
    #[error("files of job {0} are being split off")]
    BeingSplit(JobId),
    #[error("the NZB of job {0} has not come yet")]
    NzbNotFetched(JobId),
    #[error("the NZB of job {0} is gone")]
    NzbGone(JobId),
    #[error("job {0} is complete: nothing is missing, but it can begin anew")]
    Complete(JobId),
    #[error("job {0} was not deleted, so it is no backup")]
    NoBackup(JobId),
    #[error("job {0} is not in the queue")]
    NotQueued(JobId),
    #[error("job {0} has no other files")]
    NoOtherFiles(JobId),
    #[error("{} of job {job} is already downloaded, or a part of it", Shown(name))]
    FileBegun { job: JobId, name: String },
    #[error(
        "a job has at most {most_files} files and {most_segments} articles, together they have {files} and {segments}"
    )]
    TooLarge { files: usize, segments: usize, most_files: usize, most_segments: usize },
}

impl EditRefusal {
    /// A file of which something has come already.
    pub fn file_begun(job: JobId, name: Option<&str>) -> Self {
        Self::FileBegun { job, name: name.unwrap_or("a file").to_owned() }
    }
}
