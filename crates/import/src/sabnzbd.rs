//! [`sabnzbd`]: maps the options of a `sabnzbd.ini` to a [`Draft`] and a [`Report`]. Pure.

use crate::draft::{Draft, Value};
use crate::nzbget::unique;
use crate::permissions::{permissions, written};
use crate::report::Report;
use crate::sab_ini::{Ini, Section, Values};
use crate::tasks::{Action, EVERY_DAY, Task, into_schedules};
use crate::text::at_home;
use crate::{ImportError, Imported, Place};

/// Reads a `sabnzbd.ini`.
pub fn sabnzbd(bytes: &[u8], place: &Place) -> Result<Imported, ImportError> {
    let mut ini = Ini::read(bytes)?;
    let mut mapping = Mapping { place, draft: Draft::default(), report: Report::default() };
    let mut misc = ini.take("misc").values();
    mapping.directories(&mut misc);
    let line = mapping.downloads(&mut misc);
    mapping.quota(&mut misc);
    mapping.storage(&mut misc);
    mapping.control(&mut misc);
    mapping.servers(ini.take("servers"));
    mapping.categories(ini.take("categories"));
    mapping.schedules(&mut misc, line);
    mapping.feeds(ini.take("rss"));
    mapping.rest(&misc);
    let Mapping { mut draft, mut report, .. } = mapping;
    draft.keep_time_zone(place, &mut report);
    Ok(Imported { draft, findings: report.0 })
}

struct Mapping<'a> {
    place: &'a Place,
    draft: Draft,
    report: Report,
}

