//! [`Group`], [`HeaderPage`], [`Post`] and the queries about newsgroups: plain values, owned by the caller.

use bergamot_types::{GroupName, UnixTime};
use serde::Serialize;

use crate::view::Page;

/// A group that a server has.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Group {
    pub name: String,
    /// The server's description of it.
    pub description: Option<String>,
    /// The numbers of its oldest and its newest article.
    pub first: u64,
    pub last: u64,
}

/// Some of the groups there are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GroupQuery {
    /// A pattern with stars, or a part of the name.
    pub pattern: String,
    /// Names that come behind this one.
    pub after: Option<String>,
    pub limit: usize,
}

/// Headers of one group, the newest first.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct HeaderPage {
    pub group: String,
    /// The server whose numbers these are.
    pub server: String,
    /// What the server has.
    pub first: u64,
    pub last: u64,
    /// Of how many headers these were chosen.
    pub known: usize,
    /// Older headers have numbers below this; null at the end.
    pub below: Option<u64>,
    pub items: Vec<Header>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Header {
    pub number: u64,
    pub subject: String,
    pub poster: String,
    #[serde(with = "crate::wire::optional_time")]
    pub date: Option<UnixTime>,
    pub id: String,
    pub bytes: u64,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeaderQuery {
    pub group: GroupName,
    /// Words that are looked for.
    pub search: Option<String>,
    pub below: Option<u64>,
    pub limit: usize,
    /// Wait for the latest headers of the server instead of returning the cached ones.
    pub latest: bool,
}

/// A post, assembled from the headers that are cached.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Post {
    /// To be given to `groups.queue`.
    pub post: String,
    pub title: String,
    pub poster: String,
    #[serde(with = "crate::wire::optional_time")]
    pub date: Option<UnixTime>,
    pub bytes: u64,
    pub complete: bool,
    pub present_files: u32,
    pub expected_files: u32,
    pub present_articles: u64,
    pub expected_articles: u64,
    /// Only where one post was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<PostFile>>,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PostFile {
    pub name: Option<String>,
    pub bytes: u64,
    pub present: u32,
    pub expected: u32,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PostQuery {
    pub group: GroupName,
    /// This one, with its files.
    pub post: Option<String>,
    pub search: Option<String>,
    /// Only those of which nothing is missing.
    pub complete: bool,
    pub offset: usize,
    pub limit: usize,
    pub latest: bool,
}

/// A post to be downloaded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PostJob {
    pub group: GroupName,
    pub post: String,
    /// Its title, if there is none.
    pub name: Option<String>,
    pub category: Option<String>,
    pub priority: Option<i32>,
    pub at_top: bool,
    pub paused: bool,
}

/// Posts, the newest first.
pub type PostPage = Page<Post>;
