//! [`Environment`]: the environment variables that override keys or set secrets, read once at the start.

use std::collections::BTreeMap;
use std::ffi::OsString;

use bergamot_limit::Zone;
use bergamot_types::Secret;

use crate::reading::machine_zone::machine_zone;
use crate::reading::overrides::{FILE_PREFIX, meant_by};

/// The variables that may concern us.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    logins: BTreeMap<String, Option<Secret>>, // one that is no text is none
    keys: BTreeMap<String, Option<Secret>>,   // `BERGAMOT__…`, likewise
    time_zone: Option<Zone>,
    machine_zone: Option<Zone>,
    odd_time_zone: Option<String>,
    mistaken: Vec<(String, String)>, // with what was meant
}

/// `BERGAMOT_SERVER_<NAME>_…` of one server.
#[derive(Clone, Debug)]
pub(crate) struct Variables {
    pub(crate) username: String,
    pub(crate) password: String,
    pub(crate) password_file: String,
}

impl Environment {
    /// The variables of this process, and the zone of the machine it runs on.
    pub fn of_process() -> Self {
        std::env::vars_os().collect::<Self>().on_machine_of(machine_zone())
    }

    fn on_machine_of(self, machine_zone: Option<Zone>) -> Self {
        Self { machine_zone, ..self }
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Option<Secret>> {
        self.logins.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.logins.keys().map(String::as_str).filter(|name| name.starts_with(PREFIX))
    }

    pub(crate) fn feed_names(&self) -> impl Iterator<Item = &str> {
        self.logins.keys().map(String::as_str).filter(|name| name.starts_with(FEED_PREFIX))
    }

    /// All variables that set keys of the file.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&str, &Option<Secret>)> {
        self.keys.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The variable that sets that key, or names a file with it.
    pub fn variable_of(&self, table: &str, key: &str) -> Option<&str> {
        let plain = format!("{KEY_PREFIX}{table}__{key}").to_uppercase();
        let names = [format!("{FILE_PREFIX}{plain}"), format!("{plain}_FILE"), plain];
        let is_it = |name: &&String| names.contains(name);
        self.keys.keys().find(is_it).map(String::as_str)
    }

    /// Variables that miss an underscore to set a key; and how they would.
    pub(crate) fn mistaken(&self) -> &[(String, String)] {
        &self.mistaken
    }

    /// What `TZ` says, if it is the name of a zone, else the zone of the machine. `TZ` may also be a
    /// file or a rule, and those are passed over; one that is meant to be a name and is none counts as
    /// UTC, as for other programs.
    pub(crate) fn time_zone(&self) -> Option<Zone> {
        let machine_zone = self.machine_zone.filter(|_| self.odd_time_zone.is_none());
        self.time_zone.or(machine_zone)
    }

    /// What `TZ` says, if it is meant to be the name of a zone and is none that we know.
    pub(crate) fn odd_time_zone(&self) -> Option<&str> {
        self.odd_time_zone.as_deref()
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    /// Takes what `std::env::vars_os` gives. An empty variable counts as none, for that is how many
    /// container files leave one out.
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            let (Ok(name), value) = (name.into_string(), value.into_string().ok()) else {
                continue;
            };
            let is_empty = value.as_ref().is_some_and(String::is_empty);
            if name == "TZ" {
                environment.time_zone = value.as_deref().and_then(zone_of);
                let is_name = |text: &String| !text.is_empty() && !is_file_or_rule(text);
                let is_odd = environment.time_zone.is_none();
                environment.odd_time_zone = value.filter(|text| is_odd && is_name(text));
            } else if (name.starts_with(PREFIX) || name.starts_with(FEED_PREFIX)) && !is_empty {
                environment.logins.insert(name, value.map(Secret::new));
            } else if is_key(&name) && !is_empty {
                environment.keys.insert(name, value.map(Secret::new));
            } else if let Some(meant) = meant_by(&name).filter(|_| !is_empty) {
                environment.mistaken.push((name, meant));
            }
        }
        environment
    }
}

impl Variables {
    pub(crate) fn of(server: &str) -> Self {
        let name = letters(server);
        Self {
            username: format!("{PREFIX}{name}_USERNAME"),
            password: format!("{PREFIX}{name}_PASSWORD"),
            password_file: format!("{PREFIX}{name}_PASSWORD_FILE"),
        }
    }

