//! [`Violation`]: the sentence that says which rule was broken. Pure.

use std::error::Error;
use std::fmt;

/// A broken invariant or contract, as the sentence that a failing test prints.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation(String);

/// What a check returns.
pub type Checked = Result<(), Violation>;

impl Violation {
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Violation {}

/// `Err` of a [`Violation`] with a formatted sentence.
macro_rules! violated {
    ($($sentence:tt)*) => {
        Err($crate::violation::Violation::new(format!($($sentence)*)))
    };
}

pub(crate) use violated;
