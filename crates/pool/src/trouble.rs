//! [`Trouble`]: why a connection ended, as a class of errors. Pure.

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
    /// A state of the server, not the end of a connection: it can be reached and does not deliver.
    OutOfOrder,
    /// It went away between two answers, or what came was not the answer that was due: perhaps the
    /// fault of the answer before.
    OutOfStep,
    /// Refused with 502 in words we do not understand.
    Refused,
    TooManyConnections,
    /// Greeted with 400 in words we do not understand.
    Unavailable,
    /// No connection came to be.
    Unreachable,
}

impl Trouble {
    /// Articles pass over a server in this state and are asked for elsewhere. It has not answered
    /// for them: what all others lack waits for it.
    pub(crate) fn is_passed_over(self) -> bool {
        self.lasts() || self == Self::OutOfOrder
    }

    /// It may be over at any moment, without anybody doing anything about the settings.
    pub fn may_pass(self) -> bool {
        !self.lasts()
    }

    /// It is likely to last until the settings or the account change.
    pub(crate) fn lasts(self) -> bool {
        matches!(self, Self::AccountShared | Self::Certificate | Self::Login | Self::OutOfCredit)
    }
}
