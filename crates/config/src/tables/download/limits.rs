//! How long a server may take.

use std::time::Duration;

use bergamot_net::ConnectLimits;
use bergamot_nntp::ProgressFloor;
use bergamot_types::ByteCount;

use crate::reading::fields::Fields;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    pub connect: Duration,
    pub handshake: Duration,
    pub first_byte: Duration,
    pub silence: Duration,
    pub slowest_bytes: ByteCount,
    pub slowest_window: Duration,
}

impl Limits {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        Self {
            connect: fields.time("connect"),
            handshake: fields.time("handshake"),
            first_byte: fields.time("first_byte"),
            silence: fields.time("silence"),
            slowest_bytes: fields.size("slowest_bytes"),
            slowest_window: fields.time("slowest_window"),
        }
    }

    pub(crate) fn connecting(&self) -> ConnectLimits {
        ConnectLimits { connect: self.connect, handshake: self.handshake }
    }

    pub(crate) fn conversing(&self) -> bergamot_nntp::Limits {
        bergamot_nntp::Limits {
            first_byte: self.first_byte,
            silence: self.silence,
            floor: ProgressFloor { bytes: self.slowest_bytes.0, window: self.slowest_window },
            ..bergamot_nntp::Limits::default()
        }
    }
}
