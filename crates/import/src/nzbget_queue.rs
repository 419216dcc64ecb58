//! [`QueuedNzb`]: a job of NZBGet's queue, parsed from the file `queue` of its queue directory. Pure.
//!
//! Only a few lines of each job are used: the path of its NZB, which ends in `.queued`, after it the name,
//! the category and the priority, and at its end the list of its files. These have had the same order for
//! many versions, while others changed.

use crate::{ImportError, text};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueuedNzb {
    pub path: String,
    pub name: String,
    pub category: Option<String>,
    pub priority: i32,
    /// Every file that is still to come is.
    pub paused: bool,
}

/// In the order of the queue.
pub fn queued_nzbs(bytes: &[u8]) -> Result<Vec<QueuedNzb>, ImportError> {
    let text = text::decoded(bytes)?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if !lines.first().is_some_and(|line| line.starts_with("nzbget diskstate file")) {
        return Err(ImportError::Unknown);
    }
    let is_begin = |place: &usize| lines[*place].ends_with(".queued");
    let begins: Vec<usize> = (0..lines.len().saturating_sub(3)).filter(is_begin).collect();
    let ends = begins.iter().skip(1).map(|next| next.saturating_sub(BEFORE_PATH));
    let ends = ends.chain([lines.len()]);
    let job = |(begin, end): (&usize, usize)| {
        let lines = &lines[*begin..end.max(begin + 4)];
        QueuedNzb {
            path: lines[0].to_owned(),
            name: lines[1].to_owned(),
            category: Some(lines[2].to_owned()).filter(|category| !category.is_empty()),
            priority: lines[3].split(',').next().and_then(|text| text.parse().ok()).unwrap_or(0),
            paused: is_paused(&lines[4..]),
        }
    };
    Ok(begins.iter().zip(ends).map(job).collect())
}

/// By the list at the end: how many files, and of each its number, whether it is paused, and more.
fn is_paused(lines: &[&str]) -> bool {
    let lines = lines.iter().rposition(|line| !line.is_empty()).map_or(&[][..], |it| &lines[..=it]);
    let flag = |line: &&str| line.split(',').nth(1)?.parse::<u32>().ok();
    let flags: Vec<u32> = lines.iter().rev().map_while(flag).collect();
    let count_of = |count: &usize| {
        let place = lines.len().checked_sub(count + 1);
        place.and_then(|place| lines[place].parse::<usize>().ok()) == Some(*count)
    };
    // What stands before the list may look like more of it.
    let Some(count) = (1..=flags.len()).find(count_of) else { return false };
    flags[..count].iter().all(|flag| *flag == 1)
}

/// Lines of a job before the path of its NZB.
const BEFORE_PATH: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_paused_if_all_that_is_to_come_of_it_is() {
        let job = |files: &str| {
            format!("1\n0\n\n/n\n/d\n\n/n.queued\nn\n\n0,0,0\n0\n1\n1,5,0\n{files}\n")
        };
        let jobs = [job("2\n7,1,0\n8,1,0"), job("2\n7,1,0\n8,0,0"), job("0"), job("1\n7,1,3,0\n")];
        let queue = format!("nzbget diskstate file version 62\n4\n{}", jobs.concat());
        let jobs = queued_nzbs(queue.as_bytes()).expect("a queue");
        let paused: Vec<bool> = jobs.iter().map(|job| job.paused).collect();
        assert_eq!(paused, [true, false, false, true]);
    }

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
            paused: false,
        };
        let expected = [
            job("/nzb/tv/show.nzb.queued", "show", Some("tv"), 50),
            job("/nzb/o.nzb.queued", "o", None, 0),
        ];
        assert_eq!(jobs, expected);
        assert_eq!(queued_nzbs(b"something else"), Err(ImportError::Unknown));
    }
}
