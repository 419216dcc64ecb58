//! [`ConfigError`] and [`Problem`]: the errors in a configuration, each with its line, key and what was
//! expected.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why no configuration could be read.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{}: {}", self.code(), Listing { path, problems })]
    Invalid { path: PathBuf, problems: Vec<Problem> },
    #[error("{}: {} cannot be read: {error}", self.code(), path.display())]
    Unreadable { path: PathBuf, error: io::Error },
}

impl ConfigError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "config.invalid",
            Self::Unreadable { .. } => "config.unreadable",
        }
    }
}

/// One error in the file. No code branches on it, so it is text; it never repeats a secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Line and column, both from 1; none for a variable of the environment.
    pub location: Option<(usize, usize)>,
    /// As `server.port`, or the name of a variable; none for what is no TOML.
    pub key: Option<String>,
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.location {
            Some((line, column)) => write!(f, "line {line}, column {column}: ")?,
            None => write!(f, "environment: ")?,
        }
        match &self.key {
            Some(key) => write!(f, "{key}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// The problems of one text, collected while it is read.
#[derive(Debug)]
pub(crate) struct Problems<'a> {
    text: &'a str,
    variables: Vec<String>,       // each has a place behind the text
    found: Vec<(usize, Problem)>, // with the offset they are sorted by
}

impl<'a> Problems<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, variables: Vec::new(), found: Vec::new() }
    }

    /// Where a problem of this variable is, as though it were written behind the text.
    pub(crate) fn place_of(&mut self, variable: &str) -> usize {
        let known = self.variables.iter().position(|known| known == variable);
        let index = known.unwrap_or_else(|| {
            self.variables.push(variable.to_owned());
            self.variables.len() - 1
        });
        self.text.len() + 1 + index
    }

    /// `at` is an offset into the text, or the place of a variable.
    pub(crate) fn add(&mut self, at: usize, key: Option<String>, text: String) {
        let index = at.checked_sub(self.text.len() + 1);
        let variable = index.and_then(|index| self.variables.get(index));
        let problem = match variable {
            Some(variable) => {
                let key = key.map_or(variable.clone(), |key| format!("{variable}: {key}"));
                Problem { location: None, key: Some(key), text }
            }
            None => Problem { location: Some(location(self.text, at)), key, text },
        };
        self.found.push((at, problem));
    }

    pub(crate) fn add_variable(&mut self, name: &str, text: String) {
        let problem = Problem { location: None, key: Some(name.to_owned()), text };
        self.found.push((usize::MAX, problem));
    }

    pub(crate) fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|(at, _)| *at);
        self.found.into_iter().map(|(_, problem)| problem).collect()
    }
}

/// Line and column, the latter in characters, as editors count them.
fn location(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

struct Listing<'a> {
    path: &'a PathBuf,
    problems: &'a [Problem],
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, count) = (self.path.display(), self.problems.len());
        let noun = if count == 1 { "problem" } else { "problems" };
        write!(f, "{count} {noun} in {path}")?;
        for problem in self.problems.iter().take(MOST_LISTED) {
            write!(f, "\n{problem}")?;
        }
        if count > MOST_LISTED { write!(f, "\nand {} more", count - MOST_LISTED) } else { Ok(()) }
    }
}

/// As many as fit a screen; the rest is often the echo of these.
const MOST_LISTED: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_lines_and_characters() {
        assert_eq!(location("", 0), (1, 1));
        assert_eq!(location("a\r\nä = 1", "a\r\nä = ".len()), (2, 5));
        assert_eq!(location("a\n", 2), (2, 1));
    }

    #[test]
    fn a_long_list_is_cut() {
        let problem = |n| Problem { location: Some((n, 1)), key: None, text: "odd".to_owned() };
        let problems = (1..=22).map(problem).collect();
        let error = ConfigError::Invalid { path: "b.toml".into(), problems };
        let text = error.to_string();
        assert!(text.starts_with("config.invalid: 22 problems in b.toml\nline 1, column 1: odd\n"));
        assert!(text.ends_with("line 20, column 1: odd\nand 2 more"), "{text}");
    }
}
