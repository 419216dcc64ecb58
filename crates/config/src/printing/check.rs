//! [`check`]: the report of `bergamot config check`.

use std::fmt::{self, Write};
use std::path::Path;

use bergamot_limit::{Allowance, Effect, Period, QuotaSettings};
use bergamot_net::Encryption;
use bergamot_types::{ByteRate, Shown};

use crate::{Category, Config, ConfigError, Environment, Feed, Server};

/// Reads the file and lists its values, without secrets and user names.
pub fn check(path: &Path, environment: &Environment) -> Result<String, ConfigError> {
    let config = Config::read(path, environment)?;
    let mut text = format!("{} is good.\n", path.display());
    write(&mut text, &config).expect("a string takes all text");
    Ok(text)
}

fn write(text: &mut String, config: &Config) -> fmt::Result {
    let directories = &config.directories;
    writeln!(text, "\ndirectories")?;
    for (name, path) in [
        ("watch", &directories.watch),
        ("incomplete", &directories.incomplete),
        ("complete", &directories.complete),
        ("state", &directories.state),
    ] {
        writeln!(text, "  {name:<10}  {}", path.display())?;
    }
    match &config.log.file {
        Some(path) => writeln!(text, "  {:<10}  {}", "log", path.display())?,
        None => writeln!(text, "  {:<10}  standard error", "log")?,
    }
    if !config.servers.is_empty() {
        writeln!(text, "\nservers")?;
    }
    for (number, server) in (1..).zip(&config.servers) {
        let quota = server.quota.settings(&config.quota, config.download.time_zone);
        let parts = describe_server(server).into_iter().chain(describe_quota(&quota));
        writeln!(text, "  {number}  {}", parts.collect::<Vec<_>>().join(", "))?;
    }
    write_allowances(text, config)?;
    if !config.categories.is_empty() {
        writeln!(text, "\ncategories")?;
    }
    for category in &config.categories {
        writeln!(text, "  {}", describe_category(category))?;
    }
    if !config.feeds.is_empty() {
        writeln!(text, "\nfeeds")?;
    }
    for (number, feed) in (1..).zip(&config.feeds) {
        writeln!(text, "  {number}  {}", describe_feed(feed))?;
    }
    if !config.variables.is_empty() {
        writeln!(text, "\nset by the environment")?;
    }
    config.variables.iter().try_for_each(|variable| writeln!(text, "  {variable}"))?;
    if !config.warnings.is_empty() {
        writeln!(text, "\nwarnings")?;
    }
    config.warnings.iter().try_for_each(|warning| writeln!(text, "  {warning}"))
}

fn describe_feed(feed: &Feed) -> String {
    let url = feed.url.as_ref().map(ToString::to_string).unwrap_or_default();
    let rules = feed.rules.lines().filter(|line| !line.trim().is_empty()).count();
    let state = if feed.active { "" } else { ", not active" };
    format!("{}, {url}, {rules} lines of rules{state}", Shown(&feed.name))
}

fn write_allowances(text: &mut String, config: &Config) -> fmt::Result {
    let zone = config.download.time_zone;
    let quota = describe_quota(&config.quota.settings(zone));
    if !quota.is_empty() {
        writeln!(text, "\nquota\n  {}, in {zone}", quota.join(", "))?;
    }
    if !config.schedules.is_empty() {
        writeln!(text, "\nschedule, in {zone}")?;
    }
    config.schedules.iter().try_for_each(|schedule| {
        let what = match schedule.effect {
            Effect::Limit(ByteRate(0)) => "no limit".to_owned(),
            Effect::Limit(rate) => format!("at most {rate}"),
            Effect::Pause => "pause".to_owned(),
        };
        writeln!(text, "  {} {} to {}: {what}", schedule.days, schedule.from, schedule.to)
    })
}

