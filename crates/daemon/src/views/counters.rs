//! What is counted for those who measure: how jobs came and how they ended, since the start.

use std::collections::BTreeMap;
use std::path::Path;

use bergamot_api::metrics::{Arrivals, EndedJobs, Measured, PastSums, Process, QueueSums};
use bergamot_jobs::Record;
use bergamot_types::JobId;

use crate::run::Daemon;

#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) arrivals: Arrivals,
    /// By category and result.
    ended: BTreeMap<(String, &'static str), u64>,
    /// Of the history as it was at that change of it.
    past: Option<(u64, PastSums)>,
}

impl Daemon {
    pub(crate) fn tally_arrival(&mut self, is_refused: bool) {
        let arrivals = &mut self.observers.tallies.arrivals;
        match is_refused {
            false => arrivals.added += 1,
            true => arrivals.refused += 1,
        }
    }

    pub(crate) fn tally_end(&mut self, job: JobId) {
        let Some(record) = self.jobs.list().record(job) else { return };
        let category = self.measured_category(record.category.as_deref());
        let Some(result) = EndedJobs::result_of(self.state_of(record)) else { return };
        *self.observers.tallies.ended.entry((category, result)).or_default() += 1;
    }

    /// Anybody may make up a category, so only those that are configured have names.
    fn measured_category(&self, category: Option<&str>) -> String {
        let settings = self.settings.job_settings.get();
        match category.filter(|category| !category.is_empty()) {
            None => String::new(),
            Some(name) => settings
                .directories
                .category(name)
                .map_or_else(|| "other".to_owned(), |it| it.name.clone()),
        }
    }

    /// Whoever measures comes every few seconds, and a history is long and seldom changes.
    fn past_sums(&mut self) -> PastSums {
        let changes = self.jobs.list().history_version();
        match &self.observers.tallies.past {
            Some((at, sums)) if *at == changes => sums.clone(),
            _ => {
                let sums = self.sum_up_past();
                self.observers.tallies.past = Some((changes, sums.clone()));
                sums
            }
        }
    }

    fn sum_up_past(&self) -> PastSums {
        let mut past = PastSums::default();
        let shown = |record: &&Record| record.outcome.as_ref().is_some_and(|it| !it.hidden);
        for record in self.jobs.list().history().filter(shown).take(PastSums::MOST) {
            let category = self.measured_category(record.category.as_deref());
            past.add(&self.job_view(record), &category);
        }
        past
    }

    /// Its categories may have other names now.
    pub(crate) fn forget_past_sums(&mut self) {
        self.observers.tallies.past = None;
    }

    /// The disks and the process are asked beside the loop.
    pub(crate) fn measure(&mut self) -> Measured {
        let mut queue = QueueSums::default();
        for record in self.jobs.list().queued() {
            queue.add(self.state_of(record), record.paused, record.contents.bytes.0);
        }
        let past = self.past_sums();
        let ended = self.observers.tallies.ended.iter().map(|((category, result), count)| {
            EndedJobs { category: category.clone(), result, count: *count }
        });
        Measured {
            ended: ended.collect(),
            status: self.status(),
            servers: self.server_views(),
            queue,
            past,
            arrivals: self.observers.tallies.arrivals,
            process: Process::default(),
            quotas: self.quota_views(),
        }
    }
}

/// What the kernel says of this process; nothing where it says nothing.
pub(crate) fn process() -> Process {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let digits = line.and_then(|line| line.split_ascii_whitespace().next());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    Process {
        cpu_seconds: std::fs::read_to_string("/proc/self/stat")
            .map_or(0.0, |stat| cpu_seconds(&stat)),
        open_files: open as u64,
        resident_bytes: number("VmRSS:") * 1024,
        threads: number("Threads:"),
        virtual_bytes: number("VmSize:") * 1024,
    }
}

/// The name of the program stands in parentheses and may hold anything.
fn cpu_seconds(stat: &str) -> f64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_ascii_whitespace().skip(USER_TIME).take(2);
    ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() as f64 / TICKS_A_SECOND
}

/// Whether records could be written there; nothing is, for a disk may sleep.
pub(crate) fn is_writable(directory: &Path) -> bool {
    let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(directory, wanted).is_ok()
}

/// Fields of `/proc/self/stat` between the name and the time in user mode; that in the kernel follows.
const USER_TIME: usize = 11;
/// As the kernel shows times to programs, on every architecture we know.
const TICKS_A_SECOND: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 6 0 100 1 1";
        assert_eq!(cpu_seconds(stat), 3.0);
        assert_eq!(cpu_seconds("nonsense"), 0.0);
        assert!(process().resident_bytes > 0 && process().threads > 0);
    }

    #[test]
    fn a_directory_is_writable_or_not() {
        assert!(is_writable(&std::env::temp_dir()));
        assert!(!is_writable(Path::new("/proc/1/nowhere")));
    }
}
