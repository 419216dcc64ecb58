//! `server_stats`: downloaded bytes by server and day.

use bergamot_api::Control;
use bergamot_api::view::Volume;
use chrono::DateTime;
use serde_json::{Map, Value, json};

use crate::dialect::sabnzbd::mode::{Answer, Call, answer};

/// Sums over the days of one server, or of all.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) total: u64,
    pub(super) month: u64,
    pub(super) week: u64,
    pub(super) day: u64,
}

impl Sums {
    /// The month is that of the calendar, the week the last seven days.
    pub(super) fn of(volume: &Volume) -> Self {
        let since = |first: i64| -> u64 {
            let days = (volume.first_day..).zip(&volume.days);
            days.filter(|(day, _)| *day >= first).map(|(_, bytes)| bytes).sum()
        };
        let today = volume.now.div_euclid(SECONDS_A_DAY);
        let first_of_month = date(today).rsplit_once('-').and_then(|(_, day)| day.parse().ok());
        Self {
            total: volume.total,
            month: since(today - first_of_month.unwrap_or(1) + 1),
            week: since(today - 6),
            day: since(today),
        }
    }
}

pub(super) async fn volumes<C: Control>(call: Call<'_, C>) -> Answer {
    let servers = call.control.servers().await?;
    let volumes = call.control.volumes().await?;
    let mut named = Map::new();
    for volume in &volumes {
        let server = volume.server.and_then(|id| servers.iter().find(|server| server.id == id));
        if let Some(server) = server {
            named.insert(server.name.clone(), of_server(volume));
        }
    }
    let all = volumes.iter().find(|volume| volume.server.is_none());
    let Sums { total, month, week, day } = all.map(Sums::of).unwrap_or_default();
    answer(&json!({ "total": total, "month": month, "week": week, "day": day, "servers": named }))
}

fn of_server(volume: &Volume) -> Value {
    let Sums { total, month, week, day } = Sums::of(volume);
    let articles = |count: fn(&bergamot_api::view::DayArticles) -> u64| {
        by_date(volume.first_day, volume.articles.iter().map(count))
    };
    json!({
        "total": total, "month": month, "week": week, "day": day,
        "daily": by_date(volume.first_day, volume.days.iter().copied()),
        "articles_tried": articles(|day| day.good + day.failed),
        "articles_success": articles(|day| day.good),
    })
}

/// Days without anything are left out, as SABnzbd does.
fn by_date(first_day: i64, counts: impl Iterator<Item = u64>) -> Map<String, Value> {
    let days = (first_day..).zip(counts).filter(|(_, count)| *count > 0);
    days.map(|(day, count)| (date(day), count.into())).collect()
}

fn date(day: i64) -> String {
    let moment = DateTime::from_timestamp(day.saturating_mul(SECONDS_A_DAY), 0).unwrap_or_default();
    moment.format("%Y-%m-%d").to_string()
}

const SECONDS_A_DAY: i64 = 86_400;
