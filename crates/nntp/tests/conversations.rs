//! Conversations with servers of every kind, as transcripts.

use bergamot_nntp::{Login, Settings};
use bergamot_testkit::converse;
use bergamot_types::Secret;

fn plain() -> Settings {
    Settings::default()
}

fn ann() -> Settings {
    let login = Login::new("ann", Secret::new("secret")).expect("a good login");
    Settings { login: Some(login), ..Settings::default() }
}

fn start_tls() -> Settings {
    Settings { start_tls: true, ..ann() }
}

/// The greeting of a server that wants nothing else, for transcripts about what follows.
fn ready(rest: &str) -> String {
    format!("[S] 200 hi\n event: ready\n quiet:\n {rest}")
}

#[test]
fn a_typical_session_runs_from_greeting_to_goodbye() {
    converse(
        ann(),
        "
        [S] 200 news.example.com ready
        [C] AUTHINFO USER ann
        [S] 381 password
        [C] AUTHINFO PASS secret
        [S] 281 welcome
        event: ready
        ask: group a.b
        [C] GROUP a.b
        [S] 211 50 1000 1049 a.b
        event: group a.b 50 1000 1049
        ask: body p1@x
        [C] BODY <p1@x>
        [S] 222 0 <p1@x>
        [S] one
        [S] .
        event: body p1@x \"one\\r\\n\"
        ask: quit
        [C] QUIT
        [S] 205 bye
        event: ended nntp.quit: quit; unanswered quit
        ",
    );
}

#[test]
fn any_number_of_commands_is_pipelined_and_answers_match_in_order() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            ask: stat b@x
            ask: article c@x
            ask: date
            [C] BODY <a@x>
            [C] STAT <b@x>
            [C] ARTICLE <c@x>
            [C] DATE
            [S] 222 0 <a@x>
            [S] ..dots
            [S] .
            event: body a@x \".dots\\r\\n\"
            [S] 223 0 <b@x>
            event: exists b@x
            [S] 430 no
            event: missing c@x: 430 no
            [S] 111 20260101000000
            event: date 20260101000000
            quiet:",
        ),
    );
}

#[test]
fn what_is_asked_before_the_server_is_ready_goes_out_when_it_is() {
    converse(
        plain(),
        "
        ask: body a@x
        [S] 201 no posting
        event: ready
        [C] BODY <a@x>
        [S] 222 0 <a@x>
        [S] .
        event: body a@x \"\"
        ",
    );
}

#[test]
fn a_transit_server_is_made_a_reader_and_nothing_is_sent_behind_the_command() {
    converse(
        ann(),
        "
        ask: stat a@x
        [S] 200 innd
        [C] AUTHINFO USER ann
        [S] 500 what?
        [C] MODE READER
        [S] 200 nnrpd
        [C] AUTHINFO USER ann
        [S] 281 no password needed
        event: ready
        [C] STAT <a@x>
        [S] 223 0 <a@x>
        event: exists a@x
        ",
    );
}

#[test]
fn greetings_that_refuse_end_the_conversation_by_their_words() {
    converse(
        ann(),
        "
        ask: body a@x
        [S] 502 Too many connections
        event: ended nntp.too_many_connections: the server refused: 502 Too many connections; unanswered a@x
        ",
    );
    converse(
        ann(),
        "
        [S] 400 closed for repairs
        event: ended nntp.refused: the server refused: 400 closed for repairs; unanswered nothing
        ",
    );
    converse(
        plain(),
        "
        [S] SSH-2.0-OpenSSH
        event: ended nntp.malformed: an answer line makes no sense, where the answer to the connection was due: SSH-2.0-OpenSSH; unanswered nothing
        ",
    );
}

#[test]
fn requests_that_meet_the_wrong_mode_are_asked_again_in_the_right_one() {
    converse(
        plain(),
        "
        [S] 200 innd
        event: ready
        ask: stat a@x
        ask: stat b@x
        [C] STAT <a@x>
        [C] STAT <b@x>
        [S] 401 MODE-READER
        [S] 401 MODE-READER
        [C] MODE READER
        [S] 200 nnrpd
        [C] STAT <a@x>
        [C] STAT <b@x>
        [S] 223 0 <a@x>
        event: exists a@x
        [S] 401 MODE-READER
        event: refused b@x: 401 MODE-READER
        ",
    );
}

