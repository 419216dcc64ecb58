//! [`LongList`]: a list of a reply whose items are fetched and written while it is sent.

use std::future::Future;
use std::sync::Arc;
use std::vec;

use bergamot_api::request::ListKind;
use bergamot_api::view::{Job, Listing};
use bergamot_api::{Control, Refusal};
use bergamot_types::JobId;

use crate::codec::reply::{Format, Reply, Rest, Writing};

/// Items as they come, each as `write` has it.
pub(crate) struct LongList<T, S, W> {
    format: Format,
    items: vec::IntoIter<T>,
    source: S,
    write: W,
    is_begun: bool,
}

/// Where more items come from.
pub(crate) trait Source<T>: Send {
    /// The next of them; none if there are no more, and an empty list if some have left meanwhile.
    fn more(&mut self) -> impl Future<Output = Result<Option<Vec<T>>, Refusal>> + Send;
}

/// All items are there.
pub(crate) struct NoMore;

impl<T> Source<T> for NoMore {
    async fn more(&mut self) -> Result<Option<Vec<T>>, Refusal> {
        Ok(None)
    }
}

/// The rest of the queue or of the history, asked for some jobs at a time.
pub(crate) struct MoreJobs<C> {
    control: Arc<C>,
    list: ListKind,
    ids: vec::IntoIter<JobId>,
    wanted: fn(&Job) -> bool,
}

impl<C: Control> Source<Job> for MoreJobs<C> {
    async fn more(&mut self) -> Result<Option<Vec<Job>>, Refusal> {
        let ids: Vec<_> = self.ids.by_ref().take(Listing::AT_ONCE).collect();
        if ids.is_empty() {
            return Ok(None);
        }
        let mut jobs = self.control.listed(self.list, ids).await?;
        jobs.retain(self.wanted);
        Ok(Some(jobs))
    }
}

impl<C: Control> MoreJobs<C> {
    /// The jobs that are there already, and where the others come from.
    pub(crate) fn of(
        control: Arc<C>,
        list: ListKind,
        listing: Listing,
        wanted: fn(&Job) -> bool,
    ) -> (Vec<Job>, Self) {
        let Listing { mut first, rest, .. } = listing;
        first.retain(wanted);
        (first, Self { control, list, ids: rest.into_iter(), wanted })
    }
}

impl<T, S, W> LongList<T, S, W>
where
    T: Send + 'static,
    S: Source<T> + 'static,
    W: Fn(Format, &mut Vec<u8>, &T) + Send + 'static,
{
    pub(crate) fn reply(format: Format, first: Vec<T>, source: S, write: W) -> Reply {
        let [head, _, tail] = format.brackets();
        let list = Self { format, items: first.into_iter(), source, write, is_begun: false };
        Reply { text: head.to_vec(), rest: Some(Box::new(list)), tail: tail.to_vec() }
    }

    async fn next_items(&mut self, text: &mut Vec<u8>) -> Result<bool, Refusal> {
        let [_, between, _] = self.format.brackets();
        let enough = text.len() + TEXT_AT_ONCE;
        while text.len() < enough {
            let Some(item) = self.items.next() else {
                let Some(more) = self.source.more().await? else { return Ok(false) };
                self.items = more.into_iter();
                continue;
            };
            if self.is_begun {
                text.extend_from_slice(between);
            }
            self.is_begun = true;
            (self.write)(self.format, text, &item);
        }
        // Others get their turn in between, for a long list takes a while.
        tokio::task::yield_now().await;
        Ok(true)
    }
}

impl<T, S, W> Rest for LongList<T, S, W>
where
    T: Send + 'static,
    S: Source<T> + 'static,
    W: Fn(Format, &mut Vec<u8>, &T) + Send + 'static,
{
    fn write_on<'a>(&'a mut self, text: &'a mut Vec<u8>) -> Writing<'a> {
        Box::pin(self.next_items(text))
    }
}

/// A millisecond of work, at most.
const TEXT_AT_ONCE: usize = 64 << 10;
