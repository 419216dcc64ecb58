//! Edits of the queue: `pause`, `resume`, `delete`, `priority`, `switch` and others.

use bergamot_api::Control;
use bergamot_api::request::{Delete, Edit, FileEdit, Place, SortKey};
use bergamot_api::view::{Job, Parameter};
use bergamot_types::JobId;
use serde_json::json;

use crate::call::bounds;
use crate::dialect::sabnzbd::add::{DEFAULT, PAUSED, STOP, priority_of};
use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::format;
use crate::dialect::sabnzbd::merged_list::Parts;
use crate::dialect::sabnzbd::mode::{Answer, Call, answer, done};
use crate::dialect::sabnzbd::params::jobs;
use crate::dialect::sabnzbd::queued::is_in_queue;

pub(super) async fn delete<C: Control>(call: Call<'_, C>) -> Answer {
    let found = match call.params.value()? {
        "all" => found(call.control, "").await?,
        _ => jobs(&call.params.list("value")),
    };
    deleted(call, found).await
}

pub(super) async fn purge<C: Control>(call: Call<'_, C>) -> Answer {
    let found = found(call.control, call.params.text("search")).await?;
    deleted(call, found).await
}

async fn deleted<C: Control>(call: Call<'_, C>, jobs: Vec<JobId>) -> Answer {
    // What is kept is kept with its job, which no client of this dialect sees any more.
    let delete = if call.params.text("del_files") == "0" { Delete::Park } else { Delete::Finally };
    edited(call.control, jobs, Edit::Delete(delete)).await
}

pub(super) async fn pause<C: Control>(call: Call<'_, C>) -> Answer {
    call.params.value()?;
    edited(call.control, jobs(&call.params.list("value")), Edit::Pause).await
}

pub(super) async fn resume<C: Control>(call: Call<'_, C>) -> Answer {
    call.params.value()?;
    edited(call.control, jobs(&call.params.list("value")), Edit::Resume).await
}

pub(super) async fn set_priority<C: Control>(call: Call<'_, C>) -> Answer {
    let (_, number) = call.params.two_values()?;
    let number: i32 = number.trim().parse().map_err(|_| SabError::ExpectsInteger)?;
    let jobs = jobs(&call.params.list("value"));
    let first = *jobs.first().ok_or(SabError::NoSuchItem)?;
    match number {
        PAUSED => changed(call.control, jobs, Edit::Pause).await?,
        // It ends with what has come, and is not deleted.
        STOP => changed(call.control, jobs, Edit::Delete(Delete::Park)).await?,
        DEFAULT => set_default_priorities(call.control, jobs).await?,
        _ => {
            let priority = priority_of(number).unwrap_or(0);
            changed(call.control, jobs, Edit::SetPriority(priority)).await?;
        }
    }
    answer(&json!({ "status": true, "position": place_of(call.control, first).await? }))
}

/// Each job gets that of its category.
async fn set_default_priorities<C: Control>(control: &C, jobs: Vec<JobId>) -> Result<(), SabError> {
    let categories = control.config().await?.facts.categories;
    for job in jobs {
        let name = control.job(job).await?.category.unwrap_or_default();
        let category = categories.iter().find(|known| known.name.eq_ignore_ascii_case(&name));
        let priority = category.map_or(0, |category| category.priority);
        changed(control, vec![job], Edit::SetPriority(priority)).await?;
    }
    Ok(())
}

pub(super) async fn rename<C: Control>(call: Call<'_, C>) -> Answer {
    let (id, name) = call.params.two_values()?;
    let job = format::job_of(id).ok_or(SabError::NoSuchItem)?;
    changed(call.control, vec![job], Edit::SetName(bounds::name(name)?)).await?;
    if let Some(password) = call.params.optional("value3") {
        set_parameter(call.control, job, "*Unpack:Password", password).await?;
    }
    done()
}

pub(super) async fn sort<C: Control>(call: Call<'_, C>) -> Answer {
    let by = match call.params.text("sort") {
        "name" => SortKey::Name,
        "size" => SortKey::Size,
        "remaining" => SortKey::Left,
        "priority" => SortKey::Priority,
        "cat" | "category" => SortKey::Category,
        "" => return Err(SabError::ExpectsTwo),
        _ => return Err(SabError::NotImplemented),
    };
    let descending = call.params.text("dir").eq_ignore_ascii_case("desc");
    changed(call.control, Vec::new(), Edit::Sort { by, descending }).await?;
    done()
}

pub(super) async fn delete_files<C: Control>(call: Call<'_, C>) -> Answer {
    let (id, _) = call.params.two_values()?;
    let job = format::job_of(id).ok_or(SabError::NoSuchItem)?;
    let wanted: Vec<u64> =
        call.params.list("value2").into_iter().filter_map(format::file_of).collect();
    let listed = call.control.files(Some(job)).await?;
    let found = || listed.iter().filter(|file| wanted.contains(&file.id));
    if found().next().is_none() {
        return Err(SabError::NoSuchItem);
    }
    let files = found().map(|file| file.index).collect();
    changed(call.control, vec![job], Edit::Files { files, what: FileEdit::Delete }).await?;
    let ids: Vec<String> = found().map(|file| format::nzf_id(file.id)).collect();
    answer(&json!({ "status": true, "nzf_ids": ids }))
}

