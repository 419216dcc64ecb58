//! [`Fields`]: one table of the file, its values checked against the catalogue. Pure.
//!
//! A wrong value is reported and its default read instead, so that one look at the file finds all
//! that is wrong with it.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use bergamot_types::{ByteCount, Shown};
use toml::de::{DeTable, DeValue};

use crate::catalogue::{Fallback, Key, Table};
use crate::reading::kind::Value;
use crate::reading::problem::Problems;

#[derive(Debug)]
pub(crate) struct Fields<'a, 'text> {
    table: &'static Table,
    values: Option<&'a DeTable<'text>>,
    at: usize,
    problems: &'a mut Problems<'text>,
}

impl<'a, 'text> Fields<'a, 'text> {
    /// `values` is the table, if it is in the file, and `at` where it begins.
    pub(crate) fn new(
        table: &'static Table,
        values: Option<&'a DeTable<'text>>,
        at: usize,
        problems: &'a mut Problems<'text>,
    ) -> Self {
        for key in values.into_iter().flat_map(DeTable::keys) {
            if table.key(key.get_ref()).is_none() {
                let known: Vec<_> = table.keys.iter().map(|key| key.name).collect();
                let text = format!("unknown key; expected one of {}", known.join(", "));
                let name = format!("{}.{}", table.name, Shown(key.get_ref()));
                problems.add(key.span().start, Some(name), text);
            }
        }
        Self { table, values, at, problems }
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Flag(flag)) => flag,
            _ => mismatch(name),
        }
    }

    pub(crate) fn number<T: TryFrom<i64>>(&mut self, name: &str) -> T {
        self.number_if_any(name).unwrap_or_else(|| mismatch(name))
    }

    pub(crate) fn number_if_any<T: TryFrom<i64>>(&mut self, name: &str) -> Option<T> {
        let Value::Number(number) = self.value(name)? else { mismatch(name) };
        Some(T::try_from(number).ok().expect("the type holds the range of the catalogue"))
    }

    pub(crate) fn size(&mut self, name: &str) -> ByteCount {
        self.size_if_any(name).unwrap_or_else(|| mismatch(name))
    }

    pub(crate) fn size_if_any(&mut self, name: &str) -> Option<ByteCount> {
        match self.value(name)? {
            Value::Size(size) => Some(size),
            _ => mismatch(name),
        }
    }

    pub(crate) fn time(&mut self, name: &str) -> Duration {
        self.time_if_any(name).unwrap_or_else(|| mismatch(name))
    }

    pub(crate) fn time_if_any(&mut self, name: &str) -> Option<Duration> {
        match self.value(name)? {
            Value::Time(time) => Some(time),
            _ => mismatch(name),
        }
    }

    /// What the word stands for.
    pub(crate) fn choice<T: Copy>(&mut self, name: &str, meanings: &[(&str, T)]) -> T {
        let Some(Value::Word(word)) = self.value(name) else { mismatch(name) };
        let meaning = meanings.iter().find(|(known, _)| *known == word);
        meaning.expect("each word of the catalogue has a meaning").1
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => mismatch(name),
        }
    }

    /// A text that is read further; what cannot be is reported, and none.
    pub(crate) fn parsed<T: FromStr>(&mut self, name: &str) -> Option<T> {
        let text = self.text(name)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.unfit(name, format!("found \"{}\"", Shown(&text)));
        }
        parsed
    }

    /// Each with its offset in the file.
    pub(crate) fn texts(&mut self, name: &str) -> Vec<(usize, String)> {
        match self.value(name) {
            Some(Value::Texts(texts)) => texts,
            _ => mismatch(name),
        }
    }

    /// A relative path starts at `base`.
    pub(crate) fn path(&mut self, name: &str, base: &Path) -> Option<PathBuf> {
        let text = self.text(name)?;
        let reason = if text.is_empty() {
            "it is empty"
        } else if text.contains('\0') {
            "it holds a NUL"
        } else if text == "~" || text.starts_with("~/") {
            "~ is not understood here; write the path in full"
        } else {
            return Some(base.join(text));
        };
        self.unfit(name, reason);
        None
    }

    /// Reports a value that its kind admits and that still will not do.
    pub(crate) fn unfit(&mut self, name: &str, reason: impl Display) {
        let entry = self.values.and_then(|values| values.get(name));
        let at = entry.map_or(self.at, |entry| entry.span().start);
        self.unfit_at(at, name, reason);
    }

    /// The same for one item of a list.
    pub(crate) fn unfit_at(&mut self, at: usize, name: &str, reason: impl Display) {
        let text = format!("expected {}, but {reason}", self.key(name).kind.words());
        self.report(at, name, text);
    }

    /// The same for a variable that stands in for a key.
    pub(crate) fn unfit_variable(&mut self, variable: &str, name: &str, reason: impl Display) {
        let text = format!("expected {}, but {reason}", self.key(name).kind.words());
        self.problems.add_variable(variable, text);
    }

    pub(crate) fn missing(&mut self, name: &str) {
        let text = format!("missing; expected {}", self.key(name).kind.words());
        self.report(self.at, name, text);
    }

    fn value(&mut self, name: &str) -> Option<Value> {
        let key = self.key(name);
        let Some(entry) = self.values.and_then(|values| values.get(name)) else {
            if let Fallback::Required { .. } = key.default {
                self.missing(name);
            }
            return default(key);
        };
        match key.kind.admit(entry.get_ref(), unit(key)) {
            Ok(value) => Some(value),
            Err(found) => {
                let text = format!("expected {}, found {found}", key.kind.words());
                self.report(entry.span().start, name, text);
                default(key)
            }
        }
    }

    fn report(&mut self, at: usize, name: &str, text: String) {
        self.problems.add(at, Some(format!("{}.{name}", self.table.name)), text);
    }

    fn key(&self, name: &str) -> &'static Key {
        self.table.key(name).expect("only keys of the catalogue are read")
    }
}

