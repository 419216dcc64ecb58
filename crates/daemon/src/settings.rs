//! [`Settings`]: what the daemon is started with, made of the configuration; [`JobSettings`] are shared by the threads
//! that handle jobs. Pure.

use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use bergamot_api::Refusal;
use bergamot_jobs::machine::JobDirectories;
use bergamot_limit::Zone;
use bergamot_net::http::{Reach, is_public};
use bergamot_storage::Reserve;
use bergamot_types::Url;
use rustix::process::{Resource, getrlimit};

use crate::clock;
use crate::memory_budget;
use bergamot_config::{Config, Duplicates, Par2Volumes, memory_budget};

/// The configuration, cut to what each room needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) engine: bergamot_engine::Settings,
    /// In the order of their ids, from 1.
    pub(crate) servers: Vec<bergamot_net::ServerSettings>,
    pub(crate) intake: bergamot_watch::Settings,
    pub(crate) jobs: JobSettings,
    pub(crate) state: PathBuf,
    pub(crate) zone: Zone,
    pub(crate) threads: usize,
    pub(crate) config: Config,
    pub(crate) config_file: PathBuf,
    /// Draw a live line on the terminal.
    pub(crate) progress: bool,
    /// Read the feeds that are due and end.
    pub(crate) feeds_only: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct JobSettings {
    pub(crate) directories: JobDirectories,
    /// Take an NZB whose articles are queued or done already.
    pub(crate) accept_duplicates: bool,
    pub(crate) wants_par2_volumes: bool,
    /// Hosts in private networks from which NZBs may be fetched, or `*` for all of them.
    pub(crate) private_hosts: Vec<String>,
    /// From which NZBs are taken by their path.
    pub(crate) local_directories: Vec<PathBuf>,
    /// What is kept free on each volume.
    pub(crate) reserve: Reserve,
}

impl Settings {
    /// `threads` read from sockets.
    pub fn new(config: &Config, threads: usize) -> Self {
        let servers = config.server_settings().into_iter().map(|(_, server)| server);
        Self {
            engine: engine_settings(config, threads),
            servers: servers.collect(),
            intake: config.intake_settings(),
            jobs: JobSettings::new(config),
            state: config.directories.state.clone(),
            zone: config.download.time_zone,
            threads,
            config: config.clone(),
            config_file: config.path.clone(),
            progress: config.log.file.is_none() && std::io::stderr().is_terminal(),
            feeds_only: false,
        }
    }

    pub fn for_feeds_only(self) -> Self {
        Self { feeds_only: true, progress: false, ..self }
    }
}

fn engine_settings(config: &Config, threads: usize) -> bergamot_engine::Settings {
    let settings = config.engine_settings(clock::seed());
    let (_, budget) = memory_budget(settings.budget);
    if budget < settings.budget {
        let configured = settings.budget;
        tracing::info!(%budget, %configured, "less memory is used, for it is limited here");
    }
    let active = settings.servers.iter().filter(|server| server.active);
    let connections = active.map(|server| server.connections).sum();
    let plan = memory_budget::Plan::new(budget, threads, connections);
    if plan.connections < connections {
        let used = plan.connections;
        tracing::info!(used, configured = connections, "there is no memory for more connections");
    }
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = connections_within(descriptors);
    if most < plan.connections && !TOLD_OF_DESCRIPTORS.swap(true, Ordering::Relaxed) {
        let configured = connections;
        tracing::info!(
            descriptors,
            used = most,
            configured,
            "resource.fd_limit: no more connections"
        );
    }
    bergamot_engine::Settings {
        budget: plan.articles,
        most_connections: plan.connections.min(most),
        ..settings
    }
}

/// Half of the descriptors that the daemon does not need itself: files and control connections use the others.
fn connections_within(descriptors: u64) -> usize {
    let left = descriptors.saturating_sub(OWN_DESCRIPTORS);
    usize::try_from(left / 2).unwrap_or(usize::MAX).max(1)
}

