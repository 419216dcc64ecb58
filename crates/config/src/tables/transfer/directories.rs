//! `[directories]`: [`Directories`], the four directories of the daemon.

use std::path::{Component, Path, PathBuf};

use crate::catalogue::{Fallback, Key, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static DIRECTORIES: Table = Table {
    name: "directories",
    repeated: false,
    about: "The directories. A relative path starts at the directory of the configuration file.",
    keys: &[
        Key {
            name: "watch",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"watch\""),
            about: "NZB files put here are downloaded; the name of a subfolder is the category.",
        },
        Key {
            name: "incomplete",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"incomplete\""),
            about: "Downloads that are under way, and those that failed.",
        },
        Key {
            name: "complete",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"complete\""),
            about: "Finished downloads, each in a directory of its own.",
        },
        Key {
            name: "state",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"state\""),
            about: "The queue, the finished files of each job and the use of quotas, all kept across \
                    restarts.",
        },
    ],
};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Directories {
    pub watch: PathBuf,
    pub incomplete: PathBuf,
    pub complete: PathBuf,
    pub state: PathBuf,
}

impl Directories {
    pub(crate) fn read(mut fields: Fields<'_, '_>, base: &Path) -> Self {
        let mut path = |name| fields.path(name, base).unwrap_or_else(|| base.join(name));
        let read = Self {
            watch: path("watch"),
            incomplete: path("incomplete"),
            complete: path("complete"),
            state: path("state"),
        };
        read.keep_apart(&mut fields);
        read
    }

    /// Downloads must not be inside the watch folder, where NZB files among them would be queued; and the
    /// four directories must differ.
    fn keep_apart(&self, fields: &mut Fields<'_, '_>) {
        let named = [
            ("watch", &self.watch),
            ("incomplete", &self.incomplete),
            ("complete", &self.complete),
            ("state", &self.state),
        ];
        for (index, (name, path)) in named.iter().enumerate() {
            for (other, other_path) in &named[..index] {
                if plain(path) == plain(other_path) {
                    fields.unfit(name, format!("directories.{other} is the same"));
                } else if *other == "watch" && is_inside(path, other_path) {
                    fields.unfit(name, "it is inside directories.watch");
                } else if *other == "watch" && *name != "state" && is_inside(other_path, path) {
                    fields.unfit("watch", format!("it is inside directories.{name}"));
                }
            }
        }
    }
}

pub(crate) fn is_inside(path: &Path, other: &Path) -> bool {
    plain(path) != plain(other) && plain(path).starts_with(plain(other))
}

/// Without `.` and `..`, as far as that can be told without looking at the disk.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{config, problems};

    #[test]
    fn directories_are_kept_apart() {
        for (lines, told) in [
            (
                "watch = 'a'\nincomplete = 'a/./'",
                "line 3, column 14: directories.incomplete: expected a path, but directories.watch \
                 is the same",
            ),
            (
                "complete = 'a'\nincomplete = '/srv/b/../a'",
                "line 2, column 12: directories.complete: expected a path, but \
                 directories.incomplete is the same",
            ),
            (
                "watch = 'a/b'\ncomplete = 'a'",
                "line 2, column 9: directories.watch: expected a path, but it is inside \
                 directories.complete",
            ),
            (
                "watch = 'incomplete/b'",
                "line 2, column 9: directories.watch: expected a path, but it is inside \
                 directories.incomplete",
            ),
            (
                "complete = 'watch/done'",
                "line 2, column 12: directories.complete: expected a path, but it is inside \
                 directories.watch",
            ),
            (
                "state = 'complete'",
                "line 2, column 9: directories.state: expected a path, but directories.complete is \
                 the same",
            ),
        ] {
            assert_eq!(problems(&format!("[directories]\n{lines}")), [told]);
        }
        config("[directories]\nincomplete = 'complete/incomplete'\nwatch = 'state/watch'");
        config("[directories]\nwatch = 'complete-watch'");
    }

    #[test]
    fn a_path_has_to_be_one() {
        assert_eq!(
            problems("[directories]\nwatch = '~/nzb'\ncomplete = ''\nstate = \"a\\u0000\""),
            [
                "line 2, column 9: directories.watch: expected a path, but ~ is not understood \
                 here; write the path in full",
                "line 3, column 12: directories.complete: expected a path, but it is empty",
                "line 4, column 9: directories.state: expected a path, but it holds a NUL",
            ]
        );
    }

    #[test]
    fn dots_are_taken_out_to_compare() {
        assert_eq!(plain(Path::new("/a/./b/../c/")), Path::new("/a/c"));
        assert_eq!(plain(Path::new("/../a")), Path::new("/a"));
    }
}
