//! `Options`: the options of an `nzbget.conf`, with variables in their values expanded. Pure.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::text::is_yes;
use crate::{ImportError, Place, text};

/// Names in small letters; a later line counts before an earlier one.
#[derive(Debug)]
pub(crate) struct Options {
    values: BTreeMap<String, Setting>,
    home: Option<String>,
}

#[derive(Debug)]
struct Setting {
    name: String,
    value: String,
    was_read: Cell<bool>,
    misread: Cell<Option<Misread>>,
}

/// How a value that is not valid was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Misread {
    /// The nearest that does.
    Fitted(i64),
    NoNumber,
}

impl Options {
    pub(crate) fn read(bytes: &[u8], place: &Place) -> Result<Self, ImportError> {
        let text = text::decoded(bytes)?;
        let mut values = BTreeMap::new();
        let mut put = |name: &str, value: &str| {
            let setting = Setting {
                name: name.to_owned(),
                value: value.to_owned(),
                was_read: Cell::new(false),
                misread: Cell::new(None),
            };
            values.insert(name.to_ascii_lowercase(), setting);
        };
        let directory = place.file.rsplit_once('/').map_or(".", |(directory, _)| directory);
        put("ConfigFile", &place.file);
        put("ConfigDir", directory);
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some((name, value)) = line.split_once('=') {
                put(name.trim(), value.trim());
            }
        }
        for name in ["configfile", "configdir"] {
            values.get(name).inspect(|setting| setting.was_read.set(true));
        }
        Ok(Self { values, home: place.home.clone() })
    }

    /// None where it is empty or not there.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let setting = self.values.get(&name.to_ascii_lowercase())?;
        setting.was_read.set(true);
        let value = self.expanded(&setting.value, &mut { MOST_VARIABLES });
        Some(value).filter(|value| !value.is_empty())
    }

    /// As it stands, whatever it holds: passwords may look like variables.
    pub(crate) fn verbatim(&self, name: &str) -> Option<String> {
        let setting = self.values.get(&name.to_ascii_lowercase())?;
        setting.was_read.set(true);
        Some(setting.value.clone()).filter(|value| !value.is_empty())
    }

    /// With the home directory in place of a tilde.
    pub(crate) fn path(&self, name: &str) -> Option<String> {
        let path = self.text(name)?;
        Some(text::at_home(&path, self.home.as_deref()).unwrap_or(path))
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        let number = self.text(name)?.parse().ok();
        if number.is_none() {
            self.note(name, Misread::NoNumber);
        }
        number
    }

    /// The nearest number in that range.
    pub(crate) fn number_within(&self, name: &str, range: &RangeInclusive<i64>) -> Option<i64> {
        let number = self.number(name)?;
        let fitted = number.clamp(*range.start(), *range.end());
        if fitted != number {
            self.note(name, Misread::Fitted(fitted));
        }
        Some(fitted)
    }

    fn note(&self, name: &str, misread: Misread) {
        let setting = self.values.get(&name.to_ascii_lowercase());
        setting.inspect(|setting| setting.misread.set(Some(misread)));
    }

    /// Values that were read as numbers and are not valid.
    pub(crate) fn misread(&self) -> impl Iterator<Item = (&str, Misread)> {
        self.values.values().filter_map(|it| Some((it.name.as_str(), it.misread.get()?)))
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).map(|value| is_yes(&value))
    }

    /// The numbers that `Server1.Host` and the like have, in their order.
    pub(crate) fn numbered(&self, kind: &str) -> Vec<u32> {
        let prefix = kind.to_ascii_lowercase();
        let numbers = self.values.keys().filter_map(|name| {
            let (number, _) = name.strip_prefix(&prefix)?.split_once('.')?;
            number.parse().ok()
        });
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.truncate(MOST_NUMBERED);
        numbers
    }

    /// Options that were not read and are not empty.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &str> {
        let unread = self.values.values().filter(|setting| !setting.was_read.get());
        unread.filter(|setting| !setting.value.is_empty()).map(|setting| setting.name.as_str())
    }

    /// `${MainDir}` stands for the value of that option. `left` so many may be put in, for options may
    /// name themselves and each other.
    fn expanded(&self, value: &str, left: &mut usize) -> String {
        let mut expanded = String::new();
        let mut rest = value;
        while let Some(at) = rest.find("${") {
            let Some((name, after)) = rest[at + 2..].split_once('}') else { break };
            expanded.push_str(&rest[..at]);
            rest = after;
            match self.values.get(&name.to_ascii_lowercase()).filter(|_| *left > 0) {
                Some(setting) => {
                    *left -= 1;
                    expanded.push_str(&self.expanded(&setting.value, left));
                }
                None => expanded.push_str(&format!("${{{name}}}")),
            }
        }
        expanded.push_str(rest);
        expanded
    }
}

const MOST_VARIABLES: usize = 50;
const MOST_NUMBERED: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        let place = Place {
            home: Some("/home/ann".to_owned()),
            file: "/etc/nzbget.conf".to_owned(),
            zone: None,
        };
        Options::read(text.as_bytes(), &place).expect("few lines")
    }

    #[test]
    fn variables_stand_for_other_options() {
        let options = options(
            "MainDir=~/downloads\n# a comment\ndestdir = ${MainDir}/dst \nA=${nothing}${MAINDIR\nX=${X}${X}\nP=a${MainDir}\n",
        );
        assert_eq!(options.path("DestDir").as_deref(), Some("/home/ann/downloads/dst"));
        assert_eq!(options.text("A").as_deref(), Some("${nothing}${MAINDIR"));
        assert!(options.text("X").is_some_and(|text| text.len() < 1000));
        assert_eq!(options.verbatim("p").as_deref(), Some("a${MainDir}"));
        assert_eq!(options.path("nothing"), None);
    }

    #[test]
    fn the_later_line_counts_and_what_nobody_asked_for_is_known() {
        let options =
            options("Server2.Host=b\nServer1.Host=a\nserver1.host=c\nRest=1\nEmpty=\nServer.x=1\n");
        assert_eq!(options.numbered("Server"), [1, 2]);
        assert_eq!(options.text("Server1.Host").as_deref(), Some("c"));
        assert_eq!(options.unread().collect::<Vec<_>>(), ["Rest", "Server.x", "Server2.Host"]);
    }
}
