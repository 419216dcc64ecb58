//! [`ServerSettings`]: what the pool is configured with for one server. Pure.

use bergamot_types::ServerId;

#[derive(Clone, Debug)]
pub struct ServerSettings {
    pub id: ServerId,
    pub active: bool,
    /// Servers of a higher level are asked only for what the lower ones have answered for.
    pub level: u32,
    /// Servers of one group above 0 are mirrors: what one does not have, none of them has.
    pub group: u32,
    /// Its trouble never holds an article back.
    pub optional: bool,
    pub connections: usize,
    /// How many of them articles leave to errands.
    pub reserved: usize,
    /// Servers with the same number share one account: together they have no more connections than
    /// the one of them that may have most.
    pub account: Option<u16>,
    /// Days; 0 is for ever.
    pub retention: u32,
}

impl ServerSettings {
    /// A server of the first level that keeps everything for ever and shares nothing.
    pub fn new(id: ServerId, connections: usize) -> Self {
        Self {
            id,
            active: true,
            level: 0,
            group: 0,
            optional: false,
            connections,
            reserved: 0,
            account: None,
            retention: 0,
        }
    }
}
