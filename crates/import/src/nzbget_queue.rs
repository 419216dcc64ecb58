//! What NZBGet has on its queue, by the file `queue` in its queue directory.
//!
//! Only four lines of each job are looked for: the path of its NZB, which ends in `.queued`, and behind
//! it the name, the category and the priority. They have stood like that for many versions, whatever
//! else changed around them.

use crate::{ImportError, text};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueuedNzb {
    pub path: String,
    pub name: String,
    pub category: Option<String>,
    pub priority: i32,
}

/// In the order of the queue.
pub fn queued_nzbs(bytes: &[u8]) -> Result<Vec<QueuedNzb>, ImportError> {
    let text = text::decoded(bytes)?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if !lines.first().is_some_and(|line| line.starts_with("nzbget diskstate file")) {
        return Err(ImportError::Unknown);
    }
    let jobs = lines.windows(4).filter(|lines| lines[0].ends_with(".queued"));
    let job = |lines: &[&str]| QueuedNzb {
        path: lines[0].to_owned(),
        name: lines[1].to_owned(),
        category: Some(lines[2].to_owned()).filter(|category| !category.is_empty()),
        priority: lines[3].split(',').next().and_then(|text| text.parse().ok()).unwrap_or(0),
    };
    Ok(jobs.map(job).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_found_by_their_paths() {
        let queue = "nzbget diskstate file version 62\n2\n1\n0\n\n/nzb/tv/show.nzb\n/inter/show.#1\n\n\
            /nzb/tv/show.nzb.queued\nshow\ntv\n50,0,0,0,0\n0,0\n2\n0\n\n/nzb/o.nzb\n/inter/o.#2\n\n\
            /nzb/o.nzb.queued\no\n\n0,0,0,0,0\n";
        let jobs = queued_nzbs(queue.as_bytes()).expect("a queue");
        let job = |path: &str, name: &str, category: Option<&str>, priority| QueuedNzb {
            path: path.to_owned(),
            name: name.to_owned(),
            category: category.map(str::to_owned),
            priority,
        };
        let expected = [
            job("/nzb/tv/show.nzb.queued", "show", Some("tv"), 50),
            job("/nzb/o.nzb.queued", "o", None, 0),
        ];
        assert_eq!(jobs, expected);
        assert_eq!(queued_nzbs(b"something else"), Err(ImportError::Unknown));
    }
}
