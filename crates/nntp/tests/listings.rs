//! Conversations about headers and groups, as transcripts.

use bergamot_nntp::{Limits, Login, Settings};
use bergamot_testkit::converse;
use bergamot_types::{ByteCount, Secret};

fn plain() -> Settings {
    Settings::default()
}

fn compressed() -> Settings {
    let login = Login::new("ann", Secret::new("secret")).expect("a good login");
    Settings { login: Some(login), compress: true, ..Settings::default() }
}

fn at_most(listing: u64) -> Settings {
    let limits = Limits { listing: ByteCount(listing), ..Limits::default() };
    Settings { limits, ..Settings::default() }
}

fn ready(rest: &str) -> String {
    format!("[S] 200 hi\n event: ready\n quiet:\n {rest}")
}

#[test]
fn headers_of_a_range_come_as_lines() {
    converse(
        plain(),
        &ready(
            "ask: group a.b
            ask: over 3-4
            [C] GROUP a.b
            [C] OVER 3-4
            [S] 211 2 3 4 a.b
            event: group a.b 2 3 4
            [S] 224 follows
            [S] 3\\tone
            [S] ..4\\ttwo
            [S] .
            event: list 3-4 \"3\\\\tone\\r\\n.4\\\\ttwo\\r\\n\"
            quiet:",
        ),
    );
}

#[test]
fn every_listing_has_its_command_and_its_code() {
    converse(
        plain(),
        &ready(
            "ask: xover 1-2
            ask: hdr 1-2
            ask: hdr 3-4
            ask: list active
            ask: list active alt.*
            ask: list newsgroups a,!b
            ask: stat a@x
            [C] XOVER 1-2
            [C] HDR Subject 1-2
            [C] HDR Subject 3-4
            [C] LIST ACTIVE
            [C] LIST ACTIVE alt.*
            [C] LIST NEWSGROUPS a,!b
            [C] STAT <a@x>
            [S] 224 x
            [S] .
            event: list 1-2 \"\"
            [S] 225 h
            [S] 1 s
            [S] .
            event: list 1-2 \"1 s\\r\\n\"
            [S] 221 h
            [S] .
            event: list 3-4 \"\"
            [S] 215 l
            [S] a 9 1 y
            [S] .
            event: list list active \"a 9 1 y\\r\\n\"
            [S] 503 no
            event: refused list active: 503 no
            [S] 215 l
            [S] .
            event: list list newsgroups \"\"
            [S] 223 0 <a@x>
            event: exists a@x
            quiet:",
        ),
    );
}

#[test]
fn what_cannot_be_listed_is_answered_and_the_conversation_goes_on() {
    converse(
        plain(),
        &ready(
            "ask: over 1-2
            ask: over 5-6
            ask: over 7-8
            ask: list active
            ask: xover 9-9
            [C] OVER 1-2
            [C] OVER 5-6
            [C] OVER 7-8
            [C] LIST ACTIVE
            [C] XOVER 9-9
            [S] 423 none
            event: nothing 1-2: 423 none
            [S] 420 none
            event: nothing 5-6: 420 none
            [S] 412 which
            event: refused 7-8: 412 which
            [S] 502 no
            event: refused list active: 502 no
            [S] 500 eh
            event: refused 9-9: 500 eh
            quiet:",
        ),
    );
}

#[test]
fn a_list_that_does_not_end_is_cut_off() {
    converse(
        at_most(8),
        &ready(
            "ask: over 1-2
            ask: date
            [C] OVER 1-2
            [C] DATE
            [S] 224 x
            [S-] 1\\r\\n2\\r\\n3\\r\\n
            event: ended nntp.list_too_long: the answer to OVER has more than 8 bytes; unanswered 1-2 date",
        ),
    );
}

#[test]
fn a_list_that_stops_or_drips_is_given_up_upon() {
    converse(
        plain(),
        &ready(
            "ask: list active
            [C] LIST ACTIVE
            [S] 215 l
            [S] a 9 1 y
            wait: 30s
            event: ended nntp.silent: the server said nothing for 30 s in the answer to LIST ACTIVE; unanswered list active",
        ),
    );
    converse(
        plain(),
        &ready(
            "ask: over 1-2
            [C] OVER 1-2
            [S] 224 x
            wait: 29s
            [S-] 1
            wait: 2s
            event: ended nntp.too_slow: only 1 bytes of the answer to OVER came in 30 s; unanswered 1-2",
        ),
    );
    converse(
        plain(),
        &ready(
            "ask: over 1-2
            [C] OVER 1-2
            [S] 224 x
            [S] 1
            eof:
            event: ended nntp.closed: the server closed the connection in the answer to OVER; unanswered 1-2",
        ),
    );
}

#[test]
fn a_login_may_be_asked_for_in_between() {
    converse(
        Settings { compress: false, ..compressed() },
        "
        [S] 200 hi
        [C] AUTHINFO USER ann
        [S] 281 ok
        event: ready
        ask: over 1-2
        [C] OVER 1-2
        [S] 480 who
        [C] AUTHINFO USER ann
        [S] 281 ok
        [C] OVER 1-2
        [S] 224 x
        [S] .
        event: list 1-2 \"\"
        ",
    );
}

#[test]
fn compression_is_asked_for_behind_the_login_where_it_is_offered() {
    converse(
        compressed(),
        "
        [S] 200 hi
        [C] AUTHINFO USER ann
        [S] 381 pw
        [C] AUTHINFO PASS secret
        [S] 281 ok
        [C] CAPABILITIES
        [S] 101 c
        [S] COMPRESS DEFLATE
        [S] .
        [C] COMPRESS DEFLATE
        [S] 206 go
        event: start deflate
        quiet:
        deflate:
        event: ready
        ask: date
        [C] DATE
        [S] 111 1
        event: date 1
        ",
    );
}

#[test]
fn without_an_offer_or_with_one_that_is_taken_back_it_goes_on_as_it_is() {
    converse(
        Settings { login: None, ..compressed() },
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 101 c
        [S] COMPRESS GZIP
        [S] OVER
        [S] .
        event: ready
        ",
    );
    converse(
        Settings { login: None, ..compressed() },
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 500 eh
        event: ready
        ",
    );
    converse(
        Settings { login: None, ..compressed() },
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 101 c
        [S] COMPRESS DEFLATE
        [S] .
        [C] COMPRESS DEFLATE
        [S] 403 no
        event: ready
        ",
    );
}

#[test]
fn a_transit_server_is_made_a_reader_before_anything_is_compressed() {
    converse(
        Settings { login: None, ..compressed() },
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 101 c
        [S] MODE-READER
        [S] .
        [C] MODE READER
        [S] 200 ok
        [C] CAPABILITIES
        [S] 101 c
        [S] READER
        [S] COMPRESS DEFLATE
        [S] .
        [C] COMPRESS DEFLATE
        [S] 206 go
        event: start deflate
        deflate:
        event: ready
        ",
    );
}

#[test]
fn what_comes_in_the_clear_behind_the_answer_is_not_listened_to() {
    converse(
        Settings { login: None, ..compressed() },
        "
        [S] 200 hi
        [C] CAPABILITIES
        [S] 101 c
        [S] COMPRESS DEFLATE
        [S] .
        [C] COMPRESS DEFLATE
        [S] 206 go
        event: start deflate
        [S-] 2
        event: ended nntp.malformed: an answer line makes no sense, where the answer to COMPRESS DEFLATE was due: something in the clear; unanswered nothing
        ",
    );
}
