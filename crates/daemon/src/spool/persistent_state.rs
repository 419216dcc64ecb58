//! [`PersistentState`]: the spool, the threads that write records, journals and other state to it, and what
//! waits to be written. Owned by the main loop.

use std::sync::Arc;

use bergamot_jobs::machine::StoreFailure;
use bergamot_store::Spool;

use crate::spool::journal_buffer::Notes;
use crate::spool::journal_thread::Scribe;
use crate::spool::record_thread::Keeper;
use crate::spool::state_thread::Clerk;

pub(crate) struct PersistentState {
    pub(crate) spool: Arc<Spool>,
    pub(crate) keeper: Keeper,
    pub(crate) clerk: Clerk,
    pub(crate) scribe: Scribe,
    pub(crate) notes: Notes,
    /// Why no journal can be written.
    pub(crate) journal_trouble: Option<StoreFailure>,
}
