//! [`RateCheck`]: checks that no more is read than the rates permit. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bergamot_engine::{ConnectionId, Credit};
use bergamot_types::ByteRate;

use crate::sim::day::Day;
use crate::violation::{Checked, violated};

/// Counts what was read over every ten seconds, in all and of each server.
#[derive(Debug)]
pub(crate) struct RateCheck {
    all: Option<Window>,
    servers: BTreeMap<usize, Window>,
}

#[derive(Debug)]
struct Window {
    rate: u64,
    counts_from: Duration,
    largest_lease: u64,
    read: VecDeque<(Duration, u64)>,
    sum: u64,
}

impl RateCheck {
    pub(crate) fn new(day: &Day) -> Self {
        let all = Some(day.rate.0).filter(|rate| *rate > 0).map(Window::new);
        let servers = day.server_rates.iter();
        let servers =
            servers.map(|(id, rate)| (usize::from(id.0) - 1, Window::new(rate.0))).collect();
        Self { all, servers }
    }

    /// The user sets another rate for all, or that of the settings.
    pub(crate) fn set_rate(&mut self, now: Duration, rate: ByteRate) {
        let counts_from = now + IN_FORCE_AFTER;
        let window = Some(rate.0).filter(|rate| *rate > 0).map(Window::new);
        self.all = window.map(|window| Window { counts_from, ..window });
    }

    pub(crate) fn on_lend(
        &mut self,
        _: Duration,
        connection: ConnectionId,
        credit: Credit,
    ) -> Checked {
        match (credit, &mut self.all) {
            (Credit::Unlimited, Some(_)) => {
                violated!("connection {connection} may read without end, and there is a rate")
            }
            (Credit::Unlimited, None) => Ok(()),
            (Credit::Bytes { most, .. }, all) => {
                let windows = all.iter_mut().chain(self.servers.values_mut());
                windows.for_each(|window| {
                    window.largest_lease = window.largest_lease.max(most.0);
                });
                Ok(())
            }
        }
    }

    /// Over any ten seconds: the rate, 2 % and one lease.
    pub(crate) fn on_received(&mut self, now: Duration, server: usize, bytes: u64) -> Checked {
        let of_server = self.servers.get_mut(&server).into_iter();
        for window in of_server.chain(&mut self.all) {
            window.add(now, bytes)?;
        }
        Ok(())
    }
}

impl Window {
    fn new(rate: u64) -> Self {
        let counts_from = Duration::ZERO;
        Self { rate, counts_from, largest_lease: 0, read: VecDeque::new(), sum: 0 }
    }

    fn add(&mut self, now: Duration, bytes: u64) -> Checked {
        if now < self.counts_from {
            return Ok(());
        }
        while let Some(&(at, old)) = self.read.front()
            && at + SPAN <= now
        {
            self.read.pop_front();
            self.sum -= old;
        }
        self.read.push_back((now, bytes));
        self.sum += bytes;
        let most = self.rate * SPAN.as_secs() * 102 / 100 + self.largest_lease;
        if self.sum > most {
            return violated!("{} bytes were read in 10 s, at most {most} may be", self.sum);
        }
        Ok(())
    }
}

const SPAN: Duration = Duration::from_secs(10);

/// What was lent before a rate was changed may still be read.
const IN_FORCE_AFTER: Duration = Duration::from_secs(1);
