//! `config`: our settings under the names clients look for.

use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::control::Control;
use crate::fault::Fault;
use crate::nzbget::fields::Fields;
use crate::nzbget::status::VERSION;
use crate::reply::Reply;
use crate::view::{CategoryFacts, Facts, FeedFacts, ServerFacts};

struct Setting(String, String);

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        fields.put("Name", &self.0).put("Value", &self.1);
        fields.end()
    }
}

pub(crate) async fn config<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    let facts = call.control.config().await?.facts;
    call.answer(&settings(&facts))
}

fn settings(facts: &Facts) -> Vec<Setting> {
    let mut list = Vec::new();
    common(&mut list, facts);
    for (number, server) in (1..).zip(&facts.servers) {
        of_server(&mut list, number, server);
    }
    for (number, category) in (1..).zip(&facts.categories) {
        of_category(&mut list, number, category);
    }
    for (number, feed) in (1..).zip(&facts.feeds) {
        of_feed(&mut list, number, feed);
    }
    list
}

fn common(list: &mut Vec<Setting>, facts: &Facts) {
    let mut put = |name: &str, value: &dyn ToString| {
        list.push(Setting(name.to_owned(), value.to_string()));
    };
    put("ConfigFile", &facts.config_file);
    put("AppBin", &facts.binary);
    put("AppDir", &directory_of(&facts.binary));
    put("Version", &VERSION);
    put("MainDir", &facts.main_directory);
    put("DestDir", &facts.destination);
    put("InterDir", &facts.incomplete);
    put("NzbDir", &facts.watch);
    put("QueueDir", &facts.state);
    put("TempDir", &facts.temporary);
    put("WebDir", &"");
    put("ScriptDir", &"");
    put("LockFile", &"");
    put("LogFile", &facts.log_file);
    put("ControlIP", &facts.control_address);
    put("ControlPort", &facts.control_port);
    put("ControlUsername", &HIDDEN);
    put("ControlPassword", &HIDDEN);
    put("SecureControl", &"no");
    put("SecurePort", &0);
    put("AppendCategoryDir", &"yes");
    put("KeepHistory", &facts.keep_history_days.clamp(1, LONGEST_HISTORY));
    put("DupeCheck", &yes_or_no(facts.duplicates_refused));
    put("NzbDirInterval", &facts.watch_interval);
    put("NzbDirFileAge", &0);
    put("NzbCleanupDisk", &"no");
    put("DiskSpace", &(facts.reserve >> 20));
    put("DownloadRate", &(facts.rate_limit >> 10));
    put("DailyQuota", &(facts.daily_quota >> 20));
    put("MonthlyQuota", &(facts.monthly_quota >> 20));
    put("QuotaStartDay", &facts.quota_start_day);
    put("HealthCheck", &facts.health_action);
    put("ParCheck", &"auto");
    put("ParRepair", &"no");
    put("ParScan", &"limited");
    put("Unpack", &"no");
    put("DirectUnpack", &"no");
    put("UnpackPassFile", &"");
    put("Extensions", &"");
    put("ScriptOrder", &"");
    put("ShellOverride", &"");
    put("EventInterval", &0);
    put("UMask", &1000);
}

fn of_server(list: &mut Vec<Setting>, number: usize, server: &ServerFacts) {
    let mut put = |name: &str, value: &dyn ToString| {
        list.push(Setting(format!("Server{number}.{name}"), value.to_string()));
    };
    let login = if server.has_username { HIDDEN } else { "" };
    put("Active", &yes_or_no(server.active));
    put("Name", &server.name);
    put("Level", &server.level);
    put("Optional", &yes_or_no(server.optional));
    put("Group", &server.group);
    put("Host", &server.host);
    put("Port", &server.port);
    put("Encryption", &yes_or_no(server.tls));
    put("Username", &login);
    put("Password", &login);
    put("JoinGroup", &"no");
    put("Cipher", &"");
    put("Connections", &server.connections);
    put("Retention", &server.retention);
    put("CertVerification", &"Strict");
    put("IpVersion", &"auto");
    put("Notes", &"");
}

fn of_category(list: &mut Vec<Setting>, number: usize, category: &CategoryFacts) {
    let mut put = |name: &str, value: &dyn ToString| {
        list.push(Setting(format!("Category{number}.{name}"), value.to_string()));
    };
    put("Name", &category.name);
    put("DestDir", &category.destination);
    put("Unpack", &"no");
    put("Extensions", &"");
    put("DefScript", &"");
    put("Aliases", &category.aliases.join(","));
}

fn of_feed(list: &mut Vec<Setting>, number: usize, feed: &FeedFacts) {
    let mut put = |name: &str, value: &dyn ToString| {
        list.push(Setting(format!("Feed{number}.{name}"), value.to_string()));
    };
    put("Name", &feed.name);
    put("URL", &feed.url);
    put("Filter", &feed.rules.trim().replace('\n', "%"));
    put("Interval", &feed.interval_minutes.unwrap_or(USUAL_INTERVAL));
    put("Backlog", &yes_or_no(feed.backlog));
    put("PauseNzb", &yes_or_no(feed.paused));
    put("Category", &feed.category);
    put("CategorySource", &"nzbgetOnly");
    put("Priority", &feed.priority);
    put("Extensions", &"");
}

fn yes_or_no(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Minutes; a feed that is read at its own pace begins with as many.
const USUAL_INTERVAL: u64 = 60;
const HIDDEN: &str = "***";
/// Sonarr takes 1 to 25000 days; more it holds to be a mistake.
const LONGEST_HISTORY: u32 = 25_000;
