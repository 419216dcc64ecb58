//! Connections with links of their own around one limiter, in simulated time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use bergamot_limit::{Credit, Limiter, Settings};
use bergamot_types::{ByteCount, ByteRate, ServerId, SplitMix};

pub(crate) struct Road {
    pub limiter: Limiter<u32>,
    pub start: Instant,
    pub now: Instant,
    pub cars: Vec<Car>,
    /// Bytes read in each hundredth of a second.
    pub bins: Vec<u64>,
    /// Calls into the limiter.
    pub calls: u64,
    /// The most that a wake-up or a message is late.
    pub lateness: Duration,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    sequence: u64,
    timer: Option<Instant>,
    chance: SplitMix,
}

/// A connection.
pub(crate) struct Car {
    pub link: u64,
    pub read: u64,
    /// Takes leases and never reads.
    pub silent: bool,
    /// What its socket holds, received while it had no lease.
    buffered: u64,
    idle_since: Instant,
    lease: Option<Reading>,
    leases: u64,
}

#[derive(Clone, Copy)]
struct Reading {
    number: u64,
    most: u64,
    since: Instant,
    buffered: u64,
    unlimited: bool,
}

#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    Done { car: u32, number: u64 },
    Lease { car: u32, most: Option<u64>, until: Option<Instant> },
    Revoked { car: u32 },
    Timer { timeout: Instant },
}

pub(crate) const BIN: Duration = Duration::from_millis(10);

/// What TCP takes in while nobody reads.
const SOCKET_BUFFER: u64 = 64 << 10;

impl Road {
    pub(crate) fn new(rate: u64, seed: u64) -> Self {
        let start = Instant::now();
        let settings = Settings { rate: ByteRate(rate), ..Settings::default() };
        Self {
            limiter: Limiter::new(start, &settings),
            start,
            now: start,
            cars: Vec::new(),
            bins: Vec::new(),
            calls: 0,
            lateness: Duration::from_millis(2),
            events: BinaryHeap::new(),
            sequence: 0,
            timer: None,
            chance: SplitMix::seeded(seed),
        }
    }

    /// A connection that does not ask yet.
    pub(crate) fn add(&mut self, server: u16, link: u64) -> u32 {
        let id = self.cars.len() as u32;
        self.cars.push(Car {
            link,
            read: 0,
            silent: false,
            buffered: 0,
            idle_since: self.now,
            lease: None,
            leases: 0,
        });
        self.limiter.add(id, ServerId(server));
        id
    }

    pub(crate) fn ask(&mut self, car: u32) {
        self.call(|limiter, now| limiter.request(now, car));
    }

