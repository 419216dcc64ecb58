//! The configuration: one TOML file, read once into plain values.
//!
//! - [`Config`]: what the file says, and from it the settings of each crate
//! - [`ConfigError`]: all that is wrong with it, each with key, line and what was expected
//! - `catalogue`: every table there is, in the order of the sample; `tables`: the keys of each, and how it is
//!   read
//! - `reading`: one table, one value, what may stand in it; the environment, which goes before the file
//! - `editing`: servers and values that are changed in the file while the daemon runs
//! - `printing`: the check, the reference, the sample and the list of values
//!
//! The file is walked as a tree with its places, not deserialised into structs: so all problems are
//! found at once, in our own words, and none of them repeats a secret.

mod catalogue;
pub mod control_socket;
mod editing;
pub mod identity;
mod memory_budget;
mod printing;
mod reading;
mod tables;

use crate::tables::sources::category::{read_category, usual_categories};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bergamot_limit::{QuotaSettings, Timetable};
use bergamot_types::{ServerId, Shown};
use toml::de::DeTable;

pub use bergamot_jobs::machine::Category;
pub use editing::servers::{EditError, add_server, remove_server};
pub use editing::values::save;
pub use memory_budget::memory_budget;
pub use printing::check::check;
pub use printing::listing::{Change, Listed, changes};
pub use printing::pages::{Setting, first_file, reference, sample};
pub use reading::environment::Environment;
pub use reading::machine_zone::machine_zone;
pub use reading::problem::{ConfigError, Problem};
pub use reading::units::{show_time, time};
pub use reading::warning::Warning;
pub use tables::interfaces::control::{Access, Control, Socket};
pub use tables::interfaces::history::History;
pub use tables::interfaces::log::Log;
pub use tables::sources::feed::{Feed, Feeds};
pub use tables::sources::groups::Groups;
pub use tables::sources::polling::Polling;
pub use tables::sources::probes::Probes;
pub use tables::sources::urls::Urls;
pub use tables::sources::watch::{Duplicates, Watch};
pub use tables::transfer::directories::Directories;
pub use tables::transfer::download::{Download, Par2Volumes, Verify};
pub use tables::transfer::limits::Limits;
pub use tables::transfer::quota::Quota;
pub use tables::transfer::schedule::Schedule;
pub use tables::transfer::server::Server;
pub use tables::transfer::storage::Storage;

use catalogue::{TABLES, Table};
use printing::listing;
use reading::fields::Fields;
use reading::problem::Problems;
use reading::{exposure, file, overrides};
use tables::interfaces::metrics;
use tables::sources::feed::FeedReader;
use tables::transfer::server::Servers;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Config {
    /// The file it was read from.
    pub path: PathBuf,
    pub directories: Directories,
    pub watch: Watch,
    pub urls: Urls,
    pub download: Download,
    pub quota: Quota,
    pub control: Control,
    pub groups: Groups,
    pub history: History,
    pub probes: Probes,
    pub polling: Polling,
    pub storage: Storage,
    pub metrics: bergamot_rpc::metrics::MetricsSettings,
    pub limits: Limits,
    pub log: Log,
    /// In the order of the file, which gives them their numbers.
    pub servers: Vec<Server>,
    pub categories: Vec<Category>,
    /// The later ones hold where they overlap.
    pub schedules: Vec<Schedule>,
    pub feeds_table: Feeds,
    /// In the order of the file, which gives them their numbers.
    pub feeds: Vec<Feed>,
    pub warnings: Vec<Warning>,
    /// The environment variables that override keys of the file.
    pub variables: Vec<String>,
    /// Every key and value, for the control interfaces.
    pub listed: Vec<Listed>,
}

impl Config {
    /// Reads the file, and those for secrets and certificates that it names.
    pub fn read(path: &Path, environment: &Environment) -> Result<Self, ConfigError> {
        let unreadable = |error| ConfigError::Unreadable { path: path.to_owned(), error };
        let bytes = file::read(path, LARGEST_FILE).map_err(unreadable)?;
        let path = std::path::absolute(path).map_err(unreadable)?;
        let base = path.parent().unwrap_or(Path::new("/"));
        match Self::parse(&bytes, base, environment) {
            Ok(mut config) => {
                config.warnings.extend(exposure::warnings(&path, &bytes, base));
                Ok(Self { path, ..config })
            }
            Err(problems) => Err(ConfigError::Invalid { path, problems }),
        }
    }

