//! What news servers say.

use std::time::{Duration, Instant};

use bergamot_newsgroups::{Headers, Overview, posts};
use bergamot_nntp::{Connection, Event, List, Login, Request, RequestId, Settings};
use bergamot_testkit::PlainSink;
use bergamot_types::{ArticleRange, ByteCount, GroupName, MessageId, Secret};
use bergamot_yenc::Decoder;

/// The first byte says what the client wants, the second how the answers are cut.
pub(super) fn nntp(bytes: &[u8]) {
    let [wishes, cut, answers @ ..] = bytes else { return };
    let login = Login::new("ann", Secret::new("pw")).expect("it can be sent");
    let settings = Settings {
        login: (wishes & 1 != 0).then_some(login),
        start_tls: wishes & 2 != 0,
        compress: wishes & 4 != 0,
        ..Settings::default()
    };
    let now = Instant::now();
    let mut connection = Connection::new(now, settings);
    for (id, request) in (0..).zip(requests()) {
        connection.ask(now, RequestId(id), request);
    }
    let mut sink = PlainSink::default();
    for piece in answers.chunks(usize::from(*cut).max(1)) {
        connection.handle_input(now, piece, &mut sink);
        let _ = connection.poll_transmit(&mut Vec::new());
        while let Some(event) = connection.poll_event() {
            match event {
                Event::StartTls => connection.handle_tls_started(now),
                Event::StartDeflate => connection.handle_deflate_started(now),
                _ => {}
            }
        }
    }
    connection.handle_timeout(now + Duration::from_secs(3600));
    connection.handle_end_of_stream();
    while connection.poll_event().is_some() {}
}

fn requests() -> Vec<Request> {
    let id = MessageId::parse("a@x").expect("it is one");
    let range = ArticleRange { first: 1, last: 9 };
    vec![
        Request::Body { id: id.clone(), limit: ByteCount(5000), patience: None },
        Request::Group(GroupName::parse("alt.binaries.test").expect("it is one")),
        Request::Over(range),
        Request::Hdr { field: "Subject", range },
        Request::List(List::Active(None)),
        Request::Stat(id),
        Request::Date,
        Request::Xover(range),
    ]
}

/// Lines of an overview become headers and posts, and posts become NZBs that can be read.
pub(super) fn overview(bytes: &[u8]) {
    let mut headers = Headers::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        if let Some(overview) = Overview::parse(line) {
            headers.push(&overview);
        }
    }
    let group = GroupName::parse("alt.binaries.test").expect("it is one");
    for post in posts(&headers) {
        let nzb = bergamot_nzb::read(post.nzb(&group).as_bytes(), &bergamot_nzb::Limits::default());
        assert!(nzb.is_ok(), "{nzb:?}");
        let _ = (post.bytes(), post.is_complete());
    }
}

/// Cut anywhere, a body gives the same bytes and the same verdict.
pub(super) fn yenc(bytes: &[u8]) {
    let [cut, body @ ..] = bytes else { return };
    let whole = decoded(body, body.len().max(1));
    assert_eq!(whole, decoded(body, usize::from(*cut).max(1)));
}

fn decoded(body: &[u8], cut: usize) -> (Vec<u8>, usize, String) {
    let (mut decoder, mut out) = (Decoder::new(), vec![0; body.len() + 64]);
    let (mut consumed, mut written) = (0, 0);
    for piece in body.chunks(cut) {
        let step = decoder.decode(piece, &mut out[written..]);
        consumed += step.consumed;
        written += step.written;
        if step.ended {
            break;
        }
    }
    out.truncate(written);
    (out, consumed, format!("{:?}", decoder.finish()))
}
