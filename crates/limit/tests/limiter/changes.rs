//! How soon a new rate holds.

use std::time::Duration;

use bergamot_types::{ByteRate, ServerId};

use crate::road::{BIN, Road};

/// From any rate to any other: the second after the change is free, the ten after it are exact.
#[test]
fn a_new_rate_is_in_force_within_a_second() {
    let rates = [16 << 10, 1 << 20, 100_000_000, 10_000_000_000, 0];
    for before in rates {
        for after in rates.into_iter().filter(|&after| after != before && after != 0) {
            for connections in [1, 8, 100] {
                change(before, after, connections);
            }
        }
    }
}

fn change(before: u64, after: u64, connections: u64) {
    let mut road = Road::new(before, before ^ after);
    for _ in 0..connections {
        let car = road.add(0, (before.max(after) * 3 / connections).max(8_000));
        road.ask(car);
    }
    road.run(Duration::from_secs(3));
    road.call(|limiter, now| limiter.set_global(now, Some(ByteRate(after))));
    road.run(Duration::from_secs(13));
    let (least, most) = road.any_ten_seconds(Duration::from_secs(4), after);
    assert!(least >= 0.98 && most <= 1.02, "{before} to {after} by {connections}: {least} {most}");
}

#[test]
fn a_slow_link_under_a_high_limit_does_not_live_on_an_old_lease() {
    // 10 GB/s allowed, 1 MB/s real: a lease by bytes alone would last for minutes.
    let mut road = Road::new(10_000_000_000, 2);
    let car = road.add(0, 1_000_000);
    road.ask(car);
    road.run(Duration::from_secs(3));
    road.call(|limiter, now| limiter.set_global(now, Some(ByteRate(16 << 10))));
    road.run(Duration::from_secs(1));
    let before = road.cars[0].read;
    road.run(Duration::from_secs(10));
    assert!((road.cars[0].read - before).abs_diff(10 * (16 << 10)) < 3_277);
}

#[test]
fn a_server_is_limited_within_a_second_and_alone() {
    for rate in [0, 100_000_000] {
        let mut road = Road::new(rate, 12);
        for n in 0..8 {
            let car = road.add(n % 2, 5_000_000);
            road.ask(car);
        }
        road.run(Duration::from_secs(3));
        road.call(|limiter, now| limiter.set_server(now, ServerId(1), Some(ByteRate(400_000))));
        road.run(Duration::from_secs(1));
        let before: Vec<u64> = road.cars.iter().map(|car| car.read).collect();
        road.run(Duration::from_secs(10));
        for (n, car) in road.cars.iter().enumerate() {
            let expected = if n % 2 == 1 { 1_000_000 } else { 50_000_000 };
            let read = car.read - before[n];
            assert!(read.abs_diff(expected) < expected / 20, "{n}: {read}");
        }
    }
}

#[test]
fn a_limit_taken_away_frees_everybody_at_once() {
    let mut road = Road::new(16 << 10, 3);
    road.call(|limiter, now| limiter.set_server(now, ServerId(1), Some(ByteRate(16 << 10))));
    for n in 0..8 {
        let car = road.add(n % 2, 1_000_000);
        road.ask(car);
    }
    road.run(Duration::from_secs(5));
    road.call(|limiter, now| limiter.set_global(now, None));
    let before: Vec<u64> = road.cars.iter().map(|car| car.read).collect();
    road.run(Duration::from_secs(5));
    for (n, car) in road.cars.iter().enumerate() {
        let rate = (car.read - before[n]) / 5;
        if n % 2 == 0 {
            assert!(rate > 900_000, "{n}: {rate}");
        } else {
            assert!(rate < 6_000, "{n}: {rate}");
        }
    }
}

#[test]
fn a_lease_that_nobody_took_yet_is_not_given_any_more() {
    let mut road = Road::new(0, 13);
    let car = road.add(1, 1);
    road.limiter.request(road.now, car);
    road.limiter.set_server(road.now, ServerId(1), Some(ByteRate(1_000_000)));
    assert_eq!(road.limiter.poll_revoked(), None);
    assert_eq!(road.limiter.poll_lease(), None);
    assert!(road.limiter.poll_timeout().is_some(), "it waits for one with an end");
}

/// Somebody drags a slider: the sum stays near what was set, whatever the order.
#[test]
fn many_changes_in_a_row_add_up() {
    let mut road = Road::new(1_000_000, 4);
    for _ in 0..16 {
        let car = road.add(0, 10_000_000);
        road.ask(car);
    }
    road.run(Duration::from_secs(1));
    let from = road.bins.len();
    let mut allowed = 0;
    for step in 0..400 {
        let rate = 200_000 + 40_000 * (step * 7 % 50);
        road.call(|limiter, now| limiter.set_global(now, Some(ByteRate(rate))));
        road.run(Duration::from_millis(50));
        allowed += rate / 20;
    }
    let bins = (Duration::from_secs(20).as_millis() / BIN.as_millis()) as usize;
    let read: u64 = road.bins.iter().skip(from).take(bins).sum();
    assert!(read.abs_diff(allowed) < allowed / 20, "{read} of {allowed}");
}

#[test]
fn lost_connections_keep_nothing() {
    let mut road = Road::new(1_000_000, 6);
    for _ in 0..300 {
        let lost = road.add(0, 1);
        road.limiter.request(road.now, lost);
    }
    let car = road.add(0, 10_000_000);
    // Their leases, more than may be leased at a time, go nowhere and nobody settles them.
    for _ in 0..200 {
        road.now += BIN;
        road.limiter.handle_timeout(road.now);
        while road.limiter.poll_lease().is_some() {}
    }
    road.ask(car);
    road.run(Duration::from_secs(12));
    let (least, most) = road.any_ten_seconds(Duration::from_secs(3), 1_000_000);
    assert!(least >= 0.98 && most <= 1.02, "{least} {most}");
    road.limiter.remove(car);
    road.limiter.request(road.now, car);
    assert!(road.limiter.poll_lease().is_none(), "it is not there any more");
}
