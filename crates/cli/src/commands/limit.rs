//! `limit` and `quota`: shows and sets the rate limit, shows quotas.

use bergamot_types::Shown;
use serde_json::{Value, json};

use crate::arguments::RateLimit;
use crate::client::response::{Quota, read};
use crate::client::session::Session;
use crate::failure::Failure;
use crate::terminal::columns::{Cell, Columns, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

pub(crate) fn limit(session: &mut Session, rate: Option<RateLimit>) -> Result<(), Failure> {
    let answer = match rate {
        Some(RateLimit(rate)) => session.ask("limits.set", json!({ "rate": rate }))?,
        None => session.ask("limits.get", json!({}))?,
    };
    session.out.answer(&answer, |_| Ok(limit_page(&answer)))
}

fn limit_page(answer: &Value) -> String {
    match answer["rate"].as_u64() {
        Some(rate) => format!("{}\n", format::rate(rate)),
        None => "No limit.\n".to_owned(),
    }
}

pub(crate) fn quota(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("quota.get", json!({}))?;
    session.out.answer(&answer, |style| Ok(quota_page(&read::<Vec<Quota>>(&answer)?, style)))
}

fn quota_page(quotas: &[Quota], style: Style) -> String {
    if quotas.is_empty() {
        return "There are no quotas.\n".to_owned();
    }
    let heads = [
        left("OF"),
        left("PER"),
        right("USED"),
        right("LIMIT"),
        left(""),
        right(""),
        left("RENEWS"),
    ];
    let mut table = Columns::new(heads);
    for quota in quotas {
        let used = format::thousandths(quota.limit.saturating_sub(quota.used), quota.limit);
        let tint = if quota.reached { Tint::Bad } else { Tint::Good };
        table.push([
            quota
                .server
                .as_deref()
                .map_or("all servers".to_owned(), |name| Shown(name).to_string())
                .into(),
            Shown(&quota.period).to_string().into(),
            format::size(quota.used).into(),
            format::size(quota.limit).into(),
            Cell::tinted(tint, format::bar(used, BAR)),
            format!("{} %", used / 10).into(),
            quota.renews.map_or("".into(), |renews| style.date(renews.0).into()),
        ]);
    }
    table.page(style)
}

const BAR: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_have_bars() {
        let quota = |server: Option<&str>, used: u64| {
            json!({ "server": server, "period": "month", "limit": 1_000_000, "used": used,
                "reached": used >= 1_000_000, "renews": "2027-02-01T00:00:00Z" })
        };
        let quotas = [quota(None, 250_000), quota(Some("block"), 2_000_000)];
        let quotas: Vec<Quota> = quotas.iter().map(|quota| read(quota).unwrap()).collect();
        assert_eq!(
            quota_page(&quotas, Style::plain(100)),
            "OF           PER        USED   LIMIT                           RENEWS\n\
             all servers  month  250.0 kB  1.0 MB  ████············   25 %  2027-02-01 00:00\n\
             block        month    2.0 MB  1.0 MB  ████████████████  100 %  2027-02-01 00:00\n"
        );
        assert_eq!(quota_page(&[], Style::plain(100)), "There are no quotas.\n");
    }

    #[test]
    fn a_limit_is_a_rate_or_none() {
        assert_eq!(limit_page(&json!({ "rate": 5_000_000 })), "5.0 MB/s\n");
        assert_eq!(limit_page(&json!({ "rate": null })), "No limit.\n");
    }
}