#[test]
fn starttls_forgets_what_was_said_before_it() {
    converse(
        start_tls(),
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 101 list
        [S] STARTTLS
        [S] .
        [C] STARTTLS
        [S] 382 go on
        event: start tls
        quiet:
        tls:
        [C] CAPABILITIES
        [S] 101 list
        [S] READER
        [S] .
        [C] AUTHINFO USER ann
        [S] 281 ok
        event: ready
        ",
    );
}

#[test]
fn starttls_behind_mode_reader() {
    converse(
        Settings { login: None, ..start_tls() },
        "
        [S] 200 innd
        [C] CAPABILITIES
        [S] 101 list
        [S] MODE-READER
        [S] .
        [C] MODE READER
        [S] 200 nnrpd
        [C] CAPABILITIES
        [S] 101 list
        [S] STARTTLS
        [S] .
        [C] STARTTLS
        [S] 382 go on
        event: start tls
        tls:
        [C] CAPABILITIES
        [S] 500 what?
        event: ready
        ",
    );
}

#[test]
fn without_starttls_not_a_word_of_the_login_is_sent() {
    converse(
        start_tls(),
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 101 list
        [S] READER
        [S] .
        event: ended tls.starttls: the server does not offer STARTTLS; unanswered nothing
        ",
    );
    converse(
        start_tls(),
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 500 what?
        [C] STARTTLS
        [S] 580 cannot
        event: ended tls.starttls: the server refused STARTTLS: 580 cannot; unanswered nothing
        ",
    );
}

#[test]
fn plain_text_behind_the_answer_to_starttls_is_an_injection() {
    converse(
        start_tls(),
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 500 what?
        [C] STARTTLS
        [S] 382 go on
        [S] 281 trust me
        event: start tls
        event: ended tls.injection: plain text followed the answer to STARTTLS; unanswered nothing
        ",
    );
}

#[test]
fn refused_logins_end_the_conversation_by_their_words() {
    for (user, pass, code) in [
        ("381 go on", "481 wrong password", "nntp.login"),
        ("381 go on", "482 too many connections", "nntp.too_many_connections"),
        ("381 go on", "502 account expired", "nntp.quota"),
        ("381 go on", "381 again", "nntp.login"),
        ("381 go on", "502 go away", "nntp.login"),
    ] {
        converse(
            ann(),
            &format!(
                "[S] 200 hi\n [C] AUTHINFO USER ann\n [S] {user}
                [C] AUTHINFO PASS secret\n [S] {pass}
                event: ended {code}: the server refused: {pass}; unanswered nothing"
            ),
        );
    }
    converse(
        ann(),
        "[S] 200 hi\n [C] AUTHINFO USER ann\n [S] 483 TLS first
        event: ended nntp.login: the server refused: 483 TLS first; unanswered nothing",
    );
}

#[test]
fn a_login_forgotten_mid_way_is_repeated_once_and_nothing_is_lost() {
    converse(
        ann(),
        "
        [S] 200 hi
        [C] AUTHINFO USER ann
        [S] 281 ok
        event: ready
        ask: stat a@x
        ask: stat b@x
        [C] STAT <a@x>
        [C] STAT <b@x>
        [S] 480 log in
        ask: stat c@x
        [S] 480 log in
        [C] AUTHINFO USER ann
        [S] 281 ok
        [C] STAT <a@x>
        [C] STAT <b@x>
        [C] STAT <c@x>
        [S] 223 0 <a@x>
        event: exists a@x
        [S] 480 log in
        event: ended nntp.login_forgotten: the server forgot the login once more where the answer for <b@x> was due; unanswered b@x c@x
        ",
    );
}

#[test]
fn a_login_that_was_never_given_cannot_be_repeated() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            [C] BODY <a@x>
            [S] 480 who are you?
            event: ended nntp.login: the server refused: 480 who are you?; unanswered a@x",
        ),
    );
}

#[test]
fn every_way_to_be_missing_is_missing() {
    for line in ["430 no such article", "423 bad number", "420 none selected", "451 taken down"] {
        converse(
            plain(),
            &ready(&format!(
                "ask: body a@x\n [C] BODY <a@x>\n [S] {line}\n event: missing a@x: {line}\n quiet:"
            )),
        );
    }
}

#[test]
fn groups_may_be_unknown_and_commands_too() {
    converse(
        plain(),
        &ready(
            "ask: group no.such
            ask: body a@x
            [C] GROUP no.such
            [C] BODY <a@x>
            [S] 411 no group
            event: no group no.such: 411 no group
            [S] 412 select a group
            event: refused a@x: 412 select a group",
        ),
    );
}

