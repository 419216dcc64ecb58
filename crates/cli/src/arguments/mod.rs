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
    /// Address of the daemon: PATH, unix:PATH, tcp://HOST:PORT or http://USER:PASSWORD@HOST:PORT [default:
    /// BERGAMOT_HOST, then the file of BERGAMOT_CONFIG, then BERGAMOT_SOCKET, then bergamot.toml in this
    /// directory, then the usual sockets]
    #[arg(short = 'H', long, global = true, value_name = "PLACE")]
    pub(crate) host: Option<Endpoint>,
    /// The configuration file of the daemon, which names its socket
    #[arg(id = "config", short = 'c', long = "config", global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the daemon's answer as JSON, unchanged
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print ids only, or nothing
    #[arg(short, long, global = true, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Exit with code 124 after this time, as in "90 s" or 2h
    #[arg(long, global = true, value_name = "TIME", value_parser = length_of_time)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Add NZBs to the queue
    Add(Add),
    /// Test directories, servers and this machine, and suggest fixes; in a container with the rights of the
    /// daemon's user, else of the current user
    Doctor,
    /// Explain why the queue, or a job, is slow, waits or failed
    Explain { job: Option<u32> },
    /// Show the feeds of indexers
    Feeds {
        #[command(subcommand)]
        command: FeedsCommand,
    },
    /// List newsgroups and download their posts
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
        /// Bytes per second, as in "5 MB" or 800KiB; or `off`
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
        /// How many of the latest lines to print
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        lines: usize,
        /// Only lines about this job
        #[arg(long)]
        job: Option<u32>,
    },
    /// Move a job in the queue
    Mv {
        job: u32,
        place: MoveTarget,
        /// The job that `before` and `after` refer to
        other: Option<u32>,
    },
    /// Pause all downloads, or some jobs
    Pause {
        jobs: Vec<u32>,
        /// Resume automatically after this time, as in "30 min" or 1h
        #[arg(long = "for", value_name = "TIME", value_parser = length_of_time, conflicts_with = "jobs")]
        time: Option<Duration>,
    },
    /// Show the use of the quotas
    Quota,
    /// Read the configuration file again
    Reload,
    /// Resume everything that is paused, or some jobs
    Resume { jobs: Vec<u32> },
    /// Download the missing articles of failed jobs again
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
        /// Keep the downloaded files, so that the job can be retried
        #[arg(long)]
        keep_files: bool,
        /// Do not keep the jobs in the history; also removes jobs that are in the history already
        #[arg(long, conflicts_with = "keep_files")]
        forget: bool,
    },
    /// Call a method of the daemon; docs/rpc.md lists them
    Rpc {
        method: String,
        /// A JSON object or array, key=value pairs, or plain values
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
    /// Show the state of the daemon
    Status,
    /// Stop the daemon
    Stop,
    /// List the recurring work of the scheduler, and when it is due
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
    /// The name of the job
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[arg(short = 'C', long)]
    pub(crate) category: Option<String>,
    /// Jobs of a higher priority are downloaded first; from 900 on even while downloads are paused
    #[arg(short, long, allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,
    /// Add it before other jobs of its priority
    #[arg(long)]
    pub(crate) top: bool,
    /// Add it paused
    #[arg(long)]
    pub(crate) paused: bool,
    /// The password of its archives
    #[arg(long)]
    pub(crate) password: Option<String>,
    /// Wait until it has ended; the exit code is its result
    #[arg(short, long)]
    pub(crate) wait: bool,
}

