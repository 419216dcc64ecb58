//! What the scheduler promises, shown in the simulator; each test prints its figure.

mod traffic;

use std::time::Duration;

use bergamot_testkit::sim::{Day, JobModel, Kind, Outage, SideTraffic};
use traffic::{ARTICLE, Traffic, day, job, server};

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn servers_of_four_to_one_speed_share_the_articles_four_to_one() {
    for round_trip in [1, 20, 100] {
        let mut day = day(vec![server(1, 16_000_000), server(2, 4_000_000)], 3000);
        day.servers.iter_mut().for_each(|it| it.round_trip = Duration::from_millis(round_trip));
        let traffic = Traffic::of(&day);
        let (fast, slow) = (traffic.delivered(1), traffic.delivered(2));
        let ratio = fast as f64 / slow as f64;
        println!("4:1 at {round_trip} ms: {fast} and {slow} articles, {ratio:.2}:1");
        assert!((3.6..=4.4).contains(&ratio), "{ratio}");
    }
}

#[test]
fn a_server_that_turns_slow_or_dead_gets_little_and_has_its_share_back_when_it_recovers() {
    for thousandths in [0, 10] {
        let mut day = day(vec![server(1, 10_000_000), server(2, 10_000_000)], 3000);
        day.servers[0].speeds = vec![(at(20), thousandths), (at(60), 1000)];
        day.heals_at = at(60);
        let traffic = Traffic::of(&day);
        let before = traffic.share_of_orders(1, at(5)..at(20));
        let while_bad = traffic.share_of_orders(1, at(25)..at(60));
        let after = traffic.share_of_orders(1, at(75)..at(90));
        println!(
            "at {thousandths} thousandths: {before:.3} of the orders, then {while_bad:.3}, \
             within 15 s of its recovery {after:.3}"
        );
        assert!((0.45..0.55).contains(&before), "{before}");
        assert!(while_bad < 0.10, "{while_bad}");
        assert!((0.45..0.55).contains(&after), "{after}");
        let probes = traffic.orders(1, at(25)..at(60));
        assert!(probes > 0, "it is looked after");
    }
}

#[test]
fn a_healthy_server_is_not_starved_for_a_bad_beginning() {
    let mut day = day(vec![server(1, 10_000_000), server(2, 10_000_000)], 3000);
    day.servers[0].speeds = vec![(Duration::ZERO, 20), (at(20), 1000)];
    day.heals_at = at(20);
    let traffic = Traffic::of(&day);
    let share = traffic.share_of_orders(1, at(35)..at(60));
    println!("after a bad beginning: {share:.3} of the orders");
    assert!((0.45..0.55).contains(&share), "{share}");
}

#[test]
fn the_tail_of_a_job_does_not_wait_for_a_slow_server() {
    for (rate, articles) in [(10_000_000, 1500), (50_000_000, 1500), (10_000_000, 400)] {
        let day = day(vec![server(1, rate), server(2, rate), server(3, rate / 20)], articles);
        let traffic = Traffic::of(&day);
        let all: f64 = day.servers.iter().map(|server| server.rate as f64).sum();
        let ideal = f64::from(articles) * ARTICLE as f64 / all;
        let ratio = traffic.took().as_secs_f64() / ideal;
        let doubled = traffic.doubled() as f64 / f64::from(articles);
        println!(
            "tail of {articles} articles: {ratio:.3} of the ideal time, {:.2} % asked for twice",
            100.0 * doubled
        );
        assert!(ratio <= 1.1, "{ratio}");
        assert!(doubled <= 0.02, "{doubled}");
    }
}

#[test]
fn a_server_that_falls_silent_near_the_end_does_not_hold_the_job_up() {
    let articles = 1500;
    let mut day = day(vec![server(1, 10_000_000), server(2, 10_000_000)], articles);
    let ideal = f64::from(articles) * ARTICLE as f64 / 20e6;
    day.servers[1].speeds = vec![(Duration::from_secs_f64(ideal * 0.95), 0), (at(600), 1000)];
    day.heals_at = at(600);
    let traffic = Traffic::of(&day);
    let ratio = traffic.took().as_secs_f64() / ideal;
    println!("silent near the end: {ratio:.3} of the ideal time, {} twice", traffic.doubled());
    assert!(ratio <= 1.1, "{ratio}");
    assert!(traffic.doubled() <= u64::from(articles) / 50);
}

#[test]
fn the_line_is_filled_whatever_its_length_and_width() {
    for megabits in [100, 1_000, 10_000] {
        for round_trip in [5, 20, 50, 100, 250] {
            let line = megabits * 125_000;
            let articles = (line * 20 / ARTICLE) as u32;
            let mut day = day(vec![server(1, line)], articles.max(300));
            day.servers[0].round_trip = Duration::from_millis(round_trip);
            day.line = Some(line);
            let traffic = Traffic::of(&day);
            // Without the first seconds, in which everything is new, and the last one.
            let window = at(4)..traffic.took() - SECOND;
            let filled = traffic.bytes(window.clone()) as f64
                / (line as f64 * (window.end - window.start).as_secs_f64());
            let deepest = traffic.deepest();
            println!("{megabits} Mbit/s, {round_trip} ms: {filled:.3} filled, {deepest} deep");
            assert!(filled >= 0.95, "{filled}");
        }
    }
}

