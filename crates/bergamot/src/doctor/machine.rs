//! The machine: clock, processor, memory, open files.

use bergamot_types::ByteCount;
use rustix::process::{Resource, getegid, geteuid, getrlimit};

use super::Finding;
use crate::clock;
use crate::config::Config;
use crate::daemon::memory_budget;

pub(super) fn examine(config: &Config) -> Vec<Finding> {
    let user = format!("{}:{}", geteuid().as_raw(), getegid().as_raw());
    let kernel = bergamot_simd::yenc::Kernel::best().name();
    vec![
        Finding::good("user", user),
        of_clock(clock::now().date.0),
        Finding::good("processor", format!("articles are decoded with {kernel}")),
        of_memory(memory_budget(config.download.memory), config.download.memory),
        of_open_files(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), config),
    ]
}

fn of_clock(now: i64) -> Finding {
    let fact = format!("it is {now} seconds after 1970");
    match (SANE_FROM..SANE_TO).contains(&now) {
        true => Finding::good("clock", fact),
        false => Finding::problem(
            "clock",
            fact,
            "Set it, best by NTP: certificates, quotas and retention go by it.",
        ),
    }
}

fn of_memory((limit, budget): (Option<ByteCount>, ByteCount), wanted: ByteCount) -> Finding {
    let fact = match limit {
        Some(limit) => format!("{budget} of the {limit} that the control group allows"),
        None => format!("{budget}; no control group limits it"),
    };
    match budget < wanted {
        true => Finding::warning(
            "memory",
            format!("{fact}; download.memory wants {wanted}"),
            "Allow the container three times download.memory, or leave it: it is only slower.",
        ),
        false => Finding::good("memory", fact),
    }
}

fn of_open_files(limit: u64, config: &Config) -> Finding {
    let active = config.servers.iter().filter(|server| server.active);
    let connections: u64 = active.map(|server| u64::from(server.role.connections)).sum();
    let needed = connections + FILES_BESIDE;
    let fact = format!("{limit} may be open at once, about {needed} are needed");
    match limit >= needed {
        true => Finding::good("open files", fact),
        false => Finding::warning("open files", fact, "Raise the limit (ulimit -n, nofile)."),
    }
}

/// 2024 and 2100: before the first is the year of a clock without a battery.
const SANE_FROM: i64 = 1_704_067_200;
const SANE_TO: i64 = 4_102_444_800;

/// The writer's files, clients and threads.
const FILES_BESIDE: u64 = 64 + 32 + 64;

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;

    #[test]
    fn a_clock_without_a_battery_is_noticed() {
        assert_eq!(of_clock(0).grade, Grade::Problem);
        assert_eq!(of_clock(1_800_000_000).grade, Grade::Ok);
    }

    #[test]
    fn less_memory_than_wanted_is_only_slower() {
        let wanted = ByteCount(40 << 20);
        assert_eq!(of_memory((None, wanted), wanted).grade, Grade::Ok);
        let tight = of_memory((Some(ByteCount(96 << 20)), ByteCount(32 << 20)), wanted);
        assert_eq!(tight.grade, Grade::Warning);
    }
}
