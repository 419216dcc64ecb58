//! Why connections end.

/// Why a connection ended, as far as it decides what happens next.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Trouble {
    /// The account is used from elsewhere.
    AccountShared,
    /// It was working and broke: reset, silence, nonsense.
    Broken,
    Certificate,
    /// In good order, by either side, with nothing to do.
    Closed,
    Login,
    OutOfCredit,
    /// It went away between two answers, or what came was not the answer that was due: perhaps the
    /// fault of the answer before.
    OutOfStep,
    /// Refused in words we do not understand.
    Refused,
    TooManyConnections,
    /// No connection came to be.
    Unreachable,
}

impl Trouble {
    /// As long as it lasts, the server counts as having answered for every article: nothing waits
    /// for a wrong password.
    pub(crate) fn excuses(self) -> bool {
        matches!(self, Self::AccountShared | Self::Certificate | Self::Login | Self::OutOfCredit)
    }
}
