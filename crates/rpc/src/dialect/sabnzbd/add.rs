//! `addfile`, `addurl` and `addlocalfile`: adds an NZB.

use bergamot_api::Control;
use bergamot_api::request::{Content, NewJob};
use bergamot_api::view::{DupeMode, Parameter};
use bergamot_types::Secret;
use serde_json::json;

use crate::call::bounds;
use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::format::{self, FORCE};
use crate::dialect::sabnzbd::mode::{Answer, Call, answer};
use crate::dialect::sabnzbd::params::Params;
use crate::dialect::sabnzbd::queue_edit::{POST_PROCESSING, category, post_processing};

pub(super) async fn add_file<C: Control>(mut call: Call<'_, C>) -> Answer {
    let upload = call.params.upload.take().ok_or(SabError::NoFile)?;
    let new = wanted(&call.params, &upload.file_name, Content::Nzb(upload.content))?;
    added(call, new).await
}

pub(super) async fn add_url<C: Control>(call: Call<'_, C>) -> Answer {
    let address = call.params.optional("name").ok_or(SabError::ExpectsOne)?;
    let url = bounds::url(address.trim())?;
    let new = wanted(&call.params, "", Content::Url(url))?;
    added(call, new).await
}

pub(super) async fn add_local_file<C: Control>(call: Call<'_, C>) -> Answer {
    let path = bounds::path(call.params.optional("name").ok_or(SabError::NoFile)?)?;
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let new = wanted(&call.params, &name, Content::Local(path))?;
    added(call, new).await
}

async fn added<C: Control>(call: Call<'_, C>, new: NewJob) -> Answer {
    let is_local = matches!(new.content, Content::Local(_));
    let job = call.control.add(new).await.map_err(|refusal| match refusal {
        crate::Refusal::Invalid(_) if is_local => SabError::NoSuchFile,
        refusal => refusal.into(),
    })?;
    answer(&json!({ "status": true, "nzo_ids": [format::nzo_id(job)] }))
}

fn wanted(params: &Params, file_name: &str, content: Content) -> Result<NewJob, SabError> {
    let name = params.optional("nzbname").unwrap_or(file_name);
    // An invalid priority is no reason to refuse an NZB.
    let priority = params.number("priority").unwrap_or(DEFAULT);
    let post_processing = post_processing(params.text("pp"));
    let parameter = |level| Parameter { name: POST_PROCESSING.to_owned(), value: level };
    Ok(NewJob {
        name: bounds::name(name)?,
        content,
        category: category(params.optional("cat").or(params.optional("category")))?,
        priority: priority_of(priority),
        at_top: false,
        // A stopped job is added paused.
        paused: matches!(priority, PAUSED | STOP),
        dupe_key: String::new(),
        dupe_score: 0,
        dupe_mode: DupeMode::Score,
        password: params.optional("password").map(Secret::new),
        parameters: bounds::parameters(post_processing.map(parameter).into_iter().collect())?,
        auto_category: false,
    })
}

/// None is that of the category.
pub(super) fn priority_of(number: i32) -> Option<i32> {
    match number {
        2.. => Some(FORCE),
        1 => Some(HIGH),
        0 => Some(0),
        -1 => Some(-HIGH),
        _ => None,
    }
}

/// That of the category.
pub(super) const DEFAULT: i32 = -100;
pub(super) const PAUSED: i32 = -2;
pub(super) const STOP: i32 = -4;
/// As NZBGet has it for the same word.
const HIGH: i32 = 50;
