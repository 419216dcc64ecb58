//! [`Kind`]: the kinds of fault of the simulator. Pure.

use std::collections::BTreeMap;
use std::fmt;

/// One kind of fault of the model servers, the disk, the clock or the user; or one that the news
/// server of the byte-level days can commit.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    // Answers.
    Corrupt,
    CutBehindAnswer,
    Desync,
    DislikesPipelining,
    Dribble,
    Empty,
    Endless,
    Goodbye,
    LoginForgotten,
    LongStatus,
    Missing,
    MissingOnce,
    NoChecksum,
    Outgrown,
    RefusedAnswer,
    RefusedMidway,
    Reset,
    SiblingSent,
    SizeOff,
    Stall,
    Stranger,
    TooManyMidway,
    TotalOff,
    Truncated,
    WrongSize,
    // Connections.
    AccountCap,
    AccountShared,
    Certificate,
    ConnectionCap,
    GreetingRefused,
    HangsUpBehindLogin,
    IdleClosed,
    LoginRefused,
    NeverGreets,
    OutOfCredit,
    Unreachable,
    // Whole servers.
    ManyServers,
    MassReconnect,
    NeverDelivers,
    OutOfOrder,
    TurnsDead,
    TurnsSlow,
    // The disk.
    DirectoryGone,
    DiskFull,
    DiskSlow,
    FinishFails,
    MoveFails,
    Unsynced,
    WriteFails,
    // The clocks.
    CalendarBack,
    CalendarForth,
    Suspend,
    // The user.
    AllPaused,
    FileDropped,
    FilePaused,
    JobPaused,
    JobPlaced,
    JobRemoved,
    RateChanged,
    Reloaded,
    Restarted,
    // What is lost.
    BeyondRepair,
    VolumesNeeded,
    // The calendar.
    BlockUsedUp,
    QuotaReached,
    ScheduledPause,
    ScheduledRate,
    // The bytes of a real conversation.
    CapabilityLies,
    Wire(bergamot_newsd::Fault),
}

/// How often each fault was delivered.
pub type Fired = BTreeMap<Kind, u64>;

impl Kind {
    /// Whether it is charged to the article it meets, so that it may be given up for it: a day that
    /// must end well has a server without such faults.
    pub(crate) fn is_charged(self) -> bool {
        use bergamot_newsd::Fault;
        if let Self::Wire(fault) = self {
            let harmless = [Fault::BareFeeds, Fault::CutAfterBody, Fault::HeadersInBody];
            return fault.stage() == bergamot_newsd::Stage::Article && !harmless.contains(&fault);
        }
        matches!(
            self,
            Self::Corrupt
                | Self::Desync
                | Self::Dribble
                | Self::Empty
                | Self::Endless
                | Self::Goodbye
                | Self::HangsUpBehindLogin
                | Self::LoginForgotten
                | Self::LongStatus
                | Self::Missing
                | Self::MissingOnce
                | Self::RefusedAnswer
                | Self::Reset
                | Self::Stall
                | Self::Stranger
                | Self::Truncated
                | Self::TurnsDead
                | Self::WrongSize
        )
    }

    /// All that may strike a day of model servers.
    pub fn of_models() -> impl Iterator<Item = Self> {
        ANSWERS
            .iter()
            .chain(CONNECTIONS)
            .chain(SERVERS)
            .chain(DISK)
            .chain(CLOCKS)
            .chain(USER)
            .copied()
    }

    /// Outages behind the greeting.
    pub fn of_outages() -> impl Iterator<Item = Self> {
        OUTAGES.iter().copied()
    }

    /// Articles that do not go with the rest of their file.
    pub fn of_misfits() -> impl Iterator<Item = Self> {
        MISFITS.iter().copied()
    }

    /// All user actions, on days of either kind.
    pub fn of_people() -> impl Iterator<Item = Self> {
        WISHES.iter().copied()
    }

    /// All that the calendar may bring, likewise.
    pub fn of_calendar() -> impl Iterator<Item = Self> {
        CALENDAR.iter().copied()
    }

    /// What may come of losses, likewise.
    pub fn of_losses() -> impl Iterator<Item = Self> {
        LOSSES.iter().copied()
    }

