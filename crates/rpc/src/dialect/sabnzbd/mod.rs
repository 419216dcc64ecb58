//! SABnzbd's dialect: `/api?mode=…`, for programs that know no other.
//!
//! One path, a mode and sometimes a name say what is wanted; parameters come in the query, in a form or
//! beside a file. Its clients change things by GET, which no other dialect allows, so here such a call
//! has to carry its key or password itself: what a browser adds on its own is not enough.

mod add;
mod config;
mod error;
mod files;
mod handler;
mod history;
mod mode;
mod multipart;
mod params;
mod parts;
mod queue;
mod queue_edit;
mod queued;
mod status;
mod steering;
mod volumes;
mod words;

pub use mode::markdown;
pub(crate) use mode::mode_names;
pub(crate) use params::read_form;

/// Clients take what they find at the beginning for a version of SABnzbd; from 2.0 on they ask for all
/// we have.
pub(crate) const VERSION: &str = concat!("4.5.0-bergamot-", env!("CARGO_PKG_VERSION"));
