//! Parses a `sabnzbd.ini`: sections, nested sections, and values with quotes and commas. Pure.

use std::collections::BTreeMap;

use crate::{ImportError, text};

#[derive(Debug, Default)]
pub(crate) struct Ini {
    sections: BTreeMap<String, Section>,
}

/// Values, and the sections within it in their order.
#[derive(Debug, Default)]
pub(crate) struct Section {
    values: BTreeMap<String, String>,
    pub(crate) parts: Vec<(String, Values)>,
}

#[derive(Debug, Default)]
pub(crate) struct Values(BTreeMap<String, String>);

impl Ini {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ImportError> {
        let text = text::decoded(bytes)?;
        let mut ini = Self::default();
        let mut section = String::new();
        let mut in_part = false;
        for line in text.lines().map(str::trim) {
            if let Some(name) = between(line, "[[", "]]") {
                let parts = &mut ini.sections.entry(section.clone()).or_default().parts;
                in_part = parts.len() < MOST_PARTS;
                if in_part {
                    parts.push((unquoted(name), Values::default()));
                }
            } else if let Some(name) = between(line, "[", "]") {
                (section, in_part) = (unquoted(name), false);
                ini.sections.entry(section.clone()).or_default();
            } else if let Some((name, value)) =
                line.split_once('=').filter(|_| !line.starts_with('#'))
            {
                let known = ini.sections.entry(section.clone()).or_default();
                let values = match known.parts.last_mut().filter(|_| in_part) {
                    Some((_, values)) => &mut values.0,
                    None => &mut known.values,
                };
                values.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
        Ok(ini)
    }

    /// Empty where it is not there.
    pub(crate) fn take(&mut self, name: &str) -> Section {
        self.sections.remove(name).unwrap_or_default()
    }
}

impl Section {
    /// What stands in the section itself.
    pub(crate) fn values(&mut self) -> Values {
        Values(std::mem::take(&mut self.values))
    }
}

impl Values {
    /// None where it is empty or not there. What was taken is not left over.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let value = unquoted(&self.0.remove(name)?);
        Some(value).filter(|value| !value.is_empty() && value != "None")
    }

    pub(crate) fn number(&mut self, name: &str) -> Option<i64> {
        self.take(name)?.parse().ok()
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        self.take(name).map(|value| text::is_yes(&value))
    }

    /// Values with commas between them.
    pub(crate) fn list(&mut self, name: &str) -> Vec<String> {
        self.0.remove(name).map(|text| listed(&text)).unwrap_or_default()
    }

    pub(crate) fn left_over(&self) -> impl Iterator<Item = &str> {
        let said = |value: &str| !matches!(unquoted(value).as_str(), "" | "0" | "None" | ",");
        self.0.iter().filter(move |(_, value)| said(value)).map(|(name, _)| name.as_str())
    }
}

fn between<'a>(line: &'a str, open: &str, close: &str) -> Option<&'a str> {
    line.strip_prefix(open)?.strip_suffix(close).map(str::trim)
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    for quote in ["\"\"\"", "'''", "\"", "'"] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.to_owned();
        }
    }
    text.to_owned()
}

fn listed(text: &str) -> Vec<String> {
    let (mut items, mut item, mut quote) = (Vec::new(), String::new(), None);
    for letter in text.chars() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (',', None) => items.push(std::mem::take(&mut item).trim().to_owned()),
            (letter, _) => item.push(letter),
        }
        if items.len() >= MOST_PARTS {
            return items;
        }
    }
    if !item.trim().is_empty() {
        items.push(item.trim().to_owned());
    }
    items
}

const MOST_PARTS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_lie_within_sections() {
        let text = "__version__ = 19\n[misc]\n# no = value\nport = 8080\npassword = \"a,b\"\n\
            schedlines = 1 0 8 1234567 pause , \"1 0 9 12 speedlimit 50\"\nempty = \"\"\n\
            [servers]\n[[news.example]]\nhost = news.example\n[[\"b\"]]\nhost = b\n";
        let mut ini = Ini::read(text.as_bytes()).expect("few lines");
        let mut misc = ini.take("misc").values();
        assert_eq!(
            (misc.number("port"), misc.take("password")),
            (Some(8080), Some("a,b".to_owned()))
        );
        assert_eq!(misc.list("schedlines"), ["1 0 8 1234567 pause", "1 0 9 12 speedlimit 50"]);
        assert_eq!((misc.take("empty"), misc.take("nothing")), (None, None));
        let servers = ini.take("servers").parts;
        let names: Vec<&str> = servers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["news.example", "b"]);
    }
}
