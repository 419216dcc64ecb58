//! [`nzbget`]: maps the options of an `nzbget.conf` to a [`Draft`] and a [`Report`]. Pure.

use crate::draft::{Draft, Table, Value};
use crate::nzbget_conf::{Misread, Options};
use crate::permissions::{permissions, written};
use crate::report::{Fate, Finding, Report};
use crate::tasks::{Action, EVERY_DAY, Task, into_schedules, time_of_day};
use crate::text::is_yes;
use crate::{ImportError, Imported, Place};

/// Reads an `nzbget.conf`.
pub fn nzbget(bytes: &[u8], place: &Place) -> Result<Imported, ImportError> {
    let options = Options::read(bytes, place)?;
    let (draft, report) = (Draft::default(), Report::default());
    let mut mapping = Mapping { options: &options, draft, report };
    mapping.directories();
    mapping.downloads();
    mapping.quotas();
    mapping.storage();
    mapping.control();
    mapping.history_and_log();
    mapping.servers();
    mapping.categories();
    mapping.schedules();
    mapping.feeds();
    mapping.rest();
    mapping.misfits();
    let Mapping { mut draft, mut report, .. } = mapping;
    draft.keep_time_zone(place, &mut report);
    Ok(Imported { draft, findings: report.0 })
}

struct Mapping<'a> {
    options: &'a Options,
    draft: Draft,
    report: Report,
}