#[test]
fn an_answer_for_another_article_discards_the_pipeline() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            ask: body b@x
            [C] BODY <a@x>
            [C] BODY <b@x>
            [S] 222 0 <b@x>
            [S] data
            [S] .
            event: ended nntp.wrong_article: <a@x> was asked for and <b@x> was given; unanswered a@x b@x",
        ),
    );
}

#[test]
fn an_answer_to_another_question_is_a_desync() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            [C] BODY <a@x>
            [S] 211 1 1 1 a.b
            event: ended nntp.desync: the answers no longer match the questions: 211 1 1 1 a.b came where the answer for <a@x> was due; unanswered a@x",
        ),
    );
}

#[test]
fn an_answer_nobody_asked_for_is_a_desync() {
    converse(
        plain(),
        &ready(
            "[S] 430 surprise
            event: ended nntp.desync: the answers no longer match the questions: 430 surprise came while nothing was asked; unanswered nothing",
        ),
    );
}

#[test]
fn a_second_terminator_is_never_read_as_an_answer() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            ask: body b@x
            [C] BODY <a@x>
            [C] BODY <b@x>
            [S] 222 0 <a@x>
            [S] .
            [S] .
            event: body a@x \"\"
            event: ended nntp.desync: the answers no longer match the questions: . came where the answer for <b@x> was due; unanswered b@x",
        ),
    );
    converse(
        plain(),
        &ready(
            "ask: body a@x
            [C] BODY <a@x>
            [S] 222 0 <a@x>
            [S] .
            [S] .
            event: body a@x \"\"
            event: ended nntp.desync: the answers no longer match the questions: . came while nothing was asked; unanswered nothing",
        ),
    );
}

#[test]
fn idle_connections_are_closed_without_fuss() {
    converse(
        plain(),
        &ready(
            "[S] 400 idle too long\n event: ended nntp.closed: the server closed the connection while nothing was asked; unanswered nothing",
        ),
    );
    converse(
        plain(),
        &ready(
            "eof:\n event: ended nntp.closed: the server closed the connection while nothing was asked; unanswered nothing",
        ),
    );
}

#[test]
fn a_cut_in_mid_body_gives_back_all_that_was_asked() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            ask: body b@x
            [C] BODY <a@x>
            [C] BODY <b@x>
            [S] 222 0 <a@x>
            [S] half
            eof:
            event: ended nntp.closed: the server closed the connection in the body of <a@x>; unanswered a@x b@x",
        ),
    );
}

#[test]
fn a_server_that_repeats_the_password_is_not_quoted() {
    for (said, shown) in [
        (
            "500 unknown command: AUTHINFO PASS secret",
            "nntp.login: the server refused: 500 unknown command: AUTHINFO PASS •••",
        ),
        (
            "481 bad password secret, secret",
            "nntp.login: the server refused: 481 bad password •••, •••",
        ),
        (
            "AUTHINFO PASS secret",
            "nntp.malformed: an answer line makes no sense, where the answer to AUTHINFO PASS was due: AUTHINFO PASS •••",
        ),
    ] {
        converse(
            ann(),
            &format!(
                "[S] 200 hi
                [C] AUTHINFO USER ann
                [S] 381 more
                [C] AUTHINFO PASS secret
                [S] {said}
                event: ended {shown}; unanswered nothing"
            ),
        );
    }
}

#[test]
fn a_refusal_mid_way_gives_back_what_was_asked() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            [C] BODY <a@x>
            [S] 502 download quota exceeded
            event: ended nntp.quota: the server refused: 502 download quota exceeded; unanswered a@x",
        ),
    );
}

#[test]
fn bodies_are_bounded() {
    let line = "x".repeat(48);
    converse(
        plain(),
        &ready(&format!(
            "ask: body a@x
            ask: body b@x
            [C] BODY <a@x>
            [C] BODY <b@x>
            [S] 222 0 <a@x>
            [S] {line}
            [S] {line}x
            event: ended nntp.article_too_large: the body of <a@x> has more than 100 bytes; unanswered a@x b@x"
        )),
    );
}

