//! A download without sockets, disk or clock, to count its instructions.
//!
//! `benches/instructions` runs it under callgrind. The engine hands out the articles of one file, the
//! NNTP machine asks for them and takes the answers in pieces of one TLS record, the decoder decodes
//! them, and the engine has them written. All that is prepared beforehand is not counted: only what
//! happens below [`play`] is.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use bergamot_engine::{ConnectionId, Engine, Event, Now, ServerSettings, Ticket};
use bergamot_nntp::{Answer, BodySink, BodyStep, Connection, Request, RequestId};
use bergamot_queue::{FileKey, NewFile, NewJob};
use bergamot_testkit::drive::{Context, Disk, Driver, Fetch, Servers};
use bergamot_types::{ByteCount, JobId, MessageIdList, ServerId, UnixTime};
use bergamot_yenc::{Decoder, encode};

fn main() {
    let articles = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50);
    let answers = answers(articles);
    let mut scene = scene(articles);
    play(&mut scene, &answers);
    assert_eq!(scene.disk.written, articles, "all of it was written");
    println!("kernel {}", bergamot_simd::yenc::Kernel::best().name());
}

/// The counted part.
#[inline(never)]
fn play(scene: &mut Scene, answers: &[Vec<u8>]) {
    let connection = scene.servers.id;
    scene.tell(Event::Connected { connection });
    let mut next = answers.iter();
    while scene.disk.written < answers.len() as u32 {
        let answer = next.next().expect("an answer for every article");
        for record in answer.chunks(RECORD) {
            read(scene, record);
        }
    }
}

/// The engine with one connection and a disk that is done at once. Not under the contract checker: its
/// instructions would be counted, too.
type Scene = Driver<OneConnection, InstantDisk, ()>;

/// One conversation; its bodies are decoded into one buffer.
struct OneConnection {
    id: ConnectionId,
    connection: Connection,
    bodies: Bodies,
    sent: Vec<u8>,
}

struct InstantDisk {
    written: u32,
}

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

impl Servers for OneConnection {
    type Body = ();

    fn connect(&mut self, _: &mut Context<'_>, connection: ConnectionId, _: ServerId) {
        self.id = connection;
    }

    fn disconnect(&mut self, _: &mut Context<'_>, _: ConnectionId) {}

    fn fetch(&mut self, cx: &mut Context<'_>, fetch: Fetch) {
        let (limit, patience) = (ByteCount(fetch.limit), Some(fetch.patience));
        let body = Request::Body { id: fetch.id, limit, patience };
        self.connection.ask(cx.now.instant, RequestId(fetch.ticket.0), body);
    }

    fn take_body(&mut self, _: Ticket) -> Option<()> {
        Some(())
    }
}

impl Disk<()> for InstantDisk {
    fn write(&mut self, cx: &mut Context<'_>, ticket: Ticket, _: FileKey, _: u64, _: Option<()>) {
        self.written += 1;
        cx.answer(Event::Written { ticket, result: Ok(()) });
    }

    fn process_job(&mut self, _: &mut Context<'_>, _: JobId, _: bool) {}
}

fn scene(articles: u32) -> Scene {
    let now = Now { instant: Instant::now(), date: UnixTime(1_700_000_000) };
    let settings = bergamot_engine::Settings {
        servers: vec![ServerSettings::new(ServerId(1), 1)],
        ..bergamot_engine::Settings::default()
    };
    let buffer = vec![0; ARTICLE + ARTICLE / 8];
    let servers = OneConnection {
        id: ConnectionId(0),
        connection: Connection::new(now.instant, bergamot_nntp::Settings::default()),
        bodies: Bodies { decoder: Decoder::new(), buffer, filled: 0 },
        sent: Vec::new(),
    };
    let engine = Engine::new(now.instant, settings);
    let mut scene = Driver::new(engine, now, servers, InstantDisk { written: 0 }, ()).unchecked();
    scene.tell(Event::JobAdded(job(articles)));
    read(&mut scene, b"200 welcome\r\n");
    scene
}

fn read(scene: &mut Scene, bytes: &[u8]) {
    scene.now.instant += Duration::from_micros(10);
    let OneConnection { connection, bodies, .. } = &mut scene.servers;
    connection.handle_input(scene.now.instant, bytes, bodies);
    while let Some(event) = scene.servers.connection.poll_event() {
        on_event(scene, event);
    }
    let OneConnection { connection, sent, .. } = &mut scene.servers;
    sent.clear();
    connection.poll_transmit(sent);
}

fn on_event(scene: &mut Scene, event: bergamot_nntp::Event) {
    match event {
        bergamot_nntp::Event::Began { request } => {
            let (ticket, received) = (Ticket(request.0), ByteCount(0));
            scene.tell(Event::Progress { ticket, received });
        }
        bergamot_nntp::Event::Answered { request, answer: Answer::Body } => {
            let outcome = scene.servers.bodies.decoder.finish();
            assert!(outcome.fault.is_none(), "{outcome:?}");
            scene.tell(Event::fetched(Ticket(request.0), outcome));
        }
        bergamot_nntp::Event::Ready => {}
        other => panic!("{other:?}"),
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
