//! Servers that cannot prove who they are, and wires that cannot be trusted, as `hostile.md` lists
//! them in its rows T-01 to T-09.
//!
//! What holds for every row is looked after by [`FaultyServerTest`]; here no article is ever counted as tried
//! because of TLS, and no login leaves the process before the server has proved who it is.

use std::fs;
use std::sync::Arc;

use bergamot_newsd::certs::{Authority, Identity, Quality};
use bergamot_newsd::{Capabilities, Fault, Faults, Generated, Manners, Options, Rule, Security};
use bergamot_tests::{FaultyServerTest, FinishedTest, Home, ids, post};

#[test]
fn t01_no_login_is_sent_to_a_server_that_cannot_prove_who_it_is() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let bad = || Quality::ALL.into_iter().filter(|quality| *quality != Quality::Good);
    for (keys, start) in [(TLS, false), (START_TLS, true)] {
        let security = |quality| match start {
            true => place.start_tls(quality),
            false => place.tls(quality),
        };
        let server = |quality| (Options { security: security(quality), ..serving(&post) }, keys);
        let servers = bad().map(server).chain([(serving(&post), "level = 1")]);
        let mut test = FaultyServerTest::start_in(place.home(), "", servers);
        test.completes("job", &post);
        let after = test.end();
        for (n, quality) in bad().enumerate() {
            let tally = after.news.tally(n);
            assert!(tally.handshakes().failed > 0, "{quality:?} was shown");
            let said = tally.transcript();
            assert!(!said.iter().any(|line| line.contains("AUTHINFO")), "{quality:?}: {said:?}");
            let server = format!("server=\"s{n}\"");
            after.assert_said(&["tls.certificate", "127.0.0.1", &server]);
            after.assert_said(&["WARN not trusted", &server]);
        }
        after.assert_nothing_lost();
    }
}

#[test]
fn t01_the_cause_is_told_in_words() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    for (quality, words) in [
        (Quality::Expired, "expired"),
        (Quality::NotYetValid, "not valid yet"),
        (Quality::WrongHost, "not valid for name"),
    ] {
        let (after, _) = shunned(&place, &post, place.tls(quality), TLS, Faults::none());
        after.assert_said(&["WARN not trusted", words]);
    }
}

#[test]
fn t01_a_self_signed_certificate_is_trusted_through_ca_file() {
    let post = post(1, "job.bin", 6);
    let server = |identity: &Identity| {
        let security = Security::Tls(identity.server_config().expect("a configuration"));
        Options { security, ..serving(&post) }
    };
    let own = Identity::self_signed(Quality::Good).expect("a certificate");
    let home = Home::new();
    fs::write(home.join("ca.pem"), own.pem()).expect("its certificate");
    let mut test = FaultyServerTest::start_in(home, "", [(server(&own), TLS)]);
    test.completes("job", &post);
    assert!(test.end().news.tally(0).all_served() >= 6);

    // Neither one with a flaw, nor another than that in the file.
    for (quality, words) in [
        (Quality::Expired, "expired"),
        (Quality::NotYetValid, "not valid yet"),
        (Quality::WrongHost, "not valid for name"),
        (Quality::Good, ""),
    ] {
        let shown = Identity::self_signed(quality).expect("a certificate");
        let copied = if words.is_empty() { &own } else { &shown };
        let home = Home::new();
        fs::write(home.join("ca.pem"), copied.pem()).expect("its certificate");
        let servers = [(server(&shown), TLS), (serving(&post), "level = 1")];
        let mut test = FaultyServerTest::start_in(home, QUICK, servers);
        test.completes("job", &post);
        let after = test.end();
        assert!(after.news.tally(0).handshakes().failed > 0, "{quality:?} was shown");
        assert!(after.news.tally(0).transcript().is_empty(), "{quality:?}");
        after.assert_said(&["WARN not trusted", words]);
    }
}

#[test]
fn t02_verification_is_off_for_the_one_server_that_asks_for_it() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let server = |quality| Options { security: place.tls(quality), ..serving(&post) };
    let mut test = FaultyServerTest::start_in(
        place.home(),
        "",
        [(server(Quality::WrongHost), TLS), (server(Quality::WrongHost), UNVERIFIED)],
    );
    test.completes("job", &post);
    let after = test.end();
    let strict = after.news.tally(0);
    assert!(strict.handshakes().failed > 0 && strict.transcript().is_empty());
    assert!(after.news.tally(1).all_served() >= 6);
    after.assert_said(&["WARN server s1: CERTIFICATE VERIFICATION IS OFF"]);
    assert!(!after.said(&["WARN server s0: CERTIFICATE"]));
}