    /// All that may strike a byte-level day.
    pub fn of_wires() -> impl Iterator<Item = Self> {
        WIRE.iter().map(|&fault| Self::Wire(fault)).chain([Self::CapabilityLies])
    }
}

impl fmt::Display for Kind {
    /// `TurnsSlow` is "turns slow".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, prefix) = match self {
            Self::Wire(fault) => (format!("{fault:?}"), "wire: "),
            kind => (format!("{kind:?}"), ""),
        };
        f.write_str(prefix)?;
        for (index, letter) in name.char_indices() {
            if letter.is_uppercase() && index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{}", letter.to_ascii_lowercase())?;
        }
        Ok(())
    }
}

pub(crate) const ANSWERS: &[Kind] = &[
    Kind::Corrupt,
    Kind::CutBehindAnswer,
    Kind::Desync,
    Kind::DislikesPipelining,
    Kind::Dribble,
    Kind::Empty,
    Kind::Endless,
    Kind::Goodbye,
    Kind::LoginForgotten,
    Kind::LongStatus,
    Kind::Missing,
    Kind::MissingOnce,
    Kind::NoChecksum,
    Kind::Outgrown,
    Kind::RefusedAnswer,
    Kind::RefusedMidway,
    Kind::Reset,
    Kind::Stall,
    Kind::Stranger,
    Kind::TooManyMidway,
    Kind::Truncated,
    Kind::WrongSize,
];
pub(crate) const CONNECTIONS: &[Kind] = &[
    Kind::AccountCap,
    Kind::AccountShared,
    Kind::Certificate,
    Kind::ConnectionCap,
    Kind::GreetingRefused,
    Kind::HangsUpBehindLogin,
    Kind::IdleClosed,
    Kind::LoginRefused,
    Kind::NeverGreets,
    Kind::OutOfCredit,
    Kind::Unreachable,
];
const SERVERS: &[Kind] =
    &[Kind::ManyServers, Kind::MassReconnect, Kind::TurnsDead, Kind::TurnsSlow];
const OUTAGES: &[Kind] = &[Kind::NeverDelivers, Kind::OutOfOrder];
const MISFITS: &[Kind] = &[Kind::SiblingSent, Kind::SizeOff, Kind::TotalOff];
const DISK: &[Kind] = &[
    Kind::DirectoryGone,
    Kind::DiskFull,
    Kind::DiskSlow,
    Kind::FinishFails,
    Kind::MoveFails,
    Kind::Unsynced,
    Kind::WriteFails,
];
const CLOCKS: &[Kind] = &[Kind::CalendarBack, Kind::CalendarForth, Kind::Suspend];
const USER: &[Kind] = &[Kind::JobRemoved];
const CALENDAR: &[Kind] =
    &[Kind::BlockUsedUp, Kind::QuotaReached, Kind::ScheduledPause, Kind::ScheduledRate];
const LOSSES: &[Kind] = &[Kind::BeyondRepair, Kind::VolumesNeeded];
const WISHES: &[Kind] = &[
    Kind::AllPaused,
    Kind::FileDropped,
    Kind::FilePaused,
    Kind::JobPaused,
    Kind::JobPlaced,
    Kind::RateChanged,
    Kind::Reloaded,
    Kind::Restarted,
];

/// All but those of TLS records, which need a real handshake.
pub(crate) const WIRE: &[bergamot_newsd::Fault] = {
    use bergamot_newsd::Fault::*;
    &[
        BareFeeds,
        BareReturns,
        Corrupt,
        CutAfterBody,
        CutBody,
        Empty,
        Endless,
        ExtraAnswer,
        ExtraTerminator,
        Goodbye,
        GreetingRefused,
        HangUp,
        HeadersInBody,
        InjectedPlaintext,
        Late,
        LoginAgain,
        LoginLoop,
        LoginRefused,
        LongStatus,
        Missing,
        NeverGreeted,
        OtherAnswer,
        Refused,
        Silent,
        Slow,
        StartTlsStripped,
        Swallowed,
        TooManyConnections,
        Truncated,
        WrongArticle,
        WrongId,
    ]
};
