//! The facts of the configuration that other dialects show, made of [`ActiveSettings`] in the main loop.

use bergamot_api::view::{
    CategoryFacts, Config as ConfigView, ConfigValue, Facts, FeedFacts, ServerFacts,
};
use bergamot_engine::HealthAction;
use bergamot_net::{Encryption, IpVersion};
use bergamot_types::ByteCount;

use crate::control::active_settings::ActiveSettings;
use bergamot_config::{Category, Duplicates, Feed, Listed, Server};

impl ActiveSettings {
    pub(crate) fn view(&self) -> ConfigView {
        let value = |listed: &Listed| ConfigValue {
            key: listed.key.clone(),
            value: listed.value.clone(),
            secret: listed.is_secret,
            needs_restart: listed.needs_restart(),
        };
        ConfigView { values: self.config().listed.iter().map(value).collect(), facts: self.facts() }
    }

    fn facts(&self) -> Facts {
        let config = self.config();
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let directories = &config.directories;
        let address = config.control.address;
        Facts {
            binary: std::env::current_exe().map(|path| text(&path)).unwrap_or_default(),
            config_file: text(self.config_file()),
            main_directory: self.config_file().parent().map(text).unwrap_or_default(),
            destination: text(&directories.complete),
            incomplete: text(&directories.incomplete),
            watch: text(&directories.watch),
            state: text(&directories.state),
            temporary: text(&directories.incomplete),
            log_file: config.log.file.as_deref().map(text).unwrap_or_default(),
            keep_history_days: config.history.keep_days,
            watch_interval: config.watch.scan_interval.as_secs(),
            rate_limit: config.download.rate.0,
            daily_quota: config.quota.daily.0,
            monthly_quota: config.quota.monthly.0,
            quota_start_day: config.quota.reset_day,
            // What a large volume has: it has to stay the same whatever the disk says, for clients send
            // it back, and it would be taken for their wish.
            reserve: config.storage.reserve.of(ByteCount(u64::MAX)).0,
            health_action: match config.download.health_check {
                HealthAction::Delete => "delete",
                HealthAction::None => "none",
                HealthAction::Park => "park",
                HealthAction::Pause => "pause",
            }
            .to_owned(),
            duplicates_refused: config.watch.duplicates == Duplicates::Refuse,
            control_address: address.map(|it| it.ip().to_string()).unwrap_or_default(),
            control_port: address.map_or(0, |it| it.port()),
            servers: config.servers.iter().map(|server| self.server_facts(server)).collect(),
            categories: config.categories.iter().map(category_facts).collect(),
            feeds: config.feeds.iter().map(feed_facts).collect(),
        }
    }

    fn server_facts(&self, server: &Server) -> ServerFacts {
        ServerFacts {
            name: server.name.clone(),
            active: self.switch_of(&server.name).unwrap_or(server.active),
            level: u16::try_from(server.role.level).unwrap_or(u16::MAX),
            optional: server.role.optional,
            group: server.role.group,
            host: server.address.host.clone(),
            port: server.address.port,
            tls: server.security.encryption != Encryption::None,
            has_username: server.login.is_some(),
            join_group: server.role.join_group,
            cipher: server.security.ciphers.join(":"),
            certificates_checked: server.security.cert_verification,
            ip_version: match server.address.ip_version {
                IpVersion::Auto => "auto",
                IpVersion::V4 => "ipv4",
                IpVersion::V6 => "ipv6",
            }
            .to_owned(),
            connections: server.role.connections.into(),
            retention: server.role.retention,
        }
    }
}

fn feed_facts(feed: &Feed) -> FeedFacts {
    FeedFacts {
        name: feed.name.clone(),
        url: feed.url.as_ref().map(ToString::to_string).unwrap_or_default(),
        rules: feed.rules.clone(),
        interval_minutes: feed.interval.map(|interval| interval.as_secs() / 60),
        backlog: feed.backlog,
        paused: feed.pause,
        category: feed.category.clone().unwrap_or_default(),
        priority: feed.priority.unwrap_or(0),
    }
}

fn category_facts(category: &Category) -> CategoryFacts {
    CategoryFacts {
        name: category.name.clone(),
        destination: category.directory.to_string_lossy().into_owned(),
        aliases: category.aliases.clone(),
        priority: category.priority,
    }
}
