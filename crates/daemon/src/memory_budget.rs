//! [`Plan`]: how the memory is divided between read buffers, connections and articles. Pure.
//!
//! One budget covers all that grows with the load: the read buffer of each thread, what each
//! connection keeps (TLS state, half a record, bytes read ahead), and the articles, from their first
//! byte until they are on the disk. What connections may need is set aside for good, so that articles
//! can never take it and nothing has to be given back.

use bergamot_types::ByteCount;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Plan {
    pub(crate) articles: ByteCount,
    pub(crate) connections: usize,
}

impl Plan {
    /// Connections get no more than half of it, and read buffers a quarter, however many there are.
    pub(crate) fn new(budget: ByteCount, threads: usize, connections: usize) -> Self {
        let threads = (threads as u64 * READ_BUFFER).min(budget.0 / 4);
        let most = (budget.0 / 2 / CONNECTION) as usize;
        let connections = connections.min(most);
        let articles = budget.0 - threads - connections as u64 * CONNECTION;
        Self { articles: ByteCount(articles), connections }
    }
}

const READ_BUFFER: u64 = bergamot_net::READ_BUFFER_SIZE as u64;
const CONNECTION: u64 = bergamot_net::CONNECTION_COST as u64;

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn connections_and_buffers_come_off_what_articles_get() {
        let plan = Plan::new(ByteCount(40 * MIB), 2, 8);
        let articles = 40 * MIB - 2 * READ_BUFFER - 8 * CONNECTION;
        assert_eq!(plan, Plan { articles: ByteCount(articles), connections: 8 });
        let crowd = Plan::new(ByteCount(4 * MIB), 64, 1000);
        assert_eq!(crowd.connections as u64, 2 * MIB / CONNECTION);
        assert!(crowd.articles.0 >= MIB, "{crowd:?}");
    }
}
