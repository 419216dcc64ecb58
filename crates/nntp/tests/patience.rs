//! Bodies that wait for room, and servers that are waited for.

use std::time::{Duration, Instant};

use bergamot_nntp::{
    Answer, BodySink, BodyStep, Connection, Ending, Event, Request, RequestId, Settings,
};
use bergamot_testkit::PlainSink;
use bergamot_types::{ByteCount, ByteRate, MessageId, Patience};

/// A sink that has room when the test says so.
#[derive(Default)]
struct Narrow {
    plain: PlainSink,
    has_room: bool,
}

impl BodySink for Narrow {
    fn begin(&mut self, request: RequestId) {
        self.plain.begin(request);
    }

    fn has_room(&self) -> bool {
        self.has_room
    }

    fn body(&mut self, bytes: &[u8]) -> BodyStep {
        assert!(self.has_room, "no byte comes without room");
        self.plain.body(bytes)
    }
}

/// Ready, and asked for `a@x` and `b@x`.
fn asked(now: Instant, patience: Option<Patience>) -> Connection {
    let mut connection = Connection::new(now, Settings::default());
    let mut sink = PlainSink::default();
    connection.handle_input(now, b"200 hi\r\n", &mut sink);
    for (number, id) in [(1, "a@x"), (2, "b@x")] {
        let id = MessageId::parse(id).expect("a good id");
        let limit = ByteCount(1 << 20);
        connection.ask(now, RequestId(number), Request::Body { id, limit, patience });
    }
    assert_eq!(connection.poll_event(), Some(Event::Ready));
    connection
}

fn after(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_body_without_room_stays_with_the_caller() {
    let now = Instant::now();
    let (mut connection, mut sink) = (asked(now, None), Narrow::default());
    let bytes = b"222 0 <a@x>\r\nabc\r\n.\r\n222 0 <b@x>\r\ndef\r\n.\r\n";
    let line = b"222 0 <a@x>\r\n".len();
    assert_eq!(connection.handle_input(now, bytes, &mut sink), line);
    assert_eq!(connection.poll_event(), Some(Event::Began { request: RequestId(1) }));
    assert_eq!(connection.poll_event(), None);
    assert_eq!(connection.handle_input(now, &bytes[line..], &mut sink), 0, "still no room");
    sink.has_room = true;
    let rest = &bytes[line..];
    assert_eq!(connection.handle_input(now, rest, &mut sink), rest.len());
    let events: Vec<_> = std::iter::from_fn(|| connection.poll_event()).collect();
    let came = |number| Event::Answered { request: RequestId(number), answer: Answer::Body };
    assert_eq!(events, [came(1), Event::Began { request: RequestId(2) }, came(2)]);
}

#[test]
fn the_time_of_a_body_without_room_stands_still() {
    let now = Instant::now();
    let (mut connection, mut sink) = (asked(now, None), Narrow::default());
    connection.handle_input(now, b"222 0 <a@x>\r\n", &mut sink);
    connection.handle_starved(now);
    assert_eq!(connection.poll_timeout(), None);
    connection.handle_timeout(now + after(3600));
    connection.handle_fed(now + after(3600));
    connection.handle_timeout(now + after(3629));
    assert_eq!(connection.poll_event(), Some(Event::Began { request: RequestId(1) }));
    assert_eq!(connection.poll_event(), None);
    connection.handle_timeout(now + after(3630));
    assert!(matches!(connection.poll_event(), Some(Event::Ended { .. })));
}

#[test]
fn less_patience_ends_silence_sooner_for_each_answer() {
    let now = Instant::now();
    let patience = Patience { silence: after(5), pace: ByteRate(0) };
    let mut connection = asked(now, Some(patience));
    let mut sink = PlainSink::default();
    assert_eq!(connection.poll_timeout(), Some(now + after(5)));
    connection.handle_input(now + after(4), b"222 0 <a@x>\r\nabc\r\n.\r\n", &mut sink);
    assert_eq!(connection.poll_timeout(), Some(now + after(9)), "the second is due");
    connection.handle_timeout(now + after(9));
    let events: Vec<_> = std::iter::from_fn(|| connection.poll_event()).collect();
    let Some(Event::Ended { why: Ending::Silent { waited, .. }, unanswered }) = events.last()
    else {
        panic!("{events:?}")
    };
    assert_eq!((*waited, unanswered.as_slice()), (after(5), &[RequestId(2)][..]));
}

#[test]
fn patience_only_ever_shortens_what_the_settings_allow() {
    let now = Instant::now();
    let patience = Patience { silence: after(500), pace: ByteRate(0) };
    assert_eq!(asked(now, Some(patience)).poll_timeout(), Some(now + after(30)));
}

#[test]
fn a_body_must_keep_the_pace_that_is_usual_for_its_server() {
    for (bytes, ends) in [(2999, true), (3000, false)] {
        let now = Instant::now();
        let patience = Patience { silence: after(30), pace: ByteRate(2000) };
        let mut connection = asked(now, Some(patience));
        let mut sink = PlainSink::default();
        connection.handle_input(now, b"222 0 <a@x>\r\n", &mut sink);
        // Twenty times in the thirty seconds that are looked at together.
        for step in 1..=20 {
            let at = now + Duration::from_millis(1499) * step;
            connection.handle_input(at, &vec![b'x'; bytes], &mut sink);
        }
        connection.handle_timeout(now + after(30));
        assert_eq!(connection.poll_event(), Some(Event::Began { request: RequestId(1) }));
        let too_slow = matches!(
            connection.poll_event(),
            Some(Event::Ended { why: Ending::TooSlow { .. }, .. })
        );
        assert_eq!(too_slow, ends, "{bytes}");
    }
}

#[test]
fn a_request_after_the_end_is_returned_unanswered_and_input_is_ignored() {
    let now = Instant::now();
    let (mut connection, mut sink) = (asked(now, None), PlainSink::default());
    connection.handle_end_of_stream();
    let unanswered = |event| match event {
        Some(Event::Ended { unanswered, .. }) => unanswered,
        other => panic!("{other:?}"),
    };
    assert_eq!(unanswered(connection.poll_event()), [RequestId(1), RequestId(2)]);
    connection.ask(now, RequestId(3), Request::Date);
    assert_eq!(unanswered(connection.poll_event()), [RequestId(3)]);
    assert_eq!(connection.handle_input(now, b"222 0 <a@x>\r\n", &mut sink), 13);
    connection.handle_end_of_stream();
    connection.handle_timeout(now + after(3600));
    assert_eq!((connection.poll_event(), connection.poll_timeout()), (None, None));
    assert!(!connection.poll_transmit(&mut Vec::new()));
}
