//! Servers that misbehave, as `hostile.md` lists them in its rows P-01 to P-32.
//!
//! Each row has its fault delivered, its outcome, and a good job afterwards in the same process;
//! what holds for every row is looked after by [`FaultyServerTest`].

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use bergamot_newsd::{Capabilities, Fault, Faults, Generated, Login, Manners, Options, Rule};
use bergamot_tests::{
    Daemon, FaultyServerTest, FinishedTest, Home, News, PLANTED, content_of, ids, post,
};
use bergamot_types::ByteRate;

#[test]
fn p01_a_status_line_without_end_costs_the_connection() {
    once(Fault::LongStatus, &["nntp.line_too_long"]);
    elsewhere(Fault::LongStatus, &["nntp.line_too_long"]);
}

#[test]
fn p02_a_body_without_end_is_cut_at_the_cap() {
    once(Fault::Endless, &["nntp.article_too_large"]);
    elsewhere(Fault::Endless, &["nntp.article_too_large"]);
}

#[test]
fn p04_an_empty_body_is_a_bad_article_and_not_a_missing_one() {
    once(Fault::Empty, &["article.empty"]);
    elsewhere(Fault::Empty, &["article.empty"]);
    once(Fault::Truncated, &["article.truncated"]);
    elsewhere(Fault::Truncated, &["article.truncated"]);
}

#[test]
fn p04_a_second_terminator_is_never_read_as_the_next_answer() {
    let after = once(Fault::ExtraTerminator, &["nntp.desync"]);
    assert!(!after.said(&["nntp.malformed"]), "{}", after.log.join("\n"));
}

#[test]
fn p07_line_feeds_alone_are_accepted_and_returns_alone_are_not() {
    let (after, post) = served_once(Fault::BareFeeds);
    ids(&post).iter().for_each(|id| assert_eq!(after.news.tally(0).served(id), 1));
    once(Fault::BareReturns, &["nntp.malformed"]);
    elsewhere(Fault::BareReturns, &["nntp.malformed"]);
}

#[test]
fn p09_an_answer_to_another_question_ends_the_conversation() {
    once(Fault::OtherAnswer, &["nntp.desync"]);
    elsewhere(Fault::OtherAnswer, &["nntp.desync"]);
    once(Fault::WrongId, &["nntp.wrong_article"]);
    elsewhere(Fault::WrongId, &["nntp.wrong_article"]);
}

#[test]
fn p10_another_article_under_the_right_name_is_not_believed() {
    once(Fault::WrongArticle, &["article.identity"]);
    elsewhere(Fault::WrongArticle, &["article.identity"]);
}

#[test]
fn p11_answers_too_many_or_too_few_are_noticed() {
    once(Fault::ExtraAnswer, &["nntp.wrong_article", "nntp.desync"]);
    once(Fault::Swallowed, &["nntp.wrong_article", "nntp.silent"]);
    elsewhere(Fault::Swallowed, &["nntp.wrong_article", "nntp.silent"]);
}

#[test]
fn p11_a_refusal_that_nobody_asked_for_costs_no_article() {
    let post = post(1, "job.bin", 6);
    let rule = Rule::new(Fault::ExtraAnswer).saying("430 no such article").only(ids(&post));
    let faults = Faults::none().with(rule);
    let servers = [(Options { faults, ..serving(&post) }, ""), (serving(&post), "level = 1")];
    let mut test = FaultyServerTest::start(QUICK, servers);
    test.completes("job", &post);
    let after = test.end();
    assert!(after.news.tally(0).fired(Fault::ExtraAnswer) > 0);
    after.assert_nothing_lost();
    assert_one_of(&after, &["nntp.desync", "nntp.wrong_article"]);
}

#[test]
fn p12_an_article_is_missing_only_when_every_server_says_so() {
    for line in ["430 no such article", "423 no", "420 none", "451 taken down", "503 not here"] {
        let rule = Rule::new(Fault::Refused).saying(line);
        elsewhere(rule.clone(), &[line]);
        elsewhere(rule.first_asks(1), &[line]);
    }
    nowhere(Fault::Missing);
    nowhere(Rule::new(Fault::Refused).saying("451 taken down"));
}

#[test]
fn p12_a_passing_refusal_is_asked_again() {
    once(Rule::new(Fault::Refused).saying("403 try again"), &["403 try again"]);
}

