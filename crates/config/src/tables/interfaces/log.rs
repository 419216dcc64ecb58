//! `[log]`: [`Log`], level, file and rotation of the log.

use std::path::{Path, PathBuf};

use bergamot_types::{ByteCount, Shown};
use tracing_subscriber::EnvFilter;

use crate::catalogue::{Fallback, Key, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static LOG: Table = Table {
    name: "log",
    repeated: false,
    about: "The log.",
    keys: &[
        Key {
            name: "level",
            kind: Kind::Text(
                "\"off\", \"error\", \"warn\", \"info\", \"debug\" or \"trace\", or a list such \
                 as \"info,bergamot_net=debug\"",
            ),
            default: Fallback::Is("\"info\""),
            about: "The log level, for everything or for each module.",
        },
        Key {
            name: "file",
            kind: Kind::Path("a path"),
            default: Fallback::Described { words: "standard error", example: "\"bergamot.log\"" },
            about: "The file for the log; a relative path starts at the directory of the configuration \
                    file.",
        },
        Key {
            name: "rotate_at",
            kind: Kind::Size { least: 64 << 10, most: 64 << 30 },
            default: Fallback::Is("\"10 MiB\""),
            about: "A log file of this size is rotated.",
        },
        Key {
            name: "keep",
            kind: Kind::Number { least: 0, most: 1000 },
            default: Fallback::Is("5"),
            about: "How many rotated log files are kept.",
        },
    ],
};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Log {
    /// A filter that `tracing_subscriber` understands.
    pub level: String,
    /// Standard error if there is none.
    pub file: Option<PathBuf>,
    pub rotate_at: ByteCount,
    /// Files beside the one being written.
    pub keep: u32,
}

impl Log {
    pub(crate) fn read(mut fields: Fields<'_, '_>, base: &Path) -> Self {
        let level = fields.text("level").unwrap_or_default();
        if !is_filter(&level) {
            fields.unfit("level", format!("found \"{}\"", Shown(&level)));
        }
        Self {
            level,
            file: fields.path("file", base),
            rotate_at: fields.size("rotate_at"),
            keep: fields.number("keep"),
        }
    }
}

/// The filter reads a single word that is no level as the name of a module, and then logs nothing else; here
/// such a word is an error.
fn is_filter(text: &str) -> bool {
    let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    let is_known = |part: &str| part.contains(['=', '[']) || is_level(part.trim());
    text.split(',').all(is_known) && EnvFilter::builder().parse(text).is_ok()
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{config, problems};

    #[test]
    fn a_lone_word_has_to_be_a_level() {
        for text in ["info", "WARN", "info,bergamot_net=debug", "off,bergamot[job]=trace"] {
            assert!(is_filter(text), "{text:?}");
        }
        for text in ["", "inof", "info,", "bergamot_net", "info,x=loud"] {
            assert!(!is_filter(text), "{text:?}");
        }
    }

    #[test]
    fn a_level_that_is_none_tells_the_known_ones() {
        assert_eq!(
            problems("[log]\nlevel = \"inof\""),
            ["line 2, column 9: log.level: expected \"off\", \"error\", \"warn\", \"info\", \
              \"debug\" or \"trace\", or a list such as \"info,bergamot_net=debug\", but found \
              \"inof\""]
        );
    }

    #[test]
    fn without_a_file_there_is_none() {
        assert_eq!(config("").log.file, None);
        let log = config("[log]\nfile = \"b.log\"").log;
        assert_eq!(log.file.as_deref(), Some(Path::new("/srv/b.log")));
        assert_eq!(
            problems("[log]\nfile = \"\""),
            ["line 2, column 8: log.file: expected a path, but it is empty"]
        );
    }
}
