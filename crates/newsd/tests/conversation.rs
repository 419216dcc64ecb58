//! What a reader and a sound server say to each other.

use std::sync::Arc;
use std::time::Duration;

use bergamot_newsd::{Capabilities, Faults, Header, Login, Manners, Newsgroups};
use bergamot_types::ByteRate;

mod transcript;
use transcript::{Reader, converse, site};

fn talk(manners: Manners, transcript: &str) {
    converse(|| site(manners.clone(), Faults::none()), transcript);
}

#[test]
fn articles_are_given_whole_or_in_part() {
    talk(
        Manners::default(),
        "
        [S] 200 newsd ready
        [C] BODY <a@x>
        [S] 222 0 <a@x>
        [S] first
        [S] ..dotted
        [S] .
        [C] STAT <b@x>
        [S] 223 0 <b@x>
        [C] HEAD <b@x>
        [S] 221 0 <b@x>
        [S] Path: newsd!not-for-mail
        [S] From: newsd <poster@newsd.example>
        [S] Newsgroups: alt.binaries.test
        [S] Subject: article b@x
        [S] Date: Thu, 01 Jan 2026 00:00:00 GMT
        [S] Message-ID: <b@x>
        [S] .
        [C] ARTICLE <b@x>
        [S] 220 0 <b@x>
        [S] Path: newsd!not-for-mail
        [S] From: newsd <poster@newsd.example>
        [S] Newsgroups: alt.binaries.test
        [S] Subject: article b@x
        [S] Date: Thu, 01 Jan 2026 00:00:00 GMT
        [S] Message-ID: <b@x>
        [S] 
        [S] other
        [S] .
        [C] BODY <c@x>
        [S] 430 No such article
        [C] BODY 7
        [S] 423 No article with that number
        [C] BODY
        [S] 420 No article selected
        [C] DATE
        [S] 111 20260101000000
        [C] XZVER 1-2
        [S] 500 What?
        [C] QUIT
        [S] 205 Bye
        close
    ",
    );
}

#[test]
fn pipelined_commands_are_answered_in_order() {
    talk(
        Manners::default(),
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [C] STAT <c@x>
        [C] BODY <b@x>
        [C] QUIT
        [S] 222 0 <b@x>
        [S] other
        [S] .
        [S] 430 No such article
        [S] 222 0 <b@x>
        [S] other
        [S] .
        [S] 205 Bye
        close
    ",
    );
}

#[test]
fn only_known_groups_are_there_when_any_are_listed() {
    talk(
        Manners { groups: vec!["alt.binaries.test".into()], ..Manners::default() },
        "
        [S] 200 newsd ready
        [C] GROUP alt.binaries.test
        [S] 211 0 1 0 alt.binaries.test
        [C] GROUP alt.binaries.other
        [S] 411 No such group
    ",
    );
}

#[test]
fn a_login_is_demanded_and_checked() {
    let login = Login::new("ann", "se cret");
    talk(
        Manners { login: Some(login), ..Manners::default() },
        "
        [S] 200 newsd ready
        [C] BODY <b@x>
        [S] 480 Authentication required
        [C] AUTHINFO PASS early
        [S] 482 User name first
        [C] AUTHINFO USER ann
        [S] 381 Password required
        [C] AUTHINFO PASS wrong
        [S] 481 Authentication failed
        [C] AUTHINFO USER ann
        [S] 381 Password required
        [C] AUTHINFO PASS se cret
        [S] 281 Welcome
        [C] BODY <b@x>
        [S] 222 0 <b@x>
        [S] other
        [S] .
    ",
    );
}

#[test]
fn the_user_name_alone_may_do() {
    let login = Login { user_suffices: true, ..Login::new("ann", "x") };
    talk(
        Manners { login: Some(login), ..Manners::default() },
        "
        [S] 200 newsd ready
        [C] AUTHINFO USER ann
        [S] 281 Welcome
        [C] STAT <b@x>
        [S] 223 0 <b@x>
    ",
    );
}

#[test]
fn a_transit_server_wants_mode_reader_and_loses_what_follows_it() {
    talk(
        Manners { transit: true, greeting: "200 transit".into(), ..Manners::default() },
        "
        [S] 200 transit
        [C] CAPABILITIES
        [S] 101 Capability list:
        [S] VERSION 2
        [S] IMPLEMENTATION newsd
        [S] MODE-READER
        [S] .
        [C] STAT <b@x>
        [S] 401 MODE-READER
        [C] MODE READER
        [C] STAT <a@x>
        [S] 200 Reader mode, posting permitted
        [C] STAT <b@x>
        [S] 223 0 <b@x>
    ",
    );
}

#[test]
fn capabilities_may_be_unknown_or_lies() {
    talk(
        Manners { capabilities: Capabilities::Unknown, ..Manners::default() },
        "
        [S] 200 newsd ready
        [C] CAPABILITIES
        [S] 500 What?
    ",
    );
    let claimed = Capabilities::Claimed(vec!["VERSION 2".into(), "COMPRESS DEFLATE".into()]);
    talk(
        Manners { capabilities: claimed, ..Manners::default() },
        "
        [S] 200 newsd ready
        [C] CAPABILITIES
        [S] 101 Capability list:
        [S] VERSION 2
        [S] COMPRESS DEFLATE
        [S] .
    ",
    );
}