#[test]
fn p14_a_refused_login_rests_the_server_and_names_it() {
    let echo = format!("481 unknown command AUTHINFO PASS {PLANTED}");
    for line in ["481 Authentication failed", "482 out of sequence", "502 access denied", &echo] {
        let after = at_the_login(Rule::new(Fault::LoginRefused).saying(line));
        assert!(after.said(&["WARN", "server=\"s0\"", &line[..4]]), "{}", after.log.join("\n"));
    }
}

#[test]
fn p14_a_login_that_never_ends_is_ended() {
    let after = at_the_login(Fault::LoginLoop);
    after.assert_said(&["WARN the login was refused", "server=\"s0\""]);
    assert!(after.news.tally(0).commands("AUTHINFO PASS") <= 2, "no loop");
}

#[test]
fn p14_a_user_name_may_suffice() {
    let post = post(1, "job.bin", 6);
    let login = Some(Login { user_suffices: true, ..Login::new("ann", PLANTED) });
    let manners = Manners { login, ..Manners::default() };
    let mut test = FaultyServerTest::start("", [(Options { manners, ..serving(&post) }, "")]);
    test.completes("job", &post);
    let after = test.end();
    assert_eq!(after.news.tally(0).commands("AUTHINFO PASS"), 0);
}

#[test]
fn p15_a_login_that_is_forgotten_mid_way_is_given_once_more() {
    let after = elsewhere(Rule::new(Fault::LoginAgain).first_asks(1), &[]);
    assert_eq!(after.news.tally(1).commands("BODY"), 0, "it was had from level 0");
    assert!(!after.said(&["nntp.login"]), "{}", after.log.join("\n"));
    elsewhere(Fault::LoginAgain, &["nntp.login_forgotten"]);
}

#[test]
fn p16_too_many_connections_lowers_the_ceiling_and_stops_nothing() {
    for (text, at_login) in [
        ("502 Too many connections", false),
        ("400 connection limit reached", false),
        ("481 You have exceeded your threads", true),
        ("482 Too many connections from your host", true),
        ("502 Authentication failed: maximum number of connections", true),
    ] {
        let post = post(1, "job.bin", 40);
        let manners = Manners {
            connections: Some(3),
            too_many: text.to_owned(),
            too_many_at_login: at_login,
            ..Manners::default()
        };
        let options = Options { manners, ..serving(&post) };
        let mut test = FaultyServerTest::start("", [(options, "connections = 8")]);
        test.completes("job", &post);
        let after = test.end();
        assert!(after.news.tally(0).fired(Fault::TooManyConnections) > 0, "{text}");
        after.assert_said(&["WARN the server allows fewer connections", "connections=3"]);
        assert!(!after.said(&["WARN", " seconds="]), "it never rests\n{}", after.log.join("\n"));
        after.assert_nothing_lost();
    }
}

#[test]
fn p17_a_used_up_account_is_left_for_the_next_level_at_once() {
    for line in ["502 Download quota exceeded", "482 Your account has expired", "481 no credits"] {
        let after = at_the_login(Rule::new(Fault::LoginRefused).saying(line));
        after.assert_said(&["WARN the account is used up", "server=\"s0\""]);
    }
}

#[test]
fn p19_an_idle_connection_that_the_server_closed_costs_only_the_reconnect() {
    let post = post(1, "job.bin", 1);
    let faults = Faults::none().with(Rule::new(Fault::CutAfterBody).only(ids(&post)));
    let mut test =
        FaultyServerTest::start("", [(Options { faults, ..serving(&post) }, "connections = 1")]);
    test.completes("job", &post);
    let after = test.end();
    assert_eq!(after.news.tally(0).fired(Fault::CutAfterBody), 1);
    assert_eq!(after.news.tally(0).connections().accepted, 2);
    assert!(!after.said(&["WARN", " seconds="]), "it never rests\n{}", after.log.join("\n"));
    once(Fault::Goodbye, &["nntp.closed"]);
}

