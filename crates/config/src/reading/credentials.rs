//! [`Credentials`]: the user name and password of a server, from the environment, the file or a password
//! file.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use bergamot_nntp::Login;
use bergamot_types::Secret;
use thiserror::Error;

use crate::reading::environment::{Environment, Variables};
use crate::reading::fields::Fields;
use crate::reading::file;

/// What was found; a broken source is reported and counts as nothing.
#[derive(Debug)]
pub(crate) struct Credentials {
    username: Option<Sourced>,
    password: Option<Sourced>,
    is_broken: bool,
}

#[derive(Debug)]
struct Sourced {
    text: Secret,
    source: Source,
}

/// Where a problem is reported.
#[derive(Clone, Debug)]
enum Source {
    Key(&'static str),
    /// With the key that it stands in for.
    Variable(String, &'static str),
}

impl Credentials {
    /// Variables come before the file, and an empty text is none.
    pub(crate) fn read(
        fields: &mut Fields<'_, '_>,
        variables: &Variables,
        environment: &Environment,
        base: &Path,
    ) -> Self {
        let mut reader = Reader { fields, environment, is_broken: false };
        let written = reader.key("username");
        let username = reader.variable(&variables.username, "username").or(written);
        let written = reader.written_password(base);
        let given = reader.variable_password(variables, base);
        let password = given.or(written).and_then(|place| reader.password(place));
        Self { username, password, is_broken: reader.is_broken }
    }

    pub(crate) fn lack_password(&self) -> bool {
        self.username.is_some() && self.password.is_none() && !self.is_broken
    }

    pub(crate) fn into_login(self, fields: &mut Fields<'_, '_>) -> Option<Login> {
        let Some(username) = self.username else {
            if self.password.is_some() && !self.is_broken {
                fields.missing("username");
            }
            return None;
        };
        // The name is tried by itself, to know which of the two a refusal is about.
        let name = username.text.reveal();
        if let Err(reason) = Login::new(name, Secret::new("")) {
            report_problem(fields, &username.source, reason);
            return None;
        }
        let Some(password) = self.password else { return Login::new(name, Secret::new("")).ok() };
        let login = Login::new(name, password.text);
        login.map_err(|reason| report_problem(fields, &password.source, reason)).ok()
    }
}

/// Where the password is.
enum Place {
    File(PathBuf, Source),
    Here(Sourced),
}

struct Reader<'r, 'a, 'text> {
    fields: &'r mut Fields<'a, 'text>,
    environment: &'r Environment,
    is_broken: bool,
}

impl Reader<'_, '_, '_> {
    fn written_password(&mut self, base: &Path) -> Option<Place> {
        let password = self.key("password");
        let path = self.fields.path("password_file", base);
        let file = Source::Key("password_file");
        if password.is_some() && path.is_some() {
            self.refuse(&file, "there is also server.password; leave one of them out");
            return None;
        }
        password.map(Place::Here).or_else(|| path.map(|path| Place::File(path, file)))
    }

    fn variable_password(&mut self, variables: &Variables, base: &Path) -> Option<Place> {
        let password = self.variable(&variables.password, "password");
        let path = self.variable(&variables.password_file, "password_file");
        if let (Some(_), Some(path)) = (&password, &path) {
            let reason = format!("there is also {}; leave one of them out", variables.password);
            self.refuse(&path.source, reason);
            return None;
        }
        let file = path.map(|path| Place::File(base.join(path.text.reveal()), path.source));
        password.map(Place::Here).or(file)
    }

    fn key(&mut self, name: &'static str) -> Option<Sourced> {
        let text = self.fields.text(name).filter(|text| !text.is_empty())?;
        Some(Sourced { text: Secret::new(text), source: Source::Key(name) })
    }

    fn variable(&mut self, name: &str, key: &'static str) -> Option<Sourced> {
        let value = self.environment.value(name)?;
        let source = Source::Variable(name.to_owned(), key);
        if value.is_none() {
            self.refuse(&source, "it is not UTF-8");
        }
        value.clone().map(|text| Sourced { text, source })
    }

    fn password(&mut self, place: Place) -> Option<Sourced> {
        let (path, source) = match place {
            Place::File(path, source) => (path, source),
            Place::Here(password) => return Some(password),
        };
        match read_password(&path) {
            Ok(text) => Some(Sourced { text, source }),
            Err(reason) => {
                self.refuse(&source, format!("{} {reason}", path.display()));
                None
            }
        }
    }

    fn refuse(&mut self, source: &Source, reason: impl Display) {
        self.is_broken = true;
        report_problem(self.fields, source, reason);
    }
}

/// Why a file holds no password; a predicate for the path before it.
#[derive(Debug, Error)]
pub(crate) enum PasswordFileError {
    #[error("is empty")]
    Empty,
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is not UTF-8")]
    NotUtf8,
}

