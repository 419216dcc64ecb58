//! A download without sockets, disk or clock, to count its instructions.
//!
//! `benches/instructions` runs it under callgrind. The engine hands out the articles of one file, the
//! NNTP machine asks for them and takes the answers in pieces of one TLS record, the decoder decodes
//! them, and the engine has them written. All that is prepared beforehand is not counted: only what
//! happens below [`play`] is.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bergamot_engine::{ConnectionId, Engine, Event, Now, Order, ServerSettings, Ticket};
use bergamot_nntp::{Answer, BodySink, BodyStep, Connection, Request, RequestId};
use bergamot_queue::{NewFile, NewJob};
use bergamot_types::{ByteCount, JobId, MessageIdList, ServerId, UnixTime};
use bergamot_yenc::{Decoder, encode};

fn main() {
    let articles = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50);
    let answers = answers(articles);
    let mut scene = Scene::new(articles);
    play(&mut scene, &answers);
    assert_eq!(scene.written, articles, "all of it was written");
    println!("kernel {}", bergamot_simd::yenc::Kernel::best().name());
}

/// The counted part.
#[inline(never)]
fn play(scene: &mut Scene, answers: &[Vec<u8>]) {
    scene.hear(Event::Connected { connection: scene.id });
    let mut next = answers.iter();
    while scene.written < answers.len() as u32 {
        let answer = next.next().expect("an answer for every article");
        for record in answer.chunks(RECORD) {
            scene.read(record);
        }
    }
}

struct Scene {
    engine: Engine,
    id: ConnectionId,
    connection: Connection,
    bodies: Bodies,
    sent: Vec<u8>,
    events: VecDeque<Event>,
    now: Now,
    written: u32,
}

/// Decodes into one buffer.
struct Bodies {
    decoder: Decoder,
    buffer: Vec<u8>,
    filled: usize,
}

impl BodySink for Bodies {
    fn begin(&mut self, _: RequestId) {
        self.filled = 0;
    }

    fn body(&mut self, bytes: &[u8]) -> BodyStep {
        let step = self.decoder.decode(bytes, &mut self.buffer[self.filled..]);
        self.filled += step.written;
        BodyStep { consumed: step.consumed, written: step.written, ended: step.ended }
    }
}

impl Scene {
    fn new(articles: u32) -> Self {
        let now = Now { instant: Instant::now(), date: UnixTime(1_700_000_000) };
        let settings = bergamot_engine::Settings {
            servers: vec![ServerSettings::new(ServerId(1), 1)],
            ..bergamot_engine::Settings::default()
        };
        let buffer = vec![0; ARTICLE + ARTICLE / 8];
        let mut scene = Self {
            engine: Engine::new(now.instant, settings),
            id: ConnectionId(0),
            connection: Connection::new(now.instant, bergamot_nntp::Settings::default()),
            bodies: Bodies { decoder: Decoder::new(), buffer, filled: 0 },
            sent: Vec::new(),
            events: VecDeque::new(),
            now,
            written: 0,
        };
        scene.hear(Event::JobAdded(job(articles)));
        scene.read(b"200 welcome\r\n");
        scene
    }

    fn read(&mut self, bytes: &[u8]) {
        self.now.instant += Duration::from_micros(10);
        self.connection.handle_input(self.now.instant, bytes, &mut self.bodies);
        while let Some(event) = self.connection.poll_event() {
            self.on_event(event);
        }
        self.sent.clear();
        self.connection.poll_transmit(&mut self.sent);
    }

    fn on_event(&mut self, event: bergamot_nntp::Event) {
        match event {
            bergamot_nntp::Event::Began { request } => {
                let (ticket, received) = (Ticket(request.0), ByteCount(0));
                self.hear(Event::Progress { ticket, received });
            }
            bergamot_nntp::Event::Answered { request, answer: Answer::Body } => {
                let outcome = self.bodies.decoder.finish();
                assert!(outcome.fault.is_none(), "{outcome:?}");
                self.hear(Event::fetched(Ticket(request.0), outcome));
            }
            bergamot_nntp::Event::Ready => {}
            other => panic!("{other:?}"),
        }
    }

    fn hear(&mut self, event: Event) {
        self.events.push_back(event);
        while let Some(event) = self.events.pop_front() {
            self.engine.handle(self.now, event);
            while let Some(order) = self.engine.poll_order() {
                self.carry_out(order);
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Connect { connection, .. } => self.id = connection,
            Order::Fetch { ticket, id, limit, patience, .. } => {
                let body = Request::Body { id, limit, patience: Some(patience) };
                self.connection.ask(self.now.instant, RequestId(ticket.0), body);
            }
            Order::Write { ticket, .. } => {
                self.written += 1;
                self.events.push_back(Event::Written { ticket, result: Ok(()) });
            }
            Order::FinishFile { file, .. } => {
                self.events.push_back(Event::FileFinished { file, result: Ok(()) });
            }
            _ => {}
        }
    }
}

fn job(articles: u32) -> NewJob {
    let mut ids = MessageIdList::new();
    for number in 1..=articles {
        ids.push(&format!("{number}@transcript.example")).expect("a good id");
    }
    let file = NewFile {
        ids,
        numbers: (1..=articles).collect(),
        bytes: vec![(ARTICLE + ARTICLE / 32) as u32; articles as usize],
        ..NewFile::default()
    };
    let (id, files) = (JobId(1), vec![file]);
    NewJob::new(id, files)
}

/// As a server would send them, in the order they are asked for.
fn answers(articles: u32) -> Vec<Vec<u8>> {
    let mut state = 1_u64;
    let content: Vec<u8> = (0..ARTICLE)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let answer = |number: u32| {
        let part = encode::Part {
            name: "transcript.bin",
            number,
            total: articles,
            file_size: u64::from(articles) * ARTICLE as u64,
            offset: u64::from(number - 1) * ARTICLE as u64,
            data: &content,
        };
        let mut wire = format!("222 0 <{number}@transcript.example>\r\n").into_bytes();
        part.write_wire(&mut wire);
        wire
    };
    (1..=articles).map(answer).collect()
}

const ARTICLE: usize = 700 << 10;

/// What one read of a TLS connection gives at least.
const RECORD: usize = 16 << 10;
