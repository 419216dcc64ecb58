//! Headers of newsgroups: refreshed while they are requested, and assembled into posts.
//!
//! [`Newsgroups`] receives requests of clients and answers of servers; it returns which groups are to be
//! read, which of their headers, and which requests are answered. `poll` decides when a group is due. Pure.
//!
//! - [`Newsgroups`], [`Need`], [`Due`], [`Order`]: the groups that are requested, and their life cycle
//! - [`Fetch`], [`Plan`], [`Batch`]: one read of a group
//! - [`Overview`], [`Headers`], [`Header`]: overview lines of a server, parsed and stored compactly
//! - [`Post`], [`PostFile`]: posts and files assembled from their subjects
//! - [`Query`]: a filter over headers

#![forbid(unsafe_code)]

mod batch;
mod cache;
mod encoded_words;
mod fetch;
mod headers;
mod live;
mod newsgroups;
mod overview;
mod post;
mod query;
mod settings;
mod stem;
mod subject;

pub use batch::Batch;
pub use cache::Extent;
pub use fetch::{Failure, Fetch, Plan};
pub use headers::{Header, Headers};
pub use live::Need;
pub use newsgroups::{Due, Newsgroups, Order};
pub use overview::Overview;
pub use post::{Post, PostFile, posts};
pub use query::Query;
pub use settings::Settings;