#[test]
fn p20_an_article_cut_anywhere_is_never_accepted() {
    for fault in [Fault::HangUp, Fault::CutBody] {
        let post = post(1, "job.bin", 60);
        let rule = Rule::new(fault).only(ids(&post)).first_asks(1);
        let options = Options { faults: Faults::seeded(20).with(rule), ..serving(&post) };
        let mut test = FaultyServerTest::start("", [(options, "connections = 8")]);
        let line = test.completes("job", &post);
        assert!(line.contains("verified=true"), "{line}");
        let after = test.end();
        assert_eq!(after.news.tally(0).fired(fault), 60);
        ids(&post).iter().for_each(|id| assert_eq!(after.news.tally(0).sound(id), 1, "{id}"));
    }
}

#[test]
fn p21_a_server_that_drips_is_left() {
    for pace in [1, 200] {
        let rule = Rule::new(Fault::Slow).pace(ByteRate(pace));
        elsewhere(rule.clone(), &["nntp.too_slow"]);
        elsewhere(rule.first_asks(1), &["nntp.too_slow"]);
    }
}

#[test]
fn p22_a_server_that_never_greets_holds_up_nobody() {
    let post = post(1, "job.bin", 80);
    let faults = Faults::none().with(Fault::NeverGreeted);
    let mute = (Options { faults, ..serving(&post) }, "connections = 50");
    let mut test = FaultyServerTest::start(QUICK, [mute, (serving(&post), "connections = 2")]);
    test.completes("job", &post);
    let after = test.end();
    let mute = after.news.tally(0);
    assert!(mute.fired(Fault::NeverGreeted) > 0 && mute.connections().peak <= 50);
    assert!(mute.transcript().is_empty(), "nothing is said to a server that does not greet");
    after.assert_nothing_lost();
}

#[test]
fn p24_capabilities_are_not_believed() {
    let claims: [&[&str]; 4] = [
        &["VERSION 2", "READER", "PIPELINING", "COMPRESS DEFLATE", "STARTTLS", "XZVER"],
        &["VERSION 2", "IHAVE"],
        &["VERSION 2", "MODE-READER", "SASL PLAIN", "AUTHINFO SASL"],
        &["x\u{1b}[2J\u{202e}", ""],
    ];
    let claimed = claims
        .map(|lines| Capabilities::Claimed(lines.iter().map(|&line| line.to_owned()).collect()));
    for capabilities in claimed.into_iter().chain([Capabilities::Unknown]) {
        let post = post(1, "job.bin", 6);
        let manners = Manners { capabilities, ..Manners::default() };
        let mut test = FaultyServerTest::start("", [(Options { manners, ..serving(&post) }, "")]);
        test.completes("job", &post);
        let after = test.end();
        let tally = after.news.tally(0);
        assert_eq!(tally.commands("CAPABILITIES"), 0, "only for STARTTLS it would matter");
        assert_eq!((tally.commands("unknown"), tally.commands("STARTTLS")), (0, 0));
    }
}

#[test]
fn p26_headers_before_the_body_are_passed_over() {
    let (after, post) = served_once(Fault::HeadersInBody);
    ids(&post).iter().for_each(|id| assert_eq!(after.news.tally(0).served(id), 1));
}

#[test]
fn p27_an_answer_that_comes_too_late_belongs_to_nobody() {
    let rule = Rule::new(Fault::Late).delay(Duration::from_secs(2));
    elsewhere(rule.clone().first_asks(1), &["nntp.silent"]);
    elsewhere(rule, &["nntp.silent"]);
    elsewhere(Fault::Silent, &["nntp.silent"]);
}

#[test]
fn p29_a_stop_in_mid_article_is_quick_and_the_next_start_goes_on() {
    let post = post(1, "job.bin", 6);
    let rule = Rule::new(Fault::Slow).only([post.id(0, 3)]).first_asks(1).pace(ByteRate(5000));
    let options = Options { faults: Faults::none().with(rule), ..serving(&post) };
    let test = FaultyServerTest::start("", [(options, "connections = 2")]);
    test.home.drop_nzb("job.nzb", post.nzb());
    test.news.wait_until(|news| news.tally(0).fired(Fault::Slow) > 0);
    let mut test = test.restart();
    test.arrives("job", &post);
    let after = test.end();
    assert_eq!(after.news.tally(0).sound(&post.id(0, 3)), 1);
    after.assert_nothing_lost();
}