#[derive(Clone, Debug, Args)]
pub struct List {
    /// Only jobs whose names contain this
    pub(crate) search: Option<String>,
    #[arg(short = 'C', long)]
    pub(crate) category: Option<String>,
    /// Skip this many jobs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Print at most this many jobs [default: 100, or all with --quiet or --json]
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum FeedsCommand {
    /// List failed requests to feeds
    Errors,
    /// Read a feed now, or all of them
    Fetch {
        /// Its name or number
        feed: Option<String>,
    },
    /// List the feeds and their state
    #[command(visible_alias = "ls")]
    List,
    /// Show which items of any feed these rules would accept, without adding jobs
    Preview {
        url: String,
        /// One rule
        #[arg(long, conflicts_with = "rules_file")]
        rules: Option<String>,
        /// A file with one rule per line
        #[arg(long, value_name = "FILE")]
        rules_file: Option<PathBuf>,
    },
    /// Retry what failed: items that could not become jobs, and jobs whose NZB could not be fetched
    Retry {
        /// Its name or number
        feed: String,
    },
    /// Read the feeds that are due and exit; does nothing if a daemon runs, which polls them itself
    Run(Once),
    /// Show the items of a feed and how its rules decide each, without adding jobs
    Show {
        /// Its name or number
        feed: String,
    },
}

#[derive(Clone, Debug, Subcommand)]
pub enum GroupCommand {
    /// List newsgroups
    #[command(visible_alias = "ls")]
    List {
        /// A part of the name, or a pattern like "alt.binaries.*"
        pattern: Option<String>,
        /// List groups after this name
        #[arg(long, value_name = "GROUP")]
        after: Option<String>,
        /// Print at most this many groups
        #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// List the headers of a newsgroup, the newest first
    Headers {
        group: String,
        /// Only headers with lower numbers
        #[arg(long, value_name = "NUMBER")]
        below: Option<u64>,
        /// Print at most this many headers
        #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
        limit: usize,
        /// Wait for the latest headers of the server instead of showing the cached ones
        #[arg(long)]
        latest: bool,
    },
    /// Search for headers with all of these words
    Search {
        group: String,
        #[arg(required = true)]
        words: Vec<String>,
        /// Only headers with lower numbers
        #[arg(long, value_name = "NUMBER")]
        below: Option<u64>,
        /// Print at most this many headers
        #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// List the posts of a newsgroup, the newest first
    Posts(PostChoice),
    /// Download posts
    Queue {
        group: String,
        /// Their ids, from the first column of `posts`
        #[arg(required = true)]
        posts: Vec<String>,
        #[arg(short = 'C', long)]
        category: Option<String>,
        /// Jobs of a higher priority are downloaded first; from 900 on even while downloads are paused
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
    /// Show only this post, with its files
    #[arg(long)]
    pub(crate) post: Option<String>,
    /// Only complete posts
    #[arg(long)]
    pub(crate) complete: bool,
    /// Skip this many posts
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Print at most this many posts
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Wait for the latest headers of the server instead of showing the cached ones
    #[arg(long)]
    pub(crate) latest: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub enum ServerCommand {
    /// Add a server to the configuration and connect to it at once
    Add(AddServer),
    /// List the news servers and their state
    #[command(visible_alias = "ls")]
    List,
    /// Remove a server from the configuration
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
    /// The name of the server; it cannot be changed later
    pub(crate) name: String,
    /// Its host name or IP address
    #[arg(id = "news_host", value_name = "HOST")]
    pub(crate) host: String,
    /// Its port [default: 563 with TLS, 119 without]
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
    /// Servers of level 0 are asked first, those of a higher level only for articles that all lower ones lack
    #[arg(long)]
    pub(crate) level: Option<u32>,
    /// Downloads continue without it while it does not work
    #[arg(long)]
    pub(crate) optional: bool,
    /// How many days it keeps articles
    #[arg(long, value_name = "DAYS")]
    pub(crate) retention: Option<u32>,
    /// Do not test the connection and the login
    #[arg(long)]
    pub(crate) unchecked: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub enum StorageCommand {
    /// Accept the disk that is mounted now, after a disk was replaced or removed
    Accept {
        /// A configured directory [default: all of them]
        path: Option<PathBuf>,
    },
    /// List the directories and their free space
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
    /// Read the feeds that are due, then exit
    #[arg(long, required = true)]
    pub(crate) once: bool,
    /// How many feeds to read at once, instead of feeds.concurrency
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// How many items the feed of finished downloads contains, instead of feeds.output_items
    #[arg(long, value_name = "N")]
    feed_size: Option<usize>,
    /// The state directory, instead of directories.state
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
