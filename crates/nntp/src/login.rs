//! [`Login`]: the user name and password for a server.

use bergamot_types::Secret;
use thiserror::Error;

/// Credentials that fit a command line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Login {
    name: Box<str>,
    password: Secret,
}

impl Login {
    /// Blanks and any script are fine and go out as UTF-8; what could end the line is not.
    pub fn new(name: &str, password: Secret) -> Result<Self, InvalidLogin> {
        for (what, text) in [("user name", name), ("password", password.reveal())] {
            if text.contains(['\r', '\n', '\0']) {
                return Err(InvalidLogin::BreaksTheLine(what));
            }
            if text.len() > LONGEST {
                return Err(InvalidLogin::TooLong(what));
            }
        }
        if name.is_empty() {
            return Err(InvalidLogin::NoName);
        }
        Ok(Self { name: name.into(), password })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn password(&self) -> &Secret {
        &self.password
    }

    /// `text` without the password: servers repeat commands they do not like.
    pub(crate) fn hide(&self, text: &str) -> Box<str> {
        match self.password.reveal() {
            "" => text.into(),
            password => text.replace(password, &self.password.to_string()).into(),
        }
    }
}

/// Why credentials cannot be sent. It never repeats them.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum InvalidLogin {
    #[error("the {0} holds a line end or a NUL")]
    BreaksTheLine(&'static str),
    #[error("there is a password but no user name")]
    NoName,
    #[error("the {0} has more than {LONGEST} bytes")]
    TooLong(&'static str),
}

/// Some providers hand out long tokens as passwords; a command line has to hold them.
const LONGEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_that_would_end_the_line_are_refused_without_showing_them() {
        for (name, password) in [("a\r\nQUIT", "x"), ("a", "hunter\n2"), ("a\0", "x")] {
            let error = Login::new(name, Secret::new(password)).unwrap_err();
            assert!(matches!(error, InvalidLogin::BreaksTheLine(_)));
            assert!(!error.to_string().contains("hunter"));
        }
        assert!(Login::new("ann with blanks", Secret::new("pä ss")).is_ok());
    }
}
