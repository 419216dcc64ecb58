//! How the memory is divided.
//!
//! One budget covers all that grows with the load: the read buffer of each thread, what each
//! connection keeps (TLS state, half a record, bytes read ahead), and the articles, from their first
//! byte until they are on the disk. What connections may need is set aside for good, so that articles
//! can never take it and nothing has to be given back.

use std::path::{Path, PathBuf};

use bergamot_types::ByteCount;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Plan {
    pub(super) articles: ByteCount,
    pub(super) connections: usize,
}

impl Plan {
    /// Connections get no more than half of it, and read buffers a quarter, however many there are.
    pub(super) fn new(budget: ByteCount, threads: usize, connections: usize) -> Self {
        let threads = (threads as u64 * READ_BUFFER).min(budget.0 / 4);
        let most = (budget.0 / 2 / CONNECTION) as usize;
        let connections = connections.min(most);
        let articles = budget.0 - threads - connections as u64 * CONNECTION;
        Self { articles: ByteCount(articles), connections }
    }
}

/// What limits all of us, and what is left of `wanted` then.
pub(crate) fn budget(wanted: ByteCount) -> (Option<ByteCount>, ByteCount) {
    let limit = group_limit(|path| std::fs::read_to_string(path).ok());
    (limit, within(limit, wanted))
}

/// The budget where all of us may have only so much: page cache and the program itself want some.
pub(super) fn within(limit: Option<ByteCount>, budget: ByteCount) -> ByteCount {
    limit.map_or(budget, |limit| ByteCount((limit.0 / 3).clamp(LEAST, budget.0.max(LEAST))))
}

/// What the control group of this process may take, if it is limited.
pub(super) fn group_limit(read: impl Fn(&Path) -> Option<String>) -> Option<ByteCount> {
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

const READ_BUFFER: u64 = bergamot_net::SCRATCH_SIZE as u64;
const CONNECTION: u64 = bergamot_net::CONNECTION_COST as u64;

/// Below this an article of the usual size has hardly any room.
const LEAST: u64 = 4 << 20;

/// Version 1 writes the largest number of pages for "no limit".
const UNLIMITED: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn connections_and_buffers_come_off_what_articles_get() {
        let plan = Plan::new(ByteCount(40 * MIB), 2, 8);
        let articles = 40 * MIB - 2 * READ_BUFFER - 8 * CONNECTION;
        assert_eq!(plan, Plan { articles: ByteCount(articles), connections: 8 });
        let crowd = Plan::new(ByteCount(4 * MIB), 64, 1000);
        assert_eq!(crowd.connections as u64, 2 * MIB / CONNECTION);
        assert!(crowd.articles.0 >= MIB, "{crowd:?}");
    }

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
