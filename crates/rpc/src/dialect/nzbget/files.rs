//! `listfiles`: the files of queued jobs.

use std::collections::HashMap;

use bergamot_api::view::{File, FileState, Job};
use bergamot_api::{Control, Refusal};
use bergamot_types::JobId;
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::arguments::Arguments;
use crate::dialect::nzbget::fields::{Fields, halves, narrow, seconds};
use crate::dialect::nzbget::job_fields::directory;

/// A file with the job it belongs to.
struct Row<'a>(&'a File, &'a Job);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(file, job) = self;
        let mut fields = Fields::of(to);
        fields
            .put("ID", narrow(file.id))
            .put_halves(halves!("FileSize"), file.size)
            .put_halves(halves!("RemainingSize"), file.remaining)
            .put("PostTime", seconds(file.posted))
            .put("FilenameConfirmed", file.name_confirmed)
            .put("Paused", file.paused || file.state == FileState::HeldBack)
            .put("NZBID", job.id.0)
            .put("NZBName", &job.name)
            .put("NZBNicename", &job.name)
            .put("NZBFilename", &job.nzb_name)
            .put("Subject", &file.subject)
            .put("Filename", &file.name)
            .put("DestDir", directory(job))
            .put("Category", job.category.as_deref().unwrap_or_default())
            .put("Priority", job.priority)
            .put("ActiveDownloads", file.active)
            .put("Progress", progress(file));
        fields.end()
    }
}

fn progress(file: &File) -> u64 {
    let done = file.size.saturating_sub(file.remaining);
    (u128::from(done) * 1000).checked_div(file.size.into()).map_or(0, |part| part as u64)
}

pub(crate) async fn list_files<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Wanted { from, to, job } = Wanted::read(call.arguments()?)?;
    let files = match call.control.files(job).await {
        // A job that ended or is unknown has no files to list.
        Err(Refusal::Impossible(_) | Refusal::NoSuchJob(_)) => Vec::new(),
        files => files?,
    };
    let jobs = jobs_of(call.control, &files).await;
    let in_range =
        |file: &File| to <= 0 || (from..=to).contains(&i64::try_from(file.id).unwrap_or(i64::MAX));
    // A file that is whole has left NZBGet's list.
    let open = |file: &File| !matches!(file.state, FileState::Whole | FileState::Incomplete);
    let known = |file: &File| jobs.contains_key(&file.job);
    let files: Vec<File> =
        files.into_iter().filter(|file| in_range(file) && open(file) && known(file)).collect();
    call.answer_list(files, move |format, text, file| {
        format.append(text, &Row(file, &jobs[&file.job]));
    })
}

/// Ids of files, unless the last one is 0; and the one job, if there is one.
struct Wanted {
    from: i64,
    to: i64,
    job: Option<JobId>,
}

impl Wanted {
    fn read(mut arguments: Arguments<'_>) -> Result<Self, Fault> {
        let (mut from, mut to) = (0, 0);
        // One argument alone is the job.
        if arguments.len() != 1 {
            from = arguments.integer_or("IDFrom", 0)?;
            to = arguments.integer_or("IDTo", 0)?;
        }
        let job = u32::try_from(arguments.integer_or("NZBID", 0)?);
        let job = job.map_err(|_| Fault::parameter("NZBID is not an id"))?;
        Ok(Self { from, to, job: Some(JobId(job)).filter(|job| job.0 != 0) })
    }
}

/// Few jobs have their articles read in, so this is not the whole queue.
async fn jobs_of<C: Control>(control: &C, files: &[File]) -> HashMap<JobId, Job> {
    let mut jobs = HashMap::new();
    for file in files {
        if !jobs.contains_key(&file.job)
            && let Ok(job) = control.job(file.job).await
        {
            jobs.insert(file.job, job);
        }
    }
    jobs
}
