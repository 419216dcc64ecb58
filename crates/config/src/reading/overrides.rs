//! Applies environment variables to the parsed file: `BERGAMOT__TABLE__KEY`, and
//! `BERGAMOT__TABLE__WHICH__KEY` for a repeated table.
//!
//! Each is inserted into the tree of the file before that is read, with an offset of its own behind the text.
//! So they are checked like keys of the file, and an error names the variable.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use bergamot_types::{Secret, Shown};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::catalogue::{Key, TABLES, Table};
use crate::reading::credentials::{PasswordFileError, read_password};
use crate::reading::environment::{Environment, KEY_PREFIX, letters};
use crate::reading::kind::Kind;
use crate::reading::problem::Problems;

/// Applies the environment to `document`; returns the names of the variables that were used.
pub(crate) fn apply<'text>(
    document: &mut DeTable<'text>,
    environment: &'text Environment,
    base: &Path,
    problems: &mut Problems<'_>,
) -> Vec<String> {
    let mut targets = Vec::new();
    for (name, value) in environment.keys() {
        match Target::parse(name) {
            Ok(target) => targets.push((target, name, value)),
            Err(error) => problems.add_variable(&Shown(name).to_string(), error.to_string()),
        }
    }
    // Tables that are not in the file come to stand there in the order of their numbers.
    targets.sort_by_key(|(target, ..)| (target.table.name, target.which.clone(), target.key.name));
    for pair in targets.windows(2) {
        let [(one, first, _), (other, second, _)] = pair else { continue };
        if one.is_same_key(other) {
            let text = format!("there is also {first}; leave one of them out");
            problems.add_variable(second, text);
        }
    }
    let mut counted = Vec::new();
    for (target, name, value) in targets {
        let at = problems.place_of(name);
        match target.value(value.as_ref(), at, base) {
            Ok(value) => target.put(document, at, value, problems),
            Err(error) => problems.add(at, Some(target.shown()), error.to_string()),
        }
        counted.push(name.to_owned());
    }
    counted
}

/// The variable that sets this key of a table, if there is one; the table by its number and name, where
/// there may be several of it.
pub(crate) fn setting(
    environment: &Environment,
    table: &str,
    number: Option<usize>,
    name: Option<&str>,
    key: &str,
) -> Option<String> {
    let name = name.map(letters);
    let is_it = |target: &Target| {
        let is_table = match &target.which {
            None => true,
            Some(Which::Number(which)) => Some(*which) == number,
            Some(Which::Name(which)) => Some(which) == name.as_ref(),
        };
        is_table && (target.table.name, target.key.name) == (table, key)
    };
    let set = environment.keys().find(|(name, _)| Target::parse(name).is_ok_and(|it| is_it(&it)));
    set.map(|(name, _)| name.to_owned())
}

/// The variable that was probably meant with one underscore for two: `BERGAMOT_DOWNLOAD_RATE`. A variable
/// that sets no key either way is left alone: container orchestrators set such ones for each service.
pub(crate) fn meant_by(name: &str) -> Option<String> {
    let rest = name.strip_prefix("BERGAMOT_")?.trim_start_matches('_');
    TABLES.iter().filter(|table| !table.repeated).find_map(|table| {
        let table = table.name.to_uppercase();
        let key = rest.strip_prefix(&table)?.trim_start_matches('_');
        let meant = format!("{KEY_PREFIX}{table}{DIVIDER}{key}");
        Target::parse(&meant).is_ok().then_some(meant)
    })
}

/// Why a variable sets no key.
#[derive(Debug, Error)]
enum OverrideError {
    #[error("only secrets are read from files")]
    FileForOpenValue,
    #[error("{written} is no number, and these tables have no names")]
    NamelessTable { written: String },
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("{} {error}", path.display())]
    PasswordFile { path: PathBuf, error: PasswordFileError },
    #[error("{written} is no number from 1 to {}", crate::MOST_TABLES)]
    TableNumber { written: String },
    #[error("there is no key of that name; did you mean {nearest}?")]
    UnknownKey { nearest: String },
}

