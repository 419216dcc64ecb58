//! [`Settings`]: login, encryption and limits of one connection.

use std::time::Duration;

use bergamot_types::ByteCount;

use crate::login::Login;

#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub login: Option<Login>,
    /// Upgrade the plain connection by STARTTLS before anything else is said.
    pub start_tls: bool,
    /// Compress both directions where the server offers it (RFC 8054). It costs two round trips
    /// before the first request, and pays where many headers are read.
    pub compress: bool,
    pub limits: Limits,
}

/// How long a server may take. The net counts the time to connect and to shake hands.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From a command, or the end of the answer before it, to the first byte of its answer.
    pub first_byte: Duration,
    /// Between two bytes of a body, and for the whole of any other answer once it has begun.
    pub silence: Duration,
    pub floor: ProgressFloor,
    /// The most that is read of one list.
    pub listing: ByteCount,
}

/// A body must bring `bytes` in every `window`: a server that sends a byte now and then would
/// otherwise hold a connection for ever.
#[derive(Clone, Copy, Debug)]
pub struct ProgressFloor {
    pub bytes: u64,
    pub window: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(30),
            silence: Duration::from_secs(30),
            floor: ProgressFloor { bytes: 30 << 10, window: Duration::from_secs(30) },
            listing: LONGEST_LISTING,
        }
    }
}

/// Twice the list of all groups that the largest providers have.
const LONGEST_LISTING: ByteCount = ByteCount(64 << 20);
