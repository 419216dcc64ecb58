//! [`Manners`]: how a server behaves when nothing goes wrong.

use std::sync::Arc;
use std::time::Duration;

use bergamot_types::{ByteRate, Secret};

use crate::posts::newsgroups::Newsgroups;

/// The habits of one server; servers differ in all of them.
#[derive(Clone, Debug)]
pub struct Manners {
    pub greeting: String,
    pub capabilities: Capabilities,
    /// Greets as a transit server, which refuses reader commands before `MODE READER` (as innd).
    pub transit: bool,
    /// `STARTTLS` is offered; the shell sets this where it has a certificate for it.
    pub start_tls: bool,
    /// Without a login nothing but `QUIT`, `CAPABILITIES`, `MODE READER` and `STARTTLS` is done.
    pub login: Option<Login>,
    /// The groups there are; none means that any name is one.
    pub groups: Vec<String>,
    /// Articles are refused with 412 until a group is selected.
    pub needs_group: bool,
    /// Groups whose headers can be listed, beside those.
    pub newsgroups: Arc<Newsgroups>,
    /// `OVER` and `HDR` are not known, only the commands before RFC 3977.
    pub only_xover: bool,
    /// `COMPRESS DEFLATE` is offered (RFC 8054).
    pub compress: bool,
    /// What `DATE` says, as no clock is read here.
    pub date: String,
    /// How many connections may be open; the next one is told [`Manners::too_many`] and closed.
    pub connections: Option<u32>,
    pub too_many: String,
    /// Says so to the password instead of greeting with it, as many providers do.
    pub too_many_at_login: bool,
    /// Every answer leaves this long after its command came, without holding up the next.
    pub round_trip: Duration,
    /// How fast one connection sends.
    pub pace: Option<ByteRate>,
    /// Keeps the command lines received, passwords included, for [`Tally::transcript`](crate::Tally::transcript).
    pub transcript: bool,
}

/// Who may read, and how they say so.
#[derive(Clone, Debug)]
pub struct Login {
    pub user: String,
    pub password: Secret,
    /// 281 right behind `AUTHINFO USER`.
    pub user_suffices: bool,
    /// 483 to `AUTHINFO` in plain text (as INN by default).
    pub needs_tls: bool,
}

/// What `CAPABILITIES` answers.
#[derive(Clone, Debug, Default)]
pub enum Capabilities {
    /// These lines, true or not.
    Claimed(Vec<String>),
    #[default]
    Honest,
    /// 500, as nzbget's test server.
    Unknown,
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            greeting: "200 newsd ready".into(),
            capabilities: Capabilities::Honest,
            transit: false,
            start_tls: false,
            login: None,
            groups: Vec::new(),
            needs_group: false,
            newsgroups: Arc::default(),
            only_xover: false,
            compress: false,
            date: "20260101000000".into(),
            connections: None,
            too_many: "502 Too many connections".into(),
            too_many_at_login: false,
            round_trip: Duration::ZERO,
            pace: None,
            transcript: false,
        }
    }
}

impl Login {
    pub fn new(user: impl Into<String>, password: impl Into<Box<str>>) -> Self {
        Self {
            user: user.into(),
            password: Secret::new(password),
            user_suffices: false,
            needs_tls: false,
        }
    }
}