#[test]
fn p31_a_login_that_would_end_the_line_is_a_configuration_error() {
    for (user, password) in [
        ("ann", "hunter2\\r\\nQUIT"),
        ("ann", "hunter2\\nQUIT"),
        ("ann", "hunter2\\u0000"),
        ("ann\\r\\nQUIT", "hunter2"),
    ] {
        let home = Home::new();
        let config = format!(
            "[[server]]\nname = \"s0\"\nhost = \"127.0.0.1\"\nusername = \"{user}\"\n\
             password = \"{password}\"\n"
        );
        let stopped = Daemon::launch(&home, &config, Daemon::command()).finish();
        let log = stopped.log.join("\n");
        assert_eq!(stopped.code, Some(1), "{log}");
        assert!(log.contains("config.invalid") && log.contains("line "), "{log}");
        assert!(!log.contains("hunter2"), "{log}");
    }
}

#[test]
fn p31_blanks_and_any_script_are_sent_as_they_are() {
    let (after, _) = served_once(Fault::HeadersInBody);
    let password = format!("AUTHINFO PASS {PLANTED}");
    assert!(PLANTED.contains(' ') && !PLANTED.is_ascii());
    assert!(after.news.tally(0).transcript().iter().any(|line| line.ends_with(&password)));
}

#[test]
fn p32_what_is_corrupt_everywhere_is_not_delivered() {
    let post = post(1, "job.bin", 10);
    let corrupt = || {
        let rule = Rule::new(Fault::Corrupt).only([post.id(0, 3)]);
        Options { faults: Faults::none().with(rule), ..serving(&post) }
    };
    let mut test = FaultyServerTest::start("", [(corrupt(), ""), (corrupt(), "level = 1")]);
    let line = test.fails("job", &post.nzb());
    assert!(line.contains("job.damaged") && line.contains("articles lost: 1"), "{line}");
    let after = test.end();
    for n in 0..2 {
        assert_eq!(after.news.tally(n).fired(Fault::Corrupt), 2, "once more, then no more");
        assert_eq!(after.news.tally(n).commands("STAT"), 0, "which would prove nothing");
    }
    after.assert_said(&["article.crc", "server=\"s1\""]);
    after.assert_said(&["no server has a good copy", &post.id(0, 3)]);
    let left = after.home.inventory("incomplete");
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left.keys().all(|path| !path.ends_with("job.bin")), "{left:?}");
}

#[test]
fn connections_stay_below_their_ceiling() {
    let post = post(1, "job.bin", 100);
    let servers = [
        (serving(&post), "connections = 3"),
        (serving(&post), "connections = 4\naccount = \"shared\""),
        (serving(&post), "connections = 2\naccount = \"shared\""),
    ];
    let mut test = FaultyServerTest::start("", servers);
    test.completes("job", &post);
    let after = test.end();
    let connections = |n: usize| after.news.tally(n).connections();
    assert!((1..=3).contains(&connections(0).peak), "{:?}", connections(0));
    assert!(connections(2).peak <= 2, "{:?}", connections(2));
    assert!(connections(1).accepted + connections(2).accepted <= 4, "they share an account");
}

#[test]
fn a_group_that_is_unknown_here_does_not_keep_the_article_back() {
    for groups in [vec!["some.other.group".to_owned()], vec!["alt.binaries.test".to_owned()]] {
        let post = post(1, "job.bin", 20);
        let manners = Manners { groups, ..Manners::default() };
        let options = Options { manners, ..serving(&post) };
        let mut test =
            FaultyServerTest::start("", [(options, "join_group = true\nconnections = 2")]);
        test.completes("job", &post);
        let after = test.end();
        let asked = after.news.tally(0).commands("GROUP");
        assert!((1..=2).contains(&asked), "once on each connection: {asked}");
        after.assert_nothing_lost();
    }
}

#[test]
fn a_server_that_wants_a_group_selected_is_named_with_the_remedy() {
    let post = post(1, "job.bin", 6);
    let needs_group = || Options {
        manners: Manners { needs_group: true, ..Manners::default() },
        ..serving(&post)
    };
    let mut test =
        FaultyServerTest::start("", [(needs_group(), ""), (serving(&post), "level = 1")]);
    test.completes("job", &post);
    let after = test.end();
    after.assert_said(&["WARN", "412", "join_group = true", "server=\"s0\""]);
    let said = after.log.iter().filter(|line| line.contains("join_group")).count();
    assert_eq!(said, 1, "once for a server, not for each article");
    let mut test = FaultyServerTest::start("", [(needs_group(), "join_group = true")]);
    test.completes("job", &post);
    assert!(!test.end().said(&["412"]));
}

