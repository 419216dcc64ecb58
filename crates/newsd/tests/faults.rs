//! Each fault strikes as it says and is counted.

use std::sync::Arc;
use std::time::Duration;

use bergamot_newsd::{Fault, Faults, Generated, Login, Manners, Output, Rule, Site};
use bergamot_types::{ByteCount, ByteRate};
use bergamot_yenc::Decoder;

mod transcript;
use transcript::{Reader, converse, site};

/// Plays against a site with this rule, whose fault must strike once.
fn strike(rule: impl Into<Rule> + Clone, fault: Fault, transcript: &str) {
    let faults = Faults::seeded(1).with(rule);
    let site = converse(|| site(Manners::default(), faults.clone()), transcript);
    assert_eq!(site.tally().fired(fault), 1);
}

/// The answer to one `BODY` of a generated post, and what the server does behind it.
fn body(rule: impl Into<Rule>) -> (Arc<Site>, Vec<u8>, Option<Output>) {
    let faults = Faults::seeded(1).with(rule);
    let site = Site::new(Arc::new(post()), Manners::default(), faults);
    let mut reader = Reader::new(site.clone());
    reader.receive();
    reader.send(&format!("BODY <{}>\r\n", post().id(0, 1)));
    let bytes = reader.receive();
    let action = reader.action();
    (site, bytes, action)
}

fn post() -> Generated {
    Generated::new(3, ByteCount(10_000)).file("a.bin", ByteCount(25_000))
}

/// What the decoder has to say of an answer.
fn judged(answer: &[u8]) -> Option<bergamot_yenc::Fault> {
    let start = answer.iter().position(|&byte| byte == b'\n').map_or(0, |index| index + 1);
    let mut decoder = Decoder::new();
    decoder.decode(&answer[start..], &mut [0; 10_000]);
    decoder.finish().fault
}

fn sound_body() -> Vec<u8> {
    body(Rule::new(Fault::Missing).only(["none@x"])).1
}

#[test]
fn lines_said_instead_of_an_answer() {
    for (rule, line) in [
        (Rule::new(Fault::Missing), "430 No such article"),
        (Rule::new(Fault::Refused), "451 Article is temporarily unavailable"),
        (Rule::new(Fault::Refused).saying("423 gone"), "423 gone"),
        (Rule::new(Fault::OtherAnswer), "211 1 1 1 alt.binaries.test"),
    ] {
        let fault = if line.starts_with("430") {
            Fault::Missing
        } else if line.starts_with("211") {
            Fault::OtherAnswer
        } else {
            Fault::Refused
        };
        let transcript = format!("[S] 200 newsd ready\n[C] BODY <a@x>\n[S] {line}");
        strike(rule, fault, &transcript);
    }
}

#[test]
fn the_first_ask_may_fail_and_the_second_succeed() {
    strike(
        Rule::new(Fault::Refused).first_asks(1).only(["b@x"]),
        Fault::Refused,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 451 Article is temporarily unavailable
        [C] BODY <b@x>
        [S] 222 0 <b@x>
        [S] other
        [S] .
    ",
    );
}

#[test]
fn answers_left_out_doubled_or_prolonged() {
    strike(
        Rule::new(Fault::Swallowed).first_asks(1),
        Fault::Swallowed,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [C] STAT <a@x>
        [S] 223 0 <a@x>
    ",
    );
    strike(
        Fault::ExtraAnswer,
        Fault::ExtraAnswer,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 222 0 <b@x>
        [S] other
        [S] .
        [S] 222 0 <b@x>
        [S] other
        [S] .
    ",
    );
    strike(
        Rule::new(Fault::ExtraAnswer).saying("430 what?"),
        Fault::ExtraAnswer,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 222 0 <b@x>
        [S] other
        [S] .
        [S] 430 what?
    ",
    );
    strike(
        Fault::ExtraTerminator,
        Fault::ExtraTerminator,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 222 0 <b@x>
        [S] other
        [S] .
        [S] .
    ",
    );
    strike(
        Fault::Empty,
        Fault::Empty,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 222 0 <b@x>
        [S] .
    ",
    );
}

#[test]
fn articles_mixed_up() {
    strike(
        Fault::WrongArticle,
        Fault::WrongArticle,
        "
        [S] 200 newsd ready
        [C] BODY <a@x>
        [S] 222 0 <a@x>
        [S] other
        [S] .
    ",
    );
    strike(
        Fault::WrongId,
        Fault::WrongId,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 222 0 <a@x>
        [S] other
        [S] .
    ",
    );
    strike(
        Fault::HeadersInBody,
        Fault::HeadersInBody,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 222 0 <b@x>
        [S] Message-ID: <b@x>
        [S] X-Newsreader: none
        [S] other
        [S] .
    ",
    );
}