#[test]
fn t04_a_cut_in_mid_body_is_no_article_and_one_behind_the_end_is_no_loss() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let after = struck(&place, &post, Rule::new(Fault::CutBody).only(ids(&post)).first_asks(1));
    assert_eq!(after.news.tally(0).fired(Fault::CutBody), 6);
    ids(&post).iter().for_each(|id| assert_eq!(after.news.tally(0).sound(id), 1, "{id}"));
    let after = struck(&place, &post, Rule::new(Fault::CutAfterBody).only(ids(&post)));
    assert_eq!(after.news.tally(0).fired(Fault::CutAfterBody), 6);
    ids(&post).iter().for_each(|id| assert_eq!(after.news.tally(0).served(id), 1, "{id}"));
}

#[test]
fn t05_a_damaged_record_is_the_lines_fault_and_not_the_articles() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    for (fault, code) in
        [(Fault::RecordCorrupt, "net.broken"), (Fault::HandshakeGarbled, "tls.not_tls")]
    {
        let after = struck(&place, &post, Rule::new(fault).first_asks(2));
        assert!(after.news.tally(0).fired(fault) > 0, "{fault:?} was delivered");
        after.assert_said(&[code]);
        assert!(!after.said(&["missing"]), "{}", after.log.join("\n"));
    }
}

#[test]
fn t06_a_handshake_that_stalls_is_given_up() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let after = struck(&place, &post, Rule::new(Fault::HandshakeStalled).first_asks(4));
    assert!(after.news.tally(0).fired(Fault::HandshakeStalled) > 0);
    after.assert_said(&["net.timeout", "the TLS handshake"]);
}

#[test]
fn t06_handshakes_that_never_succeed_are_tried_ever_more_seldom() {
    let (place, post) = (Place::new(), post(1, "job.bin", 40));
    let faults = Faults::none().with(Fault::HandshakeGarbled);
    let garbled = Options { security: place.tls(Quality::Good), faults, ..serving(&post) };
    let keys = format!("{TLS}\nconnections = 4");
    let mut test =
        FaultyServerTest::start_in(place.home(), QUICK, [(garbled, &*keys), (serving(&post), "")]);
    test.completes("job", &post);
    let after = test.end();
    assert!((1..=8).contains(&after.news.tally(0).connections().accepted));
    after.assert_nothing_lost();
}

#[test]
fn t07_plain_text_behind_the_answer_to_starttls_is_not_believed() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let faults = Faults::none().with(Fault::InjectedPlaintext);
    let (after, said) = shunned(&place, &post, place.start_tls(Quality::Good), START_TLS, faults);
    assert!(after.news.tally(0).fired(Fault::InjectedPlaintext) > 0);
    after.assert_said(&["tls.injection", "server=\"s0\""]);
    assert!(said.iter().all(|line| !line.contains("AUTHINFO")), "{said:?}");
}

#[test]
fn t07_a_stripped_capability_is_an_error_and_never_plain_text() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let faults = Faults::none().with(Fault::StartTlsStripped);
    let (after, said) = shunned(&place, &post, place.start_tls(Quality::Good), START_TLS, faults);
    assert!(after.news.tally(0).fired(Fault::StartTlsStripped) > 0);
    after.assert_said(&["tls.starttls", "server=\"s0\""]);
    assert!(said.iter().all(|line| line.ends_with("CAPABILITIES")), "{said:?}");
}

#[test]
fn p24_an_endless_list_of_capabilities_ends_the_conversation() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let lines = (0..10_000).map(|n| format!("X-{n}")).collect();
    let manners = Manners { capabilities: Capabilities::Claimed(lines), ..Manners::default() };
    let security = place.start_tls(Quality::Good);
    let liar = (Options { manners, security, ..serving(&post) }, START_TLS);
    let mut test = FaultyServerTest::start_in(place.home(), QUICK, [liar, (serving(&post), "")]);
    test.completes("job", &post);
    let after = test.end();
    assert!(after.news.tally(0).commands("CAPABILITIES") > 0);
    after.assert_said(&["nntp.malformed", "capability list"]);
}