/// The line end that editors add is no part of the password.
pub(crate) fn read_password(path: &Path) -> Result<Secret, PasswordFileError> {
    let bytes = file::read(path, LARGEST_PASSWORD_FILE)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| PasswordFileError::NotUtf8)?;
    let password = file::without_mark(text).trim_end_matches(['\r', '\n']);
    match password.is_empty() {
        true => Err(PasswordFileError::Empty),
        false => Ok(Secret::new(password)),
    }
}

fn report_problem(fields: &mut Fields<'_, '_>, source: &Source, reason: impl Display) {
    match source {
        Source::Key(name) => fields.unfit(name, reason),
        Source::Variable(variable, name) => fields.unfit_variable(variable, name, reason),
    }
}

/// A password may have 1024 bytes; a mark and line ends come on top.
const LARGEST_PASSWORD_FILE: u64 = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::environment::Environment;
    use crate::trial::{config, environment, problems, read_with, server};
    use crate::{Config, Warning};

    fn login(config: &Config) -> Option<&Login> {
        config.servers[0].login.as_ref()
    }

    fn expect(name: &str, password: &str) -> Option<Login> {
        Some(Login::new(name, Secret::new(password)).unwrap())
    }

    #[test]
    fn any_script_and_blanks_are_fine() {
        for password in ["pässwörd", "пароль", " two blanks ", "漢字", "a'b", "#"] {
            let config = config(&server(&format!("username = \"ann\"\npassword = \"{password}\"")));
            assert_eq!(login(&config), expect("ann", password).as_ref());
        }
    }

    #[test]
    fn what_would_end_the_line_is_refused_and_not_repeated() {
        for broken in ["hunter\\r2", "hunter\\n2", "hunter\\u00002"] {
            let lines = format!("username = \"ann\"\npassword = \"{broken}\"");
            assert_eq!(
                problems(&server(&lines)),
                ["line 5, column 12: server.password: expected a text in one line, at most 1024 \
                  bytes long, but the password holds a line end or a NUL"]
            );
            assert_eq!(
                problems(&server(&format!("username = \"{broken}\""))),
                ["line 4, column 12: server.username: expected a text in one line, at most 1024 \
                  bytes long, but the user name holds a line end or a NUL"]
            );
        }
        let long = format!("username = \"ann\"\npassword = \"{}\"", "hunter2".repeat(200));
        assert_eq!(
            problems(&server(&long)),
            [
                "line 5, column 12: server.password: expected a text in one line, at most 1024 bytes \
              long, but the password has more than 1024 bytes"
            ]
        );
    }

    #[test]
    fn a_password_of_the_wrong_type_is_not_repeated() {
        for (value, found) in [
            ("12345", "a value without quotes"),
            ("12.345", "a value without quotes"),
            ("true", "a value without quotes"),
            ("[\"12345\"]", "a list"),
            ("{ a = \"12345\" }", "a table"),
        ] {
            assert_eq!(
                problems(&server(&format!("username = \"ann\"\npassword = {value}"))),
                [format!(
                    "line 5, column 12: server.password: expected a text in one line, at most 1024 \
                     bytes long, found {found}"
                )]
            );
        }
        let told = problems(&server("username = \"ann\"\npasword = \"hunter2\""));
        assert!(told[0].starts_with("line 5, column 1: server.pasword: unknown key; expected"));
        assert!(!told.concat().contains("hunter"));
    }

    #[test]
    fn a_password_without_a_name_is_an_error_and_a_name_without_a_password_a_warning() {
        assert_eq!(
            problems(&server("password = \"hunter2\"")),
            ["line 1, column 1: server.username: missing; expected a text in one line, at most \
              1024 bytes long"]
        );
        let config = config(&server("username = \"ann\"\npassword = \"\""));
        assert_eq!(login(&config), expect("ann", "").as_ref());
        assert_eq!(config.warnings, [Warning::NoPassword { server: "a".to_owned() }]);
        let without = crate::trial::config(&server("username = \"\""));
        assert_eq!(login(&without), None);
    }

    #[test]
    fn a_password_file_loses_its_line_end_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let lines = format!("username = \"ann\"\npassword_file = \"{}\"", path.display());
        for (bytes, password) in [
            ("hunter2", "hunter2"),
            (" hunter2 \n", " hunter2 "),
            ("pässwörd\r\n", "pässwörd"),
            ("\u{feff}hunter2\n\n", "hunter2"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(login(&config(&server(&lines))), expect("ann", password).as_ref());
        }
        let told = |reason: &str| {
            let words = "expected the path of a file that holds the password and nothing else";
            [format!("line 5, column 17: server.password_file: {words}, but {reason}")]
        };
        let shown = path.display();
        for (bytes, reason) in [
            (&b"hunter\n2\n"[..], "the password holds a line end or a NUL".to_owned()),
            (b"hunt\xe9r", format!("{shown} is not UTF-8")),
            (b"\n", format!("{shown} is empty")),
            (&[b'x'; 3000], format!("{shown} cannot be read: it has more than 2048 bytes")),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(problems(&server(&lines)), told(&reason));
        }
        std::fs::remove_file(&path).unwrap();
        let reason = format!("{shown} cannot be read: No such file or directory (os error 2)");
        assert_eq!(problems(&server(&lines)), told(&reason));
    }

    #[test]
    fn a_password_is_either_here_or_in_a_file() {
        let lines = "username = \"ann\"\npassword = \"hunter2\"\npassword_file = \"p\"";
        assert_eq!(
            problems(&server(lines)),
            [
                "line 6, column 17: server.password_file: expected the path of a file that holds the \
              password and nothing else, but there is also server.password; leave one of them out"
            ]
        );
    }

    #[test]
    fn variables_come_first() {
        let given = environment(&[
            ("BERGAMOT_SERVER_A_USERNAME", "bob"),
            ("BERGAMOT_SERVER_A_PASSWORD", "hunter3"),
        ]);
        for lines in [
            "",
            "username = \"ann\"\npassword = \"hunter2\"",
            "username = \"ann\"\npassword_file = \"/nowhere\"",
        ] {
            let config = read_with(&server(lines), &given).unwrap();
            assert_eq!(login(&config), expect("bob", "hunter3").as_ref());
            assert_eq!(config.warnings, []);
        }
        let only = environment(&[("BERGAMOT_SERVER_A_PASSWORD", "hunter3")]);
        let config = read_with(&server("username = \"ann\""), &only).unwrap();
        assert_eq!(login(&config), expect("ann", "hunter3").as_ref());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, "hunter4\n").unwrap();
        let file = environment(&[("BERGAMOT_SERVER_A_PASSWORD_FILE", path.to_str().unwrap())]);
        let config = read_with(&server("username = \"ann\"\npassword = \"x\""), &file).unwrap();
        assert_eq!(login(&config), expect("ann", "hunter4").as_ref());
    }

    #[test]
    fn what_is_wrong_with_a_variable_is_told_by_its_name() {
        let told = |variables: &[(&str, &str)], lines| {
            read_with(&server(lines), &environment(variables)).unwrap_err()
        };
        assert_eq!(
            told(&[("BERGAMOT_SERVER_A_PASSWORD", "hunter\n2")], "username = \"ann\""),
            ["environment: BERGAMOT_SERVER_A_PASSWORD: expected a text in one line, at most 1024 \
              bytes long, but the password holds a line end or a NUL"]
        );
        assert_eq!(
            told(
                &[
                    ("BERGAMOT_SERVER_A_PASSWORD", "hunter2"),
                    ("BERGAMOT_SERVER_A_PASSWORD_FILE", "/run/secrets/a"),
                ],
                "username = \"ann\""
            ),
            [
                "environment: BERGAMOT_SERVER_A_PASSWORD_FILE: expected the path of a file that holds \
              the password and nothing else, but there is also BERGAMOT_SERVER_A_PASSWORD; leave \
              one of them out"
            ]
        );
        let two = "[[server]]\nname = \"A\"\nhost = \"b\"\n[[server]]\nname = \"x-1\"\nhost = \
                   \"b\"\n[[server]]\nname = \"X.1\"\nhost = \"b\"\n";
        let both = environment(&[("BERGAMOT_SERVER_X_1_USERNAME", "ann")]);
        assert_eq!(
            read_with(two, &both).unwrap_err(),
            [
                "environment: BERGAMOT_SERVER_X_1_USERNAME: expected a text in one line, at most 1024 \
              bytes long, but both \"x-1\" and \"X.1\" have that variable; rename one"
            ]
        );
        config(two);
    }

    #[test]
    fn a_variable_that_is_no_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt;
        let value = std::ffi::OsString::from_vec(b"hunt\xe9r".to_vec());
        let given: Environment =
            [("BERGAMOT_SERVER_A_PASSWORD".into(), value)].into_iter().collect();
        assert_eq!(
            read_with(&server("username = \"ann\""), &given).unwrap_err(),
            ["environment: BERGAMOT_SERVER_A_PASSWORD: expected a text in one line, at most 1024 \
              bytes long, but it is not UTF-8"]
        );
    }

    #[test]
    fn a_variable_for_no_server_is_warned_of() {
        let given = environment(&[("BERGAMOT_SERVER_B_PASSWORD", "hunter2")]);
        let config = read_with(&server(""), &given).unwrap();
        let name = "BERGAMOT_SERVER_B_PASSWORD".to_owned();
        assert_eq!(config.warnings, [Warning::UnusedVariable { name }]);
    }

    #[test]
    fn no_slip_of_the_pen_shows_a_password() {
        let text = server("username = \"ann\"\npassword = \"hunter2\"\nconnections = 9");
        for at in 0..text.len() {
            let (before, after) = text.split_at(at);
            let slips =
                ["\"", "'", "=", "[", "{", "#", "\\", "\n", "\r", ".", ",", "\0", "\u{feff}"];
            let inserted = slips.map(|slip| format!("{before}{slip}{after}"));
            let others = [format!("{before}{}", &after[1..]), before.to_owned()];
            for slip in inserted.iter().chain(&others) {
                let told = read_with(slip, &Environment::default()).err().unwrap_or_default();
                assert!(!told.concat().contains("hunter"), "{slip:?} {told:?}");
            }
        }
    }
}