/// The key that a variable sets.
#[derive(Debug)]
struct Target {
    table: &'static Table,
    /// Of tables that may be there several times.
    which: Option<Which>,
    key: &'static Key,
    /// The variable holds the path of a file with the value.
    in_file: bool,
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Which {
    /// As they stand in the file, from 1.
    Number(usize),
    /// In capitals, as variables have it.
    Name(String),
}

impl Target {
    fn parse(name: &str) -> Result<Self, OverrideError> {
        let (is_prefixed, plain) = match name.strip_prefix(FILE_PREFIX) {
            Some(plain) => (true, plain),
            None => (false, name),
        };
        let unknown = || OverrideError::UnknownKey { nearest: nearest(plain) };
        let path = plain.strip_prefix(KEY_PREFIX).ok_or_else(unknown)?;
        let (table, rest) = path.split_once(DIVIDER).ok_or_else(unknown)?;
        let table = TABLES.iter().find(|known| known.name.to_uppercase() == table);
        let table = table.ok_or_else(unknown)?;
        let (which, key) = match rest.rsplit_once(DIVIDER) {
            Some((which, key)) if table.repeated => (Some(Which::parse(table, which)?), key),
            None if !table.repeated => (None, rest),
            _ => return Err(unknown()),
        };
        let find = |name: &str| table.keys.iter().find(|key| key.name.to_uppercase() == name);
        let secret = |name: &str| find(name).filter(|key| matches!(key.kind, Kind::Secret(_)));
        // `password_file` is a key as well; a file that a variable names is read in the same way.
        let (key, in_file) = match key.strip_suffix(FILE_SUFFIX).and_then(secret) {
            Some(key) if !is_prefixed => (key, true),
            _ => (find(key).ok_or_else(unknown)?, is_prefixed),
        };
        if in_file && !matches!(key.kind, Kind::Secret(_)) {
            return Err(OverrideError::FileForOpenValue);
        }
        Ok(Self { table, which, key, in_file })
    }

    fn shown(&self) -> String {
        format!("{}.{}", self.table.name, self.key.name)
    }

    fn is_same_key(&self, other: &Self) -> bool {
        self.table.name == other.table.name
            && self.which == other.which
            && self.key.name == other.key.name
    }

    /// What the file would hold instead. A value that does not fit stays a text, and is refused as
    /// one.
    fn value<'text>(
        &self,
        value: Option<&'text Secret>,
        at: usize,
        base: &Path,
    ) -> Result<DeValue<'text>, OverrideError> {
        let text = value.ok_or(OverrideError::NotUtf8)?.reveal();
        if self.in_file {
            let path = base.join(text);
            let secret = read_password(&path);
            let secret = secret.map_err(|error| OverrideError::PasswordFile { path, error })?;
            return Ok(DeValue::String(Cow::Owned(secret.reveal().to_owned())));
        }
        let text_value = || DeValue::String(Cow::Borrowed(text));
        Ok(match self.key.kind {
            Kind::Flag => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => DeValue::Boolean(true),
                "false" | "no" | "off" | "0" => DeValue::Boolean(false),
                _ => text_value(),
            },
            Kind::Days { .. } | Kind::Number { .. } => {
                let number = DeValue::parse(text.trim()).ok().map(Spanned::into_inner);
                number.filter(DeValue::is_integer).unwrap_or_else(text_value)
            }
            Kind::Texts(_) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                let items = items.map(|item| placed(at, DeValue::String(Cow::Borrowed(item))));
                DeValue::Array(items.collect())
            }
            _ => text_value(),
        })
    }

    fn put<'text>(
        &self,
        document: &mut DeTable<'text>,
        at: usize,
        value: DeValue<'text>,
        problems: &mut Problems<'_>,
    ) {
        let values = match &self.which {
            None => single(document, self.table, at),
            Some(which) => which.find(document, self.table, problems),
        };
        // What is no table there is reported when the file is read.
        let Some(values) = values else { return };
        if let Kind::Secret(_) = self.key.kind {
            values.remove(format!("{}_file", self.key.name).as_str());
        }
        values.insert(placed(at, Cow::Borrowed(self.key.name)), placed(at, value));
    }
}

impl Which {
    fn parse(table: &Table, text: &str) -> Result<Self, OverrideError> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if (1..=crate::MOST_TABLES).contains(&number) => Ok(Self::Number(number)),
            _ if is_number => Err(OverrideError::TableNumber { written: Shown(text).to_string() }),
            _ if table.key("name").is_none() => {
                Err(OverrideError::NamelessTable { written: Shown(text).to_string() })
            }
            _ => Ok(Self::Name(text.to_owned())),
        }
    }

    /// The table in question, which is made if it is not there.
    fn find<'d, 'text>(
        &self,
        document: &'d mut DeTable<'text>,
        table: &'static Table,
        problems: &mut Problems<'_>,
    ) -> Option<&'d mut DeTable<'text>> {
        let variable = match self {
            Self::Number(number) => format!("{KEY_PREFIX}{}__{number}", table.name.to_uppercase()),
            Self::Name(name) => format!("{KEY_PREFIX}{}__{name}", table.name.to_uppercase()),
        };
        let at = problems.place_of(&variable);
        let none = || placed(at, DeValue::Array(DeArray::new()));
        let entry = document.entry(placed(at, Cow::Borrowed(table.name))).or_insert_with(none);
        let DeValue::Array(items) = entry.get_mut() else { return None };
        let made = items.iter().position(|item| item.span().start == at);
        let found = made.or_else(|| match self {
            Self::Number(number) => Some(number - 1).filter(|index| *index < items.len()),
            Self::Name(name) => items.iter().position(|item| is_called(item.get_ref(), name)),
        });
        let index = found.unwrap_or_else(|| {
            let mut values = DeTable::new();
            if let Self::Name(name) = self {
                let name = DeValue::String(Cow::Owned(name.to_lowercase()));
                values.insert(placed(at, Cow::Borrowed("name")), placed(at, name));
            }
            items.push(placed(at, DeValue::Table(values)));
            items.len() - 1
        });
        table_in(items.get_mut(index)?.get_mut())
    }
}

