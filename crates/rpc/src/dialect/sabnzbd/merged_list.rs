//! Pages over several lists that are shown as one.

use std::collections::HashSet;
use std::future::Future;

use bergamot_api::Refusal;
use bergamot_api::request::JobFilter;
use bergamot_api::view::{Job, Page};

use crate::codec::reply::Reply;

/// Writes a list, item by item. Others get their turn in between, for a long one takes a while, and what
/// is written is given free.
pub(super) async fn write_list<T>(items: Vec<T>, write: impl Fn(&mut Vec<u8>, &T)) -> Reply {
    let mut text = b"[".to_vec();
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        write(&mut text, &item);
        if place % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1 {
            tokio::task::yield_now().await;
        }
    }
    text.push(b']');
    Reply::whole(text)
}

/// The jobs of one list or of several, each once.
///
/// A list is asked for as a whole: of one that is read in pieces a job could be missed while others leave
/// it, and a client that misses a job takes it for deleted.
#[derive(Default)]
pub(super) struct Parts {
    seen: HashSet<u32>, // what moves between two lists is in both
}

impl Parts {
    pub(super) fn is_new(&mut self, job: &Job) -> bool {
        self.seen.insert(job.id.0)
    }

    pub(super) async fn each<F>(
        &mut self,
        ask: impl FnOnce(JobFilter) -> F,
        hidden: bool,
        take: impl FnMut(Job),
    ) -> Result<(), Refusal>
    where
        F: Future<Output = Result<Page<Job>, Refusal>>,
    {
        let Page { items, .. } = ask(JobFilter { hidden, ..JobFilter::default() }).await?;
        items.into_iter().filter(|job| self.is_new(job)).for_each(take);
        Ok(())
    }
}

/// Less than a millisecond of work.
const ITEMS_AT_ONCE: usize = 64;