/// The host of a configured feed is trusted, also for the NZBs it links to.
fn private_hosts(config: &Config) -> Vec<String> {
    let urls = config.feeds.iter().filter_map(|feed| feed.url.as_ref());
    let feeds = urls.map(|url| format!("{}:{}", url.host(), url.port()));
    config.urls.private_hosts.iter().cloned().chain(feeds).collect()
}

fn local_directories(config: &Config) -> Vec<PathBuf> {
    let others = config.control.local_directories.iter().cloned();
    std::iter::once(config.directories.watch.clone()).chain(others).collect()
}

impl JobSettings {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            directories: JobDirectories {
                incomplete: config.directories.incomplete.clone(),
                complete: config.directories.complete.clone(),
                categories: config.categories.clone(),
            },
            accept_duplicates: config.watch.duplicates == Duplicates::Accept,
            wants_par2_volumes: config.download.par2_volumes == Par2Volumes::Always,
            private_hosts: private_hosts(config),
            local_directories: local_directories(config),
            reserve: config.storage.reserve,
        }
    }

    /// How far the address of an NZB may lead.
    pub(crate) fn reach(&self, url: &Url) -> Reach {
        let is_named = |host: &String| {
            host.eq_ignore_ascii_case(url.host())
                || *host.to_ascii_lowercase() == format!("{}:{}", url.host(), url.port())
        };
        match &self.private_hosts {
            hosts if hosts.iter().any(|host| host == "*") => Reach::Anywhere,
            hosts if hosts.iter().any(is_named) => Reach::FirstAnywhere,
            _ => Reach::Public,
        }
    }

    /// Refuses at once what is certain to be refused later. What a name stands for only shows when
    /// it is looked up.
    pub(crate) fn check_address(&self, url: &Url) -> Result<(), Refusal> {
        let address = match url.host() {
            "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            host => host.parse().ok(),
        };
        let is_private = address.is_some_and(|address| !is_public(address));
        if is_private && self.reach(url) == Reach::Public {
            let host = url.host();
            return Err(Refusal::ForbiddenUrl(format!(
                "{host} is no public address; urls.private_hosts does not name it"
            )));
        }
        Ok(())
    }
}

/// Sockets that listen, the log, directories, threads that wait: what a daemon at rest has open, and some more.
const OWN_DESCRIPTORS: u64 = 32;
/// They do not change, and once is enough.
static TOLD_OF_DESCRIPTORS: AtomicBool = AtomicBool::new(false);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_refused_unless_they_are_named() {
        let settings = |hosts: &[&str]| JobSettings {
            directories: JobDirectories {
                incomplete: "/i".into(),
                complete: "/c".into(),
                categories: Vec::new(),
            },
            accept_duplicates: false,
            wants_par2_volumes: false,
            private_hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
            local_directories: Vec::new(),
            reserve: Reserve::Usual,
        };
        let url = |text| Url::parse(text).unwrap();
        for private in
            ["http://127.0.0.1/", "http://[::1]/", "http://localhost/", "http://10.1.2.3/"]
        {
            assert!(settings(&[]).check_address(&url(private)).is_err(), "{private}");
            assert!(settings(&["*"]).check_address(&url(private)).is_ok(), "{private}");
        }
        let some = settings(&["Prowlarr:9696", "10.1.2.3"]);
        assert!(some.check_address(&url("http://10.1.2.3:1234/")).is_ok());
        assert_eq!(some.reach(&url("http://prowlarr:9696/a")), Reach::FirstAnywhere);
        assert_eq!(some.reach(&url("http://prowlarr/a")), Reach::Public);
        assert_eq!(settings(&["*"]).reach(&url("http://nas/")), Reach::Anywhere);
        assert!(settings(&[]).check_address(&url("https://example.org/")).is_ok());
    }
}
