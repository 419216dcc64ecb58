//! What a process and its descendants have used so far, from `/proc`.

use std::fs;
use std::time::Duration;

/// Summed over the processes that are alive, with the time of children they waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    /// Now, in KiB.
    pub(crate) resident: u64,
    /// At its highest, in KiB.
    pub(crate) peak: u64,
    /// All that was handed to `write` and its kin (`wchar`), to files and sockets alike: a byte
    /// written twice counts twice.
    pub(crate) written: u64,
}

/// What `/proc/<pid>/stat` says.
#[derive(Debug, Eq, PartialEq)]
struct Stat {
    parent: u32,
    ticks: u64,
}

impl Usage {
    pub(crate) fn of_tree(root: u32) -> Self {
        family(root, &all_processes()).into_iter().fold(Self::default(), |sum, (pid, stat)| {
            let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
            let status = read("status").unwrap_or_default();
            let io = read("io").unwrap_or_default();
            Self {
                cpu: sum.cpu + from_ticks(stat.ticks),
                resident: sum.resident + field(&status, "VmRSS:").unwrap_or(0),
                peak: sum.peak + field(&status, "VmHWM:").unwrap_or(0),
                written: sum.written + field(&io, "wchar:").unwrap_or(0),
            }
        })
    }
}

fn all_processes() -> Vec<(u32, Stat)> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    let stat = |pid| parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

fn family(root: u32, all: &[(u32, Stat)]) -> Vec<(u32, &Stat)> {
    let mut found: Vec<(u32, &Stat)> =
        all.iter().filter(|(pid, _)| *pid == root).map(|(pid, stat)| (*pid, stat)).collect();
    let mut looked = 0;
    while let Some(&(parent, _)) = found.get(looked) {
        let children = all.iter().filter(|(_, stat)| stat.parent == parent);
        found.extend(children.map(|(pid, stat)| (*pid, stat)));
        looked += 1;
    }
    found
}

/// The name in it may hold anything, brackets and blanks too, so fields are counted from its end.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks = (11..=14).map(number).sum::<Option<u64>>()?;
    Some(Stat { parent: number(1)?.try_into().ok()?, ticks })
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn from_ticks(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194304 100 0 0 0 11 22 3 4 20 0 1 0 555 1 2";
        assert_eq!(parse_stat(line), Some(Stat { parent: 7, ticks: 40 }));
        assert_eq!(parse_stat("42 (short) S 7"), None);
    }

    #[test]
    fn fields_are_found_by_name() {
        let status = "Name:\tx\nVmHWM:\t    1234 kB\nVmRSS:\t  99 kB\n";
        assert_eq!(field(status, "VmHWM:"), Some(1234));
        assert_eq!(field(status, "VmSwap:"), None);
        assert_eq!(field("rchar: 1\nwchar: 77\nwrite_bytes: 5\n", "wchar:"), Some(77));
    }

    #[test]
    fn grandchildren_belong_to_the_family() {
        let stat = |parent| Stat { parent, ticks: 1 };
        let all = [(1, stat(0)), (5, stat(9)), (9, stat(1)), (7, stat(5)), (8, stat(1))];
        let pids: Vec<u32> = family(9, &all).into_iter().map(|(pid, _)| pid).collect();
        assert_eq!(pids, [9, 5, 7]);
    }

    #[test]
    fn this_process_uses_memory() {
        let usage = Usage::of_tree(std::process::id());
        assert!(usage.resident > 0 && usage.peak >= usage.resident);
    }
}