    pub fn engine_settings(&self, seed: u64) -> bergamot_engine::Settings {
        let accounts: Vec<_> = self.servers.iter().map(|server| server.account.as_ref()).collect();
        // Headers are never read from servers with a quota.
        let quotas = self.server_quotas();
        let servers = self.numbered().map(|(id, server)| {
            let account = server.account.as_ref();
            let first = account.and_then(|_| accounts.iter().position(|other| *other == account));
            let settings = server.engine_settings(id, first.map(|first| first as u16));
            let is_asked = !quotas.contains_key(&id);
            let reserved = if is_asked { self.groups.reserved_connections } else { 0 };
            bergamot_engine::ServerSettings { reserved, ..settings }
        });
        bergamot_engine::Settings {
            servers: servers.collect(),
            article_retries: self.download.article_retries,
            budget: self.download.memory,
            most_connections: usize::MAX,
            rates: self.rates(),
            timetable: self.timetable(),
            quota: self.quota.settings(self.download.time_zone),
            server_quotas: self.server_quotas(),
            used: bergamot_engine::QuotaRecords::default(),
            pipeline: self.download.pipeline,
            idle: self.download.idle,
            health_action: self.download.health_check,
            seed,
        }
    }

    /// Of all servers, active or not, in the order of their numbers.
    pub fn server_settings(&self) -> Vec<(ServerId, bergamot_net::ServerSettings)> {
        self.numbered().map(|(id, server)| (id, server.net_settings(&self.limits))).collect()
    }

    pub fn intake_settings(&self) -> bergamot_watch::Settings {
        let usual = bergamot_watch::Settings::new(&self.directories.watch);
        bergamot_watch::Settings {
            interval: self.watch.scan_interval,
            watched_interval: usual.watched_interval.max(self.watch.scan_interval),
            watch: self.watch.inotify,
            ..usual
        }
    }

    fn rates(&self) -> bergamot_limit::Settings {
        let server_rates = self.numbered().map(|(id, server)| (id, server.role.rate)).collect();
        bergamot_limit::Settings { rate: self.download.rate, server_rates }
    }

    fn timetable(&self) -> Timetable {
        let rules = self.schedules.iter().map(Schedule::rule).collect();
        Timetable::new(self.download.time_zone, rules)
    }

    fn server_quotas(&self) -> BTreeMap<ServerId, QuotaSettings> {
        let quotas = self
            .numbered()
            .map(|(id, server)| (id, server.quota.settings(&self.quota, self.download.time_zone)));
        quotas.filter(|(_, quota)| !quota.allowances.is_empty()).collect()
    }

    fn numbered(&self) -> impl Iterator<Item = (ServerId, &Server)> {
        (1..).map(ServerId).zip(&self.servers)
    }

    pub fn parse(
        bytes: &[u8],
        base: &Path,
        environment: &Environment,
    ) -> Result<Self, Vec<Problem>> {
        let text = text_of(bytes)?;
        let mut problems = Problems::new(text);
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                // Its message only: the rest would repeat the line, which may hold a password.
                let at = error.span().map_or(0, |span| span.start);
                problems.add(at, key_near(text, at), Shown(error.message()).to_string());
                return Err(problems.into_sorted());
            }
        };
        let mut document = document.into_inner();
        let variables = overrides::apply(&mut document, environment, base, &mut problems);
        let config =
            Reading { document: &document, problems: &mut problems, base }.read(environment);
        let problems = problems.into_sorted();
        if problems.is_empty() { Ok(Self { variables, ..config }) } else { Err(problems) }
    }
}

/// One walk through the document.
struct Reading<'a, 'text> {
    document: &'a DeTable<'text>,
    problems: &'a mut Problems<'text>,
    base: &'a Path,
}

