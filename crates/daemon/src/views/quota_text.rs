//! The log lines about quotas and the schedule. Pure but for the log.

use bergamot_limit::{Effect, Zone};
use bergamot_types::{ByteRate, UnixTime};
use tracing::{info, warn};

/// Of one server, or of all together.
pub(crate) fn log_reached(zone: Zone, server: Option<&str>, until: Option<UnixTime>) {
    let until = end_text(zone, until).unwrap_or_else(|| "until the settings change".to_owned());
    match server {
        None => warn!("the quota is reached: nothing is fetched {until}"),
        Some(server) => warn!(server, "its quota is reached: it is not asked {until}"),
    }
}

pub(crate) fn log_renewed(server: Option<&str>) {
    match server {
        None => info!("the quota begins anew"),
        Some(server) => info!(server, "its quota begins anew"),
    }
}

pub(crate) fn log_schedule(zone: Zone, effect: Option<Effect>, until: Option<UnixTime>) {
    let until = end_text(zone, until).unwrap_or_else(|| "for good".to_owned());
    match effect {
        Some(Effect::Limit(ByteRate(0))) => info!("schedule: no limit {until}"),
        Some(Effect::Limit(rate)) => info!("schedule: at most {rate} {until}"),
        Some(Effect::Pause) => info!("schedule: nothing is fetched {until}"),
        None => info!("schedule: the ordinary rate {until}"),
    }
}

fn end_text(zone: Zone, until: Option<UnixTime>) -> Option<String> {
    until.map(|at| format!("until {} ({zone})", zone.written(at)))
}
