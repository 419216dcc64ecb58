//! [`Access`], the level of a caller, and [`Caller`], an authenticated client; both belong to one request or session.

use serde::Serialize;

/// What a caller may do; each level includes those before it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Hand in NZBs, and nothing else.
    Add,
    /// All but changing the configuration.
    Restricted,
    Control,
}

/// The client of a request, after authentication.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) access: Access,
    /// For the log and for pauses: dialect or address, and the user name.
    pub(crate) name: String,
    /// By credentials or by the kernel; not merely because this machine is trusted.
    pub(crate) is_authenticated: bool,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Restricted => "restricted",
            Self::Control => "control",
        })
    }
}
