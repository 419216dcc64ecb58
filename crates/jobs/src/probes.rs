//! Which jobs are probed before their turn comes, and by which of their articles. Pure.
//!
//! A sample of the articles of the first jobs that have not begun is asked for every few minutes, so that a
//! post that was taken down is known early.

use bergamot_engine::{Engine, Sampled};
use bergamot_nzb::Nzb;
use bergamot_queue::{Permille, Sizes, sample};
use bergamot_types::{JobId, SplitMix};

use crate::list::job_list::JobList;

/// The articles that stand for a job.
#[derive(Debug)]
pub struct JobSample {
    pub articles: Vec<Sampled>,
    pub critical: Permille,
}

/// The first jobs that have not begun; the next one comes first.
pub fn to_probe(jobs: &JobList, engine: &Engine, current: Option<JobId>) -> Vec<JobId> {
    let has_begun = |job: JobId| {
        Some(job) == current || engine.job(job).is_some_and(|it| it.totals().bytes_done > 0)
    };
    let waits = jobs.queued().take(LOOK_AHEAD).filter(|record| {
        let is_small = (1..=MOST_ARTICLES).contains(&record.contents.articles);
        let rests = jobs.resting(record.id).is_some();
        let is_ready = !record.paused && !rests && record.finished.is_empty();
        is_ready && is_small && !has_begun(record.id)
    });
    waits.map(|record| record.id).take(MOST_PROBED).collect()
}

/// Recovery files aside: missing articles are repaired from them.
pub fn draw_sample(nzb: &Nzb, chance: &mut SplitMix) -> JobSample {
    let all = nzb.bytes();
    let (par2, data): (Vec<_>, Vec<_>) = nzb.files.iter().partition(|file| file.par2().is_some());
    let par2 = par2.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes()));
    let sizes = Sizes { all, par2, ..Sizes::default() };
    let counts = data.iter().map(|file| file.segments.len() as u32);
    let places = sample(counts.sum(), chance);
    let mut articles = Vec::with_capacity(places.len());
    let mut places = places.into_iter().peekable();
    let mut before = 0;
    for file in data {
        let count = file.segments.len() as u32;
        while let Some(place) = places.next_if(|place| *place < before + count) {
            let id = file.segments.id((place - before) as usize);
            articles.push(Sampled { id, posted: file.date });
        }
        before += count;
    }
    JobSample { articles, critical: sizes.critical_health() }
}

/// What comes after these is many hours away.
const MOST_PROBED: usize = 10;
/// Jobs of the queue among which they are found.
const LOOK_AHEAD: usize = 100;
/// To read a larger NZB again and again would take memory that articles need.
const MOST_ARTICLES: u32 = 300_000;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use bergamot_engine::Settings;
    use bergamot_nzb::Limits;
    use bergamot_types::UnixTime;

    use super::*;
    use crate::{Fingerprint, Record, Rest};

    #[test]
    fn the_first_jobs_that_may_begin_are_probed() {
        let (mut jobs, now) = (JobList::default(), Instant::now());
        let engine = Engine::new(now, Settings::default());
        for id in 1..=20 {
            let mut record = Record::new(JobId(id), "a", UnixTime(0), "", Fingerprint::default());
            record.contents.articles = if id == 5 { MOST_ARTICLES + 1 } else { 9 };
            jobs.insert(Box::new(record));
        }
        jobs.set_paused(JobId(3), true);
        jobs.rest(JobId(4), Rest { until: now, failure: None });
        let probed = to_probe(&jobs, &engine, Some(JobId(1)));
        let expected: Vec<_> = [2].into_iter().chain(6..=14).map(JobId).collect();
        assert_eq!(probed, expected);
    }

    #[test]
    fn a_sample_has_no_recovery_files_in_it() {
        let file = |name: &str, id: &str| {
            format!(
                "<file subject='\"{name}\"'><segments>\
                 <segment bytes='1000' number='1'>{id}</segment></segments></file>"
            )
        };
        let text = format!("<nzb>{}{}</nzb>", file("a.rar", "a@x"), file("a.par2", "b@x"));
        let nzb = bergamot_nzb::read(text.as_bytes(), &Limits::default()).unwrap();
        let drawn = draw_sample(&nzb, &mut SplitMix::seeded(1));
        let ids: Vec<_> = drawn.articles.iter().map(|it| it.id.to_string()).collect();
        assert_eq!(ids, ["a@x"]);
        assert_eq!(drawn.critical, Permille(0), "all of it can be repaired");
    }
}
