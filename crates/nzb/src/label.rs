//! [`Label`]: name, password and category in the file name of an NZB.
//!
//! `{{category}}name.nzb`, `name{{password}}.nzb`, `name password=xxx.nzb`, `name / password.nzb`.
//! Leading braces are a category to one of the old downloaders and a password to the other: here a
//! category if it is a known one, else a password.

use std::fmt;

use bergamot_types::Secret;

/// A job's name with what was written beside it.
#[derive(Clone, Eq, PartialEq)]
pub struct Label {
    /// Without category, password and extensions; may be empty.
    pub name: String,
    pub category: Option<String>,
    pub password: Option<Secret>,
}

impl Label {
    /// Takes a file name without its directory.
    pub fn parse(file_name: &str, is_category: impl Fn(&str) -> bool) -> Self {
        let stem = strip_extensions(file_name.trim());
        let (category, rest) = leading_category(stem, is_category);
        let (name, password) = split_password(rest);
        Self {
            name: name.trim().to_owned(),
            category: category.map(str::to_owned),
            password: password.map(str::trim).filter(|text| !text.is_empty()).map(Secret::new),
        }
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, category, password } = self;
        write!(f, "Label({name:?}, category {category:?}, password {password:?})")
    }
}

fn strip_extensions(name: &str) -> &str {
    let packed = strip_suffix(name, ".gz").filter(|rest| strip_suffix(rest, ".nzb").is_some());
    let name = packed.unwrap_or(name);
    strip_suffix(name, ".nzb").unwrap_or(name)
}

fn strip_suffix<'a>(name: &'a str, suffix: &str) -> Option<&'a str> {
    let (head, tail) = name.split_at_checked(name.len().checked_sub(suffix.len())?)?;
    tail.eq_ignore_ascii_case(suffix).then_some(head)
}

fn leading_category(stem: &str, is_category: impl Fn(&str) -> bool) -> (Option<&str>, &str) {
    let braces = stem.strip_prefix("{{").and_then(|rest| rest.split_once("}}"));
    match braces {
        Some((category, rest)) if is_category(category) => (Some(category), rest),
        _ => (None, stem),
    }
}

fn split_password(stem: &str) -> (&str, Option<&str>) {
    in_braces(stem)
        .or_else(|| behind_key(stem))
        .or_else(|| behind_slash(stem))
        .unwrap_or((stem, None))
}

/// From the first opening to the last closing braces, for a password may hold braces itself.
fn in_braces(stem: &str) -> Option<(&str, Option<&str>)> {
    let (name, rest) = stem.split_once("{{")?;
    let (password, behind) = rest.rsplit_once("}}")?;
    Some((if name.trim().is_empty() { behind } else { name }, Some(password)))
}

fn behind_key(stem: &str) -> Option<(&str, Option<&str>)> {
    let at = stem.to_ascii_lowercase().find(KEY)?;
    Some((&stem[..at], Some(&stem[at + KEY.len()..])))
}

/// One slash inside the text, or one with blanks around it; anything else is a path.
fn behind_slash(stem: &str) -> Option<(&str, Option<&str>)> {
    let single = || stem.split_once('/').filter(|(_, rest)| !rest.contains('/'));
    let (name, password) = stem.split_once(" / ").or_else(single)?;
    let is_path = matches!(name.trim(), "" | "." | "..");
    (!is_path).then_some((name, Some(password)))
}

const KEY: &str = " password=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_by_both_customs() {
        for (file_name, name, category, password) in [
            ("A Name.nzb", "A Name", None, None),
            ("A Name.NZB.gz", "A Name", None, None),
            ("A Name.gz", "A Name.gz", None, None),
            ("name{{secret}}.nzb", "name", None, Some("secret")),
            ("name {{se{{c}}ret}}.nzb", "name", None, Some("se{{c}}ret")),
            ("{{tv}}name.nzb", "name", Some("tv"), None),
            ("{{tv}}name{{secret}}.nzb", "name", Some("tv"), Some("secret")),
            ("{{secret}}name.nzb", "name", None, Some("secret")),
            ("{{secret}}.nzb", "", None, Some("secret")),
            ("name password=a b.nzb", "name", None, Some("a b")),
            ("name / secret.nzb", "name", None, Some("secret")),
            ("name/secret", "name", None, Some("secret")),
            ("/etc/passwd", "/etc/passwd", None, None),
            ("../x", "../x", None, None),
            ("name{{}}.nzb", "name", None, None),
            ("name{{open.nzb", "name{{open", None, None),
            ("", "", None, None),
            ("ä", "ä", None, None),
        ] {
            let label = Label::parse(file_name, |category| category == "tv");
            let seen = (
                &*label.name,
                label.category.as_deref(),
                label.password.as_ref().map(Secret::reveal),
            );
            assert_eq!(seen, (name, category, password), "{file_name:?}");
            assert!(!format!("{label:?}").contains("secret"));
        }
    }
}
