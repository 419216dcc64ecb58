//! `get_files`: the files of one job.

use bergamot_api::Control;
use bergamot_api::view::{File, FileState};
use serde::Serialize;
use serde_json::json;

use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::format;
use crate::dialect::sabnzbd::mode::{Answer, Call, answer};

#[derive(Serialize)]
struct ListedFile {
    filename: String,
    mbleft: String,
    mb: String,
    bytes: String,
    age: String,
    nzf_id: String,
    status: &'static str,
}

pub(super) async fn files<C: Control>(call: Call<'_, C>) -> Answer {
    let job = format::job_of(call.params.value()?).ok_or(SabError::NoSuchItem)?;
    let now = call.control.status().await?.now;
    let files = call.control.files(Some(job)).await?;
    let listed = |file: &File| ListedFile {
        filename: file.name.clone(),
        mbleft: format::mebibytes(file.remaining),
        mb: format::mebibytes(file.size),
        bytes: format!("{}.00", file.size),
        age: format::age(file.posted, now),
        nzf_id: format::nzf_id(file.id),
        status: status(file),
    };
    answer(&json!({ "files": files.iter().map(listed).collect::<Vec<_>>() }))
}

fn status(file: &File) -> &'static str {
    match file.state {
        FileState::Whole | FileState::Incomplete | FileState::Finishing => "finished",
        FileState::Wanted if file.active > 0 => "active",
        FileState::Wanted | FileState::HeldBack => "queued",
    }
}