#[test]
fn connections_end_or_fall_silent() {
    strike(
        Fault::Goodbye,
        Fault::Goodbye,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [C] STAT <b@x>
        [S] 400 Idle timeout
        close
        silent
    ",
    );
    strike(
        Fault::Silent,
        Fault::Silent,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [C] STAT <b@x>
        wait: 1000s
        silent
    ",
    );
    strike(
        Rule::new(Fault::Late).delay(Duration::from_secs(90)),
        Fault::Late,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        silent
        wait: 90s
        [S] 222 0 <b@x>
        [S] other
        [S] .
    ",
    );
    strike(
        Fault::CutAfterBody,
        Fault::CutAfterBody,
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 222 0 <b@x>
        [S] other
        [S] .
        cut
    ",
    );
}

#[test]
fn connections_that_begin_badly() {
    strike(Fault::NeverGreeted, Fault::NeverGreeted, "wait: 1000s\nsilent");
    strike(
        Rule::new(Fault::GreetingRefused).saying("400 load too high").first_asks(1),
        Fault::GreetingRefused,
        "[S] 400 load too high\nclose",
    );
    let manners = Manners {
        connections: Some(1),
        too_many: "502 Too many connections for ann".into(),
        ..Manners::default()
    };
    let site = site(manners, Faults::none());
    let mut first = Reader::new(site.clone());
    assert_eq!(first.receive(), b"200 newsd ready\r\n");
    let mut second = Reader::new(site.clone());
    assert_eq!(second.receive(), b"502 Too many connections for ann\r\n");
    assert_eq!(second.action(), Some(Output::Close));
    drop(first);
    assert_eq!(Reader::new(site.clone()).receive(), b"200 newsd ready\r\n");
    assert_eq!(site.tally().fired(Fault::TooManyConnections), 1);
}

#[test]
fn one_connection_too_many_may_hear_of_it_at_the_login() {
    let manners = Manners {
        connections: Some(0),
        too_many: "481 max connections reached".into(),
        too_many_at_login: true,
        login: Some(Login::new("ann", "x")),
        ..Manners::default()
    };
    let site = converse(
        || site(manners.clone(), Faults::none()),
        "
        [S] 200 newsd ready
        [C] AUTHINFO USER ann
        [S] 381 Password required
        [C] AUTHINFO PASS x
        [S] 481 max connections reached
        close
    ",
    );
    assert_eq!(site.tally().fired(Fault::TooManyConnections), 1);
}

#[test]
fn logins_fail() {
    let manners = Manners { login: Some(Login::new("ann", "x")), ..Manners::default() };
    let play = |rule: Rule, transcript: &str| {
        let faults = Faults::none().with(rule);
        converse(|| site(manners.clone(), faults.clone()), transcript)
    };
    let refused = play(
        Rule::new(Fault::LoginRefused).saying("502 account shared").first_asks(1),
        "
        [S] 200 newsd ready
        [C] AUTHINFO USER ann
        [S] 381 Password required
        [C] AUTHINFO PASS x
        [S] 502 account shared
        [C] AUTHINFO USER ann
        [S] 381 Password required
        [C] AUTHINFO PASS x
        [S] 281 Welcome
    ",
    );
    assert_eq!(refused.tally().fired(Fault::LoginRefused), 1);
    let looped = play(
        Rule::new(Fault::LoginLoop),
        "
        [S] 200 newsd ready
        [C] AUTHINFO USER ann
        [S] 381 Password required
        [C] AUTHINFO PASS x
        [S] 381 Password required
        [C] AUTHINFO PASS x
        [S] 381 Password required
    ",
    );
    assert_eq!(looped.tally().fired(Fault::LoginLoop), 2);
    let again = play(
        Rule::new(Fault::LoginAgain).first_asks(1),
        "
        [S] 200 newsd ready
        [C] AUTHINFO USER ann
        [S] 381 Password required
        [C] AUTHINFO PASS x
        [S] 281 Welcome
        [C] BODY <b@x>
        [S] 480 Authentication required
        [C] STAT <b@x>
        [S] 480 Authentication required
        [C] AUTHINFO USER ann
        [S] 381 Password required
        [C] AUTHINFO PASS x
        [S] 281 Welcome
        [C] STAT <b@x>
        [S] 223 0 <b@x>
    ",
    );
    assert_eq!(again.tally().fired(Fault::LoginAgain), 1);
}

#[test]
fn starttls_is_injected_into_or_hidden() {
    let manners = Manners { start_tls: true, ..Manners::default() };
    let play = |fault: Fault, transcript: &str| {
        let faults = Faults::none().with(fault);
        converse(|| site(manners.clone(), faults.clone()), transcript).tally().fired(fault)
    };
    let injected = "
        [S] 200 newsd ready
        [C] STARTTLS
        [S] 382 Go on with TLS
        [S] 281 Welcome
        tls
    ";
    assert_eq!(play(Fault::InjectedPlaintext, injected), 1);
    let stripped = "
        [S] 200 newsd ready
        [C] CAPABILITIES
        [S] 101 Capability list:
        [S] VERSION 2
        [S] IMPLEMENTATION newsd
        [S] READER
        [S] .
        [C] STARTTLS
        [S] 500 What?
    ";
    assert_eq!(play(Fault::StartTlsStripped, stripped), 2);
}

