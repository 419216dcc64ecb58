//! The sample file and the page of the documentation, both written from the catalogue.

use bergamot_net::cipher_names;

use crate::catalogue::{Fallback, Key, TABLES, Table};

/// A file with every key and its default. What has no default, and what may be there many times, is
/// commented out: a `#` without a blank after it begins such a line.
pub fn sample() -> String {
    let mut text = SAMPLE_HEAD.to_owned();
    for table in TABLES {
        let mark = if table.repeated { "#" } else { "" };
        text += &format!("\n{}{mark}{}\n", comment(table.about), table.header());
        for key in table.keys {
            text += &comment(key.about);
            text += &format!("{}\n", sample_line(table, key));
        }
    }
    text
}

/// A key that differs from its default: table, key and value, as in TOML.
pub type Setting = (&'static str, &'static str, String);

/// The file of a first start: these settings, and every other key commented out. So keys that are not set
/// follow the defaults of the running version, also after an update.
pub fn first_file(settings: &[Setting]) -> String {
    let mut text = FIRST_HEAD.to_owned();
    for table in TABLES {
        let mark = if table.repeated { "#" } else { "" };
        text += &format!("\n{}{mark}{}\n", comment(table.about), table.header());
        for key in table.keys {
            let is_it = |setting: &&Setting| (setting.0, setting.1) == (table.name, key.name);
            text += &comment(key.about);
            text += &match settings.iter().find(is_it) {
                Some((_, name, value)) => format!("{name} = {value}\n"),
                None => format!("#{}\n", sample_line(table, key).trim_start_matches('#')),
            };
        }
    }
    text
}

fn sample_line(table: &Table, key: &Key) -> String {
    let (mark, value) = match key.default {
        Fallback::Is(value) if !table.repeated => ("", value),
        Fallback::Is(value) => ("#", value),
        Fallback::Required { example } | Fallback::Described { example, .. } => ("#", example),
    };
    format!("{mark}{} = {value}", key.name)
}

