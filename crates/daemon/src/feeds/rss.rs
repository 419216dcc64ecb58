//! Writes the RSS feed of finished jobs. Pure.

use bergamot_feed::{Channel, Finished, write_rss};
use bergamot_jobs::{JobList, Record};
use bergamot_queue::Ending;

pub(crate) fn rss(channel: &Channel, jobs: &JobList) -> String {
    let finished = jobs.history().filter_map(finished).take(channel.size).collect();
    write_rss(channel, finished)
}

fn finished(record: &Record) -> Option<Finished> {
    let outcome = record.outcome.as_deref().filter(|outcome| !outcome.hidden)?;
    let Ending::Completed { verified } = outcome.ending else { return None };
    let contents = &record.contents;
    let files = if contents.files == 1 { "file" } else { "files" };
    let checked = if verified { "every byte verified" } else { "not all of it verifiable" };
    let place = outcome.destination.as_deref().map(|at| format!(" Its files are in {at}."));
    Some(Finished {
        // With the time it was added: a state directory that begins anew counts from 1 again.
        guid: format!("bergamot:job:{}:{}", record.id, record.added.0),
        title: record.name.to_string(),
        description: format!(
            "{} in {} {files}, {checked}.{}",
            contents.bytes,
            contents.files,
            place.unwrap_or_default()
        ),
        category: record.category.as_deref().map(str::to_owned),
        size: contents.bytes,
        at: outcome.ended,
    })
}
