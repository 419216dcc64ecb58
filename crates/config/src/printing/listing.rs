//! [`Listed`]: every key with its value, for the control interfaces and for comparing two configurations.
//! Pure.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use toml::de::{DeTable, DeValue};

use crate::catalogue::{Fallback, TABLES, Table};
use crate::reading::kind::Kind;

/// One key with its value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listed {
    /// `table.key`, or `table.N.key` where there may be several of the table.
    pub key: String,
    /// As it would be written; empty where it is secret, or where nothing is set.
    pub value: String,
    pub is_secret: bool,
    /// Of what is written, so that another secret is another value without being shown.
    hash: u64,
}

/// A difference between two configurations.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// Of the key; or of the table, where it came or went.
    pub name: String,
    pub needs_restart: bool,
}

pub fn changes(old: &[Listed], new: &[Listed]) -> Vec<Change> {
    let tables = |all: &[Listed]| -> HashSet<String> {
        all.iter().filter_map(|listed| Some(listed.table()?.to_owned())).collect()
    };
    let (old_tables, new_tables) = (tables(old), tables(new));
    let is_in_both = |table: &str| old_tables.contains(table) && new_tables.contains(table);
    let changed = new.iter().filter(|listed| !old.contains(listed));
    let gone = old.iter().filter(|listed| !new.iter().any(|other| other.key == listed.key));
    let mut changes: Vec<Change> = Vec::new();
    for listed in changed.chain(gone) {
        let whole = listed.table().filter(|table| !is_in_both(table));
        let name = whole.unwrap_or(&listed.key).to_owned();
        if changes.iter().all(|change| change.name != name) {
            changes.push(Change { name, needs_restart: listed.needs_restart() });
        }
    }
    changes
}

impl Listed {
    /// `table.N`, where there may be several of the table.
    fn table(&self) -> Option<&str> {
        let (table, _) = self.key.rsplit_once('.')?;
        table.contains('.').then_some(table)
    }

    /// Whether this is what is written, shown or not.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.hash == hash_of(text)
    }

    /// Whether it is read when the daemon starts and never again.
    pub fn needs_restart(&self) -> bool {
        let tables = [
            "directories.",
            "control.",
            "log.",
            "polling.",
            "storage.umask",
            "storage.file_mode",
            "storage.directory_mode",
        ];
        let keys = [
            "watch.scan_interval",
            "watch.inotify",
            "download.memory",
            "groups.headers",
            "groups.memory",
        ];
        tables.iter().any(|table| self.key.starts_with(table)) || keys.contains(&self.key.as_str())
    }
}

/// Every key of the catalogue, with its value in the file or its default.
pub(crate) fn list(document: &DeTable<'_>) -> Vec<Listed> {
    let mut listed = Vec::new();
    for table in TABLES {
        let entry = document.get(table.name).map(|entry| entry.get_ref());
        if !table.repeated {
            add(&mut listed, table, table.name, entry.and_then(DeValue::as_table));
            continue;
        }
        let items = entry.and_then(DeValue::as_array);
        for (number, item) in (1..).zip(items.into_iter().flat_map(|items| items.iter())) {
            let name = format!("{}.{number}", table.name);
            add(&mut listed, table, &name, item.get_ref().as_table());
        }
    }
    listed
}

fn add(listed: &mut Vec<Listed>, table: &Table, name: &str, values: Option<&DeTable<'_>>) {
    for key in table.keys {
        let is_secret = matches!(key.kind, Kind::Secret(_));
        let written = values.and_then(|values| values.get(key.name));
        let value = match (written, key.default) {
            (Some(value), _) => text_of(value.get_ref()),
            (None, Fallback::Is(text)) => {
                text_of(DeValue::parse(text).expect("defaults are TOML").get_ref())
            }
            (None, _) => String::new(),
        };
        let hash = hash_of(&value);
        let value = if is_secret && !value.is_empty() { HIDDEN.to_owned() } else { value };
        listed.push(Listed { key: format!("{name}.{}", key.name), value, is_secret, hash });
    }
}

fn hash_of(value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn text_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| text_of(item.get_ref())).collect();
            items.join(", ")
        }
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::String(text) => text.to_string(),
        DeValue::Table(_) => String::new(),
    }
}

const HIDDEN: &str = "***";

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, key: &str) -> String {
        let document = DeTable::parse(text).unwrap();
        let listed = list(document.get_ref());
        listed.into_iter().find(|it| it.key == key).map_or("-".to_owned(), |it| it.value)
    }

    #[test]
    fn another_secret_is_another_value_and_is_not_shown() {
        let of = |password: &str| {
            let text = format!("[[server]]\nname = 'a'\npassword = '{password}'");
            list(DeTable::parse(&text).unwrap().get_ref())
        };
        assert_eq!(of("one"), of("one"));
        assert_ne!(of("one"), of("two"));
        assert!(!format!("{:?}", of("hunter2")).contains("hunter2"));
    }

    #[test]
    fn a_table_that_comes_or_goes_is_one_change() {
        let of = |text: &str| list(DeTable::parse(text).unwrap().get_ref());
        let one = of("[[feed]]\nname = 'a'\nurl = 'http://a/'");
        let two = of("[download]\nrate = '1 MB'\n[[feed]]\nname = 'a'\nurl = 'http://other/'\n\
                      [[feed]]\nname = 'b'\nurl = 'http://b/'\n[log]\nlevel = 'debug'");
        let names = |old: &[Listed], new: &[Listed]| -> Vec<String> {
            changes(old, new).into_iter().map(|change| change.name).collect()
        };
        assert_eq!(names(&one, &one), [""; 0]);
        assert_eq!(names(&one, &two), ["download.rate", "log.level", "feed.1.url", "feed.2"]);
        assert_eq!(names(&two, &one), ["download.rate", "log.level", "feed.1.url", "feed.2"]);
        let logs = |change: &Change| change.needs_restart == change.name.starts_with("log.");
        assert!(changes(&one, &two).iter().all(logs));
    }

    #[test]
    fn keys_have_their_values_or_what_holds_without() {
        let text = "[download]\nrate = '1 MB'\n[[server]]\nname = 'a'\nhost = 'b'\n\
                    password = 'hunter2'\n[[server]]\nname = 'c'\nhost = 'd'\n\
                    [[category]]\nname = 'tv'\naliases = ['a', 'b']";
        for (key, expected) in [
            ("download.rate", "1 MB"),
            ("download.article_retries", "3"),
            ("server.1.password", "***"),
            ("server.2.password", ""),
            ("server.2.host", "d"),
            ("server.3.host", "-"),
            ("category.1.aliases", "a, b"),
            ("watch.inotify", "true"),
        ] {
            assert_eq!(value(text, key), expected, "{key}");
        }
    }

    #[test]
    fn each_key_is_there_once() {
        let document = DeTable::parse("").unwrap();
        let listed = list(document.get_ref());
        let keys: std::collections::BTreeSet<_> = listed.iter().map(|it| &it.key).collect();
        assert_eq!(keys.len(), listed.len());
    }
}
