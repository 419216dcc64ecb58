//! `[storage]`: [`Storage`], free space on the volumes, and the modes of new files and directories.

use std::str::FromStr;

use bergamot_storage::Reserve;
use bergamot_writer::Modes;

use crate::catalogue::{Fallback, Key, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static STORAGE: Table = Table {
    name: "storage",
    repeated: false,
    about: "Free space on the volumes, and the modes of new files and directories.",
    keys: &[
        Key {
            name: "reserve",
            kind: Kind::Size { least: 0, most: 1 << 50 },
            default: Fallback::Described {
                words: "a fiftieth of the volume, at most 1 GiB",
                example: "\"5 GiB\"",
            },
            about: "The space that is kept free on each volume that jobs are written to. A job that does not \
                    fit in the rest waits, and the next one that fits runs.",
        },
        Key {
            name: "umask",
            kind: Kind::Text("permissions in octal, like \"022\""),
            default: Fallback::Described { words: "that of the process", example: "\"002\"" },
            about: "The permission bits that are removed from new files and directories.",
        },
        Key {
            name: "file_mode",
            kind: Kind::Text("permissions in octal, like \"0644\""),
            default: Fallback::Described { words: "0666 without the umask", example: "\"0664\"" },
            about: "The permissions of downloaded files, whatever the umask. If a share refuses to set them, \
                    the log says so once.",
        },
        Key {
            name: "directory_mode",
            kind: Kind::Text("permissions in octal, like \"0755\""),
            default: Fallback::Described { words: "0777 without the umask", example: "\"0775\"" },
            about: "The permissions of their directories, whatever the umask.",
        },
    ],
};

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Storage {
    pub reserve: Reserve,
    pub umask: Option<Mode>,
    /// In place of what the umask leaves.
    pub file_mode: Option<Mode>,
    pub directory_mode: Option<Mode>,
}

/// Permissions of owner, group and others, in octal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mode(pub u32);

impl FromStr for Mode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_octal =
            (3..=4).contains(&text.len()) && text.bytes().all(|b| (b'0'..=b'7').contains(&b));
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
        mode.map(Self).ok_or(())
    }
}

impl Storage {
    pub fn modes(&self) -> Modes {
        let bits = |mode: Option<Mode>| mode.map(|mode| mode.0);
        Modes::new(bits(self.file_mode), bits(self.directory_mode))
    }

    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        let mut storage = Self {
            reserve: fields.size_if_any("reserve").map_or(Reserve::Usual, Reserve::Bytes),
            umask: fields.parsed("umask"),
            file_mode: fields.parsed("file_mode"),
            directory_mode: fields.parsed("directory_mode"),
        };
        // Without these bits the daemon could not enter and write its own directories.
        if storage.file_mode.take_if(|mode| mode.0 & 0o600 != 0o600).is_some() {
            fields.unfit("file_mode", "the owner could not read and write");
        }
        if storage.directory_mode.take_if(|mode| mode.0 & 0o700 != 0o700).is_some() {
            fields.unfit("directory_mode", "the owner could not enter");
        }
        if storage.umask.take_if(|mask| mask.0 & 0o700 != 0).is_some() {
            fields.unfit("umask", "it would shut out the owner");
        }
        storage
    }
}

#[cfg(test)]
mod tests {
    use bergamot_types::ByteCount;

    use super::*;
    use crate::trial::{config, problems};

    #[test]
    fn reserve_and_modes_are_read() {
        assert_eq!(config("").storage, Storage::default());
        let read = config(
            "[storage]\nreserve = '5 GiB'\numask = '002'\nfile_mode = '0664'\ndirectory_mode = '775'",
        );
        assert_eq!(
            read.storage,
            Storage {
                reserve: Reserve::Bytes(ByteCount(5 << 30)),
                umask: Some(Mode(0o002)),
                file_mode: Some(Mode(0o664)),
                directory_mode: Some(Mode(0o775)),
            }
        );
    }

    #[test]
    fn modes_that_would_shut_us_out_are_refused() {
        for (line, told) in [
            ("umask = '8'", "found \"8\""),
            ("umask = '777'", "it would shut out the owner"),
            ("file_mode = '4755'", "found \"4755\""),
            ("file_mode = '0444'", "the owner could not read and write"),
            ("directory_mode = '0666'", "the owner could not enter"),
        ] {
            let found = problems(&format!("[storage]\n{line}"));
            assert!(found.len() == 1 && found[0].contains(told), "{found:?}");
        }
    }
}