impl<'text> Reading<'_, 'text> {
    fn read(mut self, environment: &Environment) -> Config {
        self.report_unknown();
        let base = self.base;
        let directories = Directories::read(self.table(&catalogue::DIRECTORIES), base);
        let limits = Limits::read(self.table(&catalogue::LIMITS));
        let mut servers = Servers::new(base, environment, limits);
        self.each(&catalogue::SERVER, |fields| servers.read(fields));
        let mut categories = Vec::new();
        self.each(&catalogue::CATEGORY, |fields| {
            categories.push(read_category(fields, &categories, &directories));
        });
        if categories.is_empty() {
            categories = usual_categories(&directories);
        }
        let mut schedules = Vec::new();
        self.each(&catalogue::SCHEDULE, |fields| schedules.extend(Schedule::read(fields)));
        let (servers, mut warnings) = servers.finish();
        let mut feeds = FeedReader::new(base, environment, &categories);
        self.each(&catalogue::FEED, |fields| feeds.read(fields));
        let (feeds, feed_warnings) = feeds.finish();
        warnings.extend(feed_warnings);
        let has_zone = self.document.get("download").is_some_and(|download| {
            download.get_ref().as_table().is_some_and(|keys| keys.contains_key("time_zone"))
        });
        for (name, meant) in environment.mistaken().iter().cloned() {
            warnings.push(Warning::MistakenVariable { name, meant });
        }
        if let Some(name) = environment.odd_time_zone().filter(|_| !has_zone) {
            warnings.push(Warning::UnknownTimeZone { name: Shown(name).to_string() });
        }
        Config {
            path: PathBuf::new(),
            watch: Watch::read(self.table(&catalogue::WATCH)),
            download: Download::read(self.table(&catalogue::DOWNLOAD), environment),
            quota: Quota::read(self.table(&catalogue::QUOTA)),
            control: Control::read(self.table(&catalogue::CONTROL), base),
            urls: Urls::read(self.table(&catalogue::URLS)),
            groups: Groups::read(self.table(&catalogue::GROUPS)),
            history: History::read(self.table(&catalogue::HISTORY)),
            probes: Probes::read(self.table(&catalogue::PROBES)),
            polling: Polling::read(self.table(&catalogue::POLLING)),
            storage: Storage::read(self.table(&catalogue::STORAGE)),
            metrics: metrics::read(self.table(&catalogue::METRICS)),
            limits,
            log: Log::read(self.table(&catalogue::LOG), base),
            feeds_table: Feeds::read(self.table(&catalogue::FEEDS), base),
            directories,
            servers,
            categories,
            schedules,
            feeds,
            warnings,
            variables: Vec::new(),
            listed: listing::list(self.document),
        }
    }

    fn report_unknown(&mut self) {
        for key in self.document.keys() {
            if !TABLES.iter().any(|table| table.name == key.get_ref().as_ref()) {
                let known: Vec<_> = TABLES.iter().map(|table| table.header()).collect();
                let text = format!("unknown table; expected one of {}", known.join(", "));
                let name = Shown(key.get_ref()).to_string();
                self.problems.add(key.span().start, Some(name), text);
            }
        }
    }

    /// A table that is not there has all its defaults.
    fn table(&mut self, table: &'static Table) -> Fields<'_, 'text> {
        let entry = self.document.get(table.name);
        let at = entry.map_or(0, |entry| entry.span().start);
        let values = entry.and_then(|entry| entry.get_ref().as_table());
        if entry.is_some() && values.is_none() {
            self.misshapen(table, at);
        }
        Fields::new(table, values, at, self.problems)
    }

    fn each(&mut self, table: &'static Table, mut read: impl FnMut(Fields<'_, 'text>)) {
        let Some(entry) = self.document.get(table.name) else { return };
        let Some(items) = entry.get_ref().as_array() else {
            return self.misshapen(table, entry.span().start);
        };
        for item in items.iter().take(MOST_TABLES) {
            let at = item.span().start;
            match item.get_ref().as_table() {
                Some(values) => read(Fields::new(table, Some(values), at, self.problems)),
                None => self.misshapen(table, at),
            }
        }
        if let Some(item) = items.get(MOST_TABLES) {
            let text = format!("expected at most {MOST_TABLES} of these tables");
            self.problems.add(item.span().start, Some(table.name.to_owned()), text);
        }
    }

    fn misshapen(&mut self, table: &Table, at: usize) {
        let text = format!("expected a table, written {}", table.header());
        self.problems.add(at, Some(table.name.to_owned()), text);
    }
}

/// The key of a line that is no TOML, if it is one we know; anything else may be a secret.
fn key_near(text: &str, at: usize) -> Option<String> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let name = text[start..].lines().next()?.split('=').next()?.trim();
    TABLES.iter().any(|table| table.key(name).is_some()).then(|| name.to_owned())
}

fn text_of(bytes: &[u8]) -> Result<&str, Vec<Problem>> {
    std::str::from_utf8(bytes).map(file::without_mark).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
        let mut problems = Problems::new(&good);
        problems.add(good.len(), None, "expected UTF-8; save the file in that encoding".to_owned());
        problems.into_sorted()
    })
}

/// A thousand servers fit in this.
const LARGEST_FILE: u64 = 1 << 20;
/// Servers, categories, or schedules; their numbers are small, and every list of them is walked.
const MOST_TABLES: usize = 200;

/// What the tests of this room share.
#[cfg(test)]
mod trial {
    use super::*;

