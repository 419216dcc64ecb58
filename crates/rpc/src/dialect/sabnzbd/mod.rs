//! SABnzbd's dialect: `/api?mode=…`.
//!
//! The mode, and for some modes `name`, select the handler; parameters come in the query or in a form, which may contain an
//! NZB. SABnzbd's clients change state by GET, which no other dialect allows, so such a request must carry its key or
//! password itself: credentials that a browser adds automatically are not accepted.

mod add;
mod config;
mod daemon_control;
mod error;
mod files;
mod format;
mod handler;
mod history;
mod merged_list;
mod mode;
mod multipart;
mod params;
mod queue;
mod queue_edit;
mod queued;
mod status;
mod volumes;

pub use mode::markdown;
pub(crate) use mode::mode_names;
pub(crate) use params::read_form;

/// Clients take what they find at the beginning for a version of SABnzbd; from 2.0 on they ask for all
/// we have.
pub(crate) const VERSION: &str = concat!("4.5.0-bergamot-", env!("CARGO_PKG_VERSION"));