impl Mapping<'_> {
    fn directories(&mut self) {
        for (option, key) in
            [("NzbDir", "watch"), ("InterDir", "incomplete"), ("DestDir", "complete")]
        {
            match self.options.path(option) {
                Some(path) if path.starts_with('~') => {
                    self.report.left(
                        option,
                        format!("{path} begins with ~; write directories.{key} in full"),
                    );
                }
                Some(path) => {
                    self.draft.table("directories").text(key, path);
                    self.report.carried(option, &format!("directories.{key}"));
                }
                None => self
                    .report
                    .left(option, format!("it is empty; directories.{key} keeps its default")),
            }
        }
        self.options.text("MainDir");
        self.report.needless("MainDir", "it is expanded wherever it was used");
        self.options.text("QueueDir");
        self.report.changed(
            "QueueDir",
            "NZBGet's queue is not shared; directories.state is a new directory",
        );
    }

    fn downloads(&mut self) {
        self.seconds("NzbDirInterval", "watch", "scan_interval", 1..=3600);
        if let Some(check) = self.options.flag("DupeCheck") {
            let word = if check { "refuse" } else { "accept" };
            self.draft.table("watch").text("duplicates", word);
            self.report.carried("DupeCheck", "watch.duplicates");
        }
        if let Some(retries) = self.options.number_within("ArticleRetries", &(0..=99)) {
            self.draft.table("download").number("article_retries", retries);
            self.report.carried("ArticleRetries", "download.article_retries");
        }
        if let Some(rate) = self.rate() {
            self.draft.table("download").text("rate", format!("{rate} B"));
            self.report.carried("DownloadRate", "download.rate");
        }
        if let Some(minutes) = self.options.number("PropagationDelay").filter(|it| *it >= 0) {
            let minutes = minutes.min(24 * 60);
            self.draft.table("download").text("propagation_delay", format!("{minutes} min"));
            self.report.carried("PropagationDelay", "download.propagation_delay");
        }
        if let Some(check) = self.options.text("HealthCheck").map(|it| it.to_ascii_lowercase()) {
            match check.as_str() {
                "park" | "delete" | "pause" | "none" => {
                    self.draft.table("download").text("health_check", check);
                    self.report.carried("HealthCheck", "download.health_check");
                }
                _ => self.report.left("HealthCheck", "it is none of park, delete, pause and none"),
            }
        }
    }

    /// In bytes a second.
    fn rate(&self) -> Option<i64> {
        let kibibytes = self.options.number("DownloadRate").filter(|rate| *rate >= 0)?;
        Some(kibibytes.saturating_mul(1024).min(1 << 40))
    }

    fn seconds(
        &mut self,
        option: &str,
        table: &str,
        key: &'static str,
        range: std::ops::RangeInclusive<i64>,
    ) {
        let Some(seconds) = self.options.number(option) else { return };
        let fitting = seconds.clamp(*range.start(), *range.end());
        self.draft.table(table).text(key, format!("{fitting} s"));
        match fitting == seconds {
            true => self.report.carried(option, &format!("{table}.{key}")),
            false => self
                .report
                .changed(option, format!("{table}.{key} is {fitting} s instead of {seconds}")),
        }
    }

    fn quotas(&mut self) {
        for (option, key) in [("DailyQuota", "daily"), ("MonthlyQuota", "monthly")] {
            if let Some(mebibytes) = self.options.number(option).filter(|it| *it >= 0) {
                let mebibytes = mebibytes.min(1 << 30);
                self.draft.table("quota").text(key, format!("{mebibytes} MiB"));
                self.report.carried(option, &format!("quota.{key}"));
            }
        }
        if let Some(day) = self.options.number_within("QuotaStartDay", &(1..=31)) {
            self.draft.table("quota").number("reset_day", day);
            self.report.carried("QuotaStartDay", "quota.reset_day");
        }
    }

    fn storage(&mut self) {
        if let Some(mebibytes) = self.options.number("DiskSpace").filter(|it| *it >= 0) {
            let mebibytes = mebibytes.min(1 << 30);
            self.draft.table("storage").text("reserve", format!("{mebibytes} MiB"));
            self.report.carried("DiskSpace", "storage.reserve");
        }
        // 1000 is NZBGet's way to leave it as it is.
        let Some(mask) = self.options.text("UMask").filter(|mask| mask != "1000") else { return };
        match permissions(&mask).filter(|mask| mask & 0o700 == 0) {
            Some(mask) => {
                self.draft.table("storage").text("umask", written(mask));
                self.report.carried("UMask", "storage.umask");
            }
            None => self.report.left("UMask", "it removes permissions that the owner needs"),
        }
    }

    /// `None` if it is NZBGet's default password.
    fn control_password(&self) -> Option<String> {
        self.options.verbatim("ControlPassword").filter(|password| password != USUAL_PASSWORD)
    }

    fn control(&mut self) {
        self.control_address();
        if self.options.verbatim("ControlPassword").as_deref() == Some(USUAL_PASSWORD) {
            self.report.left(
                "ControlPassword",
                "it is NZBGet's default password, which is public; set control.password",
            );
        }
        if let Some(port) =
            self.options.number("ControlPort").filter(|port| (1..=65_535).contains(port))
        {
            self.draft.table("control").number("port", port);
            self.report.carried("ControlPort", "control.port");
        }
        for (option, key) in [
            ("ControlUsername", "username"),
            ("RestrictedUsername", "restricted_username"),
            ("RestrictedPassword", "restricted_password"),
            ("AddUsername", "add_username"),
            ("AddPassword", "add_password"),
        ] {
            if let Some(value) = self.options.verbatim(option) {
                self.draft.table("control").secret(key, value);
                self.report.carried(option, &format!("control.{key}"));
            }
        }
        if let Some(password) = self.control_password() {
            self.draft.table("control").secret("password", password);
            self.report.carried("ControlPassword", "control.password");
        }
        if self.options.flag("SecureControl") == Some(true) {
            self.report.left("SecureControl", "HTTPS is not supported; use a reverse proxy");
        }
        if self.options.text("AuthorizedIP").is_some() {
            self.report.left(
                "AuthorizedIP",
                "there is no access by address without a password; give each program one",
            );
        }
    }

    fn control_address(&mut self) {
        let password = self.control_password();
        match self.options.text("ControlIP").as_deref() {
            Some(path) if path.starts_with('/') => {
                self.draft.table("control").text("socket", path).text("address", "");
                self.report.carried("ControlIP", "control.socket");
            }
            Some(address) => match (address.parse::<core::net::IpAddr>(), &password) {
                (Ok(ip), None) if !ip.is_loopback() => self.report.left(
                    "ControlIP",
                    "other machines could reach it without a password; set control.password, then \
                     control.address",
                ),
                (Ok(ip), _) => {
                    self.draft.table("control").text("address", ip.to_string());
                    self.report.carried("ControlIP", "control.address");
                }
                (Err(_), _) => self.report.left("ControlIP", "it is no IP address"),
            },
            None => {}
        }
    }

    fn history_and_log(&mut self) {
        if let Some(days) = self.options.number("KeepHistory") {
            let kept = days.clamp(1, 25_000);
            self.draft.table("history").text("keep", format!("{kept} days"));
            match kept == days {
                true => self.report.carried("KeepHistory", "history.keep"),
                false => self.report.changed("KeepHistory", format!("history.keep is {kept} days")),
            }
        }
        let writes =
            self.options.text("WriteLog").is_none_or(|how| !how.eq_ignore_ascii_case("none"));
        match self.options.path("LogFile").filter(|path| writes && !path.starts_with('~')) {
            Some(path) => {
                self.draft.table("log").text("file", path);
                self.report.changed(
                    "LogFile",
                    "log.file; the log is rotated by size, see log.rotate_at and log.keep",
                );
            }
            None => self.report.needless("LogFile", "the log goes to standard error"),
        }
        self.options.text("RotateLog");
    }

    fn servers(&mut self) {
        let mut names: Vec<String> = Vec::new();
        for number in self.options.numbered("Server") {
            let option = |name: &str| format!("Server{number}.{name}");
            let Some(host) = self.options.text(&option("Host")).filter(|host| host != SAMPLE_HOST)
            else {
                self.drop_server(number);
                continue;
            };
            let name = self.options.text(&option("Name")).unwrap_or_else(|| host.clone());
            let name = unique(&mut names, &name);
            let tls = self.options.flag(&option("Encryption")) == Some(true);
            let table = self.draft.another("server");
            table.text("name", name).text("host", host);
            table.text("encryption", if tls { "tls" } else { "none" });
            let usual_port = if tls { 563 } else { 119 };
            table.number(
                "port",
                self.options.number_within(&option("Port"), &(1..=65_535)).unwrap_or(usual_port),
            );
            server_keys(self.options, number, table);
            self.server_report(number);
        }
    }

    fn drop_server(&mut self, number: u32) {
        let prefix = format!("Server{number}.");
        for name in SERVER_OPTIONS {
            self.options.text(&format!("{prefix}{name}"));
        }
        self.report.left(
            format!("Server{number}"),
            "it has no host; add the server with `bergamot server add`",
        );
    }

    fn server_report(&mut self, number: u32) {
        for name in SERVER_OPTIONS {
            let option = format!("Server{number}.{name}");
            if self.options.verbatim(&option).is_none() {
                continue;
            }
            match name {
                "Cipher" => {
                    self.report
                        .left(option, "cipher suites have different names; see server.cipher");
                }
                "Notes" => self.report.needless(option, "notes have no effect"),
                "Connections" if self.options.number(&option) == Some(0) => {
                    self.report.changed(
                        option,
                        "server.active is false, because the server had no \
                                                 connections",
                    );
                }
                "CertVerification" => {
                    self.report.changed(
                        option,
                        "server.cert_verification; the certificate is verified in full or not at all",
                    );
                }
                _ => self.report.carried(option, "server"),
            }
        }
    }

    fn categories(&mut self) {
        let numbers = self.options.numbered("Category");
        let name_of = |number: &u32| self.options.text(&format!("Category{number}.Name"));
        // A name counts before an alias, wherever they stand.
        let all: Vec<String> = numbers.iter().filter_map(name_of).collect();
        let mut taken: Vec<String> = Vec::new();
        for number in numbers {
            let Some(name) = name_of(&number) else { continue };
            if taken.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                let option = format!("Category{number}.Name");
                self.report.left(option, "there is another of that name");
                continue;
            }
            taken.push(name.clone());
            self.category(number, name, &all, &mut taken);
        }
        if self.options.flag("AppendCategoryDir").is_some() {
            self.report.carried("AppendCategoryDir", "category.directory");
        }
    }

    fn category(&mut self, number: u32, name: String, all: &[String], taken: &mut Vec<String>) {
        let option = |name: &str| format!("Category{number}.{name}");
        let append = self.options.flag("AppendCategoryDir").unwrap_or(true);
        let common = self.options.path("DestDir").filter(|_| !append);
        let directory = self.options.path(&option("DestDir")).or(common);
        let aliases = self.options.text(&option("Aliases")).unwrap_or_default();
        let (plain, wild) = aliases_of(&aliases);
        let is_free = |alias: &String| {
            all.iter().chain(taken.iter()).all(|known| !known.eq_ignore_ascii_case(alias))
        };
        let plain: Vec<String> = plain.into_iter().filter(is_free).collect();
        taken.extend(plain.iter().cloned());
        let table = self.draft.another("category");
        table.text("name", name);
        let at_home = directory.as_ref().filter(|path| path.starts_with('~')).cloned();
        if let Some(directory) = directory.filter(|path| !path.starts_with('~')) {
            table.text("directory", directory);
        }
        if !plain.is_empty() {
            table.set("aliases", Value::Texts(plain));
        }
        self.report.carried(format!("Category{number}"), "category");
        if let Some(path) = at_home {
            let note = format!("{path} begins with ~; write category.directory in full");
            self.report.left(option("DestDir"), note);
        }
        if !wild.is_empty() {
            let note = format!("there are no patterns in aliases: {}", wild.join(", "));
            self.report.left(option("Aliases"), note);
        }
        for name in ["Extensions", "DefScript", "PostScript"] {
            if self.options.text(&option(name)).is_some() {
                self.report.left(option(name), "there are no scripts");
            }
        }
        if self.options.flag(&option("Unpack")) == Some(true) {
            self.report.left(option("Unpack"), NO_UNPACKING);
        }
    }

    fn schedules(&mut self) {
        let mut tasks = Vec::new();
        for number in self.options.numbered("Task") {
            match tasks_of(self.options, number) {
                Some(found) => tasks.extend(found),
                None => self.report.left(format!("Task{number}"), NO_SUCH_TASK),
            }
        }
        let usual = self.rate().and_then(|rate| u64::try_from(rate).ok()).unwrap_or(0);
        let left = into_schedules(&tasks, usual, &mut self.draft);
        for task in &tasks {
            match left.contains(&task.option) {
                true => self.report.left(task.option.clone(), NO_SUCH_SCHEDULE),
                false => self
                    .report
                    .changed(task.option.clone(), "schedule; it lasts from one time to another"),
            }
        }
        self.report.0.dedup();
    }

    fn feeds(&mut self) {
        let mut names = Vec::new();
        for number in self.options.numbered("Feed") {
            let option = |name: &str| format!("Feed{number}.{name}");
            let Some(url) = self.options.verbatim(&option("URL")) else { continue };
            let name =
                self.options.text(&option("Name")).unwrap_or_else(|| format!("feed {number}"));
            let name = unique(&mut names, &name);
            let filter =
                self.options.verbatim(&option("Filter")).unwrap_or_default().replace('%', "\n");
            let rules = bergamot_feed::Rules::parse(&filter);
            let category = self.options.text(&option("Category"));
            category.iter().for_each(|category| self.draft.ensure_category(category));
            let table = self.draft.another("feed");
            table.text("name", name).secret("url", url);
            if let Some(minutes) = self.options.number(&option("Interval")).filter(|it| *it > 0) {
                table.text("interval", format!("{} min", minutes.min(7 * 24 * 60)));
            }
            if let Some(category) = category {
                table.text("category", category);
            }
            if let Some(priority) = self.options.number(&option("Priority")) {
                table.number("priority", priority.clamp(-1000, 1000));
            }
            for (name, key) in [("Backlog", "backlog"), ("PauseNzb", "pause")] {
                if let Some(flag) = self.options.flag(&option(name)) {
                    table.flag(key, flag);
                }
            }
            match rules {
                Ok(_) if filter.is_empty() => self.report.carried(format!("Feed{number}"), "feed"),
                Ok(_) => {
                    table.text("rules", filter);
                    self.report.carried(format!("Feed{number}"), "feed");
                }
                Err(problem) => {
                    table.flag("active", false);
                    self.report.left(
                        option("Filter"),
                        format!("{problem}; the feed is not active: write feed.rules, then set feed.active"),
                    );
                }
            }
            for name in ["Extensions", "FeedScript", "CategorySource"] {
                self.options.text(&option(name));
            }
        }
    }

    fn rest(&mut self) {
        for (options, note) in LEFT {
            for option in *options {
                if self.options.text(option).is_some_and(|value| {
                    is_yes(&value) || !IS_OFF.contains(&value.to_ascii_lowercase().as_str())
                }) {
                    self.report.left(*option, note);
                }
            }
        }
        let unread: Vec<String> = self.options.unread().map(str::to_owned).collect();
        for option in unread {
            self.report.needless(option, "there is no such setting, or none is needed");
        }
    }

    /// Reports the values that are not valid or out of range.
    fn misfits(&mut self) {
        let report = &mut self.report;
        for (option, misread) in self.options.misread() {
            let is_carried = |it: &mut Finding| it.fate == Fate::Carried && it.option == option;
            let was_carried = report.0.extract_if(.., is_carried).count() > 0;
            match misread {
                Misread::NoNumber => report.left(option, "it is not a number"),
                Misread::Fitted(fitted) if was_carried => {
                    report.changed(
                        option,
                        format!("it is set to {fitted}, the nearest allowed value"),
                    );
                }
                Misread::Fitted(_) => {} // reported otherwise
            }
        }
    }
}

