//! [`DayCache`]: the current day and the quota windows it lies in, computed once a day.

use bergamot_types::UnixTime;
use chrono::NaiveDate;

use crate::calendar::window::{Calendar, Period, Window};

/// The calendar is used with every event, nearly always on the same day, so its results for that day are
/// cached: computing them takes a table of zones and rules of summer time.
#[derive(Clone, Debug, Default)]
pub(crate) struct DayCache {
    calendar: Calendar,
    page: Option<Page>,
}

/// One day, and the windows it lies in.
#[derive(Clone, Debug)]
struct Page {
    day: NaiveDate,
    start: UnixTime,
    end: UnixTime,
    windows: Vec<(Period, Option<Window>)>,
}

impl DayCache {
    pub(crate) fn new(calendar: Calendar) -> Self {
        Self { calendar, page: None }
    }

    pub(crate) fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    pub(crate) fn day(&mut self, at: UnixTime) -> NaiveDate {
        match self.page_of(at) {
            Some(page) => page.day,
            None => self.calendar.day(at),
        }
    }

    pub(crate) fn window(&mut self, period: Period, at: UnixTime) -> Option<Window> {
        let calendar = self.calendar;
        let Some(page) = self.page_of(at) else { return calendar.window(period, at) };
        let known = page.windows.iter().find(|(known, _)| *known == period);
        if let Some((_, window)) = known {
            return *window;
        }
        let window = calendar.window(period, at);
        page.windows.push((period, window));
        window
    }

    /// None beyond the ends of the calendar, where no day has an end.
    fn page_of(&mut self, at: UnixTime) -> Option<&mut Page> {
        let is_open = |page: &Page| page.start <= at && at < page.end;
        if !self.page.as_ref().is_some_and(is_open) {
            let day = self.calendar.day(at);
            let (start, end) = (self.calendar.start(day), self.calendar.start(day.succ_opt()?));
            self.page = Some(Page { day, start, end, windows: Vec::new() }).filter(is_open);
        }
        self.page.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::time_of_day::TimeOfDay;

    const PERIODS: [Period; 5] = [
        Period::Day,
        Period::Week { first: chrono::Weekday::Mon },
        Period::Month { first: 1 },
        Period::Month { first: 31 },
        Period::Ever,
    ];

    /// Nights in which clocks are changed, a date that was left out, and beyond all calendars.
    #[test]
    fn it_says_what_the_calendar_says() {
        let nights = [
            ("Europe/Berlin", 1_774_746_000),
            ("Europe/Berlin", 1_792_890_000),
            ("America/New_York", 1_793_512_800),
            ("Australia/Lord_Howe", 1_791_041_400),
            ("Pacific/Apia", 1_325_239_200),
            ("UTC", 253_402_300_799),
            ("UTC", i64::MAX - 86_400 * 2),
            ("UTC", i64::MIN + 86_400 * 2),
        ];
        for (zone, night) in nights {
            for reset in [(0, 0), (2, 30), (23, 59)] {
                let reset = TimeOfDay::new(reset.0, reset.1).expect("a time");
                let calendar = Calendar { zone: zone.parse().expect("a zone"), reset };
                let mut day_cache = DayCache::new(calendar);
                let steps = (-1_500..1_500_i64).map(|step| step * 97);
                for at in steps.chain([60, 0, -60, 0]).map(|off| UnixTime(night + off)) {
                    assert_eq!(day_cache.day(at), calendar.day(at), "{zone} {at:?}");
                    for period in PERIODS {
                        let said = day_cache.window(period, at);
                        assert_eq!(said, calendar.window(period, at), "{zone} {at:?} {period:?}");
                    }
                }
            }
        }
    }
}
