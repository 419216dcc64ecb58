//! Who gets how much.

use std::time::Duration;

use bergamot_types::{ByteRate, ServerId};

use crate::road::Road;

#[test]
fn equals_get_equal_shares() {
    for (rate, connections) in [(16 << 10, 8), (1 << 20, 50), (125_000_000, 500)] {
        let mut road = Road::new(rate, 7);
        for n in 0..connections {
            // All links are fast enough, but by very different measure.
            let car = road.add(0, rate / connections * (2 + n % 9));
            road.ask(car);
        }
        road.run(Duration::from_secs(60));
        let reads: Vec<u64> = road.cars.iter().map(|car| car.read).collect();
        let (least, most) = (reads.iter().min().unwrap(), reads.iter().max().unwrap());
        let share = rate * 60 / connections;
        assert!(most - least <= share / 50 + 32 * 1024, "{rate} {connections}: {least} {most}");
    }
}

/// Max-min: what the slow cannot use goes to the others in equal parts.
#[test]
fn what_slow_links_leave_is_shared() {
    let mut road = Road::new(10_000_000, 8);
    for link in [100_000, 200_000, 300_000, 50_000_000, 50_000_000, 50_000_000] {
        let car = road.add(0, link);
        road.ask(car);
    }
    road.run(Duration::from_secs(60));
    let reads: Vec<u64> = road.cars.iter().map(|car| car.read / 60).collect();
    for (read, link) in reads.iter().zip([100_000, 200_000, 300_000]) {
        assert!(*read > link * 95 / 100, "{reads:?}");
    }
    for read in &reads[3..] {
        assert!(read.abs_diff((10_000_000 - 600_000) / 3) < 100_000, "{reads:?}");
    }
}

#[test]
fn what_a_limited_server_leaves_is_shared() {
    let mut road = Road::new(10_000_000, 9);
    road.call(|limiter, now| limiter.set_server(now, ServerId(1), Some(ByteRate(1_000_000))));
    for n in 0..8 {
        let car = road.add(u16::from(n < 4), 50_000_000);
        road.ask(car);
    }
    road.run(Duration::from_secs(60));
    for (n, car) in road.cars.iter().enumerate() {
        let share = if n < 4 { 250_000 } else { 2_250_000 };
        assert!((car.read / 60).abs_diff(share) < share / 33, "{n}: {}", car.read / 60);
    }
}

#[test]
fn the_idle_eat_nothing_and_have_no_claim_afterwards() {
    let mut road = Road::new(1_000_000, 10);
    let busy: Vec<u32> = (0..2).map(|_| road.add(0, 50_000_000)).collect();
    let idle: Vec<u32> = (0..48).map(|_| road.add(0, 50_000_000)).collect();
    for &car in &busy {
        road.ask(car);
    }
    road.run(Duration::from_secs(30));
    for &car in &busy {
        assert!(road.cars[car as usize].read > 14_700_000);
    }
    let before: Vec<u64> = road.cars.iter().map(|car| car.read).collect();
    for &car in &idle {
        road.ask(car);
    }
    road.run(Duration::from_secs(20));
    for (car, before) in road.cars.iter().zip(before) {
        let read = car.read - before;
        assert!(read.abs_diff(400_000) < 50_000, "no arrears, only its part: {read}");
    }
}

/// They ask though their sockets are silent, sit on their leases to the end, and ask again.
#[test]
fn the_silent_delay_bytes_but_lose_few() {
    for (rate, silent, expected) in [(1_000_000, 10, 98), (100_000_000, 250, 98)] {
        let mut road = Road::new(rate, 11);
        for n in 0..silent * 2 {
            let car = road.add(0, rate);
            road.cars[car as usize].silent = n % 2 == 0;
            road.ask(car);
        }
        road.run(Duration::from_secs(30));
        let read: u64 = road.cars.iter().map(|car| car.read).sum();
        println!("{rate} with {silent} silent: {} %", read * 100 / (rate * 30));
        assert!(read * 100 >= rate * 30 * expected, "{read}");
    }
}

#[test]
fn few_connections_are_suggested_for_a_low_rate() {
    for (rate, suggested) in
        [(1, Some(1)), (16 << 10, Some(1)), (1 << 20, Some(16)), (10_000_000, Some(152)), (0, None)]
    {
        let road = Road::new(rate, 0);
        assert_eq!(road.limiter.suggested_connections(), suggested, "{rate}");
    }
    let mut road = Road::new(0, 0);
    road.call(|limiter, now| limiter.set_server(now, ServerId(4), Some(ByteRate(256 << 10))));
    assert_eq!(road.limiter.suggested_server_connections(ServerId(4)), Some(4));
    assert_eq!(road.limiter.suggested_server_connections(ServerId(5)), None);
}
