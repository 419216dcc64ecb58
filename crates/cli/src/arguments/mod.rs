//! [`Command`] and [`Options`]: the commands that talk to a daemon, as clap parses them.

pub(crate) mod program;
#[cfg(test)]
mod reference;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bergamot_config::{Config, Environment, time};
use bergamot_types::ByteCount;
use clap::{Args, Subcommand, ValueEnum};
use thiserror::Error;

use crate::client::endpoint::Endpoint;

/// How to reach the daemon, and how to print its responses.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Talking to the daemon")]
pub struct Options {
    /// Where the daemon is: PATH, unix:PATH, tcp://HOST:PORT or http://USER:PASSWORD@HOST:PORT;
    /// without it BERGAMOT_HOST, then the file of BERGAMOT_CONFIG, then BERGAMOT_SOCKET, then bergamot.toml in this directory, then the usual sockets
    #[arg(short = 'H', long, global = true, value_name = "PLACE")]
    pub(crate) host: Option<Endpoint>,
    /// The configuration of the daemon, to look up its socket there
    #[arg(id = "config", short = 'c', long = "config", global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print what the daemon answers as JSON, unchanged
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print ids only, or nothing
    #[arg(short, long, global = true, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Give up after this time, as in "90 s" or 2h
    #[arg(long, global = true, value_name = "TIME", value_parser = length_of_time)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Add NZBs to the queue
    Add(Add),
    /// Test directories, servers and this machine with the rights of the daemon of a container, else of the current user, and suggest fixes
    Doctor,
    /// Explain why the queue, or a job, is slow, waits or failed
    Explain { job: Option<u32> },
    /// Show the feeds of indexers
    Feeds {
        #[command(subcommand)]
        command: FeedsCommand,
    },
    /// Show newsgroups, and download what is posted there
    Groups {
        #[command(subcommand)]
        command: GroupCommand,
    },
    /// Check whether the daemon runs, answers and can write its state; the exit code is 0 or 1
    Health,
    /// List the jobs that ended, the newest first
    History(List),
    /// Show or set the limit of the download rate
    Limit {
        /// As in "5 MB" or 800KiB, in a second; or `off`
        rate: Option<RateLimit>,
    },
    /// List the queue
    #[command(visible_alias = "ls")]
    List(List),
    /// Show the log
    Log {
        /// Print new lines as they are written
        #[arg(short, long)]
        follow: bool,
        /// How many of the last lines
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        lines: usize,
        /// Only what concerns one job
        #[arg(long)]
        job: Option<u32>,
    },
    /// Move a job in the queue
    Mv {
        job: u32,
        place: MoveTarget,
        /// The job before or after which it goes
        other: Option<u32>,
    },
    /// Pause all downloads, or some jobs
    Pause {
        jobs: Vec<u32>,
        /// Go on by itself after this time, as in "30 min" or 1h
        #[arg(long = "for", value_name = "TIME", value_parser = length_of_time, conflicts_with = "jobs")]
        time: Option<Duration>,
    },
    /// Show what is used of the quotas
    Quota,
    /// Read the configuration file again
    Reload,
    /// Go on with everything that is paused, or with some jobs
    Resume { jobs: Vec<u32> },
    /// Try again for what is missing of jobs that failed
    Retry {
        #[arg(required = true)]
        jobs: Vec<u32>,
        /// Download everything again
        #[arg(long)]
        from_start: bool,
    },
    /// Remove jobs from the queue
    Rm {
        #[arg(required = true)]
        jobs: Vec<u32>,
        /// Leave what was downloaded where it is, so that it can be taken up again
        #[arg(long)]
        keep_files: bool,
        /// Leave no trace in the history; also takes out jobs that are there already
        #[arg(long, conflicts_with = "keep_files")]
        forget: bool,
    },
    /// Call a method of the daemon; docs/rpc.md has them all
    Rpc {
        method: String,
        /// One object or list of JSON, or key=value pairs, or plain values
        params: Vec<String>,
    },
    /// Scan the watch folder now
    Scan,
    /// Show, add and remove news servers
    Server {
        #[command(subcommand)]
        command: ServerCommand,
    },
    /// Show the disks that jobs are written to
    Storage {
        #[command(subcommand)]
        command: StorageCommand,
    },
    /// Show the details of a job
    Show {
        job: u32,
        /// Its files
        #[arg(long)]
        files: bool,
    },
    /// Show how the daemon is doing
    Status,
    /// End the daemon
    Stop,
    /// List what the scheduler does again and again, and when that is due
    Targets,
    /// Wait for jobs to end; the exit code is their result
    Wait {
        #[arg(required = true)]
        jobs: Vec<u32>,
    },
    /// Watch downloads live
    Watch,
}