    pub(crate) fn call(&mut self, what: impl FnOnce(&mut Limiter<u32>, Instant)) {
        self.calls += 1;
        what(&mut self.limiter, self.now);
        while let Some(car) = self.limiter.poll_revoked() {
            self.later(Event::Revoked { car });
        }
        while let Some(lease) = self.limiter.poll_lease() {
            let (most, until) = match lease.credit {
                Credit::Bytes { most, until } => (Some(most.0), Some(until)),
                Credit::Unlimited => (None, None),
            };
            self.later(Event::Lease { car: lease.connection, most, until });
        }
        if let Some(timeout) = self.limiter.poll_timeout()
            && self.timer.is_none_or(|timer| timeout < timer)
        {
            self.timer = Some(timeout);
            let at = timeout.max(self.now) + self.delay();
            self.push(at, Event::Timer { timeout });
        }
    }

    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(&Reverse((at, _, event))) = self.events.peek()
            && at <= end
        {
            self.events.pop();
            self.now = at;
            self.on(event);
        }
        self.now = end;
    }

    fn on(&mut self, event: Event) {
        match event {
            Event::Timer { timeout } if self.timer != Some(timeout) => {}
            Event::Timer { .. } => {
                self.timer = None;
                self.call(|limiter, now| limiter.handle_timeout(now));
            }
            Event::Lease { car, most, until } => self.on_lease(car, most, until),
            Event::Done { car, number } => match self.cars[car as usize].lease {
                Some(lease) if lease.number != number => {}
                Some(lease) if lease.unlimited => self.go_on(car),
                _ => self.stop(car),
            },
            Event::Revoked { car } => self.stop(car),
        }
    }

    fn on_lease(&mut self, id: u32, most: Option<u64>, until: Option<Instant>) {
        let car = &mut self.cars[id as usize];
        car.leases += 1;
        let most_or_all = most.unwrap_or(u64::MAX);
        let number = car.leases;
        let received = flow(car.link, self.now - car.idle_since);
        let buffered = (car.buffered + received).min(SOCKET_BUFFER);
        let unlimited = most.is_none();
        let reading = Reading { number, most: most_or_all, since: self.now, buffered, unlimited };
        car.lease = Some(reading);
        let needed =
            u128::from(most_or_all.saturating_sub(buffered)) * 1_000_000_000 / u128::from(car.link);
        let needed = Duration::from_nanos(needed.min(1 << 60) as u64);
        let end = match until {
            Some(until) if car.silent => until,
            Some(until) => until.min(self.now + needed),
            None => self.now + BIN, // reported bin by bin
        };
        self.push(end.max(self.now), Event::Done { car: id, number });
    }

    /// A car without a limit asks nobody; only what it read is noted.
    fn go_on(&mut self, car: u32) {
        self.read(car);
        self.on_lease(car, None, None);
    }

    /// The car reads no further under this lease; it settles and asks again.
    fn stop(&mut self, id: u32) {
        let Some((reading, read)) = self.read(id) else { return };
        if !reading.unlimited && read < reading.most {
            self.call(|limiter, now| limiter.settle(now, id, ByteCount(reading.most - read)));
        }
        self.ask(id);
    }

    /// Ends the reading under a lease and says what came of it.
    fn read(&mut self, id: u32) -> Option<(Reading, u64)> {
        let car = &mut self.cars[id as usize];
        let reading = car.lease.take()?;
        let can = reading.buffered + flow(car.link, self.now - reading.since);
        let read = if car.silent { 0 } else { can.min(reading.most) };
        car.buffered = can - read;
        car.idle_since = self.now;
        car.read += read;
        self.record(reading.since, read);
        Some((reading, read))
    }

    /// Spreads what was read evenly over the time it took.
    fn record(&mut self, since: Instant, read: u64) {
        let bin = |at: Instant| ((at - self.start).as_nanos() / BIN.as_nanos()) as usize;
        let (first, last) = (bin(since), bin(self.now));
        self.bins.resize(self.bins.len().max(last + 1), 0);
        let parts = (last - first + 1) as u64;
        for part in 0..parts {
            self.bins[first + part as usize] += read / parts + u64::from(part < read % parts);
        }
    }

    fn later(&mut self, event: Event) {
        let at = self.now + self.delay() / 4;
        self.push(at, event);
    }

    fn delay(&mut self) -> Duration {
        Duration::from_nanos(self.chance.up_to(self.lateness.as_nanos() as u64))
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    /// The least and the most that any ten seconds after `from` came to, in parts of `rate`.
    pub(crate) fn any_ten_seconds(&self, from: Duration, rate: u64) -> (f64, f64) {
        let from = (from.as_nanos() / BIN.as_nanos()) as usize;
        let end = ((self.now - self.start).as_nanos() / BIN.as_nanos()) as usize;
        let mut bins = self.bins.clone();
        bins.resize(end, 0);
        let mut sum: u64 = bins[from..from + 1_000].iter().sum();
        let (mut least, mut most) = (sum, sum);
        for first in from..end - 1_000 {
            sum = sum - bins[first] + bins[first + 1_000];
            least = least.min(sum);
            most = most.max(sum);
        }
        let full = rate as f64 * 10.0;
        (least as f64 / full, most as f64 / full)
    }
}

fn flow(link: u64, time: Duration) -> u64 {
    (u128::from(link) * time.as_nanos()).div_ceil(1_000_000_000) as u64
}