#[test]
fn plain_text_behind_starttls_is_forgotten_and_the_login_begins_anew() {
    let login = Login { needs_tls: true, ..Login::new("ann", "x") };
    talk(
        Manners { start_tls: true, login: Some(login), ..Manners::default() },
        "
        [S] 200 newsd ready
        [C] CAPABILITIES
        [S] 101 Capability list:
        [S] VERSION 2
        [S] IMPLEMENTATION newsd
        [S] READER
        [S] AUTHINFO
        [S] STARTTLS
        [S] .
        [C] AUTHINFO USER ann
        [S] 483 Encryption required
        [C] STARTTLS
        [C] DATE
        [S] 382 Go on with TLS
        tls
        silent
        [C] CAPABILITIES
        [S] 101 Capability list:
        [S] VERSION 2
        [S] IMPLEMENTATION newsd
        [S] READER
        [S] AUTHINFO USER
        [S] .
        [C] STARTTLS
        [S] 502 Already under TLS
        [C] AUTHINFO USER ann
        [S] 381 Password required
    ",
    );
}

#[test]
fn every_answer_is_late_by_one_round_trip_and_none_waits_for_another() {
    talk(
        Manners { round_trip: Duration::from_secs(2), ..Manners::default() },
        "
        silent
        wait: 2s
        [S] 200 newsd ready
        [C] STAT <a@x>
        wait: 1s
        [C] STAT <b@x>
        silent
        wait: 1s
        [S] 223 0 <a@x>
        silent
        wait: 1s
        [S] 223 0 <b@x>
    ",
    );
}

#[test]
fn a_connection_keeps_its_pace() {
    let manners = Manners { pace: Some(ByteRate(1000)), ..Manners::default() };
    let mut reader = Reader::new(site(manners, Faults::none()));
    reader.send(&"STAT <a@x>\r\n".repeat(1000));
    let mut received = 0;
    for _ in 0..10 {
        reader.now = reader.session.poll_timeout().unwrap();
        received += reader.receive().len();
    }
    let start = reader.now;
    while reader.now < start + Duration::from_secs(5) {
        received += reader.receive().len();
        reader.now = reader.session.poll_timeout().unwrap();
    }
    assert!((4900..5500).contains(&received), "{received}");
}

#[test]
fn a_line_too_long_is_no_command() {
    let mut reader = Reader::new(site(Manners::default(), Faults::none()));
    reader.receive();
    reader.send(&format!("STAT <{}>\r\nSTAT <a@x>\r\n", "x".repeat(1 << 20)));
    assert_eq!(reader.receive(), b"500 What?\r\n223 0 <a@x>\r\n");
}

#[test]
fn the_tally_keeps_what_was_asked() {
    let manners = Manners { transcript: true, ..Manners::default() };
    let site = site(manners, Faults::none());
    let mut reader = Reader::new(site.clone());
    reader.send("BODY <a@x>\r\nbody <a@x>\r\nFOO\r\n");
    let received = reader.receive().len() as u64;
    let tally = site.tally();
    assert_eq!(tally.transcript(), ["1 BODY <a@x>", "1 body <a@x>", "1 FOO"]);
    assert_eq!((tally.commands("BODY"), tally.commands("unknown")), (2, 1));
    assert_eq!((tally.asked("a@x"), tally.served("a@x"), tally.sound("a@x")), (2, 2, 2));
    assert_eq!(tally.sent().0, received);
    drop(reader);
    let connections = tally.connections();
    assert_eq!((connections.accepted, connections.open, connections.peak), (1, 0, 1));
}

fn newsgroups() -> Arc<Newsgroups> {
    let newsgroups = Newsgroups::default();
    for (group, subject) in [("a.b", "one"), ("a.b", "two"), ("c", "three")] {
        let (from, date) = ("a@x".into(), "now".into());
        let header = Header { subject: subject.into(), from, date, id: "1@x".into(), bytes: 9 };
        newsgroups.post(group, header);
    }
    newsgroups.expire("a.b", 2);
    Arc::new(newsgroups)
}

#[test]
fn headers_are_listed_by_group_and_number() {
    talk(
        Manners { newsgroups: newsgroups(), compress: true, ..Manners::default() },
        "
        [S] 200 newsd ready
        [C] OVER 1-2
        [S] 412 Which group?
        [C] GROUP a.b
        [S] 211 1 2 2 a.b
        [C] OVER 1-9
        [S] 224 Overview follows
        [S] 2\ttwo\ta@x\tnow\t<1@x>\t\t9\t1
        [S] .
        [C] HDR Subject 2-
        [S] 225 Headers follow
        [S] 2 two
        [S] .
        [C] XOVER 1
        [S] 423 No articles in that range
        [C] LIST ACTIVE a.*
        [S] 215 List follows
        [S] a.b 2 2 y
        [S] .
        [C] LIST NEWSGROUPS c
        [S] 215 List follows
        [S] c\tWhat c is about
        [S] .
        [C] CAPABILITIES
        [S] 101 Capability list:
        [S] VERSION 2
        [S] IMPLEMENTATION newsd
        [S] READER
        [S] HDR
        [S] LIST ACTIVE NEWSGROUPS
        [S] OVER
        [S] COMPRESS DEFLATE
        [S] .
        ",
    );
}

#[test]
fn an_old_server_knows_only_xover() {
    talk(
        Manners { newsgroups: newsgroups(), only_xover: true, ..Manners::default() },
        "
        [S] 200 newsd ready
        [C] GROUP c
        [S] 211 1 1 1 c
        [C] OVER 1-2
        [S] 500 What?
        [C] XOVER 1-2
        [S] 224 Overview follows
        [S] 1\tthree\ta@x\tnow\t<1@x>\t\t9\t1
        [S] .
        [C] COMPRESS DEFLATE
        [S] 503 Not offered
        ",
    );
}