fn server_keys(options: &Options, number: u32, table: &mut Table) {
    let option = |name: &str| format!("Server{number}.{name}");
    let has_none = options.number(&option("Connections")) == Some(0);
    if let Some(active) = options.flag(&option("Active")).or(has_none.then_some(false)) {
        table.flag("active", active && !has_none);
    }
    for (name, key) in [("Username", "username"), ("Password", "password")] {
        if let Some(value) = options.verbatim(&option(name)) {
            table.secret(key, value);
        }
    }
    for (name, key, range) in [
        ("Connections", "connections", 1..=500),
        ("Level", "level", 0..=99),
        ("Group", "group", 0..=99),
    ] {
        if let Some(value) = options.number_within(&option(name), &range) {
            table.number(key, value);
        }
    }
    if let Some(days) = options.number(&option("Retention")).filter(|days| *days > 0) {
        table.text("retention", format!("{} days", days.min(36_500)));
    }
    for (name, key) in [("Optional", "optional"), ("JoinGroup", "join_group")] {
        if let Some(flag) = options.flag(&option(name)) {
            table.flag(key, flag);
        }
    }
    if let Some(verification) = options.text(&option("CertVerification")) {
        table.flag("cert_verification", !verification.eq_ignore_ascii_case("none"));
    }
    match options.text(&option("IpVersion")).map(|version| version.to_ascii_lowercase()).as_deref()
    {
        Some("ipv4") => table.text("ip_version", "ipv4"),
        Some("ipv6") => table.text("ip_version", "ipv6"),
        _ => table,
    };
}