/// Wrapped to the width of the code.
fn comment(about: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in about.split(' ') {
        let line = lines.last_mut().expect("it begins with one line");
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("# {word}"));
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

const WIDTH: usize = 100;

const SAMPLE_HEAD: &str = "\
# The configuration of bergamot, with every key and its default.
#
# Lines that begin with # and no space are examples: remove the # to use them. Times and sizes
# have a unit, like \"30 s\", \"5 min\", \"40 MiB\" or \"1.5 GB\". To check this file:
# bergamot config check FILE
";

const FIRST_HEAD: &str = "\
# The configuration of bergamot, with every key and its meaning.
#
# Lines that begin with # and no space show the default, or an example: remove the #
# to change it. Times and sizes have a unit, like \"30 s\", \"5 min\", \"40 MiB\" or \"1.5 GB\".
# A running daemon applies most changes after: bergamot reload
";

/// The text of `docs/config.md`; `BERGAMOT_BLESS=1 cargo test -p bergamot` writes it there.
pub fn reference() -> String {
    let names: Vec<_> = cipher_names().iter().map(|name| format!("- `{name}`\n")).collect();
    let mut text = PAGE_HEAD.to_owned();
    for table in TABLES {
        text += &format!("\n## `{}`\n\n{}\n\n", table.header(), table.about);
        text += "| key | value | default | meaning |\n|---|---|---|---|\n";
        for key in table.keys {
            let (kind, about) = (cell(&key.kind.words()), cell(key.about));
            text += &format!("| `{}` | {kind} | {} | {about} |\n", key.name, default(key));
        }
    }
    text += "\n## Cipher suites\n\nThe names that `cipher` takes:\n\n";
    text + &names.concat()
}

fn default(key: &Key) -> String {
    match key.default {
        Fallback::Is(value) => format!("`{value}`"),
        Fallback::Required { .. } => "required".to_owned(),
        Fallback::Described { words, .. } => cell(words),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

const PAGE_HEAD: &str = "\
# Configuration

bergamot reads one file in [TOML](https://toml.io). `config/bergamot.toml` is a sample with every
key and its default; a file need only hold what differs, and at least one server:

```toml
[[server]]
name = \"example\"
host = \"news.example.com\"
username = \"ann\"
password_file = \"example.password\"
connections = 20
```

`bergamot config check FILE` shows the values that bergamot reads from a file, or every error in it. A key
that is unknown, misspelt or has a value of the wrong type is an error and is never ignored; all errors are
reported together, each with its line, its column and what was expected there:

```
config.invalid: 1 problem in /etc/bergamot/bergamot.toml
line 6, column 15: server.connections: expected a whole number from 1 to 500, found 0
```

bergamot connects only to the hosts that are configured here, and to those of the URLs it is given.

## Times, sizes and paths

- A time is a number and its unit: `ms`, `s`, `min`, `h` or `d`, as in `\"90 s\"` or `\"1.5 h\"`.
- A size is a number and its unit: `B`, `KB`, `MB`, `GB`, `TB` count in thousands; `KiB`, `MiB`,
  `GiB`, `TiB` in 1024s. Case does not matter.
- A number without its unit is an error, because it would be ambiguous. Only keys that count days take both:
  `3000` and `\"3000 days\"` are the same.
- A time of day is local time in `download.time_zone`. If the change to summer time skips it, it is the first
  minute after the gap; if the change back repeats it, it is the first of the two.
- A relative path starts at the directory of the configuration file, whatever directory bergamot was started
  in. `~` is not expanded.
- The watch folder must not be inside the complete or incomplete directory, and they must not be inside it:
  NZB files among the downloads would be queued as new jobs.

## The environment

Every key can be set by an environment variable, which overrides the file:

| variable | sets |
|---|---|
| `BERGAMOT__DOWNLOAD__RATE` | `rate` in `[download]`: the table and the key in capitals, two underscores before each |
| `BERGAMOT__SERVER__MAIN__HOST` | `host` of the `[[server]]` named `main`; if there is none, it is added |
| `BERGAMOT__SERVER__2__HOST` | `host` of the second `[[server]]` of the file; a number beyond the last adds one |
| `BERGAMOT__CONTROL__PASSWORD_FILE` | `password` in `[control]`, to the content of that file; the same holds for every secret |
| `FILE__BERGAMOT__CONTROL__PASSWORD` | the same, in the form that the images of linuxserver.io use |

Values are written as in the file, without quotes; a flag may also be `yes`, `no`, `1` or `0`, and the items
of a list are separated by commas. Names are in capitals, with `_` for every character other than A to Z and 0
to 9. An empty variable counts as not set. A variable that begins with `BERGAMOT__` and matches no key is an
error, which suggests the nearest name. `bergamot config check` lists the variables that are used.

## Secrets

The password of a server is taken from the first of these that is set:

1. the environment variable `BERGAMOT_SERVER_<NAME>_PASSWORD`,
2. the file named by the environment variable `BERGAMOT_SERVER_<NAME>_PASSWORD_FILE`,
3. `BERGAMOT__SERVER__<NAME>__PASSWORD` and the like, as above,
4. `password` or `password_file` in the server's table; both at once is an error.

`BERGAMOT_SERVER_<NAME>_USERNAME` overrides `username` in the same way. `<NAME>` is the server's `name` in
capitals, with `_` for every character other than A to Z and 0 to 9: the server `news-2` has
`BERGAMOT_SERVER_NEWS_2_PASSWORD`. An empty variable counts as not set. A variable that matches no server
causes a warning.

A password file holds the password and nothing else; line ends after it are removed, spaces are not. User
names and passwords may be in any script and are sent as UTF-8; they cannot contain a line end or a NUL, and
have at most 1024 bytes. Neither of them appears in an error or a report, and no password appears in the log.
";

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::reading::kind::Kind;
    use crate::{Config, Environment};

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn the_files_are_those_the_catalogue_writes() {
        for (name, text) in [("config/bergamot.toml", sample()), ("docs/config.md", reference())] {
            let path = root().join(name);
            if std::env::var_os("BERGAMOT_BLESS").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            let there = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(there == text, "{name} is out of date; write it with BERGAMOT_BLESS=1");
        }
    }

    /// What it means; how it is written does not matter here.
    fn parse(text: &str, base: &Path) -> Config {
        let config = Config::parse(text.as_bytes(), base, &Environment::default());
        let config = config.unwrap_or_else(|problems| panic!("{problems:#?}"));
        Config { listed: Vec::new(), ..config }
    }

    #[test]
    fn the_sample_says_what_holds_without_it() {
        let base = Path::new("/srv");
        assert_eq!(parse(&sample(), base), parse("", base));
    }

    /// The sample with its examples in use, but without the lines that start like one of `except`.
    fn in_use(except: &[&str]) -> String {
        let lines = sample();
        let lines = lines.lines().map(|line| match line.strip_prefix('#') {
            Some(example) if !example.is_empty() && !example.starts_with(' ') => example,
            _ => line,
        });
        let kept = lines.filter(|line| !except.iter().any(|start| line.starts_with(start)));
        kept.map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn every_example_can_be_used() {
        let directory = tempfile::tempdir().unwrap();
        let certificate = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
        std::fs::write(directory.path().join("example-ca.pem"), certificate.cert.pem()).unwrap();
        std::fs::write(directory.path().join("example.password"), "hunter2\n").unwrap();
        std::fs::write(directory.path().join("control.password"), "hunter2\n").unwrap();
        std::fs::write(directory.path().join("control.api_key"), "hunter2\n").unwrap();
        std::fs::write(directory.path().join("indexer.key"), "hunter2\n").unwrap();
        for except in [["password = ", "api_key = "], ["password_file = ", "api_key_file = "]] {
            let config = parse(&in_use(&except), directory.path());
            assert_eq!((config.servers.len(), config.categories.len()), (1, 1));
            assert!(config.servers[0].login.is_some() && config.log.file.is_some());
            assert_eq!(config.warnings, []);
        }
    }

    #[test]
    fn the_defaults_of_a_server_are_those_of_the_sample() {
        let base = Path::new("/srv");
        let unset = [
            "username = ",
            "password",
            "socket",
            "restricted_",
            "add_",
            "ca_file",
            "account",
            "file = ",
            "time_zone",
            "quota_reset_day",
            "reserve = ",
            "umask",
            "file_mode",
            "directory_mode",
            "api_key",
            "nzb_key",
            "rules",
            "category = ",
            "priority = 50",
            "interval = \"1 h\"",
            "output = ",
        ];
        let full = parse(&in_use(&unset), base);
        let brief = "[[server]]\nname = \"example\"\nhost = \"news.example.com\"\n\
                     [[category]]\nname = \"tv\"\n\
                     [[schedule]]\nfrom = \"08:00\"\nto = \"22:30\"\nrate = \"2 MB\"\n\
                     [[feed]]\nname = \"indexer\"\nurl = \"https://indexer.example/api?t=search\"";
        assert_eq!(full, parse(brief, base));
    }

    #[test]
    fn every_key_of_the_catalogue_is_read() {
        for table in TABLES {
            for key in table.keys {
                let text = format!("{}\n{} = {{}}\n", table.header(), key.name);
                let problems =
                    Config::parse(text.as_bytes(), Path::new("/srv"), &Environment::default())
                        .unwrap_err();
                let told = format!(
                    "line 2, column {}: {}.{}: expected {}, found a table",
                    key.name.len() + 4,
                    table.name,
                    key.name,
                    key.kind.words()
                );
                assert!(
                    problems.iter().any(|problem| problem.to_string() == told),
                    "{problems:#?}"
                );
            }
        }
    }

    #[test]
    fn every_word_of_a_choice_is_understood() {
        for table in TABLES {
            for key in table.keys {
                let Kind::Choice(words) = key.kind else { continue };
                for word in words {
                    let needed = if table.repeated { "name = \"a\"\nhost = \"b\"\n" } else { "" };
                    let text = format!("{}\n{needed}{} = \"{word}\"\n", table.header(), key.name);
                    parse(&text, Path::new("/srv"));
                }
            }
        }
    }
}
