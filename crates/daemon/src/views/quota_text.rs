//! What is said of quotas and schedules.

use bergamot_engine::{DiskTrouble, Event};
use bergamot_jobs::machine::StoreFailure;
use bergamot_limit::Effect;
use bergamot_types::{ByteRate, ServerId, UnixTime};
use tracing::{info, warn};

use crate::run::Daemon;

impl Daemon {
    pub(crate) fn on_persisted(&mut self, number: u64, result: Result<(), StoreFailure>) {
        if let Err(why) = &result {
            warn!("what is used of the quotas could not be written: {why}");
        }
        let result = result.map_err(|_| DiskTrouble::Transient);
        self.tell_engine(Event::Persisted { number, result });
    }

    pub(crate) fn tell_of_quota(&self, server: Option<ServerId>, until: Option<UnixTime>) {
        let until = self.told_end(until).unwrap_or_else(|| "until the settings change".to_owned());
        match server {
            None => warn!("the quota is reached: nothing is fetched {until}"),
            Some(id) => {
                warn!(server = self.name(id), "its quota is reached: it is not asked {until}");
            }
        }
    }

    pub(crate) fn tell_of_renewal(&self, server: Option<ServerId>) {
        match server {
            None => info!("the quota begins anew"),
            Some(id) => info!(server = self.name(id), "its quota begins anew"),
        }
    }

    pub(crate) fn tell_of_schedule(&self, effect: Option<Effect>, until: Option<UnixTime>) {
        let until = self.told_end(until).unwrap_or_else(|| "for good".to_owned());
        match effect {
            Some(Effect::Limit(ByteRate(0))) => info!("schedule: no limit {until}"),
            Some(Effect::Limit(rate)) => info!("schedule: at most {rate} {until}"),
            Some(Effect::Pause) => info!("schedule: nothing is fetched {until}"),
            None => info!("schedule: the ordinary rate {until}"),
        }
    }

    fn told_end(&self, until: Option<UnixTime>) -> Option<String> {
        until.map(|at| format!("until {} ({})", self.settings.zone.written(at), self.settings.zone))
    }
}
