use bergamot_testkit::sim::*;
#[test]
fn zz() {
    let n: u64 = std::env::var("ZZ").unwrap().parse().unwrap();
    let mut v = Vec::new();
    for i in 0..n {
        for s in [Seed::Articles(i), Seed::Bytes(i)] {
            if matches!(s, Seed::Bytes(_)) && i % 20 != 0 {
                continue;
            }
            let day = Day::from_seed(s);
            let t = std::time::Instant::now();
            let o = run(&day).unwrap_or_else(|b| panic!("{}", &b[..300]));
            v.push((
                t.elapsed(),
                o.steps,
                s,
                day.rate.0,
                day.server_rates.len(),
                day.servers.len(),
                day.articles(),
                day.article,
                day.kinds,
            ));
        }
    }
    v.sort_by_key(|x| x.0);
    let total: std::time::Duration = v.iter().map(|x| x.0).sum();
    println!("total {total:?} median {:?} steps {}", v[v.len() / 2].0, v[v.len() / 2].1);
    for x in v.iter().rev().take(25) {
        println!("{x:?}");
    }
}
