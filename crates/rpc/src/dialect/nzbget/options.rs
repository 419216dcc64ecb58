//! NZBGet's options and bergamot's configuration keys: one table, read in both directions.
//!
//! `config` shows each option; `saveconfig` finds the key in the same row. Keys that decide where files are written, who
//! may log in, or where a secret is read from can be changed in the file only: a stolen password must not give access to
//! the machine.

use bergamot_api::Refusal;
use bergamot_api::request::{Setting, SettingValue};
use bergamot_api::view::{CategoryFacts, Facts, FeedFacts, ServerFacts};
use bergamot_types::Secret;

use crate::dialect::nzbget::status::VERSION;

/// An option as it stands.
pub(super) struct Known {
    pub(super) name: String,
    pub(super) value: String,
    kept: Kept,
    table: Option<(&'static str, usize)>, // of those that may be there several times
}

/// One option of some part of the configuration.
struct Row<F: 'static> {
    name: &'static str,
    kept: Kept,
    shown: fn(&F) -> String,
}

/// Where an option is kept.
#[derive(Clone, Copy)]
enum Kept {
    At(&'static str, Meaning),
    /// Can be changed in the file only.
    InFile,
    /// bergamot has no such option; it is shown with NZBGet's word for that.
    Nowhere,
}

/// What NZBGet's text is in our file.
#[derive(Clone, Copy)]
enum Meaning {
    /// A number of these units.
    Amount(&'static str),
    /// Their word and ours.
    Choice(&'static [(&'static str, &'static str)]),
    Flag(&'static [(&'static str, bool)]),
    /// Names with commas between them.
    Names,
    Number,
    /// Lines, joined with a percent sign.
    Rules,
    Secret,
    Text,
}

/// All of them, in the order NZBGet has.
pub(super) fn known(facts: &Facts) -> Vec<Known> {
    let mut all = Vec::new();
    all.extend(COMMON.iter().map(|row| row.known(facts, None)));
    add(&mut all, "Server", "server", SERVER, &facts.servers);
    add(&mut all, "Category", "category", CATEGORY, &facts.categories);
    add(&mut all, "Feed", "feed", FEED, &facts.feeds);
    all
}

fn add<F>(
    all: &mut Vec<Known>,
    theirs: &str,
    ours: &'static str,
    rows: &'static [Row<F>],
    tables: &[F],
) {
    for (number, facts) in (1..).zip(tables) {
        all.extend(rows.iter().map(|row| {
            let known = row.known(facts, Some((ours, number)));
            Known { name: format!("{theirs}{number}.{}", known.name), ..known }
        }));
    }
}

impl<F> Row<F> {
    fn known(&self, facts: &F, table: Option<(&'static str, usize)>) -> Known {
        Known { name: self.name.to_owned(), value: (self.shown)(facts), kept: self.kept, table }
    }
}

impl Known {
    /// What is to be written for this value; nothing if it is the one that is shown.
    pub(super) fn setting(&self, value: &str) -> Result<Option<Setting>, Refusal> {
        if self.is_shown_as(value) {
            return Ok(None);
        }
        let (key, meaning) = match self.kept {
            Kept::At(key, meaning) => (key, meaning),
            Kept::InFile => return Err(self.not_settable("it can only be changed in the file")),
            Kept::Nowhere => return Err(self.not_settable("bergamot does not have this option")),
        };
        let value = meaning
            .read(value)
            .map_err(|expected| Refusal::Invalid(format!("{} is {expected}", self.name)))?;
        // Where there is one of the table, the row names both.
        let (table, number, key) = match (self.table, key.split_once('.')) {
            (None, Some((table, key))) => (table, None, key),
            (Some((table, number)), _) => (table, Some(number), key),
            (None, None) => return Err(self.not_settable("bergamot does not have this option")),
        };
        Ok(Some(Setting { option: self.name.clone(), table, number, key, value }))
    }

    fn is_shown_as(&self, value: &str) -> bool {
        match self.kept {
            Kept::At(_, Meaning::Secret) if value == HIDDEN => true,
            // Words, for which case does not matter.
            Kept::At(_, Meaning::Choice(_) | Meaning::Flag(_)) | Kept::Nowhere => {
                value.eq_ignore_ascii_case(&self.value)
            }
            Kept::At(..) | Kept::InFile => value == self.value,
        }
    }

