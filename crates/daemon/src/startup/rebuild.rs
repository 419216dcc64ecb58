//! [`Rebuilt`]: the jobs with a damaged record, rebuilt from their NZBs. Runs before the main loop.

use bergamot_jobs::Record;
use bergamot_store::Spool;
use bergamot_types::{JobId, Shown};
use tracing::warn;

use crate::intake::new_job::{NewJobs, Wishes, explained_unread};
use crate::intake::nzb_to_job::{NzbReadError, fingerprint, read_one};

/// What could be rebuilt, and a warning for each.
#[derive(Debug, Default)]
pub(crate) struct Rebuilt {
    pub(crate) records: Vec<Record>,
    pub(crate) warnings: Vec<String>,
}

/// Each comes back paused and with the settings of a new job, for nothing else is known of it.
pub(crate) fn rebuild(new_jobs: &NewJobs, spool: &Spool, jobs: &[JobId]) -> Rebuilt {
    let mut all = Rebuilt::default();
    for &job in jobs {
        all.warnings.push(match rebuilt(new_jobs, job) {
            Ok(record) => {
                let name = Shown(&record.name).to_string();
                if let Err(error) = spool.update(&record) {
                    // It is rebuilt once more at the next start.
                    warn!(%job, code = error.code(), "the record could not be written: {error}");
                }
                all.records.push(record);
                format!(
                    "the record of job {job} was damaged: the job was rebuilt from its NZB as {name:?}, \
                     paused and with default settings"
                )
            }
            Err(error) => {
                let (path, why) = spool.set_nzb_aside(job, explained_unread(&error));
                format!(
                    "the record of job {job} was damaged, and it could not be rebuilt: {} was set aside: {why}",
                    path.display()
                )
            }
        });
    }
    all
}

fn rebuilt(new_jobs: &NewJobs, job: JobId) -> Result<Record, NzbReadError> {
    let nzb = read_one(&new_jobs.spool, job, false)?;
    let wishes = Wishes { source: "rebuilt".to_owned(), paused: true, ..Wishes::default() };
    let mut record = new_jobs.record_as(job, &nzb, fingerprint(&nzb), &wishes);
    if record.name.is_empty() {
        record.name = format!("job {job}").into();
    }
    // It may be of a version that wrote no checksum.
    record.nzb_is_sealed = false;
    Ok(record)
}
