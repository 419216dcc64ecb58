//! The commands about jobs: adding, listing, showing, changing and waiting for them.

pub(crate) mod add;
pub(crate) mod edit;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod wait;
