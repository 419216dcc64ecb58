//! Checks of the machine: user, clock, network route, processor, memory, open files.

use std::net::{Ipv6Addr, UdpSocket};

use bergamot_config::{Config, memory_budget};
use bergamot_types::{ByteCount, UnixTime};
use chrono::{DateTime, SecondsFormat};
use rustix::process::{Resource, getegid, geteuid, getrlimit};

use super::Finding;
use crate::clock;

/// `remark` describes the user that the checks run as.
pub(super) fn examine(config: &Config, remark: Option<&str>) -> Vec<Finding> {
    let kernel = bergamot_simd::yenc::Kernel::best().name();
    vec![
        of_user(remark),
        of_clock(clock::now().date),
        of_way_out(),
        Finding::good("processor", format!("articles are decoded with {kernel}")),
        of_memory(memory_budget(config.download.memory), config.download.memory),
        of_open_files(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), config),
    ]
}

fn of_user(remark: Option<&str>) -> Finding {
    match remark {
        None => Finding::good("user", format!("{}:{}", geteuid().as_raw(), getegid().as_raw())),
        Some(remark) => Finding::warning(
            "user",
            remark,
            "Leave out PUID and PGID, or the user of the container.",
        ),
    }
}

fn of_clock(now: UnixTime) -> Finding {
    let fact = format!("it is {}", spoken_date(now));
    match (SANE_FROM..SANE_TO).contains(&now.0) {
        true => Finding::good("clock", fact),
        false => Finding::problem(
            "clock",
            fact,
            "Set the clock, preferably by NTP: certificates, quotas and retention depend on it.",
        ),
    }
}

pub(super) fn spoken_date(time: UnixTime) -> String {
    match DateTime::from_timestamp(time.0, 0) {
        Some(date) => date.to_rfc3339_opts(SecondsFormat::Secs, true),
        None => format!("{} seconds after 1970", time.0),
    }
}

/// A datagram socket that is connected has found a way, and has sent nothing.
fn of_way_out() -> Finding {
    let found = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))
        .and_then(|socket| socket.connect((PUBLIC_ADDRESS, 9)));
    Finding::good(
        "IPv6",
        match found {
            Ok(()) => "there is a route".to_owned(),
            Err(error) => format!("there is no route ({error}); IPv4 is used"),
        },
    )
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
            "Allow the container three times download.memory; with less, downloads work but may be slower.",
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

/// A public address; no packet is sent to it.
const PUBLIC_ADDRESS: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 1);

/// The writer's files, clients and threads.
const FILES_BESIDE: u64 = 64 + 32 + 64;

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;

    #[test]
    fn a_clock_without_a_battery_is_noticed() {
        assert_eq!(of_clock(UnixTime(0)).grade, Grade::Problem);
        let good = of_clock(UnixTime(1_800_000_000));
        assert_eq!((good.grade, good.fact.as_str()), (Grade::Ok, "it is 2027-01-15T08:00:00Z"));
        assert_eq!(of_clock(UnixTime(i64::MAX)).grade, Grade::Problem);
    }

    #[test]
    fn less_memory_than_wanted_is_only_slower() {
        let wanted = ByteCount(40 << 20);
        assert_eq!(of_memory((None, wanted), wanted).grade, Grade::Ok);
        let tight = of_memory((Some(ByteCount(96 << 20)), ByteCount(32 << 20)), wanted);
        assert_eq!(tight.grade, Grade::Warning);
    }
}
