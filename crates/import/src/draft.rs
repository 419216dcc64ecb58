//! [`Draft`]: a bergamot configuration under construction.

use std::fmt::Write;

use crate::Place;
use crate::report::Report;

/// Tables in the order in which they were begun.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    tables: Vec<Table>,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    header: String,
    keys: Vec<(&'static str, Value)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Flag(bool),
    Number(i64),
    /// Shown only in the file itself.
    Secret(String),
    Text(String),
    Texts(Vec<String>),
}

impl Draft {
    /// The one table of that name.
    pub(crate) fn table(&mut self, name: &str) -> &mut Table {
        let header = format!("[{name}]");
        let place = self.tables.iter().position(|table| table.header == header);
        let place = place.unwrap_or_else(|| {
            self.tables.push(Table { header, keys: Vec::new() });
            self.tables.len() - 1
        });
        &mut self.tables[place]
    }

    /// One more of that name.
    pub(crate) fn another(&mut self, name: &str) -> &mut Table {
        self.tables.push(Table { header: format!("[[{name}]]"), keys: Vec::new() });
        self.tables.last_mut().expect("one was just put there")
    }

    /// A category that something else speaks of has to be there, by its name or as an alias.
    pub(crate) fn ensure_category(&mut self, name: &str) {
        let is_it = |text: &String| text.to_lowercase() == name.to_lowercase();
        let names_it = |(key, value): &(&str, Value)| match (*key, value) {
            ("name", Value::Text(text)) => is_it(text),
            ("aliases", Value::Texts(texts)) => texts.iter().any(is_it),
            _ => false,
        };
        let mut categories = self.tables.iter().filter(|table| table.header == "[[category]]");
        if !categories.any(|table| table.keys.iter().any(names_it)) {
            self.another("category").text("name", name);
        }
    }

    /// Times of the week and days of a quota mean those of the machine the other program ran on.
    pub(crate) fn keep_time_zone(&mut self, place: &Place, report: &mut Report) {
        let goes_by_it = |table: &Table| ["[[schedule]]", "[quota]"].contains(&&*table.header);
        if !self.tables.iter().any(goes_by_it) {
            return;
        }
        match &place.zone {
            Some(zone) => {
                self.table("download").text("time_zone", zone.clone());
                report.carried("time zone", "download.time_zone");
            }
            None => report.left(
                "time zone",
                "schedules and quotas use download.time_zone; it is UTC unless that key or TZ is set",
            ),
        }
    }

    pub(crate) fn written(&self, with_secrets: bool) -> String {
        let mut text = String::new();
        for table in self.tables.iter().filter(|table| !table.keys.is_empty()) {
            let _ = writeln!(text, "{}{}", if text.is_empty() { "" } else { "\n" }, table.header);
            for (name, value) in &table.keys {
                let _ = match value {
                    Value::Secret(_) if !with_secrets => writeln!(text, "# {name} = \"***\""),
                    value => writeln!(text, "{name} = {}", written(value)),
                };
            }
        }
        text
    }
}

impl Table {
    /// The later one counts.
    pub(crate) fn set(&mut self, name: &'static str, value: Value) -> &mut Self {
        self.keys.retain(|(known, _)| *known != name);
        self.keys.push((name, value));
        self
    }

    pub(crate) fn text(&mut self, name: &'static str, value: impl Into<String>) -> &mut Self {
        self.set(name, Value::Text(value.into()))
    }

    pub(crate) fn secret(&mut self, name: &'static str, value: impl Into<String>) -> &mut Self {
        self.set(name, Value::Secret(value.into()))
    }

    pub(crate) fn number(&mut self, name: &'static str, value: i64) -> &mut Self {
        self.set(name, Value::Number(value))
    }

    pub(crate) fn flag(&mut self, name: &'static str, value: bool) -> &mut Self {
        self.set(name, Value::Flag(value))
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Secret(text) | Value::Text(text) => quoted(text),
        Value::Texts(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

/// A basic string of TOML, with everything escaped that has to be.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", letter as u32);
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_is_added_only_where_none_goes_by_its_name() {
        let mut draft = Draft::default();
        let aliases = Value::Texts(vec!["TV > HD".to_owned()]);
        draft.another("category").text("name", "Series").set("aliases", aliases);
        for name in ["series", "tv > hd", "films", "Films"] {
            draft.ensure_category(name);
        }
        assert!(draft.written(false).ends_with("\n\n[[category]]\nname = \"films\"\n"));
    }

    #[test]
    fn secrets_are_only_in_the_file_itself() {
        let mut draft = Draft::default();
        draft.table("control").number("port", 6789).secret("password", "a\"b\\c\u{7}\n");
        draft.another("server").text("name", "x").flag("active", true);
        draft.table("empty");
        draft.table("control").set("allowed_hosts", Value::Texts(vec!["a".into(), "b".into()]));
        assert_eq!(
            draft.written(true),
            "[control]\nport = 6789\npassword = \"a\\\"b\\\\c\\u0007\\n\"\nallowed_hosts = [\"a\", \"b\"]\n\n[[server]]\nname = \"x\"\nactive = true\n"
        );
        assert!(draft.written(false).contains("# password = \"***\"\n"));
    }
}