pub(super) async fn switch<C: Control>(call: Call<'_, C>) -> Answer {
    let (id, to) = call.params.two_values()?;
    let job = format::job_of(id).ok_or(SabError::NoSuchItem)?;
    let queue = queue(call.control).await?;
    let place = |job: JobId| queue.iter().position(|known| known.id == job);
    let from = place(job).ok_or(SabError::NoSuchItem)?;
    let to = match to.trim().parse::<usize>() {
        Ok(place) => place.min(queue.len() - 1),
        Err(_) => format::job_of(to).and_then(place).ok_or(SabError::NoSuchItem)?,
    };
    let target = queue[to].id;
    let place = if to < from { Place::Before(target) } else { Place::After(target) };
    if to != from {
        changed(call.control, vec![job], Edit::Move(place)).await?;
    }
    let position = place_of(call.control, job).await?;
    let priority = format::priority_number(queue[from].priority);
    answer(&json!({ "result": { "position": position, "priority": priority } }))
}

pub(super) async fn change_category<C: Control>(call: Call<'_, C>) -> Answer {
    let (id, name) = call.params.two_values()?;
    let job = format::job_of(id).ok_or(SabError::NoSuchItem)?;
    changed(call.control, vec![job], Edit::SetCategory(category(Some(name))?)).await?;
    done()
}

pub(super) async fn change_script<C: Control>(call: Call<'_, C>) -> Answer {
    let (id, script) = call.params.two_values()?;
    let job = format::job_of(id).ok_or(SabError::NoSuchItem)?;
    call.control.job(job).await?;
    if script.eq_ignore_ascii_case("none") || script.eq_ignore_ascii_case("default") {
        done()
    } else {
        Err(SabError::NotImplemented)
    }
}

pub(super) async fn change_options<C: Control>(call: Call<'_, C>) -> Answer {
    let (id, level) = call.params.two_values()?;
    let job = format::job_of(id).ok_or(SabError::NoSuchItem)?;
    let level = post_processing(level).ok_or(SabError::ExpectsInteger)?;
    set_parameter(call.control, job, POST_PROCESSING, &level).await?;
    done()
}

pub(super) async fn change_complete_action<C: Control>(call: Call<'_, C>) -> Answer {
    match call.params.text("value").to_ascii_lowercase().as_str() {
        "" | "none" => done(),
        _ => Err(SabError::NotImplemented),
    }
}

/// The level of post-processing that a job was given, as far as it is one.
pub(super) fn post_processing(text: &str) -> Option<String> {
    matches!(text.trim(), "0" | "1" | "2" | "3").then(|| text.trim().to_owned())
}

/// What a client asked for, or nothing: that is all that is done.
pub(super) fn unpack_options(job: &Job) -> &str {
    let params = job.parameters.iter().find(|parameter| parameter.name == POST_PROCESSING);
    params.map_or("0", |parameter| parameter.value.as_str())
}

/// `*` and `Default` are SABnzbd's words for none.
pub(super) fn category(name: Option<&str>) -> Result<Option<String>, SabError> {
    let name = name.filter(|name| *name != "*" && !name.eq_ignore_ascii_case("default"));
    Ok(bounds::category(name.unwrap_or_default())?)
}

/// As SABnzbd answers for several jobs: which of them it was done to.
async fn edited<C: Control>(control: &C, jobs: Vec<JobId>, edit: Edit) -> Answer {
    let outcomes = match jobs.is_empty() {
        true => Vec::new(),
        false => control.edit(jobs.clone(), edit).await?,
    };
    let done = jobs.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok());
    let ids: Vec<String> = done.map(|(job, _)| format::nzo_id(*job)).collect();
    answer(&json!({ "status": !ids.is_empty(), "nzo_ids": ids }))
}

/// Succeeds if at least one job was changed; otherwise returns the first refusal.
pub(super) async fn changed<C: Control>(
    control: &C,
    jobs: Vec<JobId>,
    edit: Edit,
) -> Result<(), SabError> {
    let mut outcomes = control.edit(jobs, edit).await?;
    match outcomes.iter().any(Result::is_ok) || outcomes.is_empty() {
        true => Ok(()),
        false => Ok(outcomes.swap_remove(0)?),
    }
}

async fn set_parameter<C: Control>(
    control: &C,
    job: JobId,
    name: &str,
    value: &str,
) -> Result<(), SabError> {
    let parameter = Parameter { name: name.to_owned(), value: value.to_owned() };
    bounds::parameters(vec![parameter.clone()])?;
    changed(control, vec![job], parameter.into()).await
}

/// The fields of a job that determine its position.
struct Brief {
    id: JobId,
    name: String,
    priority: i32,
}

async fn queue<C: Control>(control: &C) -> Result<Vec<Brief>, SabError> {
    let mut jobs = Vec::new();
    let take = |job: Job| {
        if is_in_queue(&job) {
            jobs.push(Brief { id: job.id, name: job.name, priority: job.priority });
        }
    };
    Parts::default().each(|which| control.queue(which), false, take).await?;
    Ok(jobs)
}

async fn found<C: Control>(control: &C, search: &str) -> Result<Vec<JobId>, SabError> {
    let search = search.to_lowercase();
    let queue = queue(control).await?;
    let found = queue.iter().filter(|job| job.name.to_lowercase().contains(&search));
    Ok(found.map(|job| job.id).collect())
}

/// -1 where it is none, as SABnzbd has it.
async fn place_of<C: Control>(control: &C, job: JobId) -> Result<i64, SabError> {
    let place = queue(control).await?.iter().position(|known| known.id == job);
    Ok(place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1))
}

/// The job parameter that keeps a client's post-processing option.
pub(super) const POST_PROCESSING: &str = "*PostProcessing";
