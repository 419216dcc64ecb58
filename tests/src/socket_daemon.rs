//! [`SocketDaemon`]: a running daemon with its home, its configuration and a client of its control socket.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bergamot_newsd::Generated;
use bergamot_rpc::Client;
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::home::Home;
use crate::news::News;

/// Use it for tests that call the native JSON-RPC interface over the control socket, or that kill the daemon and
/// start it again with the same state. For HTTP and passwords use [`HttpDaemon`](crate::HttpDaemon).
#[derive(Debug)]
pub struct SocketDaemon {
    pub home: Home,
    pub config: String,
    pub daemon: Daemon,
    client: Client,
}

impl SocketDaemon {
    /// Starts it in a new home, with the first server of `news`.
    pub fn start(news: &News, connections: u32) -> Self {
        Self::start_in(Home::new(), news.section(0, &format!("connections = {connections}")))
    }

    /// # Panics
    /// When it does not start.
    pub fn start_in(home: Home, config: String) -> Self {
        let daemon = Daemon::start(&home, &config);
        let client = Client::connect_socket(&home.join("control.sock")).expect("it listens");
        Self { home, config, daemon, client }
    }

    /// Kills the daemon with SIGKILL and starts it again with the same home and configuration.
    pub fn kill_and_start(self) -> Self {
        self.daemon.kill();
        Self::start_in(self.home, self.config)
    }

    /// # Panics
    /// When it is refused.
    /// Returns the result of a call.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.client.call(method, params.clone());
        answer.unwrap_or_else(|error| panic!("{method} {params}: {error}"))
    }

    /// # Panics
    /// When it is not refused.
    pub fn refusal(&mut self, method: &str, params: Value) -> String {
        match self.client.call(method, params.clone()) {
            Ok(answer) => panic!("{method} {params}: {answer}"),
            Err(error) => error.to_string(),
        }
    }

    /// The number of the new job.
    ///
    /// # Panics
    /// When it is not taken.
    pub fn add(&mut self, name: &str, post: &Generated, more: Value) -> u64 {
        let nzb = BASE64_STANDARD.encode(post.nzb());
        let mut params = json!({ "name": format!("{name}.nzb"), "nzb": nzb });
        let more = more.as_object().expect("an object").clone();
        params.as_object_mut().expect("an object").extend(more);
        self.call("queue.add", params)["job"].as_u64().expect("a number")
    }

    /// Of the jobs on a list.
    ///
    /// # Panics
    /// When it is none.
    pub fn names(&mut self, list: &str) -> Vec<String> {
        let items = self.call(list, json!({}));
        let items = items["items"].as_array().expect("a list");
        items.iter().map(|job| job["name"].as_str().expect("a name").to_owned()).collect()
    }
}