    pub(super) fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// The file lies in `/srv`.
    pub(super) fn read_with(text: &str, environment: &Environment) -> Result<Config, Vec<String>> {
        Config::parse(text.as_bytes(), Path::new("/srv"), environment)
            .map_err(|problems| problems.iter().map(Problem::to_string).collect())
    }

    pub(super) fn config(text: &str) -> Config {
        read_with(text, &Environment::default()).unwrap_or_else(|problems| panic!("{problems:#?}"))
    }

    pub(super) fn problems(text: &str) -> Vec<String> {
        read_with(text, &Environment::default()).expect_err("it is wrong")
    }

    /// A server with these lines, from line 4 on, beside what it needs.
    pub(super) fn server(lines: &str) -> String {
        format!("[[server]]\nname = \"a\"\nhost = \"b\"\n{lines}\n")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_fuzzing_began_with_and_found_makes_it_panic_no_more() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus/config");
        let entries: Vec<_> = std::fs::read_dir(corpus).unwrap().flatten().collect();
        assert!(!entries.is_empty());
        for entry in entries {
            let bytes = std::fs::read(entry.path()).unwrap();
            let _ = Config::parse(&bytes, Path::new("/srv"), &Environment::default());
        }
    }

    use std::time::Duration;

    use bergamot_types::ByteCount;

    use super::trial::{config, problems, server};
    use super::*;

    #[test]
    fn an_empty_file_has_all_defaults_and_they_are_those_of_the_rooms() {
        let config = config("");
        let engine = bergamot_engine::Settings { seed: 7, ..Default::default() };
        assert_eq!(format!("{:?}", config.engine_settings(7)), format!("{engine:?}"));
        let found = config.intake_settings();
        let claimant = found.claimant.clone(); // random until the state is known
        let intake =
            bergamot_watch::Settings { claimant, ..bergamot_watch::Settings::new("/srv/watch") };
        assert_eq!(format!("{found:?}"), format!("{intake:?}"));
        assert_eq!(
            format!("{:?} {:?}", config.limits.connecting(), config.limits.conversing()),
            format!(
                "{:?} {:?}",
                bergamot_net::ConnectLimits::default(),
                bergamot_nntp::Limits::default()
            )
        );
        assert_eq!(config.warnings, [Warning::NothingActive]);
    }

    #[test]
    fn settings_reach_their_rooms() {
        let text = "
            [watch]
            scan_interval = '2 min'
            inotify = false
            [download]
            memory = '100 MB'
            pipeline = 10
            health_check = 'pause'
            idle = '5 min'
            [limits]
            connect = '3 s'
            slowest_bytes = '0 B'
        ";
        let config = config(&format!("{text}\n{}", server("retention = '3000 days'\nlevel = 2")));
        let intake = config.intake_settings();
        assert_eq!(intake.interval, Duration::from_secs(120));
        assert_eq!(intake.watched_interval, Duration::from_secs(120));
        assert!(!intake.watch);
        let engine = config.engine_settings(0);
        assert_eq!((engine.budget, engine.pipeline), (ByteCount(100_000_000), 10));
        assert_eq!(engine.idle, Duration::from_secs(300));
        assert_eq!(engine.health_action, bergamot_engine::HealthAction::Pause);
        let [server] = engine.servers.as_slice() else { panic!("one server") };
        assert_eq!((server.id, server.retention, server.level), (ServerId(1), 3000, 2));
        let [(id, server)] = config.server_settings().try_into().expect("one server");
        assert_eq!((id, server.name.as_str()), (ServerId(1), "a"));
        assert_eq!(server.limits.connect, Duration::from_secs(3));
        assert_eq!(server.conversation.limits.floor.bytes, 0);
    }

    #[test]
    fn servers_are_numbered_in_the_order_of_the_file() {
        let text = "
            [[server]]
            name = 'z'
            host = 'z.example'
            active = false
            [[server]]
            name = 'a'
            host = 'a.example'
        ";
        let config = config(text);
        let named: Vec<_> =
            config.server_settings().into_iter().map(|(id, s)| (id, s.name)).collect();
        assert_eq!(named, [(ServerId(1), "z".to_owned()), (ServerId(2), "a".to_owned())]);
        let active: Vec<_> =
            config.engine_settings(0).servers.iter().map(|s| (s.id, s.active)).collect();
        assert_eq!(active, [(ServerId(1), false), (ServerId(2), true)]);
    }

