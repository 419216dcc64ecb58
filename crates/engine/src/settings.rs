//! What the engine is told beforehand.

use std::time::Duration;

use bergamot_types::{ByteCount, ServerId};

#[derive(Clone, Debug)]
pub struct Settings {
    pub servers: Vec<ServerSettings>,
    /// New connections that one article may cost one server.
    pub article_retries: u8,
    /// Memory for articles that are under way or not yet written.
    pub budget: ByteCount,
    /// Requests in flight on one connection.
    pub pipeline: usize,
    /// A connection with nothing to do is kept this long.
    pub idle: Duration,
    /// Where the jitter of rests begins.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            article_retries: 3,
            budget: ByteCount(40 << 20),
            pipeline: 4,
            idle: Duration::from_secs(30),
            seed: 0,
        }
    }
}

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
    /// Servers with the same number share one account: together they have no more connections than
    /// the one of them that may have most.
    pub account: Option<u16>,
    /// Days; 0 is for ever.
    pub retention: u32,
}