impl Mapping<'_> {
    fn directories(&mut self, misc: &mut Values) {
        for (option, key) in
            [("dirscan_dir", "watch"), ("download_dir", "incomplete"), ("complete_dir", "complete")]
        {
            let Some(path) = misc.take(option) else { continue };
            match self.whole(&path) {
                Some(path) => {
                    self.draft.table("directories").text(key, path);
                    self.report.carried(option, &format!("directories.{key}"));
                }
                None => self
                    .report
                    .left(option, format!("{path} begins with ~; write directories.{key} in full")),
            }
        }
    }

    /// SABnzbd's paths begin in the home directory.
    fn whole(&self, path: &str) -> Option<String> {
        let home = self.place.home.as_deref();
        match path {
            whole if whole.starts_with('/') => Some(whole.to_owned()),
            tilde if tilde.starts_with('~') => at_home(tilde, home),
            relative => Some(format!("{}/{relative}", home?.trim_end_matches('/'))),
        }
    }

    /// The rate of the line, of which schedules have shares.
    fn downloads(&mut self, misc: &mut Values) -> u64 {
        if let Some(seconds) = misc.number("dirscan_speed") {
            self.draft
                .table("watch")
                .text("scan_interval", format!("{} s", seconds.clamp(1, 3600)));
            self.report.carried("dirscan_speed", "watch.scan_interval");
        }
        if let Some(duplicates) = misc.number("no_dupes") {
            let word = if duplicates == 0 { "accept" } else { "refuse" };
            self.draft.table("watch").text("duplicates", word);
            self.report.changed("no_dupes", "watch.duplicates; what is refused is in the history");
        }
        if let Some(minutes) = misc.number("propagation_delay").filter(|it| *it > 0) {
            let minutes = minutes.min(24 * 60);
            self.draft.table("download").text("propagation_delay", format!("{minutes} min"));
            self.report.carried("propagation_delay", "download.propagation_delay");
        }
        let line = misc.take("bandwidth_max").and_then(|text| bytes(&text)).unwrap_or(0);
        let percent = misc.number("bandwidth_perc").unwrap_or(100).clamp(0, 100) as u64;
        if line > 0 {
            let rate = if percent == 0 { line } else { line / 100 * percent };
            self.draft.table("download").text("rate", format!("{rate} B"));
            self.report.carried("bandwidth_max, bandwidth_perc", "download.rate");
        }
        line
    }

    fn quota(&mut self, misc: &mut Values) {
        let size = misc.take("quota_size").and_then(|text| bytes(&text)).filter(|size| *size > 0);
        let (period, day) = (misc.take("quota_period"), misc.take("quota_day"));
        let Some(size) = size else { return };
        let table = self.draft.table("quota");
        let text = format!("{} B", size.min(1 << 50));
        match period.as_deref() {
            Some("d") => table.text("daily", text),
            Some("w") => table.text("weekly", text),
            _ => table.text("monthly", text),
        };
        let words: Vec<&str> = day.as_deref().unwrap_or_default().split_whitespace().collect();
        if let Some(number) = words.first().and_then(|day| day.parse::<i64>().ok()) {
            match period.as_deref() {
                Some("w") => {
                    let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
                    table.text("reset_weekday", names[(number.clamp(1, 7) - 1) as usize]);
                }
                Some("d") => {}
                _ => {
                    table.number("reset_day", number.clamp(1, 31));
                }
            }
        }
        self.report.carried("quota_size, quota_period, quota_day", "quota");
    }

    fn storage(&mut self, misc: &mut Values) {
        let free = ["download_free", "complete_free"].map(|option| {
            let bytes = misc.take(option).and_then(|text| bytes(&text)).filter(|size| *size > 0);
            bytes.map(|bytes| (option, bytes))
        });
        // There is one reserve for all volumes, so the more careful one counts.
        if let Some((_, reserve)) = free.into_iter().flatten().max_by_key(|(_, bytes)| *bytes) {
            self.draft.table("storage").text("reserve", format!("{reserve} B"));
            for (option, bytes) in free.into_iter().flatten() {
                match bytes == reserve {
                    true => self.report.carried(option, "storage.reserve"),
                    false => self.report.changed(option, format!("storage.reserve is {reserve} B")),
                }
            }
        }
        let Some(text) = misc.take("permissions") else { return };
        match permissions(&text).filter(|mode| mode & 0o700 == 0o700) {
            Some(mode) => {
                let table = self.draft.table("storage");
                table.text("directory_mode", written(mode));
                table.text("file_mode", written(mode & 0o666));
                self.report.carried("permissions", "storage.directory_mode, storage.file_mode");
            }
            None => self.report.left("permissions", "they remove permissions that the owner needs"),
        }
    }

    fn control(&mut self, misc: &mut Values) {
        let password = misc.take("password");
        let has_password = password.is_some();
        let secrets = [
            ("username", "username", misc.take("username")),
            ("password", "password", password),
            ("api_key", "api_key", misc.take("api_key")),
            ("nzb_key", "nzb_key", misc.take("nzb_key")),
        ];
        for (option, key, value) in secrets {
            if let Some(value) = value {
                self.draft.table("control").secret(key, value);
                self.report.carried(option, &format!("control.{key}"));
            }
        }
        match misc.take("host").map(|host| (host.parse::<core::net::IpAddr>(), host)) {
            Some((Ok(ip), _)) if ip.is_loopback() || has_password => {
                self.draft.table("control").text("address", ip.to_string());
                self.report.carried("host", "control.address");
            }
            Some((Ok(_), _)) => self.report.left(
                "host",
                "others could reach it, and there is no password; set control.password, then control.address",
            ),
            Some((Err(_), _)) | None => self.report.needless("host", "it listens on this machine only"),
        }
        let hosts: Vec<String> =
            misc.list("host_whitelist").into_iter().filter(|host| host.contains('.')).collect();
        if !hosts.is_empty() {
            self.draft.table("control").set("allowed_hosts", Value::Texts(hosts));
            self.report.carried("host_whitelist", "control.allowed_hosts");
        }
        if let Some(port) = misc.number("port").filter(|port| (1..=65_535).contains(port)) {
            self.draft.table("control").number("port", port);
            self.report.carried("port", "control.port");
        }
        if let Some(days) = misc
            .take("history_retention")
            .and_then(|text| text.strip_suffix('d')?.parse::<i64>().ok())
        {
            self.draft.table("history").text("keep", format!("{} days", days.clamp(1, 25_000)));
            self.report.carried("history_retention", "history.keep");
        }
        if misc.flag("enable_https") == Some(true) {
            self.report.left("enable_https", "HTTPS is not supported; use a reverse proxy");
        }
    }

    fn servers(&mut self, servers: Section) {
        let mut names = Vec::new();
        for (section, mut values) in servers.parts {
            let Some(host) = values.take("host").or_else(|| values.take("name")) else {
                self.report.left(format!("servers/{section}"), "it has no host");
                continue;
            };
            let name = values.take("displayname").unwrap_or(section);
            let option = format!("servers/{name}");
            self.server(unique(&mut names, &name), host, &mut values);
            self.report.carried(option.clone(), "server");
            if values.take("expire_date").is_some() || values.take("quota").is_some() {
                self.report.left(
                    option,
                    "expire_date and quota are not converted; set server.quota_total to \
                                          the bytes that are left",
                );
            }
        }
    }

    fn server(&mut self, name: String, host: String, values: &mut Values) {
        let tls = values.flag("ssl") == Some(true);
        let table = self.draft.another("server");
        table.text("name", name).text("host", host);
        table.text("encryption", if tls { "tls" } else { "none" });
        let usual_port = if tls { 563 } else { 119 };
        table.number("port", values.number("port").unwrap_or(usual_port).clamp(1, 65_535));
        for key in ["username", "password"] {
            if let Some(value) = values.take(key) {
                table.secret(key, value);
            }
        }
        let connections = values.number("connections");
        // None means not to use it.
        let has_none = connections == Some(0);
        if let Some(active) = values.flag("enable").or(has_none.then_some(false)) {
            table.flag("active", active && !has_none);
        }
        if let Some(connections) = connections {
            table.number("connections", connections.clamp(1, 500));
        }
        if let Some(priority) = values.number("priority") {
            table.number("level", priority.clamp(0, 99));
        }
        if let Some(days) = values.number("retention").filter(|days| *days > 0) {
            table.text("retention", format!("{} days", days.min(36_500)));
        }
        if let Some(optional) = values.flag("optional") {
            table.flag("optional", optional);
        }
        if let Some(level) = values.number("ssl_verify") {
            table.flag("cert_verification", level > 0);
        }
    }

    fn categories(&mut self, categories: Section) {
        let mut names: Vec<String> = Vec::new();
        for (section, mut values) in categories.parts {
            let name = values.take("name").unwrap_or(section);
            let is_known = names.iter().any(|known| known.eq_ignore_ascii_case(&name));
            if name == "*" || is_known {
                continue;
            }
            names.push(name.clone());
            let option = format!("categories/{name}");
            let aliases: Vec<String> = values
                .list("newzbin")
                .into_iter()
                .filter(|alias| !alias.is_empty() && !alias.contains(['*', '?']))
                .filter(|alias| names.iter().all(|known| !known.eq_ignore_ascii_case(alias)))
                .collect();
            let directory = values.take("dir");
            let priority = values.number("priority").unwrap_or(-100);
            let table = self.draft.another("category");
            table.text("name", name);
            let at_home = |path: &str| at_home(path, self.place.home.as_deref());
            if let Some(directory) = &directory {
                let plain = directory.trim_end_matches('*').trim_end_matches('/');
                let whole = at_home(plain).unwrap_or_else(|| plain.to_owned());
                table.text("directory", whole);
            }
            if !aliases.is_empty() {
                names.extend(aliases.iter().cloned());
                table.set("aliases", Value::Texts(aliases));
            }
            if let Some(priority) = priority_of(priority) {
                table.number("priority", priority);
            }
            self.report.carried(option.clone(), "category");
            if directory.is_some_and(|directory| directory.ends_with('*')) {
                self.report.changed(option.clone(), "each job has a directory of its own");
            }
            if values.take("script").is_some_and(|script| script != "Default") {
                self.report.left(option, "there are no scripts");
            }
        }
    }

    /// `enabled minute hour days action parameters`
    fn schedules(&mut self, misc: &mut Values, line: u64) {
        let mut tasks = Vec::new();
        for text in misc.list("schedlines") {
            let option = format!("schedlines {text}");
            match task_of(&text, line) {
                Some(Some(task)) => tasks.push(task),
                Some(None) => self.report.needless(option, "it is switched off"),
                None => self
                    .report
                    .left(option, "only pauses and rates at times of the day can be converted"),
            }
        }
        let left = into_schedules(&tasks, 0, &mut self.draft);
        for task in tasks {
            match left.contains(&task.option) {
                true => {
                    self.report.left(task.option, "it cannot be converted; write a [[schedule]]")
                }
                false => {
                    self.report.changed(task.option, "schedule; it lasts from one time to another")
                }
            }
        }
    }

    fn feeds(&mut self, feeds: Section) {
        let mut names = Vec::new();
        for (section, mut values) in feeds.parts {
            let urls = values.list("uri");
            let rules: Option<Vec<String>> = (0..MOST_FILTERS)
                .map(|n| values.list(&format!("filter{n}")))
                .take_while(|filter| !filter.is_empty())
                .map(|filter| rule(&filter))
                .collect();
            let rules = rules
                .map(|rules| rules.join("\n"))
                .filter(|rules| bergamot_feed::Rules::parse(rules).is_ok());
            let active = values.flag("enable") == Some(true);
            let category =
                values.take("cat").filter(|name| !["", "*", "Default"].contains(&name.as_str()));
            category.iter().for_each(|category| self.draft.ensure_category(category));
            let option = format!("rss/{section}");
            for url in urls {
                let table = self.draft.another("feed");
                table.text("name", unique(&mut names, &section)).secret("url", url);
                table.flag("active", active && rules.is_some());
                if let Some(category) = &category {
                    table.text("category", category.clone());
                }
                if let Some(rules) = rules.as_ref().filter(|rules| !rules.is_empty()) {
                    table.text("rules", rules.clone());
                }
            }
            match rules {
                Some(_) => {
                    self.report.changed(option, "feed; check its rules with `bergamot feeds show`")
                }
                None => self.report.left(
                    option,
                    "its filters cannot be converted; the feed is not active: \
                                                  write feed.rules, then set feed.active",
                ),
            }
        }
    }

    fn rest(&mut self, misc: &Values) {
        for option in misc.left_over().map(str::to_owned).collect::<Vec<_>>() {
            match option.as_str() {
                "script_dir" | "pre_script" | "end_queue_script" => {
                    self.report.left(option, "there are no scripts");
                }
                "enable_unrar" | "enable_7zip" | "password_file" | "enable_par_cleanup" => {
                    self.report.left(option, "nothing is repaired or unpacked yet");
                }
                _ => self.report.needless(option, "there is no such setting, or none is needed"),
            }
        }
    }
}

