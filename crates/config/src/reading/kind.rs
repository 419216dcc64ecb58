//! [`Kind`]: the type and range of a key, as a check and as text for messages. Pure.

use std::time::Duration;

use bergamot_types::{ByteCount, Shown};
use thiserror::Error;
use toml::Spanned;
use toml::de::DeValue;

use crate::reading::units;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Choice(&'static [&'static str]),
    Days {
        most: i64,
    },
    Flag,
    Number {
        least: i64,
        most: i64,
    },
    Path(&'static str),
    /// A text that no message repeats.
    Secret(&'static str),
    Size {
        least: u64,
        most: u64,
    },
    Text(&'static str),
    Texts(&'static str),
    Time {
        least: Duration,
        most: Duration,
    },
}

/// A value that its kind admits.
#[derive(Debug)]
pub(crate) enum Value {
    Flag(bool),
    Number(i64),
    Size(ByteCount),
    Text(String),
    /// Each with where it begins.
    Texts(Vec<(usize, String)>),
    Time(Duration),
    Word(&'static str),
}

/// What a key holds instead of a value that its kind admits; the object of "found".
#[derive(Debug, Error)]
pub(crate) enum Mismatch {
    #[error("{written}; write \"{written} {unit}\"")]
    MissingUnit { written: String, unit: String },
    /// As it may be shown: never a secret.
    #[error("{0}")]
    Value(String),
}

impl Kind {
    /// What is expected, as the object of that sentence.
    pub(crate) fn words(&self) -> String {
        match *self {
            Self::Choice(words) => one_of(words),
            Self::Days { .. } => "a number of days, like 3000 or \"3000 days\"".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Number { least, most } => format!("a whole number from {least} to {most}"),
            Self::Path(words) | Self::Secret(words) | Self::Text(words) | Self::Texts(words) => {
                words.to_owned()
            }
            Self::Size { least, most } => {
                let (least, most) = (units::show_size(least), units::show_size(most));
                format!("a size with its unit, from \"{least}\" to \"{most}\"")
            }
            Self::Time { least, most } => {
                let (least, most) = (units::show_time(least), units::show_time(most));
                format!("a length of time with its unit, from \"{least}\" to \"{most}\"")
            }
        }
    }

    /// The value, or what was found instead. `unit` is the one to write where one is missing.
    pub(crate) fn admit(&self, value: &DeValue<'_>, unit: &str) -> Result<Value, Mismatch> {
        let admitted = match (self, value) {
            (Self::Choice(words), DeValue::String(text)) => {
                words.iter().find(|word| **word == text.as_ref()).map(|word| Value::Word(word))
            }
            (Self::Days { most }, DeValue::String(text)) => {
                units::days(text).filter(|days| (0..=*most).contains(days)).map(Value::Number)
            }
            (Self::Days { most }, value) => number(value, 0, *most),
            (Self::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
            (Self::Number { least, most }, value) => number(value, *least, *most),
            (Self::Path(_) | Self::Secret(_) | Self::Text(_), DeValue::String(text)) => {
                Some(Value::Text(text.as_ref().to_owned()))
            }
            (Self::Size { least, most }, DeValue::String(text)) => {
                let size = units::size(text).filter(|size| (*least..=*most).contains(&size.0));
                size.map(Value::Size)
            }
            (Self::Texts(_), DeValue::Array(items)) => {
                items.iter().map(text_of).collect::<Option<_>>().map(Value::Texts)
            }
            (Self::Time { least, most }, DeValue::String(text)) => {
                units::time(text).filter(|time| (least..=most).contains(&time)).map(Value::Time)
            }
            (Self::Size { .. } | Self::Time { .. }, DeValue::Integer(number)) => {
                let (written, unit) = (number.to_string(), unit.to_owned());
                return Err(Mismatch::MissingUnit { written, unit });
            }
            _ => None,
        };
        admitted.ok_or_else(|| Mismatch::Value(self.show(value, unit)))
    }

    fn show(&self, value: &DeValue<'_>, unit: &str) -> String {
        let is_secret = matches!(self, Self::Secret(_));
        match value {
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Boolean(_) | DeValue::Float(_) | DeValue::Integer(_) if is_secret => {
                "a value without quotes".to_owned()
            }
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::String(_) if is_secret => "another text".to_owned(),
            DeValue::String(text) => {
                let lacks_unit = matches!(self, Self::Size { .. } | Self::Time { .. })
                    && text.trim().parse::<f64>().is_ok();
                let hint = if lacks_unit {
                    format!("; write \"{} {unit}\"", text.trim())
                } else {
                    String::new()
                };
                format!("\"{}\"{hint}", Shown(text))
            }
            DeValue::Table(_) => "a table".to_owned(),
        }
    }
}

fn number(value: &DeValue<'_>, least: i64, most: i64) -> Option<Value> {
    let number = value.as_integer()?;
    let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
    (least..=most).contains(&number).then_some(Value::Number(number))
}

fn text_of(item: &Spanned<DeValue<'_>>) -> Option<(usize, String)> {
    let text = item.get_ref().as_str()?;
    Some((item.span().start, text.to_owned()))
}

/// `"a", "b" or "c"`.
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