/// `None` unless it is a pause or a rate at times of the day.
fn tasks_of(options: &Options, number: u32) -> Option<Vec<Task>> {
    let option = |name: &str| format!("Task{number}.{name}");
    let (times, days) = (options.text(&option("Time")), options.text(&option("WeekDays")));
    let parameter =
        options.text(&option("Param")).or_else(|| options.text(&option("DownloadRate")));
    let command = options.text(&option("Command"))?.to_ascii_lowercase();
    let action = match command.as_str() {
        "pausedownload" | "pause" => Action::Pause,
        "unpausedownload" | "resumedownload" | "resume" => Action::Resume,
        "downloadrate" | "setdownloadrate" | "rate" => {
            Action::Rate(parameter?.trim().parse::<u64>().ok()?.saturating_mul(1024).min(1 << 40))
        }
        _ => return None,
    };
    let days = weekdays(&days.unwrap_or_else(|| "1-7".to_owned()))?;
    let name = format!("Task{number}");
    let task =
        |time: &str| Some(Task { option: name.clone(), minutes: time_of_day(time)?, days, action });
    times?.split([',', ';']).map(task).collect()
}

/// `1-5,7`; Monday is 1.
fn weekdays(text: &str) -> Option<u8> {
    let mut days = 0u8;
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if !(1..=7).contains(&first) || !(first..=7).contains(&last) {
            return None;
        }
        (first..=last).for_each(|day| days |= 1 << (day - 1));
    }
    Some(if days == 0 { EVERY_DAY } else { days })
}

