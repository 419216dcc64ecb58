//! [`Secret`]: a text that `Debug` does not show.

use std::fmt;

/// A password or key. It prints as dots, so no log line or error can carry it out.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(Box<str>);

impl Secret {
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_dots() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?}"), "••• •••");
        assert_eq!(secret.reveal(), "hunter2");
    }
}
