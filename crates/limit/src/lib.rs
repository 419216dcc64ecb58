#![forbid(unsafe_code)]

mod bucket;
mod lease;
mod limiter;
mod settings;
mod time_of_day;
mod timetable;
mod weekdays;
mod window;
mod zone;

pub use lease::{Credit, Lease};
pub use limiter::Limiter;
pub use settings::Settings;
pub use time_of_day::{InvalidTimeOfDay, TimeOfDay};
pub use timetable::{Effect, Rule, Timetable};
pub use weekdays::{InvalidWeekdays, Weekdays};
pub use window::{Calendar, Period, Window};
pub use zone::{UnknownZone, Zone};