fn default(key: &Key) -> Option<Value> {
    let Fallback::Is(text) = key.default else { return None };
    let value = DeValue::parse(text).expect("defaults are TOML");
    Some(key.kind.admit(value.get_ref(), "").expect("defaults are admitted"))
}

/// The unit of the default.
fn unit(key: &Key) -> &'static str {
    let Fallback::Is(text) = key.default else { return "" };
    text.trim_matches('"').split_once(' ').map_or("", |(_, unit)| unit)
}

/// The catalogue and its reader name different types for a key; every file would show it.
fn mismatch(name: &str) -> ! {
    unreachable!("{name} is read as another type than the catalogue says")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::trial::{config, problems};

    #[test]
    fn a_value_of_the_wrong_type_tells_what_was_expected() {
        let text = "
[watch]
scan_interval = true
inotify = \"yes\"
duplicates = \"ignore\"
[download]
article_retries = 1.5
pipeline = 0
par2_volumes = []
[log]
keep = 99999999999999999999
rotate_at = 2020-01-01
";
        assert_eq!(
            problems(text),
            [
                "line 3, column 17: watch.scan_interval: expected a length of time with its unit, \
                 from \"1 s\" to \"1 h\", found true",
                "line 4, column 11: watch.inotify: expected true or false, found \"yes\"",
                "line 5, column 14: watch.duplicates: expected \"refuse\" or \"accept\", found \
                 \"ignore\"",
                "line 7, column 19: download.article_retries: expected a whole number from 0 to 99, \
                 found 1.5",
                "line 8, column 12: download.pipeline: expected a whole number from 1 to 128, found \
                 0",
                "line 9, column 16: download.par2_volumes: expected \"needed\" or \"always\", found \
                 a list",
                "line 11, column 8: log.keep: expected a whole number from 0 to 1000, found \
                 99999999999999999999",
                "line 12, column 13: log.rotate_at: expected a size with its unit, from \"64 KiB\" \
                 to \"64 GiB\", found a date",
            ]
        );
    }

    #[test]
    fn a_number_without_its_unit_tells_which_to_write() {
        let text = "
[download]
memory = 40
idle = \"30\"
[limits]
connect = 15
slowest_bytes = \"30\"
";
        assert_eq!(
            problems(text),
            [
                "line 3, column 10: download.memory: expected a size with its unit, from \"4 MiB\" \
                 to \"64 GiB\", found 40; write \"40 MiB\"",
                "line 4, column 8: download.idle: expected a length of time with its unit, from \
                 \"1 s\" to \"1 h\", found \"30\"; write \"30 s\"",
                "line 6, column 11: limits.connect: expected a length of time with its unit, from \
                 \"1 s\" to \"10 min\", found 15; write \"15 s\"",
                "line 7, column 17: limits.slowest_bytes: expected a size with its unit, from \
                 \"0 B\" to \"1 GiB\", found \"30\"; write \"30 KiB\"",
            ]
        );
    }

    #[test]
    fn a_value_out_of_range_is_an_error() {
        assert_eq!(
            problems("[download]\nmemory = \"4095 KiB\"\nidle = \"2 h\""),
            [
                "line 2, column 10: download.memory: expected a size with its unit, from \"4 MiB\" \
                 to \"64 GiB\", found \"4095 KiB\"",
                "line 3, column 8: download.idle: expected a length of time with its unit, from \
                 \"1 s\" to \"1 h\", found \"2 h\"",
            ]
        );
        let config = config("[download]\nmemory = \"4 MiB\"\nidle = \"1 h\"");
        assert_eq!(config.download.idle, Duration::from_secs(3600));
    }

    #[test]
    fn strange_text_is_escaped() {
        assert_eq!(
            problems("[watch]\nduplicates = \"a\\u001b[31m\\n\""),
            ["line 2, column 14: watch.duplicates: expected \"refuse\" or \"accept\", found \
              \"a\\u{1b}[31m\\u{a}\""]
        );
        assert_eq!(
            problems("[watch]\n\"a\\nb\" = 1")[0],
            "line 2, column 1: watch.a\\u{a}b: unknown key; expected one of scan_interval, \
             inotify, duplicates"
        );
    }
}