#[derive(Clone, Debug, Args)]
pub struct Add {
    /// Files, URLs, or - for standard input
    #[arg(required = true, value_name = "FILE|URL|-")]
    pub(crate) sources: Vec<String>,
    /// What to call the job
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[arg(short = 'C', long)]
    pub(crate) category: Option<String>,
    /// Higher goes first; 900 and more even while downloads are paused
    #[arg(short, long, allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,
    /// Before others of its priority
    #[arg(long)]
    pub(crate) top: bool,
    /// Add it paused
    #[arg(long)]
    pub(crate) paused: bool,
    /// Of its archives
    #[arg(long)]
    pub(crate) password: Option<String>,
    /// Wait until it has ended; the exit code is its result
    #[arg(short, long)]
    pub(crate) wait: bool,
}

#[derive(Clone, Debug, Args)]
pub struct List {
    /// Only jobs with this in their names
    pub(crate) search: Option<String>,
    #[arg(short = 'C', long)]
    pub(crate) category: Option<String>,
    /// Begin after so many jobs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// At most so many jobs; 100 unless ids or JSON are printed
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum FeedsCommand {
    /// List what went wrong
    Errors,
    /// Read a feed now, or all of them
    Fetch {
        /// Its name or number
        feed: Option<String>,
    },
    /// List the feeds and how they stand
    #[command(visible_alias = "ls")]
    List,
    /// Show what rules would take of any feed; nothing is taken
    Preview {
        url: String,
        /// One rule
        #[arg(long, conflicts_with = "rules_file")]
        rules: Option<String>,
        /// A file with rules, one a line
        #[arg(long, value_name = "FILE")]
        rules_file: Option<PathBuf>,
    },
    /// Try again what was given up: items that could not become jobs, and jobs whose NZB did not come
    Retry {
        /// Its name or number
        feed: String,
    },
    /// Read what is due and end; a daemon that runs is asked to do it
    Run(Once),
    /// Show what a feed offers, and what its rules make of each item; nothing is taken
    Show {
        /// Its name or number
        feed: String,
    },
}

#[derive(Clone, Debug, Subcommand)]
pub enum GroupCommand {
    /// List the newsgroups there are
    #[command(visible_alias = "ls")]
    List {
        /// A part of the name, or a pattern like "alt.binaries.*"
        pattern: Option<String>,
        /// Begin behind this name
        #[arg(long, value_name = "GROUP")]
        after: Option<String>,
        /// At most so many groups
        #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// List the headers of a newsgroup, the newest first
    Headers {
        group: String,
        /// Those with numbers below this one
        #[arg(long, value_name = "NUMBER")]
        below: Option<u64>,
        /// At most so many headers
        #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
        limit: usize,
        /// Wait for the latest headers of the server instead of showing the cached ones
        #[arg(long)]
        latest: bool,
    },
    /// Look for headers with all of these words
    Search {
        group: String,
        #[arg(required = true)]
        words: Vec<String>,
        /// Those with numbers below this one
        #[arg(long, value_name = "NUMBER")]
        below: Option<u64>,
        /// At most so many headers
        #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// List what is posted in a newsgroup, the newest first
    Posts(PostChoice),
    /// Download posts
    Queue {
        group: String,
        /// As the first column of `posts` calls them
        #[arg(required = true)]
        posts: Vec<String>,
        #[arg(short = 'C', long)]
        category: Option<String>,
        /// Higher goes first; 900 and more even while downloads are paused
        #[arg(short, long, allow_negative_numbers = true)]
        priority: Option<i32>,
        /// Add them paused
        #[arg(long)]
        paused: bool,
    },
}

#[derive(Clone, Debug, Args)]
pub struct PostChoice {
    pub(crate) group: String,
    /// Only posts with all of these words
    pub(crate) words: Vec<String>,
    /// This post alone, with its files
    #[arg(long)]
    pub(crate) post: Option<String>,
    /// Only posts of which nothing is missing
    #[arg(long)]
    pub(crate) complete: bool,
    /// Begin after so many posts
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// At most so many posts
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Wait for the latest headers of the server instead of showing the cached ones
    #[arg(long)]
    pub(crate) latest: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub enum ServerCommand {
    /// Add a server to the configuration, and use it at once
    Add(AddServer),
    /// List the news servers and how they do
    #[command(visible_alias = "ls")]
    List,
    /// Take a server out of the configuration
    Rm { name: String },
    /// Connect to a server, and log in if a username is given
    Test(TestServer),
}

#[derive(Clone, Debug, Args)]
pub struct TestServer {
    /// The name of a configured server, or a host
    pub(crate) server: String,
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Without encryption
    #[arg(long)]
    pub(crate) plain: bool,
    #[arg(long, requires = "password_file")]
    pub(crate) username: Option<String>,
    /// The file that holds the password
    #[arg(long, value_name = "FILE", requires = "username")]
    pub(crate) password_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub struct AddServer {
    /// What to call it, for good
    pub(crate) name: String,
    /// Where it is found
    #[arg(id = "news_host", value_name = "HOST")]
    pub(crate) host: String,
    /// 563 with TLS, 119 without, unless it is given
    #[arg(long)]
    pub(crate) port: Option<u16>,
    #[arg(long, value_parser = ["tls", "starttls", "none"])]
    pub(crate) encryption: Option<String>,
    #[arg(long)]
    pub(crate) username: Option<String>,
    /// Read the password from standard input
    #[arg(long, requires = "username")]
    pub(crate) password_stdin: bool,
    /// The file that holds the password
    #[arg(long, value_name = "FILE", requires = "username", conflicts_with = "password_stdin")]
    pub(crate) password_file: Option<PathBuf>,
    #[arg(long)]
    pub(crate) connections: Option<u16>,
    /// 0 is asked first; a higher one only for what those below do not have
    #[arg(long)]
    pub(crate) level: Option<u32>,
    /// Downloads do not wait for it when it is out of order
    #[arg(long)]
    pub(crate) optional: bool,
    /// Days for which it keeps articles
    #[arg(long, value_name = "DAYS")]
    pub(crate) retention: Option<u32>,
    /// Do not connect to it to see whether it accepts the login
    #[arg(long)]
    pub(crate) unchecked: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub enum StorageCommand {
    /// Take what is mounted now for the right disk, after one was replaced or is not used any more
    Accept {
        /// A configured directory; without it, all of them
        path: Option<PathBuf>,
    },
    /// List the directories and what they have left
    #[command(visible_alias = "ls")]
    List,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum MoveTarget {
    Top,
    Bottom,
    Up,
    Down,
    Before,
    After,
}

/// Bytes per second, or none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RateLimit(pub(crate) Option<u64>);

impl FromStr for RateLimit {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let trimmed = text.trim();
        if ["off", "none", "0"].contains(&trimmed) {
            return Ok(Self(None));
        }
        let amount = trimmed.strip_suffix("/s").unwrap_or(trimmed);
        if amount.ends_with(|c: char| c.is_ascii_digit()) {
            return Err(InvalidRate::NoUnit);
        }
        match amount.parse::<ByteCount>() {
            Ok(ByteCount(0)) => Ok(Self(None)),
            Ok(ByteCount(bytes)) => Ok(Self(Some(bytes))),
            Err(error) => Err(InvalidRate::Amount(error)),
        }
    }
}

/// Why a rate cannot be parsed.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum InvalidRate {
    #[error("the unit is missing; write it like \"5 MB\"")]
    NoUnit,
    #[error(transparent)]
    Amount(<ByteCount as FromStr>::Err),
}

#[derive(Clone, Copy, Debug, Error)]
#[error("write it like \"90 s\", \"5 min\" or 2h")]
pub(crate) struct InvalidTime;

fn length_of_time(text: &str) -> Result<Duration, InvalidTime> {
    time(text).ok_or(InvalidTime)
}

/// `feeds run --once`: for cron and timers, where no daemon runs.
#[derive(Clone, Debug, Args)]
pub struct Once {
    /// Read what is due, then end
    #[arg(long, required = true)]
    pub(crate) once: bool,
    /// How many feeds to read at once, instead of feeds.concurrency
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// How many items the feed of finished downloads has, instead of feeds.output_items
    #[arg(long, value_name = "N")]
    feed_size: Option<usize>,
    /// Where the state is, instead of directories.state
    #[arg(long, value_name = "DIRECTORY")]
    state: Option<PathBuf>,
}

impl Once {
    /// The configuration with the options of the command line applied.
    pub(crate) fn config(&self, file: Option<PathBuf>) -> anyhow::Result<Config> {
        let file = file.unwrap_or_else(|| PathBuf::from("bergamot.toml"));
        let mut config = Config::read(&file, &Environment::of_process())?;
        let feeds = &mut config.feeds_table;
        feeds.concurrency = self.concurrency.unwrap_or(feeds.concurrency).max(1);
        feeds.output_items = self.feed_size.unwrap_or(feeds.output_items).max(1);
        if let Some(state) = &self.state {
            config.directories.state = std::path::absolute(state)?;
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_need_a_unit() {
        for (text, rate) in [
            ("5 MB", Some(5_000_000)),
            ("800KiB/s", Some(800 << 10)),
            ("off", None),
            ("0", None),
            ("0 MB", None),
        ] {
            assert_eq!(text.parse(), Ok(RateLimit(rate)), "{text}");
        }
        for text in ["5", "fast", "", "/s"] {
            assert!(text.parse::<RateLimit>().is_err(), "{text}");
        }
    }
}