#[test]
fn next_to_a_server_nobody_asks_far_ahead() {
    let mut day = day(vec![server(1, 1_000_000_000)], 3000);
    day.servers[0].round_trip = Duration::from_micros(100);
    let traffic = Traffic::of(&day);
    println!("at a negligible round trip: {} deep", traffic.deepest());
    assert!(traffic.deepest() <= 2);
}

#[test]
fn a_server_that_dislikes_pipelining_is_asked_one_by_one() {
    let mut day = day(vec![server(1, 10_000_000), server(2, 1_000_000)], 2000);
    day.servers[0].dislikes_pipelining = true;
    let traffic = Traffic::of(&day);
    let deep = traffic.deep_orders(1, at(20)..traffic.took());
    let filled = traffic.bytes(at(20)..at(40)) as f64 / (11e6 * 20.0);
    println!("disliked pipelining: {deep} orders ahead after 20 s, {filled:.3} filled");
    assert!(deep <= 16, "{deep}: it is tried again now and then");
    assert!(filled >= 0.85, "{filled}");
}

#[test]
fn the_first_job_gets_every_connection_it_can_use_and_the_rest_overflow() {
    let mut day = day(vec![server(1, 10_000_000), server(2, 5_000_000)], 300);
    day.jobs.push(job(300));
    day.jobs.push(job(300));
    day.jobs[2].priority = 50;
    let traffic = Traffic::of(&day);
    let first = traffic.last_fresh_order_of(3);
    for later in [1, 2] {
        let beside = traffic.orders_of_job(later, Duration::ZERO..first);
        println!("{beside} orders for job {later} before the last fresh one of the first");
        // Slow connections pass the last articles of a job by, and go on with the next.
        assert!(beside <= 16, "{beside}");
    }
    assert!(traffic.last_fresh_order_of(1) <= traffic.last_fresh_order_of(2) + SECOND);
    let filled = traffic.bytes(at(2)..at(30)) as f64 / (15e6 * 28.0);
    println!("{filled:.3} filled over three jobs");
    assert!(filled >= 0.95, "nothing is idle between jobs: {filled}");
}

#[test]
fn nothing_is_asked_for_twice_without_cause() {
    let day = day(vec![server(1, 10_000_000), server(2, 7_000_000), server(3, 3_000_000)], 2000);
    let traffic = Traffic::of(&day);
    println!("{} of 2000 articles asked for twice, on a good day", traffic.doubled());
    assert_eq!(traffic.all_orders(), 2000 + traffic.doubled());
    assert!(traffic.doubled() <= 40);
}

#[test]
fn a_saturated_download_loses_nothing_to_headers_and_next_to_nothing_to_probes() {
    for connections in [1, 8] {
        let mut plain = day(vec![server(1, 10_000_000), server(2, 5_000_000)], 1500);
        plain.servers[0].settings.connections = connections;
        plain.jobs.push(JobModel { added: at(120), ..job(500) }); // after a pause
        let alone = Traffic::of(&plain).took().as_secs_f64();
        let with = |headers, probes| {
            let side_traffic = SideTraffic { headers, probes };
            let busy = Day { side_traffic, ..plain.clone() };
            let traffic = Traffic::of(&busy);
            assert!(traffic.errands > 0 || !headers, "headers were read");
            assert!(traffic.stats > 0 || !probes, "articles were asked about");
            traffic.took().as_secs_f64() / alone
        };
        let (headers, probes) = (with(true, false), with(false, true));
        println!("{connections} connections: {headers:.4} with headers, {probes:.4} with probes");
        assert!(headers <= 1.001, "{headers}");
        assert!(probes <= 1.01, "{probes}");
    }
}

#[test]
fn a_server_of_the_lowest_level_that_never_delivers_holds_nothing_up() {
    let without = {
        let mut day = day(vec![server(1, 10_000_000)], 1500);
        day.servers[0].settings.level = 1;
        Traffic::of(&day).took()
    };
    for answer in
        [Kind::Endless, Kind::Goodbye, Kind::RefusedAnswer, Kind::RefusedMidway, Kind::Reset]
    {
        let mut day = day(vec![server(1, 10_000_000), server(2, 10_000_000)], 1500);
        day.servers[1].settings.level = 1;
        let (from, to) = (Duration::ZERO, at(3600));
        let kind = Kind::NeverDelivers;
        day.servers[0].outages = vec![Outage { kind, answer, knows_missing: false, from, to }];
        let traffic = Traffic::of(&day);
        let ratio = traffic.took().as_secs_f64() / without.as_secs_f64();
        let asked = traffic.orders(1, from..to);
        println!(
            "beside a server that never delivers ({answer}): {ratio:.3} of the time, {asked} asked of it"
        );
        assert!(ratio <= 1.10, "{answer}: {ratio}");
        assert!(asked >= 10, "it is probed");
    }
}
