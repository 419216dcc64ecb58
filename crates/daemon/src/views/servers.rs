//! The views of servers and quotas: methods of [`View`], in the main loop.

use std::time::Instant;

use bergamot_api::view::{Quota, Server};
use bergamot_engine::{Engine, ServerStatus};
use bergamot_limit::Period;
use bergamot_net::Encryption;
use bergamot_types::UnixTime;

use crate::clock;
use crate::download::network::Network;
use crate::views::view::View;

impl View<'_> {
    pub(crate) fn server_views(&self) -> Vec<Server> {
        let known: Vec<ServerStatus> = self.engine.servers().collect();
        let configured = self.settings.config().servers.iter().zip(self.network.servers().iter());
        let mut views = Vec::new();
        for (server, (id, net)) in configured {
            let Some(status) = known.iter().find(|status| status.id == id) else { continue };
            let volume = self.observers.traffic().of(&server.name, clock::now().date);
            views.push(Server {
                id: self.network.shown_id(id),
                name: server.name.clone(),
                host: net.settings().host.clone(),
                port: net.settings().port,
                tls: net.settings().encryption != Encryption::None,
                active: status.active,
                level: u16::try_from(server.role.level).unwrap_or(u16::MAX),
                connections: status.configured,
                learned_connections: Some(status.ceiling).filter(|it| *it < status.configured),
                open: status.open,
                working: status.working,
                rate: self.rate_of(status),
                latency_ms: status.first_byte.map(|time| time.as_millis() as u64),
                trouble: self.network.trouble_text(status),
                rests_until: status.rests_until.map(date_of),
                downloaded: volume.bytes,
                good_articles: volume.good,
                failed_articles: volume.failed,
            });
        }
        views
    }

    /// Of all its connections that have something to do.
    pub(super) fn rate_of(&self, status: &ServerStatus) -> u64 {
        let busy = status.working.min(status.in_flight) as u64;
        status.rate.map_or(0, |rate| rate.0.saturating_mul(busy))
    }
}

fn period(period: Period) -> &'static str {
    match period {
        Period::Day => "day",
        Period::Week { .. } => "week",
        Period::Month { .. } => "month",
        Period::Ever => "ever",
    }
}

/// The calendar time of a future instant.
fn date_of(instant: Instant) -> UnixTime {
    let now = clock::now();
    let ahead = instant.saturating_duration_since(now.instant).as_secs();
    UnixTime(now.date.0.saturating_add(ahead as i64))
}

/// What is used of the quotas.
pub(crate) fn quota_views(engine: &mut Engine, network: &Network) -> Vec<Quota> {
    let usage = engine.quotas(clock::now());
    let mut views = Vec::new();
    for (server, usages) in usage {
        let server = server.map(|id| network.name(id).to_owned());
        views.extend(usages.iter().map(|usage| Quota {
            server: server.clone(),
            period: period(usage.allowance.period).to_owned(),
            limit: usage.allowance.most.0,
            used: usage.used.0,
            reached: usage.used >= usage.allowance.most,
            renews: usage.window.map(|window| window.end),
        }));
    }
    views
}
