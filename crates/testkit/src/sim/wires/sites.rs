//! [`Sites`]: the `newsd` servers of a byte-level day. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use bergamot_newsd::{Capabilities, Fault, Faults, Login, Manners, Rule, Site, Stage};
use bergamot_types::{ByteRate, Secret};

use crate::sim::day::post::Post;
use crate::sim::day::{Day, ServerModel, WireFault};

/// Each server twice: with its faults, and healed.
#[derive(Debug)]
pub(crate) struct Sites {
    servers: Vec<Twins>,
}

#[derive(Debug)]
struct Twins {
    faulty: Arc<Site>,
    healed: Arc<Site>,
    settings: bergamot_nntp::Settings,
    lies: bool,
}

impl Sites {
    pub(crate) fn new(day: &Day, post: &Post) -> Self {
        let twins = |(place, model): (usize, &ServerModel)| {
            let manners = manners(model);
            let seed = day.seed.number() ^ (place as u64) << 32;
            let faults =
                model.wire.iter().fold(Faults::seeded(seed), |all, one| all.with(rule(one)));
            let healed = Manners { capabilities: Capabilities::Honest, ..manners.clone() };
            Twins {
                settings: settings(&manners),
                faulty: Site::new(post.articles(), manners, faults),
                healed: Site::new(post.articles(), healed, Faults::none()),
                lies: model.lies.is_some(),
            }
        };
        Self { servers: day.servers.iter().enumerate().map(twins).collect() }
    }

    pub(crate) fn site(&self, server: usize, healed: bool) -> Arc<Site> {
        let twins = &self.servers[server];
        if healed { twins.healed.clone() } else { twins.faulty.clone() }
    }

    pub(crate) fn settings(&self, server: usize) -> bergamot_nntp::Settings {
        self.servers[server].settings.clone()
    }

    pub(crate) fn lies(&self, server: usize) -> bool {
        self.servers[server].lies
    }

    pub(crate) fn fired(&self) -> BTreeMap<Fault, u64> {
        let mut fired = BTreeMap::new();
        for twins in &self.servers {
            for (fault, count) in twins.faulty.tally().all_fired() {
                *fired.entry(fault).or_default() += count;
            }
        }
        fired
    }
}

fn manners(model: &ServerModel) -> Manners {
    let strikes_at = |stage| model.wire.iter().any(|one| one.fault.stage() == stage);
    let again = model.wire.iter().any(|one| one.fault == Fault::LoginAgain);
    let with_login = strikes_at(Stage::Login) || again || model.settings.id.0.is_multiple_of(2);
    let tls =
        |one: &WireFault| matches!(one.fault, Fault::InjectedPlaintext | Fault::StartTlsStripped);
    let capabilities = match model.lies {
        None => Capabilities::Honest,
        Some([]) => Capabilities::Unknown,
        Some(lines) => Capabilities::Claimed(lines.iter().map(|&line| line.to_owned()).collect()),
    };
    Manners {
        capabilities,
        transit: model.settings.id.0.is_multiple_of(3) && model.lies.is_none(),
        start_tls: model.wire.iter().any(tls),
        login: with_login.then(|| Login::new("ann", "secret")),
        round_trip: model.round_trip,
        pace: model.connection_rate.map(ByteRate),
        ..Manners::default()
    }
}

fn settings(manners: &Manners) -> bergamot_nntp::Settings {
    let login = manners
        .login
        .as_ref()
        .map(|_| bergamot_nntp::Login::new("ann", Secret::new("secret")).expect("a line holds it"));
    bergamot_nntp::Settings { login, start_tls: manners.start_tls, ..Default::default() }
}

fn rule(one: &WireFault) -> Rule {
    let rule = Rule::new(one.fault).at_rate(one.per_mille as f64 / 1000.0);
    let rule = if one.fault == Fault::Missing { rule.lasting() } else { rule };
    let rule = match one.first {
        0 => rule,
        first => rule.first_asks(first),
    };
    match one.saying {
        None => rule,
        Some(line) => rule.saying(line),
    }
}
