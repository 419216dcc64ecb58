//! [`Fetch`]: one article to be fetched.

use std::sync::Arc;

use bergamot_types::{ByteCount, GroupName, MessageId, Patience};

#[derive(Clone, Debug)]
pub struct Fetch {
    /// The asker's number; the report carries it.
    pub ticket: u64,
    pub id: MessageId,
    /// Where it was posted, for servers that want a group selected first.
    pub groups: Arc<[GroupName]>,
    /// The most that is read of its body.
    pub limit: ByteCount,
    pub patience: Patience,
}