/// Those that are names, and those that are patterns.
fn aliases_of(list: &str) -> (Vec<String>, Vec<String>) {
    let aliases = list.split([',', ';']).map(str::trim).filter(|alias| !alias.is_empty());
    let mut seen = std::collections::BTreeSet::new();
    let aliases = aliases.filter(|alias| seen.insert(alias.to_ascii_lowercase()));
    let (wild, plain): (Vec<_>, Vec<_>) =
        aliases.map(str::to_owned).partition(|alias| alias.contains(['*', '?']));
    (plain, wild)
}

/// A name that none of the others has, and that is not too long.
pub(crate) fn unique(taken: &mut Vec<String>, wanted: &str) -> String {
    let short: String = wanted.chars().filter(|letter| !letter.is_control()).take(56).collect();
    let name = |number: usize| match number {
        1 => short.clone(),
        number => format!("{short} {number}"),
    };
    let free = |name: &String| taken.iter().all(|known| !known.eq_ignore_ascii_case(name));
    let name = (1..).map(name).find(free).unwrap_or(short.clone());
    taken.push(name.clone());
    name
}

/// The one NZBGet comes with.
const USUAL_PASSWORD: &str = "tegbzn6789";
/// That of the file NZBGet comes with.
const SAMPLE_HOST: &str = "my.newsserver.com";
const SERVER_OPTIONS: [&str; 17] = [
    "Active",
    "Name",
    "Level",
    "Optional",
    "Group",
    "Host",
    "Port",
    "Username",
    "Password",
    "JoinGroup",
    "Encryption",
    "Cipher",
    "Connections",
    "Retention",
    "CertVerification",
    "IpVersion",
    "Notes",
];
const IS_OFF: [&str; 5] = ["no", "none", "0", "off", "manual"];
const NO_UNPACKING: &str = "nothing is repaired or unpacked yet";
const NO_SUCH_TASK: &str = "only pauses and rates at times of the day can be converted; use cron and \
                            `bergamot rpc` for others";
