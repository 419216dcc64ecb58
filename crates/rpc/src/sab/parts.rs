//! Long lists, a part at a time.

use std::collections::HashSet;
use std::future::Future;

use crate::control::Refusal;
use crate::view::{Job, Page};
use crate::wish::Which;

/// The jobs of one list or of several, each once, of which only some are held at a time: a page of a
/// long list costs no more memory than a page, and the daemon never makes the whole list at once.
#[derive(Default)]
pub(super) struct Parts {
    seen: HashSet<u32>, // what moves between two parts is in both
}

impl Parts {
    pub(super) fn is_new(&mut self, job: &Job) -> bool {
        self.seen.insert(job.id.0)
    }

    pub(super) async fn each<F>(
        &mut self,
        mut ask: impl FnMut(Which) -> F,
        hidden: bool,
        mut take: impl FnMut(Job),
    ) -> Result<(), Refusal>
    where
        F: Future<Output = Result<Page<Job>, Refusal>>,
    {
        let mut offset = 0;
        loop {
            let which = Which { offset, limit: Some(PART), hidden, ..Which::default() };
            let Page { total, items } = ask(which).await?;
            offset += items.len();
            let is_last = items.is_empty() || offset >= total;
            items.into_iter().filter(|job| self.is_new(job)).for_each(&mut take);
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Some hundred kilobytes.
const PART: usize = 200;