#[test]
fn an_outage_below_makes_the_job_wait_and_does_not_drain_the_level_above() {
    let post = post(1, "job.bin", 6);
    let mut gone = News::plain(post.clone());
    let (address, below) = (gone.address(0), gone.section(0, "").replace("s0", "below"));
    gone.stop(0);
    let above = News::plain(post.clone());
    let home = Home::new();
    let mut daemon = Daemon::start(&home, &(below + &above.section(0, "level = 1")));
    home.drop_nzb("job.nzb", post.nzb());
    daemon.wait_for(&["WARN unreachable", "tried again in", "below"]);
    daemon.wait_for(&["DEBUG", "unreachable", "tried again in", "below"]);
    assert_eq!(above.tally(0).commands("BODY"), 0, "nothing is asked of the level above");
    let back = News::start([Options { address, ..serving(&post) }]);
    daemon.wait_complete("job");
    assert_eq!(fs::read(home.join("complete/job/job.bin")).unwrap(), content_of(&post));
    assert_eq!(above.tally(0).commands("BODY"), 0);
    assert_eq!(back.tally(0).all_served(), 6);
    daemon.stop();
}

#[test]
fn an_optional_server_that_is_out_of_order_is_not_waited_for() {
    let post = post(1, "job.bin", 6);
    let faults = Faults::none().with(Fault::NeverGreeted);
    let mute = (Options { faults, ..serving(&post) }, "optional = true");
    let mut test = FaultyServerTest::start(QUICK, [mute, (serving(&post), "level = 1")]);
    test.completes("job", &post);
    let after = test.end();
    assert!(after.news.tally(0).fired(Fault::NeverGreeted) > 0);
}

#[test]
fn addresses_of_either_kind_are_reached_and_the_kind_can_be_chosen() {
    let post = post(1, "job.bin", 6);
    let login = "username = \"ann\"\npassword = \"x\"\nencryption = \"none\"";
    let reach = |server: Options, host: &str, version: &str| {
        let (home, news) = (Home::new(), News::start([server]));
        let server = format!(
            "[[server]]\nname = \"s0\"\nhost = \"{host}\"\nport = {}\n{login}\n\
             ip_version = \"{version}\"\n",
            news.port(0)
        );
        let mut daemon = Daemon::start(&home, &server);
        home.drop_nzb("job.nzb", post.nzb());
        daemon.wait_complete("job");
        assert_eq!(fs::read(home.join("complete/job/job.bin")).unwrap(), content_of(&post));
        daemon.stop();
    };
    for (host, version) in [("127.0.0.1", "auto"), ("127.0.0.1", "ipv4"), ("localhost", "ipv4")] {
        reach(serving(&post), host, version);
    }
    // Only the IPv4 address of the name answers, whichever is tried first.
    reach(serving(&post), "localhost", "auto");
    let v6 = || Options { address: "[::1]:0".parse().unwrap(), ..serving(&post) };
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        for (host, version) in [("::1", "auto"), ("::1", "ipv6"), ("[::1]", "auto")] {
            reach(v6(), host, version);
        }
    }
}

#[test]
fn an_address_of_the_wrong_kind_is_no_address() {
    let post = post(1, "job.bin", 6);
    let servers = [(serving(&post), "ip_version = \"ipv6\""), (serving(&post), "")];
    let mut test = FaultyServerTest::start("", servers);
    test.completes("job", &post);
    let after = test.end();
    assert_eq!(after.news.tally(0).connections().accepted, 0);
    after.assert_said(&["net.connect", "127.0.0.1 has no IPv6 address"]);
}

