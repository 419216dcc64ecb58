//! [`Post`]: the jobs of a day with their ids, and on byte-level days their bytes. Pure.

use std::sync::Arc;

use bergamot_newsd::{Articles, Generated};
use bergamot_queue::{FileKey, NewFile, NewJob, SegmentKey};
use bergamot_types::{ByteCount, JobId, MessageId, MessageIdList, UnixTime};

use crate::sim::day::{Day, JobModel};
use crate::sim::seed::Seed;
use crate::sim::world::Places;

#[derive(Debug)]
pub(crate) struct Post {
    places: Places,
    sources: Vec<Arc<Generated>>, // by job; none where nobody asks for bytes
    article: u64,
}

impl Post {
    pub(crate) fn new(day: &Day) -> Self {
        let mut post = Self { places: Places::new(), sources: Vec::new(), article: day.article };
        for (index, job) in day.jobs.iter().enumerate() {
            if let Seed::Bytes(seed) = day.seed {
                post.sources.push(Arc::new(source(seed, index, job, day.article)));
            }
            for (file, &segments) in (0..).zip(&job.files) {
                for segment in 0..segments {
                    let id = MessageId::parse(&post.id(index, file, segment)).expect("a good id");
                    let key = SegmentKey { job: JobId(index as u32 + 1), file, segment };
                    post.places.insert(id, key);
                }
            }
        }
        post
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// What a server of byte-level days has.
    pub(crate) fn articles(&self) -> Arc<dyn Articles> {
        let all = self.sources.iter().map(|source| Arc::clone(source) as Arc<dyn Articles>);
        Arc::new(all.collect::<Vec<_>>())
    }

    pub(crate) fn job(&self, day: &Day, index: usize) -> NewJob {
        let model = &day.jobs[index];
        let posted = model
            .posted_days_ago
            .map(|days| UnixTime(day.calendar.begins.0 - i64::from(days) * 86_400));
        let file = |(file, &segments): (usize, &u32)| {
            let mut ids = MessageIdList::new();
            for segment in 0..segments {
                ids.push(&self.id(index, file as u32, segment)).expect("a good id");
            }
            NewFile {
                ids,
                numbers: (1..=segments).collect(),
                bytes: vec![day.claimed; segments as usize],
                posted,
                is_extra: model.is_volume(file),
                is_par2: model.is_volume(file),
                ..NewFile::default()
            }
        };
        let files = model.files.iter().enumerate().map(file).collect();
        NewJob { priority: model.priority, ..NewJob::new(JobId(index as u32 + 1), files) }
    }

    /// Whether a finished file holds what was posted; models of servers post nothing.
    pub(crate) fn holds(&self, file: FileKey, content: &[u8]) -> bool {
        let Some(source) = self.sources.get(file.job.0 as usize - 1) else { return true };
        let length = u64::from(source.parts(file.file as usize)) * self.article;
        let mut expected = vec![0; length as usize];
        source.read_at(file.file as usize, 0, &mut expected);
        expected == content
    }

    fn id(&self, job: usize, file: u32, segment: u32) -> String {
        match self.sources.get(job) {
            Some(source) => source.id(file as usize, segment + 1),
            None => format!("{file}.{segment}@{}", job + 1),
        }
    }
}

fn source(seed: u64, index: usize, job: &JobModel, article: u64) -> Generated {
    let seed = seed ^ (index as u64 + 1) << 40;
    job.files.iter().enumerate().fold(
        Generated::new(seed, ByteCount(article)),
        |source, (file, &segments)| {
            source.file(format!("{file}.bin"), ByteCount(u64::from(segments) * article))
        },
    )
}
