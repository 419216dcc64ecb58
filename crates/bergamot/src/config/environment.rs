//! Variables that stand in for secrets of the file.

use std::collections::BTreeMap;
use std::ffi::OsString;

use bergamot_types::Secret;

/// The variables that may concern us. Values are secrets; one that is no text is `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment(BTreeMap<String, Option<Secret>>);

/// `BERGAMOT_SERVER_<NAME>_…` of one server.
#[derive(Clone, Debug)]
pub(super) struct Variables {
    pub(super) username: String,
    pub(super) password: String,
    pub(super) password_file: String,
}

impl Environment {
    pub(super) fn value(&self, name: &str) -> Option<&Option<Secret>> {
        self.0.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    /// Takes what `std::env::vars_os` gives. An empty variable counts as none, for that is how many
    /// container files leave one out.
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        let ours = variables.into_iter().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| name.starts_with(PREFIX))?;
            let value = value.into_string().ok().map(Secret::new);
            let is_empty = value.as_ref().is_some_and(|value| value.reveal().is_empty());
            (!is_empty).then_some((name, value))
        });
        Self(ours.collect())
    }
}

impl Variables {
    pub(super) fn of(server: &str) -> Self {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = server.chars().map(letter).collect();
        Self {
            username: format!("{PREFIX}{name}_USERNAME"),
            password: format!("{PREFIX}{name}_PASSWORD"),
            password_file: format!("{PREFIX}{name}_PASSWORD_FILE"),
        }
    }

    /// Each with the key that it stands in for.
    pub(super) fn with_keys(&self) -> [(&str, &'static str); 3] {
        [
            (&self.username, "username"),
            (&self.password, "password"),
            (&self.password_file, "password_file"),
        ]
    }
}

const PREFIX: &str = "BERGAMOT_SERVER_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_letters_and_digits() {
        assert_eq!(
            Variables::of("news-2.example").password,
            "BERGAMOT_SERVER_NEWS_2_EXAMPLE_PASSWORD"
        );
        assert_eq!(Variables::of("Größe").username, "BERGAMOT_SERVER_GR__E_USERNAME");
    }

    #[test]
    fn other_and_empty_variables_are_left_out_and_values_are_dots() {
        let given = [
            ("BERGAMOT_SERVER_A_PASSWORD", "hunter2"),
            ("BERGAMOT_SERVER_B_PASSWORD", ""),
            ("PATH", "/bin"),
        ];
        let environment: Environment =
            given.map(|(name, value)| (name.into(), value.into())).into_iter().collect();
        assert_eq!(environment.names().collect::<Vec<_>>(), ["BERGAMOT_SERVER_A_PASSWORD"]);
        assert!(!format!("{environment:?}").contains("hunter"));
    }
}
