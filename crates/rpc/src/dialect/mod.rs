//! The handlers of the three dialects: bergamot's own, NZBGet's and SABnzbd's.

pub(crate) mod file_order;
pub(crate) mod native;
pub(crate) mod nzbget;
pub(crate) mod sabnzbd;