fn single<'d, 'text>(
    document: &'d mut DeTable<'text>,
    table: &'static Table,
    at: usize,
) -> Option<&'d mut DeTable<'text>> {
    let none = || placed(at, DeValue::Table(DeTable::new()));
    let entry = document.entry(placed(at, Cow::Borrowed(table.name))).or_insert_with(none);
    table_in(entry.get_mut())
}

fn table_in<'d, 'text>(value: &'d mut DeValue<'text>) -> Option<&'d mut DeTable<'text>> {
    match value {
        DeValue::Table(values) => Some(values),
        _ => None,
    }
}

fn is_called(item: &DeValue<'_>, name: &str) -> bool {
    let written = item.as_table().and_then(|values| values.get("name"));
    written.and_then(|value| value.get_ref().as_str()).is_some_and(|text| letters(text) == name)
}

fn placed<T>(at: usize, value: T) -> Spanned<T> {
    Spanned::new(at..at, value)
}

/// The known name nearest to this one.
fn nearest(name: &str) -> String {
    let parts: Vec<_> = name.split(DIVIDER).collect();
    let which = match parts.as_slice() {
        [_, _, which, .., _] => which,
        _ => "NAME",
    };
    let known = TABLES.iter().flat_map(|table| {
        let middle = if table.repeated { format!("{which}{DIVIDER}") } else { String::new() };
        let start = format!("{KEY_PREFIX}{}{DIVIDER}{middle}", table.name.to_uppercase());
        table.keys.iter().map(move |key| format!("{start}{}", key.name.to_uppercase()))
    });
    known.min_by_key(|known| strsim::levenshtein(known, name)).unwrap_or_default()
}

