//! [`News`]: news servers on loopback, in threads of the test.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bergamot_newsd::{Articles, Generated, Options, Posted, Server, Tally};
use tokio::runtime::Runtime;

use crate::daemon::PATIENCE;

/// Some servers that run beside the test.
#[derive(Debug)]
pub struct News {
    runtime: Runtime,
    servers: Vec<Server>,
}

impl News {
    /// # Panics
    /// When a server cannot be started.
    pub fn start(servers: impl IntoIterator<Item = Options>) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
        let start = |options| runtime.block_on(Server::start(options)).expect("a server");
        let servers = servers.into_iter().map(start).collect();
        Self { runtime, servers }
    }

    /// One plain server with these articles.
    pub fn plain(articles: Arc<dyn Articles>) -> Self {
        Self::start([Options { articles, ..Options::default() }])
    }

    pub fn address(&self, server: usize) -> SocketAddr {
        self.servers[server].address()
    }

    pub fn port(&self, server: usize) -> u16 {
        self.address(server).port()
    }

    pub fn tally(&self, server: usize) -> &Tally {
        self.servers[server].tally()
    }

    /// A plain `[[server]]` section for a server, with `more` keys.
    pub fn section(&self, server: usize, more: &str) -> String {
        let unless_given = |key: &str, value: &str| match more.contains(&format!("{key} = ")) {
            true => String::new(),
            false => format!("{key} = \"{value}\"\n"),
        };
        let encryption = unless_given("encryption", "none");
        let host = unless_given("host", "127.0.0.1");
        let port = self.port(server);
        format!("[[server]]\nname = \"s{server}\"\nport = {port}\n{host}{encryption}{more}\n")
    }

    /// Waits for something that shows only in a tally.
    ///
    /// # Panics
    /// When it does not come in time.
    pub fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < deadline, "what was waited for has not come");
            std::thread::yield_now();
        }
    }

    /// Ends one server, as an outage would.
    pub fn stop(&mut self, server: usize) {
        let server = self.servers.remove(server);
        self.runtime.block_on(server.stop());
    }
}

/// A post of one file, its NZB, and the file's content.
pub fn sample(name: &str, size: usize, article_size: usize) -> (Posted, String, Vec<u8>) {
    let content: Vec<u8> =
        (0..size as u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    let mut posted = Posted::new();
    posted.post(name, &content, article_size);
    let nzb = posted.nzb();
    (posted, nzb, content)
}

/// The content of the first file of a generated post.
///
/// # Panics
/// Never: it is made in memory.
pub fn content_of(post: &Generated) -> Vec<u8> {
    let mut content = Vec::new();
    post.open(0).read_to_end(&mut content).expect("made in memory");
    content
}
