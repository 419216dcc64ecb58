//! [`save`]: changes values of keys in the file and leaves the rest of its text unchanged.

use std::ops::Range;
use std::path::Path;

use bergamot_api::request::{Setting, SettingValue};
use bergamot_net::Encryption;
use toml::Value;
use toml::de::DeTable;

use crate::Config;
use crate::editing::servers::{EditError, only_if, read, replace};
use crate::printing::listing::{Listed, changes};
use crate::reading::environment::{Environment, Variables};
use crate::reading::{file, overrides};
use crate::tables::transfer::server::Server;

/// Writes all of them or none; returns the new configuration. The `running` configuration must be that of the
/// file, because tables are addressed by the numbers that were shown.
pub fn save(
    path: &Path,
    environment: &Environment,
    running: &[Listed],
    settings: &[Setting],
) -> Result<Config, EditError> {
    let (text, config) = read(path, environment)?;
    if !changes(running, &config.listed).is_empty() {
        return Err(EditError::NotRead);
    }
    let edited = edit(&text, settings, environment)?;
    replace(path, environment, &edited, |new| {
        only_if(is_that_and_no_more(&config, new, settings))?;
        check_passwords(&config, new, settings)
    })
}

/// Refuses a change that would send a stored password to another host or with less encryption, unless the
/// caller sends the password as well: clients cannot read passwords, and must not obtain them by redirecting
/// a server. The resulting settings are compared, because a password may come from another file or a
/// variable.
fn check_passwords(old: &Config, new: &Config, settings: &[Setting]) -> Result<(), EditError> {
    for (place, server) in new.servers.iter().enumerate() {
        let Some(login) = &server.login else { continue };
        let is_password = |setting: &Setting| match &setting.value {
            SettingValue::Secret(given) => {
                let whose = (setting.table, setting.number, setting.key);
                whose == ("server", Some(place + 1), "password") && given == login.password()
            }
            _ => false,
        };
        let was_there = old.servers.get(place).is_some_and(|before| goes_on(before, server));
        if !was_there && !login.password().reveal().is_empty() && !settings.iter().any(is_password)
        {
            return Err(EditError::SendsPassword(server.name.clone()));
        }
    }
    Ok(())
}

/// Whether a password is sent to the same host as before, with at least the same encryption.
fn goes_on(before: &Server, server: &Server) -> bool {
    let password = |server: &Server| server.login.as_ref().map(|login| login.password().clone());
    let is_plain = |server: &Server| server.security.encryption == Encryption::None;
    password(before) == password(server)
        && before.address.host == server.address.host
        && (is_plain(before) || !is_plain(server))
        && (server.security.cert_verification || !before.security.cert_verification)
}

/// Checks the result, because in a file with unusual tables a line may have been inserted into another one.
fn is_that_and_no_more(old: &Config, new: &Config, settings: &[Setting]) -> bool {
    let keys: Vec<_> = settings.iter().map(key_of).collect();
    let others = changes(&old.listed, &new.listed);
    let says = |setting: &Setting| {
        let key = key_of(setting);
        let listed = new.listed.iter().find(|listed| listed.key == key);
        listed.is_some_and(|listed| listed.says(&plain(&setting.value)))
    };
    settings.iter().all(says) && others.iter().all(|change| keys.contains(&change.name))
}

fn edit(text: &str, settings: &[Setting], environment: &Environment) -> Result<String, EditError> {
    let plain = file::without_mark(text);
    let document = DeTable::parse(plain).map_err(|_| EditError::Entangled)?;
    let mut edits = Vec::new();
    let mut new_tables: Vec<(&str, String)> = Vec::new();
    for setting in settings {
        let value = toml_of(&setting.value);
        let table = find(document.get_ref(), setting)?;
        if let Some(variable) = table.overriding(environment, setting) {
            return Err(EditError::Overridden { option: setting.option.clone(), variable });
        }
        let line = format!("{} = {value}\n", setting.key);
        match table.place(plain, setting.key) {
            Place::Here(range) => edits.push((range, value)),
            Place::Behind(end) if plain[..end].ends_with('\n') => edits.push((end..end, line)),
            Place::Behind(end) => edits.push((end..end, format!("\n{line}"))),
            Place::NewTable => match new_tables.iter_mut().find(|(name, _)| *name == setting.table)
            {
                Some((_, lines)) => lines.push_str(&line),
                None => new_tables.push((setting.table, line)),
            },
        }
    }
    let mark = &text[..text.len() - plain.len()];
    Ok(format!("{mark}{}", with_tables(with_edits(plain, edits), &new_tables)))
}