    #[test]
    fn unknown_tables_and_keys_are_errors_that_list_the_known_ones() {
        let known = "[directories], [watch], [urls], [download], [quota], [control], [groups], [history], [probes], [polling], [storage], [metrics], [limits], [log], [feeds], [[server]], \
                     [[category]], [[schedule]], [[feed]]";
        assert_eq!(
            problems("colour = 'red'\n[servers]\n[watch]\nscan-interval = '5 s'"),
            [
                format!("line 1, column 1: colour: unknown table; expected one of {known}"),
                format!("line 2, column 2: servers: unknown table; expected one of {known}"),
                "line 4, column 1: watch.scan-interval: unknown key; expected one of \
                 scan_interval, inotify, duplicates"
                    .to_owned(),
            ]
        );
    }

    #[test]
    fn a_table_is_written_with_its_brackets() {
        assert_eq!(
            problems("watch = 'here'\n[[log]]\n[server]\nname = 'a'\n"),
            [
                "line 1, column 9: watch: expected a table, written [watch]",
                "line 2, column 1: log: expected a table, written [log]",
                "line 3, column 1: server: expected a table, written [[server]]",
            ]
        );
        assert_eq!(
            problems("category = [1]"),
            ["line 1, column 13: category: expected a table, written [[category]]"]
        );
    }

    #[test]
    fn what_is_no_toml_is_told_without_the_line() {
        for (line, told) in [
            ("password = \"hunter2", "column 20: password: invalid basic string, expected `\"`"),
            (
                "password = hunter2",
                "column 12: password: string values must be quoted, expected literal string",
            ),
            ("password \"hunter2\"", "column 10: key with no value, expected `=`"),
            (
                "password = \"hunter2\" x",
                "column 22: password: unexpected key or value, expected newline, `#`",
            ),
            ("password = 0xhunter2", "column 14: password: invalid hexadecimal number"),
            ("\"hunter2\"", "column 10: key with no value, expected `=`"),
            (
                "x = 1\rhunter2",
                "column 7: carriage return must be followed by newline, expected newline",
            ),
        ] {
            assert_eq!(problems(&server(line)), [format!("line 4, {told}")]);
        }
        let told = problems(&server("password = \"\\hunter2\""));
        assert!(told[0].starts_with("line 4, column 14: password: missing escaped value"));
        assert_eq!(
            problems(&server("password = 'a'\npassword = \"hunter2\"")),
            ["line 5, column 1: password: duplicate key"]
        );
        assert_eq!(problems("[watch]\n[watch]\n"), ["line 2, column 2: duplicate key"]);
    }

    #[test]
    fn a_byte_order_mark_and_line_ends_of_windows_change_nothing() {
        let plain = "[watch]\nscan_interval = \"9 s\"\n";
        let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
        assert_eq!(config(&windows), config(plain));
        assert_eq!(
            problems("\u{feff}[watch]\r\n# größer\r\ninotify = 1\r\n"),
            ["line 3, column 11: watch.inotify: expected true or false, found 1"]
        );
        assert_eq!(
            problems("\u{feff}inotify = 1\r\n")[0].split(':').next(),
            Some("line 1, column 1")
        );
    }

    #[test]
    fn another_encoding_is_an_error() {
        let bytes = b"[log]\n# gr\xf6\xdfer\n";
        let told = Config::parse(bytes, Path::new("/srv"), &Environment::default()).unwrap_err();
        assert_eq!(
            told[0].to_string(),
            "line 2, column 5: expected UTF-8; save the file in that encoding"
        );
    }

    #[test]
    fn there_is_an_end_to_the_servers() {
        let one = |number: usize| format!("[[server]]\nname = \"{number}\"\nhost = \"b\"\n");
        let many: String = (0..=MOST_TABLES).map(one).collect();
        assert_eq!(
            problems(&many),
            ["line 601, column 1: server: expected at most 200 of these tables"]
        );
    }

    #[test]
    fn a_file_is_read_from_where_it_lies() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("b.toml");
        std::fs::write(&path, "[directories]\ncomplete = 'done/here'\nstate = '/var/lib/b'")
            .unwrap();
        let config = Config::read(&path, &Environment::default()).unwrap();
        assert_eq!(config.directories.watch, directory.path().join("watch"));
        assert_eq!(config.directories.complete, directory.path().join("done/here"));
        assert_eq!(config.directories.state, Path::new("/var/lib/b"));
        std::fs::write(&path, " ".repeat(LARGEST_FILE as usize + 1)).unwrap();
        let error = Config::read(&path, &Environment::default()).unwrap_err();
        assert!(error.to_string().ends_with("it has more than 1048576 bytes"), "{error}");
    }
}