    fn not_settable(&self, why: &str) -> Refusal {
        Refusal::NotSettable { option: self.name.clone(), why: why.to_owned() }
    }
}

impl Meaning {
    /// The value for the configuration file.
    fn read(self, text: &str) -> Result<SettingValue, Expected> {
        let is = |word: &str| word.eq_ignore_ascii_case(text);
        match self {
            Self::Amount(unit) => match text.parse::<u64>() {
                Ok(amount) => Ok(SettingValue::Text(format!("{amount} {unit}"))),
                Err(_) => Err(Expected::Number),
            },
            Self::Choice(words) => {
                let found = words.iter().find(|(theirs, _)| is(theirs));
                let found = found.map(|(_, ours)| SettingValue::Text((*ours).to_owned()));
                found.ok_or_else(|| {
                    Expected::OneOf(words.iter().map(|(theirs, _)| *theirs).collect())
                })
            }
            Self::Flag(words) => {
                let found = words.iter().find(|(theirs, _)| is(theirs));
                let found = found.map(|(_, flag)| SettingValue::Flag(*flag));
                found.ok_or_else(|| {
                    Expected::OneOf(words.iter().map(|(theirs, _)| *theirs).collect())
                })
            }
            Self::Names => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                Ok(SettingValue::Texts(names.map(str::to_owned).collect()))
            }
            Self::Number => match text.parse() {
                Ok(number) => Ok(SettingValue::Number(number)),
                Err(_) => Err(Expected::Number),
            },
            Self::Rules => Ok(SettingValue::Text(text.replace('%', "\n"))),
            Self::Secret => Ok(SettingValue::Secret(Secret::new(text))),
            Self::Text => Ok(SettingValue::Text(text.to_owned())),
        }
    }
}

/// What a value has to be, where it is something else.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Expected {
    Number,
    OneOf(Vec<&'static str>),
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number => f.write_str("a whole number"),
            Self::OneOf(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

const fn row<F>(name: &'static str, kept: Kept, shown: fn(&F) -> String) -> Row<F> {
    Row { name, kept, shown }
}

fn yes_or_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

fn login(server: &ServerFacts) -> String {
    if server.has_username { HIDDEN } else { "" }.to_owned()
}

fn directory_of(path: &str) -> String {
    path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned()
}

use Kept::{At, InFile, Nowhere};
use Meaning::{Amount, Choice, Flag, Names, Number, Rules, Text};

const COMMON: &[Row<Facts>] = &[
    row("ConfigFile", Nowhere, |it| it.config_file.clone()),
    row("AppBin", Nowhere, |it| it.binary.clone()),
    row("AppDir", Nowhere, |it| directory_of(&it.binary)),
    row("Version", Nowhere, |_| VERSION.to_owned()),
    row("MainDir", Nowhere, |it| it.main_directory.clone()),
    row("DestDir", InFile, |it| it.destination.clone()),
    row("InterDir", InFile, |it| it.incomplete.clone()),
    row("NzbDir", InFile, |it| it.watch.clone()),
    row("QueueDir", InFile, |it| it.state.clone()),
    row("TempDir", Nowhere, |it| it.temporary.clone()),
    row("WebDir", Nowhere, |_| String::new()),
    row("ScriptDir", Nowhere, |_| String::new()),
    row("LockFile", Nowhere, |_| String::new()),
    row("LogFile", InFile, |it| it.log_file.clone()),
    row("ControlIP", InFile, |it| it.control_address.clone()),
    row("ControlPort", InFile, |it| it.control_port.to_string()),
    row("ControlUsername", InFile, |_| HIDDEN.to_owned()),
    row("ControlPassword", InFile, |_| HIDDEN.to_owned()),
    row("SecureControl", Nowhere, |_| yes_or_no(false)),
    row("SecurePort", Nowhere, |_| "0".to_owned()),
    row("AppendCategoryDir", Nowhere, |_| yes_or_no(true)),
    row("KeepHistory", At("history.keep", Number), |it| {
        it.keep_history_days.clamp(1, LONGEST_HISTORY).to_string()
    }),
    row(
        "DupeCheck",
        At("watch.duplicates", Choice(&[("yes", "refuse"), ("no", "accept")])),
        |it| yes_or_no(it.duplicates_refused),
    ),
    row("NzbDirInterval", At("watch.scan_interval", Amount("s")), |it| {
        it.watch_interval.to_string()
    }),
    row("NzbDirFileAge", Nowhere, |_| "0".to_owned()),
    row("NzbCleanupDisk", Nowhere, |_| yes_or_no(false)),
    row("DiskSpace", At("storage.reserve", Amount("MiB")), |it| (it.reserve >> 20).to_string()),
    row("DownloadRate", At("download.rate", Amount("KiB")), |it| (it.rate_limit >> 10).to_string()),
    row("DailyQuota", At("quota.daily", Amount("MiB")), |it| (it.daily_quota >> 20).to_string()),
    row("MonthlyQuota", At("quota.monthly", Amount("MiB")), |it| {
        (it.monthly_quota >> 20).to_string()
    }),
    row("QuotaStartDay", At("quota.reset_day", Number), |it| it.quota_start_day.to_string()),
    row("HealthCheck", At("download.health_check", Choice(HEALTH_CHECKS)), |it| {
        it.health_action.clone()
    }),
    row("ParCheck", Nowhere, |_| "auto".to_owned()),
    row("ParRepair", Nowhere, |_| yes_or_no(false)),
    row("ParScan", Nowhere, |_| "limited".to_owned()),
    row("Unpack", Nowhere, |_| yes_or_no(false)),
    row("DirectUnpack", Nowhere, |_| yes_or_no(false)),
    row("UnpackPassFile", Nowhere, |_| String::new()),
    row("Extensions", Nowhere, |_| String::new()),
    row("ScriptOrder", Nowhere, |_| String::new()),
    row("ShellOverride", Nowhere, |_| String::new()),
    row("EventInterval", Nowhere, |_| "0".to_owned()),
    row("UMask", InFile, |_| "1000".to_owned()),
];

const SERVER: &[Row<ServerFacts>] = &[
    row("Active", At("active", Flag(YES_OR_NO)), |it| yes_or_no(it.active)),
    row("Name", At("name", Text), |it| it.name.clone()),
    row("Level", At("level", Number), |it| it.level.to_string()),
    row("Optional", At("optional", Flag(YES_OR_NO)), |it| yes_or_no(it.optional)),
    row("Group", At("group", Number), |it| it.group.to_string()),
    row("Host", At("host", Text), |it| it.host.clone()),
    row("Port", At("port", Number), |it| it.port.to_string()),
    row("Encryption", At("encryption", Choice(&[("yes", "tls"), ("no", "none")])), |it| {
        yes_or_no(it.tls)
    }),
    row("Username", At("username", Meaning::Secret), login),
    row("Password", At("password", Meaning::Secret), login),
    row("JoinGroup", At("join_group", Flag(YES_OR_NO)), |it| yes_or_no(it.join_group)),
    row("Cipher", At("cipher", Text), |it| it.cipher.clone()),
    row("Connections", At("connections", Number), |it| it.connections.to_string()),
    row("Retention", At("retention", Number), |it| it.retention.to_string()),
    row("CertVerification", At("cert_verification", Flag(CERTIFICATES)), |it| {
        if it.certificates_checked { "Strict" } else { "None" }.to_owned()
    }),
    row("IpVersion", At("ip_version", Choice(IP_VERSIONS)), |it| it.ip_version.clone()),
    row("Notes", Nowhere, |_| String::new()),
];

const CATEGORY: &[Row<CategoryFacts>] = &[
    row("Name", At("name", Text), |it| it.name.clone()),
    row("DestDir", InFile, |it| it.destination.clone()),
    row("Unpack", Nowhere, |_| yes_or_no(false)),
    row("Extensions", Nowhere, |_| String::new()),
    row("DefScript", Nowhere, |_| String::new()),
    row("Aliases", At("aliases", Names), |it| it.aliases.join(",")),
];

const FEED: &[Row<FeedFacts>] = &[
    row("Name", At("name", Text), |it| it.name.clone()),
    // The key that goes with it would go to another host then.
    row("URL", InFile, |it| it.url.clone()),
    row("Filter", At("rules", Rules), |it| it.rules.trim().replace('\n', "%")),
    row("Interval", At("interval", Amount("min")), |it| {
        it.interval_minutes.unwrap_or(USUAL_INTERVAL).to_string()
    }),
    row("Backlog", At("backlog", Flag(YES_OR_NO)), |it| yes_or_no(it.backlog)),
    row("PauseNzb", At("pause", Flag(YES_OR_NO)), |it| yes_or_no(it.paused)),
    row("Category", At("category", Text), |it| it.category.clone()),
    row("CategorySource", Nowhere, |_| "nzbgetOnly".to_owned()),
    row("Priority", At("priority", Number), |it| it.priority.to_string()),
    row("Extensions", Nowhere, |_| String::new()),
];

const CERTIFICATES: &[(&str, bool)] = &[("Strict", true), ("None", false)];
const HEALTH_CHECKS: &[(&str, &str)] =
    &[("park", "park"), ("delete", "delete"), ("pause", "pause"), ("none", "none")];
const IP_VERSIONS: &[(&str, &str)] = &[("auto", "auto"), ("ipv4", "ipv4"), ("ipv6", "ipv6")];
const YES_OR_NO: &[(&str, bool)] = &[("yes", true), ("no", false)];
/// Minutes; a feed that is read at its own pace begins with as many.
const USUAL_INTERVAL: u64 = 60;
const HIDDEN: &str = "***";
/// Sonarr takes 1 to 25000 days; more it holds to be a mistake.
const LONGEST_HISTORY: u32 = 25_000;