#[test]
fn line_feeds_alone_end_lines_and_returns_alone_do_not() {
    converse(
        plain(),
        "
        [S-] 200 hi\\n
        event: ready
        ask: body a@x
        [C] BODY <a@x>
        [S-] 222 0 <a@x>\\nx\\n.\\n
        event: body a@x \"x\\n\"
        ",
    );
    converse(
        plain(),
        "
        [S-] 200 hi\\r500 what\\r\\n
        event: ended nntp.malformed: an answer line makes no sense, where the answer to the connection was due: a lone carriage return; unanswered nothing
        ",
    );
}

#[test]
fn silence_ends_the_conversation_and_names_what_is_owed() {
    converse(
        plain(),
        "
        wait: 29s
        [S] 200 hi
        event: ready
        wait: 3600s
        ask: body a@x
        ask: body b@x
        [C] BODY <a@x>
        [C] BODY <b@x>
        wait: 20s
        [S] 430 no
        event: missing a@x: 430 no
        wait: 29s
        wait: 1s
        event: ended nntp.silent: the server said nothing for 30 s where the answer for <b@x> was due; unanswered b@x
        ",
    );
}

#[test]
fn silence_in_a_body_counts_from_its_last_byte() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            [C] BODY <a@x>
            wait: 10s
            [S-] 222 0 <a@x>\\r\\nab
            wait: 29s
            wait: 1s
            event: ended nntp.silent: the server said nothing for 30 s in the body of <a@x>; unanswered a@x",
        ),
    );
}

#[test]
fn no_time_runs_while_we_may_not_read() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            [C] BODY <a@x>
            [S-] 222 0 <a@x>\\r\\nab
            wait: 20s
            starved:
            quiet:
            wait: 3600s
            fed:
            wait: 9s
            wait: 1s
            event: ended nntp.silent: the server said nothing for 30 s in the body of <a@x>; unanswered a@x",
        ),
    );
}

#[test]
fn a_body_that_only_drips_is_too_slow() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            [C] BODY <a@x>
            [S-] 222 0 <a@x>\\r\\n
            wait: 20s
            [S-] abc
            wait: 10s
            event: ended nntp.too_slow: only 3 bytes of <a@x> came in 30 s; unanswered a@x",
        ),
    );
}

#[test]
fn an_answer_line_that_only_drips_is_too_slow() {
    converse(
        plain(),
        &ready(
            "ask: body a@x
            [C] BODY <a@x>
            wait: 29s
            [S-] 2
            wait: 10s
            [S-] 2
            wait: 10s
            [S-] 2
            wait: 10s
            event: ended nntp.too_slow: an answer line took more than 30 s where the answer for <a@x> was due; unanswered a@x",
        ),
    );
}

#[test]
fn a_list_of_capabilities_that_only_drips_is_given_up() {
    converse(
        start_tls(),
        "
        [S] 200 hi
        [C] CAPABILITIES
        wait: 20s
        [S] 101 list
        [S] VERSION 2
        wait: 9s
        [S] READER
        wait: 20s
        [S] OVER
        wait: 1s
        event: ended nntp.silent: the server said nothing for 30 s where the answer to CAPABILITIES was due; unanswered nothing
        ",
    );
}

#[test]
fn an_endless_status_line_is_cut_off() {
    use bergamot_nntp::{Connection, Event};
    let now = std::time::Instant::now();
    let mut connection = Connection::new(now, plain());
    let mut sink = bergamot_testkit::PlainSink::default();
    for _ in 0..1024 {
        connection.handle_input(now, &[b'2'; 1024], &mut sink);
    }
    let Some(Event::Ended { why, .. }) = connection.poll_event() else { panic!("it goes on") };
    assert_eq!(why.code(), "nntp.line_too_long");
    assert!(connection.poll_event().is_none(), "one ending is enough");
}

#[test]
fn answers_may_leave_the_message_id_out() {
    converse(
        plain(),
        &ready(
            "ask: article a@x
            [C] ARTICLE <a@x>
            [S] 220 here it comes
            [S] Subject: s
            [S] .
            event: body a@x \"Subject: s\\r\\n\"",
        ),
    );
}

#[test]
fn a_body_may_be_announced_as_an_article_and_with_a_comma() {
    converse(
        plain(),
        &ready(
            "ask: body a.bin?1=0:300
            [C] BODY <a.bin?1=0:300>
            [S] 220, 0 <a.bin?1=0:300>
            [S] x
            [S] .
            event: body a.bin?1=0:300 \"x\\r\\n\"",
        ),
    );
}
