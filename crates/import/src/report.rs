//! [`Finding`]: how one option was converted; [`Report`] collects them. Pure.

use std::fmt;

/// How one option that was set was converted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// As the other program calls it.
    pub option: String,
    pub fate: Fate,
    /// The key it became, or why there is none and what to do.
    pub note: String,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fate {
    /// It means the same here.
    Carried,
    /// It was converted with a different value or meaning.
    Changed,
    /// It was not converted; the user should check it.
    Left,
    /// It was not converted, and is not needed.
    Needless,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Carried => "carried over",
            Self::Changed => "changed",
            Self::Left => "left behind",
            Self::Needless => "not needed",
        })
    }
}

/// Collects findings.
#[derive(Debug, Default)]
pub(crate) struct Report(pub(crate) Vec<Finding>);

impl Report {
    pub(crate) fn carried(&mut self, option: impl Into<String>, key: &str) {
        self.put(option, Fate::Carried, key);
    }

    pub(crate) fn changed(&mut self, option: impl Into<String>, note: impl AsRef<str>) {
        self.put(option, Fate::Changed, note);
    }

    pub(crate) fn left(&mut self, option: impl Into<String>, note: impl AsRef<str>) {
        self.put(option, Fate::Left, note);
    }

    pub(crate) fn needless(&mut self, option: impl Into<String>, note: impl AsRef<str>) {
        self.put(option, Fate::Needless, note);
    }

    fn put(&mut self, option: impl Into<String>, fate: Fate, note: impl AsRef<str>) {
        let option = crate::text::harmless(&option.into());
        self.0.push(Finding { option, fate, note: crate::text::harmless(note.as_ref()) });
    }
}
