//! [`QuotaCheck`]: checks what was received against quotas, their records and the timetable. Pure.

use std::collections::BTreeMap;

use bergamot_engine::{ConnectionId, DiskTrouble, Event, Notice, Order, QuotaRecords};
use bergamot_limit::{Effect, Quota, QuotaSettings, Timetable};
use bergamot_types::{ServerId, UnixTime};

use crate::sim::day::Day;
use crate::sim::day::user_action::UserAction;
use crate::sim::kind::Kind;
use crate::violation::{Checked, Violation, violated};

/// Follows every quota of a day, and its timetable.
#[derive(Debug)]
pub(crate) struct QuotaCheck<'a> {
    timetable: &'a Timetable,
    accounts: Vec<Account<'a>>,
    servers: BTreeMap<ConnectionId, ServerId>,
    article: Option<u64>, // what each counts for, where none counts for more
    sent: BTreeMap<u64, QuotaRecords>,
    durable: QuotaRecords,
    starts: u64,
}

/// One quota.
#[derive(Debug)]
struct Account<'a> {
    server: Option<ServerId>, // or all of them together
    quota: &'a QuotaSettings,
    came: BTreeMap<UnixTime, u64>, // by the beginning of the quota's day; all of it, where it has none
    asked: UnixTime,               // when something was asked for last
    asked_bytes: u64,              // since ever
    page: Option<Page>,            // as long as neither that nor the record changes
}

/// The quota's day on which something was asked for, and what is on record of it.
#[derive(Clone, Copy, Debug)]
struct Page {
    start: UnixTime,
    used: u64,
}

impl<'a> QuotaCheck<'a> {
    pub(crate) fn new(day: &'a Day) -> Self {
        let calendar = &day.calendar;
        let blocks = calendar.blocks.iter().map(|(server, quota)| (Some(*server), quota));
        let all = [(None, &calendar.quota)].into_iter().chain(blocks);
        let all = all.filter(|(_, quota)| !quota.allowances.is_empty());
        let account = |(server, quota)| Account {
            server,
            quota,
            came: BTreeMap::new(),
            asked: calendar.begins,
            asked_bytes: 0,
            page: None,
        };
        Self {
            timetable: &calendar.timetable,
            accounts: all.map(account).collect(),
            servers: BTreeMap::new(),
            article: is_exact(day).then_some(day.article.max(day.claimed.into()).max(LEAST_CHARGE)),
            sent: BTreeMap::new(),
            durable: QuotaRecords::default(),
            starts: 1,
        }
    }

    pub(crate) fn on_order(&mut self, date: UnixTime, order: &Order) -> Checked {
        match order {
            Order::Connect { connection, server } => {
                self.servers.insert(*connection, *server);
                Ok(())
            }
            Order::Fetch { connection, id, hedge, .. } => {
                if self.timetable.active_at(date) == Some(Effect::Pause) {
                    return violated!("<{id}> is asked for in a pause");
                }
                let server = self.servers.get(connection).copied();
                let article = self.article.unwrap_or(0);
                let concerned = self.accounts.iter_mut().filter(|it| it.concerns(server));
                for account in concerned {
                    account
                        .on_fetch(date, article, *hedge)
                        .map_err(|why| Violation::new(format!("<{id}> {why}")))?;
                }
                Ok(())
            }
            Order::Persist { number, records } => {
                self.sent.insert(*number, records.clone());
                Ok(())
            }
            Order::Tell(Notice::QuotaReached { server, .. }) => self.check_reached(*server),
            _ => Ok(()),
        }
    }

    pub(crate) fn on_event(&mut self, event: &Event) {
        if let Event::Persisted { number, result } = event
            && let Some(records) = self.sent.remove(number)
            && *result == Ok::<(), DiskTrouble>(())
        {
            // As the daemon keeps them: who is not told of is as it was.
            self.durable.all = records.all.or(self.durable.all.take());
            self.durable.servers.extend(records.servers);
            self.accounts.iter_mut().for_each(|account| account.page = None);
        }
    }

