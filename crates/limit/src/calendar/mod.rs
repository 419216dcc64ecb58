//! Calendar time: time zones, days, weeks and months, and timetables of rates and pauses.

pub(crate) mod day_cache;
pub(crate) mod time_of_day;
pub(crate) mod timetable;
pub(crate) mod weekdays;
pub(crate) mod window;
pub(crate) mod zone;
pub(crate) mod zone_rule;
pub(crate) mod zone_table;
