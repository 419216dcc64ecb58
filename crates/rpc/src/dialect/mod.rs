//! The handlers of the three dialects: bergamot's own, NZBGet's and SABnzbd's.
//!
//! Handlers own no state. They run in the task of the connection and call [`Control`](bergamot_api::Control).

pub(crate) mod file_order;
pub(crate) mod native;
pub(crate) mod nzbget;
pub(crate) mod sabnzbd;
