//! [`Arguments`]: the whole command line, as clap parses it.

use std::path::PathBuf;

use bergamot_types::ByteCount;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate as cli;
use crate::import::Import;

/// A headless downloader for binary Usenet posts.
#[derive(Debug, Parser)]
#[command(name = "bergamot", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(flatten)]
    pub options: cli::Options,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon until it is stopped
    Run(Run),
    /// Show and check configuration files
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Import from NZBGet or SABnzbd: write an equivalent configuration, and report what was converted
    Import(Import),
    /// Download sample data from a news server on this machine, without account or configuration
    Demo {
        /// How much to download
        #[arg(long, default_value = "256 MB")]
        size: ByteCount,
        /// Connections to the news server
        #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=100))]
        connections: u16,
        /// Bytes per second; 0 is no limit
        #[arg(long, default_value = "0 B")]
        rate: ByteCount,
    },
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    #[command(flatten)]
    Talk(cli::Command),
}

#[derive(Debug, Args)]
pub struct Run {
    /// The configuration file [default: the file named by BERGAMOT_CONFIG]
    #[arg(id = "config", long = "config", short = 'c', value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write a configuration first, with a new control password, if there is none
    #[arg(long)]
    pub create: bool,
    /// For images: create /config/bergamot.toml for /watch and /downloads, and run as the user and group of
    /// PUID and PGID, with UMASK
    #[arg(long)]
    pub container: bool,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Read a configuration file and show its values, or what is wrong with it
    Check { file: PathBuf },
    /// Print the reference of all keys, in Markdown
    Reference,
    /// Print a sample with every key, its default and its meaning
    Sample,
}

/// The completion script of a shell.
pub fn completions(shell: clap_complete::Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "bergamot", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_hold_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn options_may_stand_before_and_after_the_command() {
        for line in ["bergamot --json -H a.sock list", "bergamot list --json -H a.sock"] {
            let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
            assert!(matches!(arguments.command, Command::Talk(cli::Command::List(_))), "{line}");
        }
        let arguments = Arguments::try_parse_from(["bergamot", "run", "-c", "b.toml"]).unwrap();
        let Command::Run(run) = arguments.command else { panic!("it is another command") };
        assert_eq!(run.config, Some(PathBuf::from("b.toml")));
        for line in ["bergamot", "bergamot run -c", "bergamot mv 1", "bergamot pause 1 --for 1h"] {
            assert!(Arguments::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