#[test]
fn one_byte_is_changed_and_nothing_else() {
    let (site, spoilt, action) = body(Fault::Corrupt);
    let sound = sound_body();
    assert_eq!((spoilt.len(), action), (sound.len(), None));
    let changed: Vec<_> = (0..sound.len()).filter(|&index| sound[index] != spoilt[index]).collect();
    assert_eq!(changed.len(), 1);
    assert!(!b"=.\r\n\0".contains(&spoilt[changed[0]]));
    assert_eq!(judged(&sound), None);
    assert!(matches!(judged(&spoilt), Some(bergamot_yenc::Fault::Crc { .. })));
    assert_eq!(site.tally().fired(Fault::Corrupt), 1);
    assert_eq!(
        (site.tally().served(&post().id(0, 1)), site.tally().sound(&post().id(0, 1))),
        (1, 0)
    );
}

#[test]
fn bodies_end_early() {
    let sound = sound_body();
    let (site, truncated, action) = body(Fault::Truncated);
    assert!(truncated.len() < sound.len() && truncated.ends_with(b"\r\n.\r\n") && action.is_none());
    assert!(sound.starts_with(&truncated[..truncated.len() - 3]));
    assert!(judged(&truncated).is_some());
    assert_eq!(site.tally().fired(Fault::Truncated), 1);

    let (site, cut, action) = body(Fault::CutBody);
    assert!(cut.len() < sound.len() && sound.starts_with(&cut));
    assert_eq!((action, site.tally().fired(Fault::CutBody)), (Some(Output::Cut), 1));

    let (site, hung_up, action) = body(Fault::HangUp);
    assert!(hung_up.len() < sound.len() && sound.starts_with(&hung_up));
    assert_eq!((action, site.tally().fired(Fault::HangUp)), (Some(Output::Close), 1));
}

#[test]
fn answers_never_end() {
    let site = Site::new(
        Arc::new(post()),
        Manners::default(),
        Faults::none()
            .with(Rule::new(Fault::Endless).only([post().id(0, 1)]))
            .with(Fault::LongStatus),
    );
    let mut reader = Reader::new(site.clone());
    reader.send(&format!("BODY <{}>\r\n", post().id(0, 1)));
    for _ in 0..9 {
        let piece = reader.receive();
        assert!(piece.len() >= 1 << 20 && !piece.windows(5).any(|bytes| bytes == b"\r\n.\r\n"));
    }
    let mut reader = Reader::new(site.clone());
    reader.receive();
    reader.send(&format!("BODY <{}>\r\n", post().id(0, 2)));
    let line = reader.receive();
    assert!(line.len() >= 1 << 20 && line.starts_with(b"222 0 x") && !line.contains(&b'\n'));
    assert_eq!(site.tally().fired(Fault::Endless), 1);
    assert_eq!(site.tally().fired(Fault::LongStatus), 1);
}

#[test]
fn line_ends_are_bare() {
    let (_, feeds, _) = body(Fault::BareFeeds);
    assert!(!feeds.contains(&b'\r') && feeds.ends_with(b"\n.\n"));
    let (_, returns, _) = body(Fault::BareReturns);
    assert!(!returns.contains(&b'\n') && returns.ends_with(b"\r.\r"));
}

#[test]
fn a_slow_answer_drips() {
    let rule = Rule::new(Fault::Slow).pace(ByteRate(10));
    let site = site(Manners::default(), Faults::none().with(rule));
    let mut reader = Reader::new(site.clone());
    reader.receive();
    reader.send("BODY <b@x>\r\n");
    let mut received = 0;
    for _ in 0..20 {
        received += reader.receive().len();
        reader.now += Duration::from_millis(100);
    }
    assert_eq!((received, site.tally().fired(Fault::Slow)), (20, 1));
}

#[test]
fn one_seed_gives_the_same_server_twice() {
    let run = |seed| {
        let faults = Faults::seeded(seed)
            .with(Rule::new(Fault::Missing).at_rate(0.1).lasting())
            .with(Rule::new(Fault::Corrupt).at_rate(0.1))
            .with(Rule::new(Fault::Truncated).at_rate(0.1))
            .with(Rule::new(Fault::WrongArticle).at_rate(0.1));
        let post = Generated::new(seed, ByteCount(1000)).file("a", ByteCount(100_000));
        let ids: Vec<_> = (1..=100).map(|part| post.id(0, part)).collect();
        let site = Site::new(Arc::new(post), Manners::default(), faults);
        let mut received = Vec::new();
        for _ in 0..2 {
            let mut reader = Reader::new(site.clone());
            for id in &ids {
                reader.send(&format!("BODY <{id}>\r\n"));
                received.extend(reader.receive());
            }
        }
        (received, site.tally().all_fired())
    };
    let (bytes, fired) = run(1);
    assert_eq!((&bytes, &fired), (&run(1).0, &run(1).1));
    assert_eq!(fired.len(), 4);
    assert_ne!(bytes, run(2).0);
}
