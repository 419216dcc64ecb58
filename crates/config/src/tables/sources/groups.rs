//! `[groups]`: [`Groups`], how newsgroups are read.

use bergamot_types::ByteCount;

use crate::catalogue::{Fallback, Key, MIB, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static GROUPS: Table = Table {
    name: "groups",
    repeated: false,
    about: "How newsgroups are read. A group is read only when a client requests it.",
    keys: &[
        Key {
            name: "headers",
            kind: Kind::Number { least: 100, most: 100_000 },
            default: Fallback::Is("5000"),
            about: "How many of its newest headers are read when a group is first requested.",
        },
        Key {
            name: "memory",
            kind: Kind::Size { least: MIB, most: 4 << 30 },
            default: Fallback::Is("\"16 MiB\""),
            about: "The memory for the headers of all groups; the least recently used group is dropped \
                    first.",
        },
        Key {
            name: "compress",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Read headers compressed from servers that offer it.",
        },
        Key {
            name: "reserved_connections",
            kind: Kind::Number { least: 0, most: 10 },
            default: Fallback::Is("0"),
            about: "Connections of each server that are reserved for headers. If it is 0, headers wait until \
                    no download needs a connection.",
        },
    ],
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Groups {
    pub headers: u64,
    pub memory: ByteCount,
    pub compress: bool,
    pub reserved_connections: usize,
}

impl Groups {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        Self {
            headers: fields.number("headers"),
            memory: fields.size("memory"),
            compress: fields.flag("compress"),
            reserved_connections: fields.number("reserved_connections"),
        }
    }

    pub fn settings(&self) -> bergamot_newsgroups::Settings {
        bergamot_newsgroups::Settings {
            first_read: self.headers,
            budget: self.memory,
            ..bergamot_newsgroups::Settings::default()
        }
    }
}
