//! Rate limits, timetables and quotas: [`Limiter`], [`Timetable`], [`Quota`]. Pure.
//!
//! Monotonic time is passed as [`std::time::Instant`] and governs rates; calendar time is passed as
//! [`bergamot_types::UnixTime`] and governs days. The two are independent, so setting the clock does not make
//! a download faster or slower.
//!
//! - [`Limiter`]: leases bytes to connections, fairly, within rates ([`Settings`]) that may change at any
//!   time. A connection spends its [`Lease`] without further calls.
//! - [`ReadCredit`]: what one connection holds of its leases, and when it asks for more.
//! - [`Timetable`]: which rate or pause holds at which time of the week.
//! - [`Quota`]: how much may still be used in a day, a week, a month or ever. Its [`Record`] is a
//!   plain value for the store; [`Quota::checkpoint`] charges it in advance, so that usage is never
//!   under-counted after a sudden end.
//! - [`Volumes`]: how much came from a server, by the second, minute, hour and day.
//! - [`Zone`], [`Calendar`], [`Period`], [`Window`]: where days and months begin.
//!
//! Everywhere a limit of 0 is no limit.

#![forbid(unsafe_code)]

mod calendar;
mod quota;
mod rate;
mod volumes;

pub use chrono::Weekday;

pub use calendar::time_of_day::{InvalidTimeOfDay, TimeOfDay};
pub use calendar::timetable::{Effect, Rule, Timetable};
pub use calendar::weekdays::{InvalidWeekdays, Weekdays};
pub use calendar::window::{Calendar, Period, Window};
pub use calendar::zone::{UnknownZone, Zone};
pub use quota::checkpoint::Checkpoint;
pub use quota::ledger::{DayRecord, Record};
pub use quota::{Allowance, Quota, QuotaSettings, Standing, Usage};
pub use rate::lease::{Credit, Lease};
pub use rate::limiter::Limiter;
pub use rate::read_credit::{CreditRequest, ReadCredit};
pub use rate::settings::Settings;
pub use volumes::{DayVolume, Rings, Volumes};
