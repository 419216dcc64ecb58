//! The state on disk: threads that write it, loading jobs from it, and resuming after a crash.

pub(crate) mod journal_buffer;
pub(crate) mod journal_thread;
pub(crate) mod load;
pub(crate) mod load_error;
pub(crate) mod load_queue;
pub(crate) mod persistent_state;
pub(crate) mod record_thread;
pub(crate) mod resume;
pub(crate) mod retractions;
pub(crate) mod state_thread;
