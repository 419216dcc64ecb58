//! How near to the rate any ten seconds come.

use std::time::Duration;

use crate::road::Road;

/// Prints what was measured; read it with `--nocapture`.
#[test]
fn any_ten_seconds_are_within_two_percent_of_the_rate() {
    println!("{:>14} {:>5} {:>9} {:>9} {:>9}", "bytes/s", "conns", "least %", "most %", "calls/s");
    for rate in
        [16 << 10, 64 << 10, 1 << 20, 10_000_000, 125_000_000, 1_250_000_000, 10_000_000_000]
    {
        for connections in [1, 8, 50, 500] {
            let (least, most, calls) = measure(rate, connections);
            let (least, most) = (least * 100.0, most * 100.0);
            println!("{rate:>14} {connections:>5} {least:>9.3} {most:>9.3} {calls:>9}");
            assert!(least >= 98.0 && most <= 102.0, "{rate} by {connections}");
        }
    }
}

fn measure(rate: u64, connections: u64) -> (f64, f64, u64) {
    let mut road = Road::new(rate, rate + connections);
    for n in 0..connections {
        // Links of different speed, together three times the rate; none slower than a modem.
        let link = (rate * 3 / connections * (50 + n * 100 / connections) / 100).max(8_000);
        road.add((n % 3) as u16, link.max(rate / connections * 5 / 4));
    }
    for car in 0..connections as u32 {
        road.ask(car);
    }
    road.run(Duration::from_secs(25));
    let (least, most) = road.any_ten_seconds(Duration::from_secs(1), rate);
    (least, most, road.calls / 25)
}

#[test]
fn a_limit_of_a_server_is_as_exact_within_that_of_all() {
    let mut road = Road::new(10_000_000, 5);
    road.call(|limiter, now| limiter.set_server(now, server(1), rate(1_000_000)));
    road.call(|limiter, now| limiter.set_server(now, server(2), rate(64 << 10)));
    let fast: Vec<u32> = (0..20).map(|_| road.add(0, 5_000_000)).collect();
    let slow: Vec<u32> = (0..20).map(|_| road.add(1, 5_000_000)).collect();
    let slowest: Vec<u32> = (0..20).map(|_| road.add(2, 5_000_000)).collect();
    for car in 0..60 {
        road.ask(car);
    }
    road.run(Duration::from_secs(30));
    let (least, most) = road.any_ten_seconds(Duration::from_secs(1), 10_000_000);
    assert!(least >= 0.98 && most <= 1.02, "{least} {most}");
    let read = |cars: &[u32]| cars.iter().map(|&car| road.cars[car as usize].read).sum::<u64>();
    within(read(&slow), 30_000_000, 2);
    within(read(&slowest), 30 * (64 << 10), 2);
    within(read(&fast), 300_000_000 - 30_000_000 - 30 * (64 << 10), 2);
}

#[test]
fn without_a_limit_a_connection_asks_once() {
    let mut road = Road::new(0, 1);
    let start = road.now;
    for id in 0..500 {
        road.limiter.add(id, server(1));
        road.limiter.request(start, id);
    }
    let leases = std::iter::from_fn(|| road.limiter.poll_lease());
    assert!(
        leases.map(|lease| lease.credit).all(|credit| credit == bergamot_limit::Credit::Unlimited)
    );
    assert_eq!(road.limiter.poll_timeout(), None, "and nothing ever wakes");
    assert_eq!(road.limiter.suggested_connections(), None);
}

/// A machine that sleeps, or a loop that hangs, does not make up for lost time.
#[test]
fn a_long_sleep_is_no_flood() {
    let mut road = Road::new(1_000_000, 3);
    let cars: Vec<u32> = (0..8).map(|_| road.add(0, 100_000_000)).collect();
    for &car in &cars {
        road.ask(car);
    }
    road.run(Duration::from_secs(5));
    let before: u64 = road.cars.iter().map(|car| car.read).sum();
    road.now += Duration::from_secs(8 * 3_600);
    for &car in &cars {
        road.call(|limiter, now| limiter.settle(now, car, bergamot_types::ByteCount(0)));
        road.ask(car);
    }
    road.run(Duration::from_secs(1));
    let after: u64 = road.cars.iter().map(|car| car.read).sum();
    // 175 ms of bytes is the bound of what lies ready, leased or not; twice, for those leased before.
    assert!(after - before <= 1_000_000 + 350_000, "{}", after - before);
}

fn server(id: u16) -> bergamot_types::ServerId {
    bergamot_types::ServerId(id)
}

fn rate(bytes: u64) -> Option<bergamot_types::ByteRate> {
    Some(bergamot_types::ByteRate(bytes))
}

fn within(measured: u64, expected: u64, percent: u64) {
    let off = measured.abs_diff(expected);
    assert!(off * 100 <= expected * percent, "{measured} instead of {expected}");
}
