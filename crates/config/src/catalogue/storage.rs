//! `[storage]`

use super::{Fallback, Key, Kind, Table};

pub(crate) static STORAGE: Table = Table {
    name: "storage",
    repeated: false,
    about: "Room on the volumes, and the modes of what is made there.",
    keys: &[
        Key {
            name: "reserve",
            kind: Kind::Size { least: 0, most: 1 << 50 },
            default: Fallback::Told {
                words: "a fiftieth of the volume, at most 1 GiB",
                example: "\"5 GiB\"",
            },
            about: "What is kept free on each volume that jobs are written to. A job that does not fit \
                    beside that waits, and the next that fits runs.",
        },
        Key {
            name: "umask",
            kind: Kind::Text("permissions in octal, like \"022\""),
            default: Fallback::Told { words: "that of the process", example: "\"002\"" },
            about: "The permissions that new files and directories do not get.",
        },
        Key {
            name: "file_mode",
            kind: Kind::Text("permissions in octal, like \"0644\""),
            default: Fallback::Told { words: "what the umask leaves of 0666", example: "\"0664\"" },
            about: "The permissions of downloaded files, whatever the umask. Where a share refuses to \
                    set them, that is told once.",
        },
        Key {
            name: "directory_mode",
            kind: Kind::Text("permissions in octal, like \"0755\""),
            default: Fallback::Told { words: "what the umask leaves of 0777", example: "\"0775\"" },
            about: "The same for their directories.",
        },
    ],
};
