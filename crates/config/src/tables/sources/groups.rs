//! How newsgroups are read.

use bergamot_types::ByteCount;

use crate::reading::fields::Fields;

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

    pub fn settings(&self) -> bergamot_groups::Settings {
        bergamot_groups::Settings {
            first_read: self.headers,
            budget: self.memory,
            ..bergamot_groups::Settings::default()
        }
    }
}