const DIVIDER: &str = "__";
/// As images of linuxserver.io have it.
pub(crate) const FILE_PREFIX: &str = "FILE__";
const FILE_SUFFIX: &str = "_FILE";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::trial::{environment, read_with};

    fn read(text: &str, variables: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        read_with(text, &environment(variables))
    }

    #[test]
    fn variables_set_keys_of_every_kind_and_go_before_the_file() {
        let config = read(
            "[download]\nrate = '1 MB'\npipeline = 7",
            &[
                ("BERGAMOT__DOWNLOAD__RATE", "2 MB"),
                ("BERGAMOT__HISTORY__KEEP", "9"),
                ("BERGAMOT__WATCH__INOTIFY", "No"),
                ("BERGAMOT__WATCH__DUPLICATES", "accept"),
                ("BERGAMOT__DIRECTORIES__COMPLETE", "/downloads"),
                ("BERGAMOT__URLS__PRIVATE_HOSTS", "prowlarr:9696, nas"),
                ("BERGAMOT__DOWNLOAD__IDLE", ""),
            ],
        )
        .unwrap();
        assert_eq!((config.download.rate.0, config.download.pipeline), (2_000_000, 7));
        assert_eq!((config.history.keep_days, config.watch.inotify), (9, false));
        assert_eq!(config.directories.complete, Path::new("/downloads"));
        assert_eq!(config.urls.private_hosts, ["prowlarr:9696", "nas"]);
        assert_eq!(config.variables.len(), 6);
        let listed = config.listed.iter().find(|listed| listed.key == "download.rate").unwrap();
        assert_eq!(listed.value, "2 MB");
    }

    #[test]
    fn servers_are_called_by_name_or_number_and_made_where_there_is_none() {
        let text = "[[server]]\nname = 'my-news'\nhost = 'a'\n[[server]]\nname = 'b'\nhost = 'b'";
        let config = read(
            text,
            &[
                ("BERGAMOT__SERVER__MY_NEWS__CONNECTIONS", "20"),
                ("BERGAMOT__SERVER__2__HOST", "c"),
                ("BERGAMOT__SERVER__4__NAME", "four"),
                ("BERGAMOT__SERVER__4__HOST", "d"),
                ("BERGAMOT__SERVER__EXTRA__HOST", "e"),
                ("BERGAMOT__SCHEDULE__1__FROM", "08:00"),
                ("BERGAMOT__SCHEDULE__1__TO", "09:00"),
                ("BERGAMOT__SCHEDULE__1__PAUSE", "1"),
            ],
        )
        .unwrap();
        let servers = config.servers.iter();
        let servers: Vec<_> = servers
            .map(|server| {
                (server.name.as_str(), server.address.host.as_str(), server.role.connections)
            })
            .collect();
        assert_eq!(
            servers,
            [("my-news", "a", 20), ("b", "c", 8), ("four", "d", 8), ("extra", "e", 8)]
        );
        assert_eq!(config.schedules.len(), 1);
    }

    #[test]
    fn secrets_come_from_files_in_both_spellings() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "hunter2\n").unwrap();
        let path = path.to_str().unwrap();
        for name in ["BERGAMOT__CONTROL__PASSWORD_FILE", "FILE__BERGAMOT__CONTROL__PASSWORD"] {
            for written in ["password = 'x'", "password_file = '/nowhere'"] {
                let config = read(&format!("[control]\n{written}"), &[(name, path)]).unwrap();
                assert_eq!(config.control.full.password, Some(Secret::new("hunter2")), "{name}");
            }
        }
        let config = read("", &[("FILE__BERGAMOT__CONTROL__ADD_PASSWORD", path)]).unwrap();
        assert_eq!(config.control.add.password, Some(Secret::new("hunter2")));
        let config = read(
            "[control]\npassword_file = '/nowhere'",
            &[("BERGAMOT__CONTROL__PASSWORD", "hunter3")],
        );
        assert_eq!(config.unwrap().control.full.password, Some(Secret::new("hunter3")));
    }

    #[test]
    fn what_is_wrong_is_told_with_the_variable_and_without_secrets() {
        for (name, value, told) in [
            (
                "BERGAMOT__DOWNLOAD__RATE",
                "fast",
                "environment: BERGAMOT__DOWNLOAD__RATE: download.rate: expected a size with its \
                 unit, from \"0 B\" to \"1 TiB\", found \"fast\"",
            ),
            (
                "BERGAMOT__DOWNLOAD__RTAE",
                "1 MB",
                "environment: BERGAMOT__DOWNLOAD__RTAE: there is no key of that name; did you mean \
                 BERGAMOT__DOWNLOAD__RATE?",
            ),
            (
                "BERGAMOT__SERVERS__0__HOST",
                "a",
                "environment: BERGAMOT__SERVERS__0__HOST: there is no key of that name; did you mean \
                 BERGAMOT__SERVER__0__HOST?",
            ),
            (
                "BERGAMOT__SERVER__0__HOST",
                "a",
                "environment: BERGAMOT__SERVER__0__HOST: 0 is no number from 1 to 200",
            ),
            (
                "BERGAMOT__SERVER__MAIN__PORT",
                "563",
                "environment: BERGAMOT__SERVER__MAIN: server.host: missing; expected a host name \
                 or an IP address, without a port",
            ),
            (
                "BERGAMOT__WATCH__INOTIFY",
                "maybe",
                "environment: BERGAMOT__WATCH__INOTIFY: watch.inotify: expected true or false, \
                 found \"maybe\"",
            ),
            (
                "BERGAMOT__CONTROL__PASSWORD_FILE",
                "/nowhere/x",
                "environment: BERGAMOT__CONTROL__PASSWORD_FILE: control.password: /nowhere/x \
                 cannot be read: No such file or directory (os error 2)",
            ),
            (
                "FILE__BERGAMOT__DOWNLOAD__RATE",
                "/run/rate",
                "environment: FILE__BERGAMOT__DOWNLOAD__RATE: only secrets are read from files",
            ),
        ] {
            assert_eq!(read("", &[(name, value)]).unwrap_err(), [told]);
        }
        let both = [
            ("BERGAMOT__CONTROL__PASSWORD", "hunter2"),
            ("BERGAMOT__CONTROL__PASSWORD_FILE", "/nowhere"),
        ];
        let told = read("", &both).unwrap_err().concat();
        assert!(told.contains("leave one of them out") && !told.contains("hunter"), "{told}");
        let open = [("BERGAMOT__CONTROL__ADDRESS", "0.0.0.0")];
        assert_eq!(
            read("", &open).unwrap_err(),
            [
                "environment: BERGAMOT__CONTROL__ADDRESS: control.address: expected an IP address, or \
              \"\" for no HTTP, but others can reach it, so control.password has to be set"
            ]
        );
    }

    #[test]
    fn every_key_of_the_catalogue_has_its_variable() {
        for table in TABLES {
            for key in table.keys {
                let which = if table.repeated { "7__" } else { "" };
                let name = format!("{KEY_PREFIX}{}__{which}{}", table.name, key.name);
                let target = Target::parse(&name.to_uppercase()).unwrap();
                assert_eq!(target.table.name, table.name);
                // The file that holds a secret is read in the secret's place.
                assert!(target.key.name == key.name || target.in_file, "{name}");
            }
        }
    }
}
