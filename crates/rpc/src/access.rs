//! Who may do what.

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

/// Somebody who asks, and has proved it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) access: Access,
    /// How people will read of them later: by which way, and under which name.
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