/// The table of one setting, as far as there is one in the file.
struct Found<'a, 'text> {
    values: Option<&'a DeTable<'text>>,
    end: usize, // of its header
    name: Option<&'a str>,
}

enum Place {
    Behind(usize),
    Here(Range<usize>),
    NewTable,
}

fn find<'a, 'text>(
    document: &'a DeTable<'text>,
    setting: &Setting,
) -> Result<Found<'a, 'text>, EditError> {
    let entry = document.get(setting.table);
    let Some(number) = setting.number else {
        let values = entry.map(|entry| entry.get_ref().as_table().ok_or(EditError::Entangled));
        let end = entry.map_or(0, |entry| entry.span().end);
        return Ok(Found { values: values.transpose()?, end, name: None });
    };
    let items = entry.and_then(|entry| entry.get_ref().as_array());
    let item = items.and_then(|items| items.get(number.checked_sub(1)?));
    let values = item.and_then(|item| item.get_ref().as_table());
    let (Some(item), Some(values)) = (item, values) else {
        return Err(EditError::NotInFile(setting.option.clone()));
    };
    let name = values.get("name").and_then(|name| name.get_ref().as_str());
    Ok(Found { values: Some(values), end: item.span().end, name })
}

impl Found<'_, '_> {
    /// The variable that goes before the file.
    fn overriding(&self, environment: &Environment, setting: &Setting) -> Option<String> {
        let by_key =
            overrides::setting(environment, setting.table, setting.number, self.name, setting.key);
        let of_login = || {
            let variables = Variables::of(self.name.filter(|_| setting.table == "server")?);
            let set = variables.with_keys().into_iter().find(|(variable, key)| {
                let is_it = *key == setting.key || key.strip_suffix("_file") == Some(setting.key);
                is_it && environment.value(variable).is_some()
            });
            set.map(|(variable, _)| variable.to_owned())
        };
        by_key.or_else(of_login)
    }

    fn place(&self, text: &str, key: &str) -> Place {
        let Some(values) = self.values else { return Place::NewTable };
        if let Some(value) = values.get(key) {
            return Place::Here(value.span());
        }
        // After its last line, including a comment after the value.
        let last = values.values().map(|value| value.span().end).max().unwrap_or(0).max(self.end);
        Place::Behind(text[last..].find('\n').map_or(text.len(), |end| last + end + 1))
    }
}

/// From the end, so that earlier offsets stay valid.
fn with_edits(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = text.to_owned();
    for (range, written) in edits.into_iter().rev() {
        text.replace_range(range, &written);
    }
    text
}

fn with_tables(mut text: String, tables: &[(&str, String)]) -> String {
    for (name, lines) in tables {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        text.push_str(&format!("{gap}\n[{name}]\n{lines}"));
    }
    text
}

fn key_of(setting: &Setting) -> String {
    match setting.number {
        Some(number) => format!("{}.{number}.{}", setting.table, setting.key),
        None => format!("{}.{}", setting.table, setting.key),
    }
}

fn toml_of(value: &SettingValue) -> String {
    match value {
        SettingValue::Flag(flag) => Value::from(*flag),
        SettingValue::Number(number) => Value::from(*number),
        SettingValue::Secret(secret) => Value::from(secret.reveal()),
        SettingValue::Text(text) => Value::from(text.as_str()),
        SettingValue::Texts(texts) => Value::from(texts.clone()),
    }
    .to_string()
}