/// None where it is nothing we know; none of a task where it is switched off.
fn task_of(text: &str, line: u64) -> Option<Option<Task>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [enabled, minute, hour, days, action, ..] = words[..] else { return None };
    if enabled == "0" {
        return Some(None);
    }
    let (minute, hour): (u32, u32) = (minute.parse().ok()?, hour.parse().ok()?);
    let action = match (action, words.get(5)) {
        ("pause" | "pause_all", _) => Action::Pause,
        ("resume", _) => Action::Resume,
        ("speedlimit", Some(rate)) => {
            Action::Rate(match rate.trim_end_matches('%').parse::<u64>() {
                Ok(0) => 0,
                Ok(percent) if percent <= 100 && line > 0 => line / 100 * percent,
                Ok(percent) if percent <= 100 => return None,
                _ => bytes(rate)?,
            })
        }
        _ => return None,
    };
    let bit = |day: char| {
        day.to_digit(10).filter(|day| (1..=7).contains(day)).map(|day| 1u8 << (day - 1))
    };
    let days = match days {
        "*" => EVERY_DAY,
        days => days.chars().map(bit).try_fold(0, |all, day| Some(all | day?))?,
    };
    let is_time = minute < 60 && hour < 24 && days != 0;
    let option = format!("schedlines {text}");
    is_time.then_some(Some(Task { option, minutes: hour * 60 + minute, days, action }))
}

