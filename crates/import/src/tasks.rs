//! [`Task`]: scheduled actions of other programs, converted to time windows.
//!
//! Both programs have events ("pause at eight, resume at ten"); bergamot has times of the week. A pause lasts
//! until the next event that ends it, a rate until the next rate.

use crate::draft::Draft;

/// An action at a time of day, on some days of the week.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Task {
    /// Its name in the other program.
    pub(crate) option: String,
    pub(crate) minutes: u32,
    /// Monday is the lowest bit.
    pub(crate) days: u8,
    pub(crate) action: Action,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    Pause,
    Resume,
    /// In bytes a second; 0 is no limit.
    Rate(u64),
}

impl Action {
    fn is_rate(self) -> bool {
        matches!(self, Self::Rate(_))
    }
}

/// Writes the tasks that can be converted; returns the options of the others.
pub(crate) fn into_schedules(tasks: &[Task], usual_rate: u64, draft: &mut Draft) -> Vec<String> {
    let mut left = Vec::new();
    for are_rates in [true, false] {
        let mut alike: Vec<&Task> =
            tasks.iter().filter(|task| task.action.is_rate() == are_rates).collect();
        alike.sort_by_key(|task| task.minutes);
        // A state that lasts from an event of one day to one of another cannot be expressed as times of the
        // week.
        let same_days = alike.windows(2).all(|pair| pair[0].days == pair[1].days);
        if !same_days || !(are_rates || is_closed(&alike)) {
            left.extend(alike.iter().map(|task| task.option.clone()));
            continue;
        }
        for (place, task) in alike.iter().enumerate() {
            let next = alike[(place + 1) % alike.len()];
            put(draft, task, next.minutes, usual_rate);
        }
    }
    left
}

/// Each pause is ended by something.
fn is_closed(tasks: &[&Task]) -> bool {
    let has = |action| tasks.iter().any(|task| task.action == action);
    tasks.is_empty() || (has(Action::Pause) && has(Action::Resume))
}

fn put(draft: &mut Draft, task: &Task, until: u32, usual_rate: u64) {
    if task.action == Action::Resume || task.action == Action::Rate(usual_rate) {
        return;
    }
    let table = draft.another("schedule");
    table.text("days", days(task.days)).text("from", clock(task.minutes)).text("to", clock(until));
    match task.action {
        Action::Rate(rate) => table.text("rate", format!("{rate} B")),
        Action::Pause | Action::Resume => table.flag("pause", true),
    };
}

fn clock(minutes: u32) -> String {
    format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

fn days(days: u8) -> String {
    if days == EVERY_DAY {
        return "daily".to_owned();
    }
    let named = NAMES.iter().enumerate().filter(|(place, _)| days & (1 << place) != 0);
    named.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

/// `8:00` in minutes.
pub(crate) fn time_of_day(text: &str) -> Option<u32> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

pub(crate) const EVERY_DAY: u8 = 0x7f;
const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

#[cfg(test)]
mod tests {
    use super::*;

    fn task(minutes: u32, days: u8, action: Action) -> Task {
        Task { option: format!("at {minutes}"), minutes, days, action }
    }

    fn schedules(tasks: &[Task]) -> (String, Vec<String>) {
        let mut draft = Draft::default();
        let left = into_schedules(tasks, 0, &mut draft);
        (draft.written(true), left)
    }

    #[test]
    fn a_pause_lasts_until_it_is_ended_and_a_rate_until_the_next() {
        let (text, left) = schedules(&[
            task(22 * 60, EVERY_DAY, Action::Resume),
            task(8 * 60, EVERY_DAY, Action::Pause),
            task(60, 0x1f, Action::Rate(0)),
            task(9 * 60, 0x1f, Action::Rate(1_000_000)),
        ]);
        assert_eq!(
            text,
            "[[schedule]]\ndays = \"mon, tue, wed, thu, fri\"\nfrom = \"09:00\"\nto = \"01:00\"\nrate = \"1000000 B\"\n\n\
             [[schedule]]\ndays = \"daily\"\nfrom = \"08:00\"\nto = \"22:00\"\npause = true\n"
        );
        assert!(left.is_empty());
    }

    #[test]
    fn what_cannot_be_said_is_left() {
        let (text, left) = schedules(&[
            task(60, EVERY_DAY, Action::Pause),
            task(60, 1, Action::Rate(5)),
            task(120, 2, Action::Rate(6)),
        ]);
        assert_eq!(text, "");
        assert_eq!(left, ["at 60", "at 120", "at 60"]);
    }

    #[test]
    fn times_of_day_are_read_strictly() {
        assert_eq!((time_of_day("8:05"), time_of_day("23:59")), (Some(485), Some(1439)));
        for odd in ["24:00", "*:30", "*", "8", "", "8:60"] {
            assert_eq!(time_of_day(odd), None, "{odd}");
        }
    }
}
