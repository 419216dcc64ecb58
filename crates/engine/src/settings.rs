//! [`Settings`]: what the engine is configured with. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use bergamot_limit::{QuotaSettings, Timetable};
use bergamot_pool::ServerSettings;
use bergamot_types::{ByteCount, ServerId};

use crate::allowance::meter::QuotaRecords;
use crate::article::health::HealthAction;

#[derive(Clone, Debug)]
pub struct Settings {
    pub servers: Vec<ServerSettings>,
    /// New connections that one article may cost one server.
    pub article_retries: u8,
    /// Memory for articles that are under way or not yet written.
    pub budget: ByteCount,
    /// The most connections to all servers together, whatever each allows: they take memory, too.
    pub most_connections: usize,
    /// The most requests in flight on one connection; how many there are follows from how fast and
    /// how far away a server is.
    pub pipeline: usize,
    /// A connection with nothing to do is kept this long.
    pub idle: Duration,
    /// How fast all connections together, and those to each server, may read.
    pub rates: bergamot_limit::Settings,
    /// When another rate holds for all of them, or nothing is fetched.
    pub timetable: Timetable,
    /// How much all servers together may give.
    pub quota: QuotaSettings,
    /// How much each may give; a block account has one allowance, for ever.
    pub server_quotas: BTreeMap<ServerId, QuotaSettings>,
    /// What is used of the quotas, from earlier runs.
    pub used: QuotaRecords,
    /// What becomes of a job that cannot be made whole any more.
    pub health_action: HealthAction,
    /// Where the jitter of rests begins.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            article_retries: 3,
            budget: ByteCount(40 << 20),
            most_connections: usize::MAX,
            pipeline: 128,
            idle: Duration::from_secs(30),
            rates: bergamot_limit::Settings::default(),
            timetable: Timetable::default(),
            quota: QuotaSettings::default(),
            server_quotas: BTreeMap::new(),
            used: QuotaRecords::default(),
            health_action: HealthAction::default(),
            seed: 0,
        }
    }
}