/// `category, pp, script, type, text, priority, enabled`
fn rule(filter: &[String]) -> Option<String> {
    let (kind, text) = (filter.get(3)?.as_str(), filter.get(4)?.trim());
    if filter.get(6).is_some_and(|enabled| enabled == "0") {
        return Some(String::new());
    }
    let name = match kind {
        "A" => "Accept",
        "R" => "Reject",
        "M" => "Require",
        _ => return None,
    };
    let term = match text.strip_prefix("re:") {
        Some(expression) if !expression.contains(char::is_whitespace) => format!("${expression}"),
        Some(_) => return None,
        None if text == "*" || text.is_empty() => "*".to_owned(),
        None => {
            let words = text.trim_matches('*').split(['*', ' ']).filter(|word| !word.is_empty());
            let plain = |word: &str| {
                word.chars().all(|letter| letter.is_alphanumeric() || ".-_".contains(letter))
                    && !word.starts_with('-')
            };
            let words: Vec<&str> = words.collect();
            if !words.iter().all(|word| plain(word)) {
                return None;
            }
            words.iter().map(|word| format!("*{word}*")).collect::<Vec<_>>().join(" ")
        }
    };
    Some(format!("{name}: {term}"))
}

/// `100M`, `1.5G`
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b', 's', '/']).trim();
    let (digits, factor) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 1u64 << 10),
        (at, 'M' | 'm') => (&text[..at], 1 << 20),
        (at, 'G' | 'g') => (&text[..at], 1 << 30),
        (at, 'T' | 't') => (&text[..at], 1 << 40),
        _ => (text, 1),
    };
    let number: f64 = digits.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number * factor as f64).min(1e15) as u64)
}

/// None is the usual one.
fn priority_of(priority: i64) -> Option<i64> {
    match priority {
        2 => Some(900),
        1 => Some(50),
        0 => Some(0),
        -1 => Some(-50),
        _ => None,
    }
}

const MOST_FILTERS: usize = 100;