fn describe_quota(quota: &QuotaSettings) -> Vec<String> {
    let reset = quota.calendar.reset;
    let allowances = quota.allowances.iter().map(|&Allowance { period, most }| match period {
        Period::Day => format!("{most} a day from {reset}"),
        Period::Ever => format!("{most} in all"),
        Period::Month { first } => format!("{most} a month from day {first}"),
        Period::Week { first } => format!("{most} a week from {first}"),
    });
    allowances.collect()
}

fn describe_server(server: &Server) -> Vec<String> {
    let host = &server.address.host;
    let is_bare_v6 = host.contains(':') && !host.starts_with('[');
    let host = if is_bare_v6 { format!("[{host}]") } else { host.clone() };
    let encryption = match server.security.encryption {
        Encryption::None => "no encryption",
        Encryption::StartTls => "STARTTLS",
        Encryption::Tls => "TLS",
    };
    let count = server.role.connections;
    let mut parts = vec![
        format!("{}: {host}:{}", Shown(&server.name), server.address.port),
        encryption.to_owned(),
        format!("level {}", server.role.level),
        format!("{count} connection{}", if count == 1 { "" } else { "s" }),
        if server.login.is_some() { "with login" } else { "without login" }.to_owned(),
    ];
    if !server.active {
        parts.push("not active".to_owned());
    }
    parts
}

fn describe_category(category: &Category) -> String {
    let mut text = format!("{}: {}", Shown(&category.name), category.directory.display());
    if category.priority != 0 {
        text += &format!(", priority {}", category.priority);
    }
    if !category.aliases.is_empty() {
        text += &format!(", also {}", Shown(&category.aliases.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_tells_what_was_understood_and_no_secret() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bergamot.toml");
        let text = r#"
            [[server]]
            name = "main"
            host = "news.example.com"
            username = "hunter1"
            password = "hunter2"
            [[server]]
            name = "fill"
            host = "2001:db8::1"
            encryption = "none"
            username = "hunter1"
            password = "hunter2"
            connections = 1
            level = 1
            quota_monthly = "80 GB"
            quota_total = "500 GB"
            [[server]]
            name = "old"
            active = false
            host = "old.example.com"
            encryption = "starttls"
            [[category]]
            name = "tv"
            aliases = ["TV > HD"]
            priority = 5
            [download]
            time_zone = "Europe/Berlin"
            [quota]
            daily = "5 GB"
            weekly = "20 GB"
            reset_time = "06:00"
            [[schedule]]
            from = "08:00"
            to = "22:00"
            rate = "2 MB"
            [[schedule]]
            days = "sat-sun"
            from = "22:00"
            to = "06:00"
            pause = true
        "#;
        std::fs::write(&path, text).unwrap();
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, own).unwrap();
        let report = check(&path, &Environment::default()).unwrap();
        let base = directory.path().display();
        assert_eq!(
            report,
            format!(
                "{base}/bergamot.toml is good.

directories
  watch       {base}/watch
  incomplete  {base}/incomplete
  complete    {base}/complete
  state       {base}/state
  log         standard error

servers
  1  main: news.example.com:563, TLS, level 0, 8 connections, with login
  2  fill: [2001:db8::1]:119, no encryption, level 1, 1 connection, with login, 80.00 GB a month from day 1, 500.00 GB in all
  3  old: old.example.com:119, STARTTLS, level 0, 8 connections, without login, not active

quota
  5.00 GB a day from 06:00, 20.00 GB a week from Mon, in Europe/Berlin

schedule, in Europe/Berlin
  daily 08:00 to 22:00: at most 2.0 MB/s
  sat,sun 22:00 to 06:00: pause

categories
  tv: {base}/complete/tv, priority 5, also TV > HD

warnings
  server fill: the login is sent without encryption and can be read on the network; set encryption = \"tls\"
"
            )
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = check(Path::new("/nowhere/b.toml"), &Environment::default()).unwrap_err();
        assert_eq!(error.code(), "config.unreadable");
        assert!(
            error.to_string().starts_with("config.unreadable: /nowhere/b.toml cannot be read: ")
        );
    }
}