    /// What was on its way to the disk is lost; what is there, the next engine begins with.
    pub(crate) fn on_restart(&mut self) -> QuotaRecords {
        self.sent.clear();
        self.servers.clear();
        self.starts += 1;
        self.durable.clone()
    }

    /// From now on this much may come of every server that has an end.
    pub(crate) fn on_blocks_renewed(&mut self, quota: &'a QuotaSettings) {
        let blocks = self.accounts.iter_mut().filter(|account| account.server.is_some());
        blocks.for_each(|account| account.quota = quota);
    }

    /// Whatever happens now, no byte that came may be forgotten.
    pub(crate) fn on_received(&mut self, server: ServerId, bytes: u64) -> Checked {
        let durable = &self.durable;
        let mut concerned = self.accounts.iter_mut().filter(|it| it.concerns(Some(server)));
        concerned.try_for_each(|account| account.on_received(durable, bytes))
    }

    /// An account with an end has not come to it before so much was asked for. What a record is charged
    /// with in advance is lost at each sudden end.
    fn check_reached(&self, server: Option<ServerId>) -> Checked {
        let ended = self.accounts.iter().find(|it| it.server.is_some() && it.server == server);
        let Some(account) = ended.filter(|_| self.article.is_some()) else { return Ok(()) };
        let charged = (self.starts - 1) * Quota::RESERVE.0;
        let (asked, most) = (account.asked_bytes + charged, account.most());
        if asked < most {
            return violated!(
                "{server:?} has given all of {most} bytes, and {asked} were asked for"
            );
        }
        Ok(())
    }
}

impl Account<'_> {
    fn concerns(&self, server: Option<ServerId>) -> bool {
        self.server.is_none() || self.server == server
    }

    fn most(&self) -> u64 {
        self.quota.allowances.first().map_or(u64::MAX, |allowance| allowance.most.0)
    }

    fn on_fetch(&mut self, date: UnixTime, bytes: u64, hedge: bool) -> Checked {
        if hedge {
            return violated!("is asked for twice, and that is counted");
        }
        (self.asked, self.page) = (date, None);
        self.asked_bytes += bytes;
        let came = self.came.get(&self.start(date)).copied().unwrap_or(0);
        let most = self.most();
        if came >= most {
            return violated!("is asked for, and {came} bytes of {most} have come");
        }
        Ok(())
    }

    /// What comes belongs to the day on which it was asked for, whatever the clock shows by now.
    fn on_received(&mut self, durable: &QuotaRecords, bytes: u64) -> Checked {
        let page = self.page.unwrap_or_else(|| self.turn_to(self.asked, durable));
        self.page = Some(page);
        let came = self.came.entry(page.start).or_default();
        *came += bytes;
        let (came, used) = (*came, page.used);
        if came > used {
            return violated!("{came} bytes came of {:?}, and {used} are on record", self.server);
        }
        Ok(())
    }

    fn turn_to(&self, date: UnixTime, durable: &QuotaRecords) -> Page {
        let record = match self.server {
            None => durable.all.as_ref(),
            Some(server) => durable.servers.get(&server),
        };
        let mut quota = Quota::restore(self.quota.clone(), record.cloned().unwrap_or_default());
        let used = quota.usage(date).first().map_or(0, |usage| usage.used.0);
        Page { start: self.start(date), used }
    }

    fn start(&self, date: UnixTime) -> UnixTime {
        let allowance = self.quota.allowances.first();
        let window = allowance.and_then(|it| self.quota.calendar.window(it.period, date));
        window.map_or(UnixTime(0), |window| window.start)
    }
}

/// Whether no article counts for more than it is said to have: some are larger, and what is under way
/// when a server is taken away counts then, and perhaps again when it is back.
fn is_exact(day: &Day) -> bool {
    let is_reload = |(_, user_action): &(_, UserAction)| user_action.kind() == Kind::Reloaded;
    !day.kinds.contains(&Kind::Outgrown) && !day.user_actions.iter().any(is_reload)
}

/// What an article counts for at least while it is asked for.
const LEAST_CHARGE: u64 = 16 << 10;
