//! Several lists as one.

use std::collections::HashSet;
use std::future::Future;

use crate::control::Refusal;
use crate::view::{Job, Page};
use crate::wish::Which;

/// The jobs of one list or of several, each once.
///
/// A list is asked for as a whole: of one that is read in pieces a job could be missed while others leave
/// it, and whoever misses one takes it for deleted.
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
        ask: impl FnOnce(Which) -> F,
        hidden: bool,
        take: impl FnMut(Job),
    ) -> Result<(), Refusal>
    where
        F: Future<Output = Result<Page<Job>, Refusal>>,
    {
        let Page { items, .. } = ask(Which { hidden, ..Which::default() }).await?;
        items.into_iter().filter(|job| self.is_new(job)).for_each(take);
        Ok(())
    }
}