#[test]
fn t07_capabilities_are_asked_again_under_tls() {
    let (place, post) = (Place::new(), post(1, "job.bin", 1));
    let options = Options { security: place.start_tls(Quality::Good), ..serving(&post) };
    let mut test = FaultyServerTest::start_in(place.home(), "", [(options, START_TLS)]);
    test.completes("job", &post);
    let said: Vec<_> = test.end().news.tally(0).transcript();
    let said: Vec<_> = said.iter().filter_map(|line| line.strip_prefix("1 ")).take(4).collect();
    assert_eq!(said, ["CAPABILITIES", "STARTTLS", "CAPABILITIES", "AUTHINFO USER ann"]);
}

#[test]
fn t09_a_plain_greeting_where_tls_was_expected_is_hinted_at() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let (after, said) = shunned(&place, &post, Security::Plain, TLS, Faults::none());
    after.assert_said(&["tls.not_tls", "is `encryption` or `port` wrong?", "server=\"s0\""]);
    assert!(said.iter().all(|line| !line.contains("AUTHINFO")), "{said:?}");
}

#[test]
fn t09_names_are_verified_however_they_are_written() {
    let (place, post) = (Place::new(), post(1, "job.bin", 6));
    let v6 = std::net::TcpListener::bind("[::1]:0").is_ok();
    for (host, address) in [("localhost.", "127.0.0.1:0"), ("::1", "[::1]:0"), ("[::1]", "[::1]:0")]
    {
        if address.starts_with('[') && !v6 {
            continue;
        }
        let address = address.parse().unwrap();
        let options = Options { security: place.tls(Quality::Good), address, ..serving(&post) };
        let keys = format!("{TLS}\nhost = \"{host}\"");
        let mut test = FaultyServerTest::start_in(place.home(), "", [(options, &*keys)]);
        test.completes("job", &post);
        let after = test.end();
        assert!(after.news.tally(0).handshakes().done > 0, "{host}");
    }
}

/// One server under TLS is struck, and the job completes nevertheless.
fn struck(place: &Place, post: &Arc<Generated>, rule: Rule) -> FinishedTest {
    let faults = Faults::seeded(1).with(rule);
    let options = Options { security: place.tls(Quality::Good), faults, ..serving(post) };
    let keys = format!("{TLS}\nconnections = 4");
    let mut test = FaultyServerTest::start_in(place.home(), QUICK, [(options, &*keys)]);
    let line = test.completes("job", post);
    assert!(line.contains("verified=true"), "{line}");
    let after = test.end();
    after.assert_nothing_lost();
    after
}

/// One server is no good, the other completes the job. What was said to the first comes along.
fn shunned(
    place: &Place,
    post: &Arc<Generated>,
    security: Security,
    keys: &str,
    faults: Faults,
) -> (FinishedTest, Vec<String>) {
    let options = Options { security, faults, ..serving(post) };
    let mut test =
        FaultyServerTest::start_in(place.home(), QUICK, [(options, keys), (serving(post), "")]);
    test.completes("job", post);
    let after = test.end();
    let said = after.news.tally(0).transcript();
    assert_eq!(after.news.tally(0).all_served(), 0);
    after.assert_nothing_lost();
    (after, said)
}

/// An authority, and homes in which it is known.
struct Place {
    authority: Authority,
}

impl Place {
    fn new() -> Self {
        Self { authority: Authority::new().expect("an authority") }
    }

    fn home(&self) -> Home {
        let home = Home::new();
        fs::write(home.join("ca.pem"), self.authority.pem()).expect("its certificate");
        home
    }

    fn tls(&self, quality: Quality) -> Security {
        let identity = self.authority.issue(quality).expect("a certificate");
        Security::Tls(identity.server_config().expect("a configuration"))
    }

    fn start_tls(&self, quality: Quality) -> Security {
        let identity = self.authority.issue(quality).expect("a certificate");
        Security::StartTls(identity.server_config().expect("a configuration"))
    }
}

fn serving(post: &Arc<Generated>) -> Options {
    Options { articles: post.clone(), ..Options::default() }
}

const TLS: &str = "encryption = \"tls\"\nca_file = \"ca.pem\"";
const START_TLS: &str = "encryption = \"starttls\"\nca_file = \"ca.pem\"";
const UNVERIFIED: &str = "encryption = \"tls\"\ncert_verification = false\nlevel = 1";
/// What is slow is given up quickly.
const QUICK: &str = "[limits]\nhandshake = \"1 s\"\nfirst_byte = \"2 s\"\n";
