//! [`Counters`]: how many jobs came and how they ended since the start, for `/metrics`. Owned by the main loop;
//! what the kernel knows of the process is read beside it.

use std::collections::BTreeMap;
use std::path::Path;

use bergamot_api::metrics::{Arrivals, EndedJobs, PastSums, Process};
use bergamot_api::view::JobState;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    arrivals: Arrivals,
    /// By category and result.
    ended: BTreeMap<(String, &'static str), u64>,
    /// Of the history as it was at that change of it.
    past: Option<(u64, PastSums)>,
}

impl Counters {
    pub(crate) fn on_arrival(&mut self, is_refused: bool) {
        match is_refused {
            false => self.arrivals.added += 1,
            true => self.arrivals.refused += 1,
        }
    }

    /// `category` is one that is configured, or `other`: clients may make up any number of them.
    pub(crate) fn on_end(&mut self, category: String, state: JobState) {
        if let Some(result) = EndedJobs::result_of(state) {
            *self.ended.entry((category, result)).or_default() += 1;
        }
    }

    pub(crate) fn arrivals(&self) -> Arrivals {
        self.arrivals
    }

    pub(crate) fn ended(&self) -> Vec<EndedJobs> {
        let ended = self.ended.iter().map(|((category, result), count)| EndedJobs {
            category: category.clone(),
            result,
            count: *count,
        });
        ended.collect()
    }

    /// The sums of the history if it is still at that version. Metrics are read every few seconds, and a history
    /// is long and seldom changes.
    pub(crate) fn past(&self, version: u64) -> Option<&PastSums> {
        self.past.as_ref().filter(|(at, _)| *at == version).map(|(_, sums)| sums)
    }

    pub(crate) fn set_past(&mut self, version: u64, sums: PastSums) {
        self.past = Some((version, sums));
    }

    /// Its categories may have other names now.
    pub(crate) fn forget_past(&mut self) {
        self.past = None;
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
