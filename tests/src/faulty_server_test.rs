//! [`FaultyServerTest`]: a daemon with servers that misbehave, and the checks that hold at the end of every such test.

use std::fs;
use std::sync::Arc;

use bergamot_newsd::{Articles, Generated, Login, Options};
use bergamot_types::ByteCount;

use crate::daemon::Daemon;
use crate::home::Home;
use crate::news::{News, content_of};

/// Use it for tests with hostile, broken or unreachable servers.
///
/// Every server requires a login, so that each test also shows that no password reaches the log. Every server has
/// the articles of a control job, which [`FaultyServerTest::end`] downloads to show that the daemon still works.
#[derive(Debug)]
pub struct FaultyServerTest {
    pub home: Home,
    pub news: News,
    pub daemon: Daemon,
    config: String,
    control: Arc<Generated>,
}

/// The log, the files and the transcripts of a test after the daemon has stopped.
#[derive(Debug)]
pub struct FinishedTest {
    pub home: Home,
    pub news: News,
    pub log: Vec<String>,
}

impl FaultyServerTest {
    /// `head` is what stands before the servers in the configuration; each server comes with its
    /// further keys.
    pub fn start<'a>(head: &str, servers: impl IntoIterator<Item = (Options, &'a str)>) -> Self {
        Self::start_in(Home::new(), head, servers)
    }

    /// As [`FaultyServerTest::start`], in a home that was prepared.
    pub fn start_in<'a>(
        home: Home,
        head: &str,
        servers: impl IntoIterator<Item = (Options, &'a str)>,
    ) -> Self {
        let control = post(CONTROL_SEED, "control.bin", 3);
        let (options, keys): (Vec<_>, Vec<_>) = servers.into_iter().unzip();
        let news = News::start(options.into_iter().map(|mut options| {
            let articles: Vec<Arc<dyn Articles>> = vec![options.articles, control.clone()];
            options.articles = Arc::new(articles);
            options.manners.login.get_or_insert(Login::new("ann", PLANTED));
            options.manners.transcript = true;
            options
        }));
        let login = format!("username = \"ann\"\npassword = \"{PLANTED}\"");
        let section = |(n, keys): (usize, &&str)| {
            let login = if keys.contains("username") { "" } else { &login };
            news.section(n, &format!("{login}\n{keys}"))
        };
        let sections: String = keys.iter().enumerate().map(section).collect();
        let config = format!("{head}\n{sections}");
        let daemon = Daemon::start(&home, &config);
        Self { home, news, daemon, config, control }
    }

    /// Downloads a generated post, every byte of it.
    pub fn completes(&mut self, name: &str, post: &Generated) -> String {
        self.home.drop_nzb(&format!("{name}.nzb"), post.nzb());
        self.arrives(name, post)
    }

    /// Waits for a generated post that has been dropped.
    pub fn arrives(&mut self, name: &str, post: &Generated) -> String {
        let line = self.daemon.wait_complete(name);
        let file = post.files().next().map(|(file, _)| file.to_owned()).expect("it has a file");
        let path = self.home.join("complete").join(name).join(file);
        let found = fs::read(&path).expect("the finished file");
        assert!(found == content_of(post), "{} has every byte", path.display());
        line
    }

    /// A job that cannot be completed: it fails, and leaves nothing in the directory of finished jobs.
    pub fn fails(&mut self, name: &str, nzb: &str) -> String {
        self.home.drop_nzb(&format!("{name}.nzb"), nzb);
        let line = self.daemon.wait_failed(name);
        assert!(!self.home.join("complete").join(name).exists(), "nothing looks finished");
        line
    }

    /// Stops the daemon in good order, whatever it is at, and starts it again.
    #[must_use]
    pub fn restart(self) -> Self {
        self.daemon.stop();
        Self { daemon: Daemon::start(&self.home, &self.config), ..self }
    }

    /// The control job completes, the daemon stops in good order, and nothing leaked.
    pub fn end(mut self) -> FinishedTest {
        let control = self.control.clone();
        let line = self.completes("control", &control);
        assert!(line.contains("verified=true"), "{line}");
        let Self { home, news, daemon, .. } = self;
        let log = daemon.stop().log;
        let leak = log.iter().find(|line| line.contains(PLANTED));
        assert_eq!(leak, None, "no password in the log");
        home.assert_contained();
        FinishedTest { home, news, log }
    }
}

impl FinishedTest {
    /// Whether some line of the log holds all of `words`.
    pub fn said(&self, words: &[&str]) -> bool {
        self.log.iter().any(|line| words.iter().all(|word| line.contains(word)))
    }

    /// # Panics
    /// When no line of the log holds all of `words`.
    pub fn assert_said(&self, words: &[&str]) {
        assert!(self.said(words), "{words:?} was said:\n{}", self.log.join("\n"));
    }

    /// # Panics
    /// When the daemon logged that no server has an article.
    pub fn assert_nothing_lost(&self) {
        assert!(!self.said(&["no server has"]), "{}", self.log.join("\n"));
    }
}

/// A post of one file in so many articles.
pub fn post(seed: u64, name: &str, articles: u32) -> Arc<Generated> {
    let size = u64::from(articles) * ARTICLE - ARTICLE / 2;
    Arc::new(Generated::new(seed, ByteCount(ARTICLE)).file(name, ByteCount(size)))
}

/// The ids of a generated post of one file.
pub fn ids(post: &Generated) -> Vec<String> {
    (1..=post.parts(0)).map(|number| post.id(0, number)).collect()
}

/// The password of every test.
pub const PLANTED: &str = "pl4nted pässword";

const CONTROL_SEED: u64 = 0xc0;
const ARTICLE: u64 = 20_000;
