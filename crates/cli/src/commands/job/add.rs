//! `add`: adds NZB files and URLs.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergamot_rpc::ClientError;
use serde_json::{Map, Value, json};

use crate::arguments::Add;
use crate::client::response::{Job, State, read};
use crate::client::session::{Form, Session};
use crate::commands::job::list::{name, state_words};
use crate::commands::job::wait::{detail, wait};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::format;

pub(crate) fn add(session: &mut Session, add: &Add) -> Result<(), Failure> {
    if add.name.is_some() && add.sources.len() > 1 {
        return Err(Failure::Usage("--name can be used with one job only".to_owned()));
    }
    let mut jobs = Vec::new();
    let mut worst = Exit::Ok;
    for source in &add.sources {
        let exit = match add_one(session, add, source) {
            Ok((job, exit)) => {
                jobs.push(job);
                exit
            }
            Err(failure) if concerns_all(&failure) => return Err(failure),
            Err(failure) => {
                crate::print_error(&failure.message().unwrap_or_default());
                failure.exit()
            }
        };
        if worst == Exit::Ok {
            worst = exit;
        }
    }
    if add.wait {
        wait(session, &jobs)?;
    }
    if worst == Exit::Ok { Ok(()) } else { Err(Failure::ImportOutput(worst)) }
}

/// One file that cannot be read, or is refused, does not hold up the others.
fn concerns_all(failure: &Failure) -> bool {
    !matches!(failure, Failure::Local(_) | Failure::Asking(ClientError::Refused { .. }))
}

fn add_one(session: &mut Session, add: &Add, source: &str) -> Result<(u32, Exit), Failure> {
    let answer = session.ask("queue.add", params(add, source)?)?;
    let id = id_of(&answer);
    Ok((id, tell(session, &answer, id, add.wait)?))
}

/// Prints the result for a job that was just added. A duplicate or an unreadable NZB ends at once, but has an
/// id; `is_awaited`: its end is printed by the wait.
pub(crate) fn tell(
    session: &mut Session,
    answer: &Value,
    id: u32,
    is_awaited: bool,
) -> Result<Exit, Failure> {
    let job: Job = read(&session.ask("job.get", json!({ "job": id }))?)?;
    match session.out.form {
        Form::Json => session.out.json(answer)?,
        Form::Quiet => session.out.text(&format!("{id}\n"))?,
        Form::Page if is_awaited && job.ended.is_some() => {}
        Form::Page => session.out.text(&told(&job))?,
    }
    Ok(job.state.exit().unwrap_or(Exit::Ok))
}

pub(crate) fn id_of(answer: &Value) -> u32 {
    answer["job"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or_default()
}

fn told(job: &Job) -> String {
    let name = name(job);
    match (&job.state, &job.ended) {
        (State::Fetching, _) => format!("Job {} is added: {name}.\n", job.id),
        (_, Some(_)) => {
            let (_, state) = state_words(&job.state, job.paused);
            format!("Job {} is not begun: {name}, {state}{}\n", job.id, detail(job))
        }
        (_, None) => {
            let files = format::count(job.files.into(), "file", "files");
            format!("Job {} is added: {name}, {} in {files}.\n", job.id, format::size(job.size))
        }
    }
}

fn params(add: &Add, source: &str) -> Result<Value, Failure> {
    let mut params = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        value.map(|value| params.insert(name.to_owned(), value));
    };
    let content = content(source)?;
    let (key, text) = match content {
        Content::Nzb(text) => ("nzb", text),
        Content::Url(url) => ("url", url),
    };
    set(key, Some(text.into()));
    set("name", add.name.clone().or_else(|| file_name(source)).map(Value::from));
    set("category", add.category.clone().map(Value::from));
    set("priority", add.priority.map(Value::from));
    set("password", add.password.clone().map(Value::from));
    set("at_top", add.top.then_some(true.into()));
    set("paused", add.paused.then_some(true.into()));
    Ok(params.into())
}

enum Content {
    Nzb(String),
    Url(String),
}

fn content(source: &str) -> Result<Content, Failure> {
    if is_url(source) {
        return Ok(Content::Url(source.to_owned()));
    }
    let bytes = match source {
        "-" => read_all(std::io::stdin().lock()).context("cannot read standard input")?,
        path => {
            let open = std::fs::File::open(path).map_err(anyhow::Error::from);
            open.and_then(read_all).with_context(|| format!("cannot read {path}"))?
        }
    };
    Ok(Content::Nzb(STANDARD.encode(bytes)))
}

fn read_all(from: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST_NZB + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= LARGEST_NZB, "it is too large for an NZB");
    ensure!(!bytes.is_empty(), "it is empty");
    Ok(bytes)
}

fn is_url(source: &str) -> bool {
    source.starts_with("http://") || source.starts_with("https://")
}

/// The name of a file names the job; what comes otherwise, the daemon names.
fn file_name(source: &str) -> Option<String> {
    if is_url(source) || source == "-" {
        return None;
    }
    Path::new(source).file_name().map(|name| name.to_string_lossy().into_owned())
}

/// In base64 this is what the daemon takes at most.
const LARGEST_NZB: u64 = 140 << 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::job::list::tests::job;

    #[test]
    fn files_name_their_jobs_and_urls_do_not() {
        assert_eq!(file_name("/tmp/Some post.nzb").as_deref(), Some("Some post.nzb"));
        assert_eq!(file_name("-"), None);
        assert_eq!(file_name("https://x/a.nzb"), None);
    }

    #[test]
    fn what_was_added_is_told_in_a_line() {
        assert_eq!(
            told(&job(7, "Ubuntu", json!({ "is": "queued" }))),
            "Job 7 is added: Ubuntu, 1.0 MB in 3 files.\n"
        );
        let mut copy = job(8, "Ubuntu", json!({ "is": "deleted", "what": "copy" }));
        copy.ended.as_mut().unwrap().reason = Some("job 7 is the same".to_owned());
        assert_eq!(told(&copy), "Job 8 is not begun: Ubuntu, deleted: copy (job 7 is the same)\n");
    }
}
