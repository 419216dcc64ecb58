//! [`memory_budget`]: how much memory downloads may use, where a control group limits the process.

use std::path::{Path, PathBuf};

use bergamot_types::ByteCount;

/// The limit of the control group of this process, and what is left of the `wanted` budget within it.
pub fn memory_budget(wanted: ByteCount) -> (Option<ByteCount>, ByteCount) {
    let limit = group_limit(|path| std::fs::read_to_string(path).ok());
    (limit, within(limit, wanted))
}

/// Page cache and the program itself need the rest of the limit.
fn within(limit: Option<ByteCount>, budget: ByteCount) -> ByteCount {
    limit.map_or(budget, |limit| ByteCount((limit.0 / 3).clamp(LEAST, budget.0.max(LEAST))))
}

/// What the control group of this process may take, if it is limited.
fn group_limit(read: impl Fn(&Path) -> Option<String>) -> Option<ByteCount> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let limits = groups.lines().filter_map(limit_file).flat_map(|(root, path, file)| {
        // In a container the path may be that of the host, while only our own part is mounted.
        let own = root.join(path.trim_start_matches('/'));
        let above = own.ancestors().take_while(|group| group.starts_with(&root));
        above.filter_map(|group| read(&group.join(file))).collect::<Vec<_>>()
    });
    let limits = limits.filter_map(|text| text.trim().parse().ok());
    limits.filter(|&bytes| bytes < UNLIMITED).min().map(ByteCount)
}

/// Where the limit is written: version 2 has one tree, version 1 one for memory.
fn limit_file(line: &str) -> Option<(PathBuf, &str, &'static str)> {
    let mut fields = line.splitn(3, ':');
    match (fields.next()?, fields.next()?, fields.next()?) {
        ("0", "", path) => Some(("/sys/fs/cgroup".into(), path, "memory.max")),
        (_, kinds, path) if kinds.split(',').any(|kind| kind == "memory") => {
            Some(("/sys/fs/cgroup/memory".into(), path, "memory.limit_in_bytes"))
        }
        _ => None,
    }
}

/// Below this an article of the usual size has hardly any room.
const LEAST: u64 = 4 << 20;

/// Version 1 writes the largest number of pages for "no limit".
const UNLIMITED: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_limited_group_gets_a_third_for_the_budget() {
        let within = |limit: Option<u64>, budget| within(limit.map(ByteCount), ByteCount(budget)).0;
        assert_eq!(within(None, 40 * MIB), 40 * MIB);
        assert_eq!(within(Some(96 * MIB), 40 * MIB), 32 * MIB);
        assert_eq!(within(Some(1024 * MIB), 40 * MIB), 40 * MIB);
        assert_eq!(within(Some(MIB), 40 * MIB), 4 * MIB);
    }

    #[test]
    fn the_limit_of_either_version_is_found_and_that_of_a_parent_counts() {
        let limit = |files: &[(&str, &str)]| {
            let read = |path: &Path| {
                let found = files.iter().find(|(name, _)| Path::new(name) == path);
                found.map(|(_, text)| (*text).to_owned())
            };
            group_limit(read).map(|bytes| bytes.0)
        };
        let group = "/proc/self/cgroup";
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[(group, "0::/\n"), ("/sys/fs/cgroup/memory.max", "100\n")]), Some(100));
        assert_eq!(limit(&[(group, "0::/\n"), ("/sys/fs/cgroup/memory.max", "max\n")]), None);
        let nested = [
            (group, "0::/a/b\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "max"),
            ("/sys/fs/cgroup/a/memory.max", "70"),
        ];
        assert_eq!(limit(&nested), Some(70));
        let first = [
            (group, "5:cpu:/x\n9:hugetlb,memory:/docker/abc\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
            ("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "500"),
        ];
        assert_eq!(limit(&first), Some(500));
        assert_eq!(limit(&first[..2]), None);
    }
}