    /// Each with the key that it stands in for.
    pub(crate) fn with_keys(&self) -> [(&str, &'static str); 3] {
        [
            (&self.username, "username"),
            (&self.password, "password"),
            (&self.password_file, "password_file"),
        ]
    }
}

/// `BERGAMOT_FEED_<NAME>_API_KEY` of one feed.
pub(crate) fn feed_variable(feed: &str) -> String {
    format!("{FEED_PREFIX}{}_API_KEY", letters(feed))
}

fn is_key(name: &str) -> bool {
    name.strip_prefix(FILE_PREFIX).unwrap_or(name).starts_with(KEY_PREFIX)
}

/// A name as variables have it.
pub(crate) fn letters(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(letter).collect()
}

/// A colon before the name is allowed, and means nothing.
fn zone_of(variable: &str) -> Option<Zone> {
    variable.strip_prefix(':').unwrap_or(variable).parse().ok()
}

/// As in `:/etc/localtime` and `CET-1CEST` (tzset(3)): those are for other programs.
fn is_file_or_rule(variable: &str) -> bool {
    let plain = variable.strip_prefix(':').unwrap_or(variable);
    plain.starts_with('/') || plain.bytes().any(|byte| byte.is_ascii_digit() || byte == b',')
}

const PREFIX: &str = "BERGAMOT_SERVER_";
const FEED_PREFIX: &str = "BERGAMOT_FEED_";
pub(crate) const KEY_PREFIX: &str = "BERGAMOT__";

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

    #[test]
    fn a_missing_underscore_is_noticed_and_nothing_else() {
        let given = ["BERGAMOT_DOWNLOAD_RATE", "BERGAMOT_CONTROL_PASSWORD_FILE", "BERGAMOT_CONFIG"];
        let others = ["BERGAMOT_PORT_6789_TCP", "BERGAMOT_SERVICE_HOST", "BERGAMOT_HOST"];
        let all = given.into_iter().chain(others).map(|name| (name.into(), "1".into()));
        let environment: Environment = all.collect();
        let pair = |name: &str, meant: &str| (name.to_owned(), meant.to_owned());
        assert_eq!(
            environment.mistaken(),
            [
                pair("BERGAMOT_DOWNLOAD_RATE", "BERGAMOT__DOWNLOAD__RATE"),
                pair("BERGAMOT_CONTROL_PASSWORD_FILE", "BERGAMOT__CONTROL__PASSWORD_FILE"),
            ]
        );
    }

    #[test]
    fn the_variable_of_a_key_is_found_in_each_spelling() {
        for name in [
            "BERGAMOT__CONTROL__API_KEY",
            "BERGAMOT__CONTROL__API_KEY_FILE",
            "FILE__BERGAMOT__CONTROL__API_KEY",
        ] {
            let environment: Environment = [(name.into(), "x".into())].into_iter().collect();
            assert_eq!(environment.variable_of("control", "api_key"), Some(name));
            assert_eq!(environment.variable_of("control", "nzb_key"), None);
        }
    }

    #[test]
    fn the_zone_of_the_machine_holds_where_tz_names_none() {
        let machine: Option<Zone> = "Asia/Kolkata".parse().ok();
        let zone = |variables: &[(&str, &str)]| {
            let given = variables.iter().map(|(name, value)| (name.into(), value.into()));
            let environment: Environment = given.collect();
            environment.on_machine_of(machine).time_zone().map(|zone| zone.to_string())
        };
        for unnamed in [&[][..], &[("TZ", "")], &[("TZ", ":/etc/localtime")]] {
            assert_eq!(zone(unnamed).as_deref(), Some("Asia/Kolkata"), "{unnamed:?}");
        }
        assert_eq!(zone(&[("TZ", "Europe/Berlin")]).as_deref(), Some("Europe/Berlin"));
        assert_eq!(zone(&[("TZ", "Europe/Berln")]), None, "UTC, with a warning");
    }

    #[test]
    fn the_zone_of_the_system_is_known_by_its_name() {
        let zone = |value: &str| {
            let given = [("TZ".into(), value.into())];
            given.into_iter().collect::<Environment>().time_zone().map(|zone| zone.to_string())
        };
        assert_eq!(zone("Europe/Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(zone(":Asia/Kolkata").as_deref(), Some("Asia/Kolkata"));
        for odd in ["", "CET-1CEST,M3.5.0,M10.5.0/3", ":/etc/localtime"] {
            assert_eq!(zone(odd), None, "{odd}");
        }
    }
}
