//! Headers of newsgroups: refreshed while they are requested, and assembled into posts.
//!
//! No socket, no clock and no timer in here. [`Newsgroups`] is told what is asked for and what a server
//! said; it says when a group is to be looked at, what is to be read then, and who has an answer.
//! When a group is due is for `poll` to decide.
//!
//! - [`Newsgroups`], [`Need`], [`Due`], [`Order`]: the life of groups that are asked for
//! - [`Fetch`], [`Plan`], [`Batch`]: one look at a group, on whatever connection there is
//! - [`Overview`], [`Headers`], [`Header`]: what a server says of articles, read and kept small
//! - [`Post`], [`PostFile`]: what their subjects make of them
//! - [`Query`]: which of them are looked for

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
