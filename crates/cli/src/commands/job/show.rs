//! `show`: the details of one job.

use bergamot_types::Shown;
use serde_json::json;

use crate::client::response::{File, Job, Probe, read};
use crate::client::session::Session;
use crate::commands::job::list::{name, state, words_of};
use crate::failure::Failure;
use crate::terminal::columns::{Cell, Columns, flexible, left, right};
use crate::terminal::fields::Fields;
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

pub(crate) fn show(session: &mut Session, job: u32, files: bool) -> Result<(), Failure> {
    let method = if files { "job.files" } else { "job.get" };
    let answer = session.ask(method, json!({ "job": job }))?;
    session.out.answer(&answer, |style| match files {
        true => Ok(files_page(&read::<Vec<File>>(&answer)?, style)),
        false => Ok(job_page(&read(&answer)?, style)),
    })
}

fn job_page(job: &Job, style: Style) -> String {
    let title = style.tint(Tint::Title, &name(job));
    let mut fields = Fields::new();
    let text = |text: &str| Shown(text).to_string();
    fields.push("job", job.id.to_string());
    fields.push("state", state(job));
    fields.push_if_any("waits for", job.waits_for.as_deref().map(text));
    if let Some(ended) = &job.ended {
        fields.push_if_any("why", ended.reason.as_deref().map(text));
        fields.push("ended", when(ended.at.0, style));
        if ended.can_retry {
            fields.push(
                "retry",
                format!("bergamot retry {} downloads the missing articles again", job.id),
            );
        }
    }
    fields.push_if_any("category", job.category.as_deref().map(text));
    if job.priority != 0 {
        fields.push("priority", job.priority.to_string());
    }
    fields.push("size", format::size(job.size));
    if job.ended.is_none() {
        let done = format::percent(job.remaining, job.size);
        fields.push("done", format!("{done}, {} left", format::size(job.remaining)));
        fields.push("files", format!("{}, {} left", job.files, job.remaining_files));
    } else {
        fields.push("files", job.files.to_string());
    }
    fields.push("articles", articles(job));
    fields.push("health", health(job));
    if let Some(probe) = job.probe.as_ref().filter(|_| job.ended.is_none()) {
        fields.push("outlook", outlook(probe));
    }
    fields.push("added", when(job.added.0, style));
    if job.download_seconds > 0 {
        fields.push("downloaded in", format::span(job.download_seconds));
    }
    fields.push_if_any("from", job.url.as_deref().map(text));
    fields.push_if_any("files are in", job.working_directory.as_deref().map(text));
    fields.push("they go to", text(&job.destination));
    format!("{title}\n{}", fields.page(style))
}

fn articles(job: &Job) -> Cell {
    match job.failed_articles {
        0 => job.articles.to_string().into(),
        lost => Cell::tinted(Tint::Warning, format!("{}, {lost} of them lost", job.articles)),
    }
}

fn outlook(probe: &Probe) -> Cell {
    let Probe { outlook, present, missing, unknown } = probe;
    let text = format!("{outlook}; {missing} missing of {}", present + missing + unknown);
    match outlook.as_str() {
        "complete" => text.into(),
        "hopeless" => Cell::tinted(Tint::Bad, text),
        _ => Cell::tinted(Tint::Warning, text),
    }
}

fn health(job: &Job) -> Cell {
    let share = |thousandths: u16| format!("{}.{} %", thousandths / 10, thousandths % 10);
    let tint = match job.health {
        1000.. => return share(1000).into(),
        health if health < job.critical_health => Tint::Bad,
        _ => Tint::Warning,
    };
    let text = format!("{}; {} is needed", share(job.health), share(job.critical_health));
    Cell::tinted(tint, text)
}

fn when(at: bergamot_types::UnixTime, style: Style) -> String {
    format!("{}, {}", style.date(at), format::ago(style.now, at))
}

fn files_page(files: &[File], style: Style) -> String {
    let mut table = Columns::new([flexible("FILE"), right("SIZE"), right("DONE"), left("STATE")]);
    for file in files {
        let state = if file.paused { "paused".to_owned() } else { words_of(&file.state) };
        table.push([
            Shown(&file.name).to_string().into(),
            format::size(file.size).into(),
            format::percent(file.remaining, file.size).into(),
            state.into(),
        ]);
    }
    table.page(style)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::job::list::tests::job;

    #[test]
    fn a_job_is_told_in_full() {
        let mut failed = job(9, "Ubuntu", json!({ "is": "failed", "what": "incomplete" }));
        failed.failed_articles = 2;
        failed.health = 800;
        failed.ended.as_mut().unwrap().reason = Some("two are missing".to_owned());
        assert_eq!(
            job_page(&failed, Style::plain(20)),
            "Ubuntu\n\
             job            9\n\
             state          failed: incomplete\n\
             why            two are missing\n\
             ended          2027-01-15 07:58, 2 min ago\n\
             retry          bergamot retry 9 downloads the missing articles again\n\
             size           1.0 MB\n\
             files          3\n\
             articles       10, 2 of them lost\n\
             health         80.0 %; 90.0 % is needed\n\
             added          2027-01-15 07:00, 1 h ago\n\
             downloaded in  1 min\n\
             files are in   /i/x\n\
             they go to     /c/x\n"
        );
    }

    #[test]
    fn what_a_sample_said_is_told_as_long_as_it_matters() {
        let mut waiting = job(9, "Ubuntu", json!({ "is": "queued" }));
        waiting.probe = read(&json!({
            "outlook": "hopeless", "present": 1, "missing": 19, "unknown": 0,
            "at": "2027-01-15T08:00:00Z",
        }))
        .unwrap();
        let page = job_page(&waiting, Style::plain(80));
        assert!(page.contains("outlook"), "{page}");
        assert!(page.contains("hopeless; 19 missing of 20\n"), "{page}");
    }

    #[test]
    fn files_are_a_table() {
        let file = json!({
            "name": "a.bin", "size": 2_000_000, "remaining": 1_000_000, "paused": false,
            "state": "held-back",
        });
        let page = files_page(&[read(&file).unwrap()], Style::plain(80));
        assert_eq!(page, "FILE     SIZE  DONE  STATE\na.bin  2.0 MB  50 %  held back\n");
    }
}
