//! The newsgroup requests of control interfaces: methods of [`Handle`], in the task of a request.
//!
//! The main loop only returns a shared pointer to the headers it has; pages and posts are made in the task.

use std::sync::Arc;
use std::time::Duration;

use bergamot_api::newsgroup::{
    Group, GroupQuery, HeaderPage, HeaderQuery, PostJob, PostPage, PostQuery,
};
use bergamot_api::request::{Content, NewJob};
use bergamot_api::view::Page;
use bergamot_api::{Control, Refusal};
use bergamot_newsgroups::{Extent, Failure, Headers, Need};
use bergamot_queue::DupeMode;
use bergamot_types::{GroupName, JobId};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::control::call::Call;
use crate::control::handle::{Handle, aside};
use crate::views::newsgroups::{header_page, post_nzb, post_page, refusal_of};

impl Handle {
    pub(crate) async fn list_groups(&self, query: GroupQuery) -> Result<Page<Group>, Refusal> {
        let waiting = self.ask(|reply| Call::ListGroups { query, reply }).await?;
        answered(waiting).await
    }

    pub(crate) async fn group_headers(&self, query: HeaderQuery) -> Result<HeaderPage, Refusal> {
        let need = match (query.below, query.search.is_some()) {
            (Some(number), false) => Need::Below { number, count: query.limit },
            _ => need(query.latest),
        };
        let (headers, extent, server) = self.known(&query.group, need).await?;
        aside(move || header_page(&query, &headers, &extent, server)).await
    }

    pub(crate) async fn group_posts(&self, query: PostQuery) -> Result<PostPage, Refusal> {
        let (headers, ..) = self.known(&query.group, need(query.latest)).await?;
        aside(move || post_page(&query, &headers)).await
    }

    pub(crate) async fn add_post(&self, wanted: PostJob) -> Result<JobId, Refusal> {
        let (headers, ..) = self.known(&wanted.group, Need::Known).await?;
        let PostJob { group, post, name, category, priority, at_top, paused } = wanted;
        let key = post.clone();
        let found = aside(move || post_nzb(&group, &key, &headers)).await?;
        let (title, nzb) = found.ok_or(Refusal::NoSuchPost(post))?;
        // What looks like a path would be cut to its last part.
        let name = name.unwrap_or_else(|| title.replace(['/', '\\'], "-"));
        let content = Content::Nzb(nzb.into_bytes());
        self.add(NewJob {
            name,
            content,
            category,
            priority,
            at_top,
            paused,
            dupe_key: String::new(),
            dupe_score: 0,
            dupe_mode: DupeMode::default(),
            password: None,
            parameters: Vec::new(),
            auto_category: false,
        })
        .await
    }

    /// The headers of a group, once there is what is needed of them.
    async fn known(
        &self,
        group: &GroupName,
        need: Need,
    ) -> Result<(Arc<Headers>, Extent, String), Refusal> {
        let asked = group.clone();
        let waiting = self.ask(|reply| Call::AskForGroup { group: asked, need, reply }).await?;
        answered(waiting).await?;
        let asked = group.clone();
        let known = self.ask(|reply| Call::KnownHeaders { group: asked, reply }).await?;
        // The headers of other requested groups may have taken all the memory.
        known.ok_or_else(|| Refusal::Unavailable(format!("the headers of {group} were dropped")))
    }
}

fn need(latest: bool) -> Need {
    if latest { Need::Latest } else { Need::Known }
}

async fn answered<T>(waiting: oneshot::Receiver<Result<T, Failure>>) -> Result<T, Refusal> {
    match timeout(LONGEST_WAIT, waiting).await {
        Ok(Ok(result)) => result.map_err(refusal_of),
        Ok(Err(_)) => Err(Refusal::Stopping),
        Err(_) => Err(Refusal::Unavailable(
            "no connection was free for headers: downloads go first, unless `reserved_connections` \
             leaves one to them"
                .to_owned(),
        )),
    }
}

/// The caller waits for it.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