/// One server strikes every article the first time it is asked for; the next time brings it. One of
/// the `codes` is in the log.
fn once(rule: impl Into<Rule>, codes: &[&str]) -> FinishedTest {
    let (rule, post) = (rule.into(), post(1, "job.bin", 6));
    let fault = rule.fault();
    let faults = Faults::seeded(1).with(rule.only(ids(&post)).first_asks(1));
    let options = Options { faults, ..serving(&post) };
    let mut test = FaultyServerTest::start(QUICK, [(options, "connections = 4")]);
    let line = test.completes("job", &post);
    assert!(line.contains("verified=true"), "{line}");
    let after = test.end();
    assert_eq!(after.news.tally(0).fired(fault), 6, "{fault:?} was delivered");
    after.assert_nothing_lost();
    assert_one_of(&after, codes);
    after
}

/// The server of level 0 strikes one article each time; level 1 has it, and is asked for no other.
fn elsewhere(rule: impl Into<Rule>, codes: &[&str]) -> FinishedTest {
    let (rule, post) = (rule.into(), post(1, "job.bin", 6));
    let fault = rule.fault();
    let struck = post.id(0, 3);
    let faults = Faults::seeded(1).with(rule.only([&struck]));
    let options = Options { faults, ..serving(&post) };
    let servers = [(options, "connections = 2"), (serving(&post), "level = 1\nconnections = 2")];
    let mut test = FaultyServerTest::start(QUICK, servers);
    let line = test.completes("job", &post);
    assert!(line.contains("verified=true"), "{line}");
    let after = test.end();
    assert!(after.news.tally(0).fired(fault) > 0, "{fault:?} was delivered");
    for id in ids(&post).iter().filter(|id| **id != struck) {
        assert_eq!(after.news.tally(1).asked(id), 0, "level 0 has it:\n{}", after.log.join("\n"));
    }
    after.assert_nothing_lost();
    assert_one_of(&after, codes);
    after
}

/// The only server strikes one article of many each time: the job goes on to its end and fails, and
/// the article is named.
fn nowhere(rule: impl Into<Rule>) {
    let (rule, post) = (rule.into(), post(1, "job.bin", 10));
    let fault = rule.fault();
    let struck = post.id(0, 3);
    let options =
        Options { faults: Faults::seeded(1).with(rule.only([&struck])), ..serving(&post) };
    let mut test = FaultyServerTest::start(QUICK, [(options, "connections = 2")]);
    let line = test.fails("job", &post.nzb());
    assert!(line.contains("job.incomplete") && line.contains("articles lost: 1"), "{line}");
    let after = test.end();
    assert!((1..=4).contains(&after.news.tally(0).fired(fault)), "retries are bounded");
    after.assert_said(&["no server has", &struck]);
}

/// Every answer is odd, and good nevertheless.
fn served_once(fault: Fault) -> (FinishedTest, Arc<Generated>) {
    let post = post(1, "job.bin", 6);
    let options = Options { faults: Faults::none().with(fault), ..serving(&post) };
    let mut test = FaultyServerTest::start("", [(options, "connections = 2")]);
    test.completes("job", &post);
    let after = test.end();
    assert!(after.news.tally(0).fired(fault) >= 6, "{fault:?} was delivered");
    (after, post)
}

/// Level 0 refuses every login; level 1 is used at once, and the login is not tried again and again.
fn at_the_login(rule: impl Into<Rule>) -> FinishedTest {
    let (rule, post) = (rule.into(), post(1, "job.bin", 6));
    let fault = rule.fault();
    let refusing = Options { faults: Faults::none().with(rule), ..serving(&post) };
    let mut test =
        FaultyServerTest::start("", [(refusing, "connections = 1"), (serving(&post), "level = 1")]);
    test.completes("job", &post);
    let after = test.end();
    let tally = after.news.tally(0);
    assert!(tally.fired(fault) > 0, "{fault:?} was delivered");
    assert!(tally.connections().accepted <= 2, "{:?}", tally.connections());
    assert_eq!(tally.all_served(), 0);
    after.assert_nothing_lost();
    after
}

fn serving(post: &Arc<Generated>) -> Options {
    Options { articles: post.clone(), ..Options::default() }
}

fn assert_one_of(after: &FinishedTest, codes: &[&str]) {
    let said = codes.is_empty() || codes.iter().any(|code| after.said(&[code]));
    assert!(said, "one of {codes:?}:\n{}", after.log.join("\n"));
}

/// What is slow is given up quickly.
const QUICK: &str = "\
[download]
article_retries = 1

[limits]
first_byte = \"1 s\"
silence = \"2 s\"
slowest_window = \"1 s\"
";