/// As it is listed.
fn plain(value: &SettingValue) -> String {
    match value {
        SettingValue::Flag(flag) => flag.to_string(),
        SettingValue::Number(number) => number.to_string(),
        SettingValue::Secret(secret) => secret.reveal().to_owned(),
        SettingValue::Text(text) => text.clone(),
        SettingValue::Texts(texts) => texts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use bergamot_types::Secret;

    use super::*;

    const FILE: &str = "# mine\n[download]\nrate = '1 MB' # slow\n\n# the first\n[[server]]\n\
                        name = 'a'\n# why\nhost = 'a.example' # here\n\n[[server]]\n\
                        host = 'b.example'\nname = 'b'\n# end\n[log]\nlevel = 'info'\n";

    fn home(file: &str) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("bergamot.toml");
        fs::write(&path, file).unwrap();
        (home, path)
    }

    fn setting(table: &'static str, number: usize, key: &'static str, value: &str) -> Setting {
        let value = match value.parse() {
            Ok(number) => SettingValue::Number(number),
            Err(_) if value == "yes" => SettingValue::Flag(true),
            Err(_) if key == "aliases" => {
                SettingValue::Texts(value.split(' ').map(str::to_owned).collect())
            }
            Err(_) if key == "password" => SettingValue::Secret(Secret::new(value)),
            Err(_) => SettingValue::Text(value.to_owned()),
        };
        let number = Some(number).filter(|number| *number > 0);
        Setting { option: format!("{table}.{key}"), table, number, key, value }
    }

    /// Right after it was read.
    fn save_at_once(
        path: &Path,
        environment: &Environment,
        settings: &[Setting],
    ) -> Result<Config, EditError> {
        let running = read(path, environment)?.1.listed;
        save(path, environment, &running, settings)
    }

    fn saved(file: &str, settings: &[Setting]) -> String {
        let (_home, path) = home(file);
        save_at_once(&path, &Environment::default(), settings).unwrap();
        fs::read_to_string(&path).unwrap()
    }

    fn refused(file: &str, environment: &[(&str, &str)], settings: &[Setting]) -> String {
        let (_home, path) = home(file);
        let environment = crate::trial::environment(environment);
        let error = save_at_once(&path, &environment, settings).unwrap_err().to_string();
        assert_eq!(fs::read_to_string(&path).unwrap(), file, "{error}");
        error
    }

    #[test]
    fn values_change_where_they_stand_and_new_ones_come_behind_their_tables() {
        let text = saved(
            FILE,
            &[
                setting("download", 0, "rate", "5 MiB"),
                setting("download", 0, "health_check", "none"),
                setting("server", 1, "connections", "3"),
                setting("server", 1, "join_group", "yes"),
                setting("server", 2, "host", "c.example"),
                setting("history", 0, "keep", "7"),
            ],
        );
        assert_eq!(
            text,
            "# mine\n[download]\nrate = \"5 MiB\" # slow\nhealth_check = \"none\"\n\n# the first\n\
             [[server]]\nname = 'a'\n# why\nhost = 'a.example' # here\nconnections = 3\n\
             join_group = true\n\n[[server]]\nhost = \"c.example\"\nname = 'b'\n# end\n[log]\n\
             level = 'info'\n\n[history]\nkeep = 7\n"
        );
    }

    #[test]
    fn a_file_of_any_kind_keeps_its_shape() {
        let rate = [setting("download", 0, "rate", "5 MiB")];
        for (before, after) in [
            ("", "\n[download]\nrate = \"5 MiB\"\n"),
            ("[download]", "[download]\nrate = \"5 MiB\"\n"),
            ("[download]\n[log]\n", "[download]\nrate = \"5 MiB\"\n[log]\n"),
            ("\u{feff}[log]\n", "\u{feff}[log]\n\n[download]\nrate = \"5 MiB\"\n"),
            ("download.rate = '''1 MB'''", "download.rate = \"5 MiB\""),
            (
                "download = { rate = '1 MB', pipeline = 2 }",
                "download = { rate = \"5 MiB\", pipeline = 2 }",
            ),
            ("[download]\r\nrate = '1 MB'\r\n", "[download]\r\nrate = \"5 MiB\"\r\n"),
        ] {
            assert_eq!(saved(before, &rate), after, "{before:?}");
        }
        for odd in ["download = { pipeline = 2 }\n[log]\n", "download.pipeline = 2\n[log]\n"] {
            let told = refused(odd, &[], &rate);
            assert!(told.contains("edit it by hand") || told.contains("download"), "{told}");
        }
    }

    #[test]
    fn text_cannot_end_its_line() {
        let odd = "x\"\n[control]\npassword = \"";
        let text = saved(FILE, &[setting("server", 1, "name", "ü \" \\ '")]);
        assert_eq!(text.matches("name").count(), 2);
        assert!(refused(FILE, &[], &[setting("server", 1, "name", odd)]).contains("server.name"));
        let told = refused(FILE, &[], &[setting("server", 1, "password", "hunter\n2")]);
        assert!(!told.contains("hunter"), "{told}");
        let file = "[[category]]\nname = 'tv'\n";
        assert!(
            saved(file, &[setting("category", 1, "aliases", "a b\"c")]).contains("aliases = [")
        );
    }

    #[test]
    fn one_that_is_refused_keeps_all_others_out() {
        let rate = setting("download", 0, "rate", "5 MiB");
        let many = setting("server", 1, "connections", "501");
        let told = refused(FILE, &[], &[rate.clone(), many]);
        assert_eq!(told, "server.connections: expected a whole number from 1 to 500, found 501");
        let third = setting("server", 3, "level", "1");
        assert!(refused(FILE, &[], &[rate.clone(), third]).starts_with("server.level "));
        let usual = setting("category", 1, "name", "x");
        assert!(refused(FILE, &[], &[rate, usual]).starts_with("category.name "));
    }

    #[test]
    fn what_the_environment_sets_is_refused_by_name() {
        for (variable, value, setting) in [
            ("BERGAMOT__DOWNLOAD__RATE", "2 MB", setting("download", 0, "rate", "5 MiB")),
            ("BERGAMOT__SERVER__A__LEVEL", "2", setting("server", 1, "level", "1")),
            ("BERGAMOT__SERVER__2__LEVEL", "2", setting("server", 2, "level", "1")),
            ("BERGAMOT_SERVER_A_USERNAME", "ann", setting("server", 1, "username", "bob")),
        ] {
            let told = refused(FILE, &[(variable, value)], std::slice::from_ref(&setting));
            assert_eq!(
                told,
                format!("{} is set by the environment variable {variable}", setting.option)
            );
        }
        let others = [("BERGAMOT__SERVER__B__LEVEL", "2")];
        let environment = crate::trial::environment(&others);
        let (_home, path) = home(FILE);
        save_at_once(&path, &environment, &[setting("server", 1, "level", "1")]).unwrap();
    }

    #[test]
    fn a_file_that_is_read_only_stays_as_it_is() {
        let (_home, path) = home(FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        let rate = [setting("download", 0, "rate", "5 MiB")];
        let error = save_at_once(&path, &Environment::default(), &rate).unwrap_err();
        assert!(matches!(error, EditError::Unwritable { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), FILE);
    }

    const SECRETS: &str = "[[server]]\nname = 'a'\nhost = 'a.example'\nusername = 'ann'\n\
                           password_file = 'kept'\n[[server]]\nname = 'b'\nhost = 'b.example'\n";

    /// What comes of these settings where the password of the first server is in a file.
    fn redirected(environment: &[(&str, &str)], settings: &[Setting]) -> Result<Config, EditError> {
        let (home, path) = home(SECRETS);
        fs::write(home.path().join("kept"), "hunter2").unwrap();
        save_at_once(&path, &crate::trial::environment(environment), settings)
    }

    #[test]
    fn a_password_goes_nowhere_else_unless_it_is_given() {
        let flag = |key, value| {
            let value = SettingValue::Flag(value);
            Setting { option: String::new(), table: "server", number: Some(1), key, value }
        };
        let host = || setting("server", 1, "host", "evil.example");
        for away in
            [host(), setting("server", 1, "encryption", "none"), flag("cert_verification", false)]
        {
            // Neither without it nor with none, which lets the file count, nor with another.
            let empty = setting("server", 1, "password", "");
            assert!(matches!(redirected(&[], &[away, empty]), Err(EditError::SendsPassword(_))));
        }
        assert!(matches!(redirected(&[], &[host()]), Err(EditError::SendsPassword(_))));
        assert!(redirected(&[], &[setting("server", 1, "connections", "3")]).is_ok());
        assert!(redirected(&[], &[setting("server", 2, "host", "c.example")]).is_ok());
    }

    #[test]
    fn no_server_gets_the_login_of_another_by_its_name() {
        let environment =
            [("BERGAMOT_SERVER_C_USERNAME", "cid"), ("BERGAMOT_SERVER_C_PASSWORD", "hunter3")];
        let named = redirected(&environment, &[setting("server", 2, "name", "c")]);
        assert!(matches!(named, Err(EditError::SendsPassword(name)) if name == "c"));
    }

    #[test]
    fn a_file_that_was_changed_has_to_be_read_first() {
        let (_home, path) = home(FILE);
        let running = read(&path, &Environment::default()).unwrap().1.listed;
        fs::write(&path, format!("[[server]]\nname = 'z'\nhost = 'z.example'\n{FILE}")).unwrap();
        let settings = [setting("server", 1, "connections", "3")];
        let saved = save(&path, &Environment::default(), &running, &settings);
        assert!(matches!(saved, Err(EditError::NotRead)));
    }
}
