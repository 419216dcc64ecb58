//! `[limits]`: [`Limits`], the timeouts of connections to servers.

use std::time::Duration;

use bergamot_net::ConnectLimits;
use bergamot_nntp::ProgressFloor;
use bergamot_types::ByteCount;

use crate::catalogue::{Fallback, HOUR, Key, SECOND, TEN_MINUTES, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static LIMITS: Table = Table {
    name: "limits",
    repeated: false,
    about: "Timeouts of connections to servers.",
    keys: &[
        Key {
            name: "connect",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"15 s\""),
            about: "For the DNS lookup and the TCP connection.",
        },
        Key {
            name: "handshake",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"15 s\""),
            about: "For the TLS handshake.",
        },
        Key {
            name: "first_byte",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"30 s\""),
            about: "For the first byte of an answer.",
        },
        Key {
            name: "silence",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"30 s\""),
            about: "Between two bytes of an article, and for the whole of any other answer.",
        },
        Key {
            name: "slowest_bytes",
            kind: Kind::Size { least: 0, most: 1 << 30 },
            default: Fallback::Is("\"30 KiB\""),
            about: "The least that an article must bring in every slowest_window before its connection is \
                    closed; \"0 B\" is no minimum.",
        },
        Key {
            name: "slowest_window",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"30 s\""),
            about: "The time in which slowest_bytes must arrive.",
        },
    ],
};

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