const NO_SUCH_SCHEDULE: &str = "it does not make a time with a begin and an end together with the others; write a [[schedule]]";

/// Options that people rely on and that have nothing to go to.
const LEFT: &[(&[&str], &str)] = &[
    (&["Unpack", "DirectUnpack", "ParRepair"], NO_UNPACKING),
    (&["UnpackPassFile"], "passwords come with the jobs; nothing is unpacked yet"),
    (
        &["Extensions", "ScriptOrder", "PostScript", "ScanScript", "QueueScript"],
        "there are no scripts",
    ),
    (&["DaemonUsername"], "it runs as the user that starts it; see the service file or the image"),
    (&["ArticleCache"], "memory is shared out by itself; see download.memory"),
    (&["RequiredDir"], "see docs/config.md for what is done about shares that are not mounted"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_are_not_carried_over() {
        let text = "DownloadRate=banana\nMonthlyQuota=many\nArticleRetries=5\nServer1.Host=a.example\n\
                    Server1.Port=abc\nServer1.Connections=9999\nServer1.Level=2\n";
        let place = Place { file: "/etc/nzbget.conf".to_owned(), ..Place::default() };
        let findings = nzbget(text.as_bytes(), &place).unwrap().findings;
        let fate = |option: &str| {
            let told: Vec<_> = findings.iter().filter(|it| it.option == option).collect();
            assert_eq!(told.len(), 1, "{option}: {told:?}");
            told[0].fate
        };
        for (option, expected) in [
            ("DownloadRate", Fate::Left),
            ("MonthlyQuota", Fate::Left),
            ("ArticleRetries", Fate::Carried),
            ("Server1.Port", Fate::Left),
            ("Server1.Connections", Fate::Changed),
            ("Server1.Level", Fate::Carried),
        ] {
            assert_eq!(fate(option), expected, "{option}");
        }
    }
}
