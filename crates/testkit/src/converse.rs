//! [`converse`]: plays a transcript against the NNTP machine; single-threaded.
//!
//! The notation is that of RFC 3977 with a few words of our own, one step a line:
//!
//! ```text
//! [S] 200 welcome            the server sends this line, CR LF added (\r, \n, \0 may be written)
//! [S-] 222 0                 the same without a line end
//! [C] BODY <a@x>             the machine sends this line next
//! ask: body a@x              article, body, stat, group, date, over, xover, hdr, list or quit
//! event: missing a@x         the machine's next event
//! wait: 30s                  time passes, and the deadline is checked
//! tls:                       the handshake succeeds
//! deflate:                   compression begins below the machine
//! eof:                       the server closes the connection
//! quiet:                     the machine has no deadline
//! starved: / fed:            we may not read any more, or again
//! ```
//!
//! A transcript is played whole, byte by byte, and cut at every single and every pair of points in
//! what the server says; each time it must give the same commands and events.

use std::time::{Duration, Instant};

use bergamot_nntp::{
    Answer, Connection, Ending, Event, List, Request, RequestId, Settings, Wildmat,
};
use bergamot_types::{ArticleRange, ByteCount, GroupName, MessageId};

use crate::plain_sink::PlainSink;

use crate::violation::{Checked, violated};

/// Plays `transcript` in every cut.
///
/// # Panics
/// When the machine does something else than the transcript says.
pub fn converse(settings: Settings, transcript: &str) {
    let player = Player::new(settings, transcript);
    let length = player.server_bytes();
    player.play("whole", &|_| false);
    player.play("byte by byte", &|_| true);
    for first in 1..length {
        for second in first..length {
            // Both ends equal is the single cut.
            let name = format!("cut at {first} and {second}");
            player.play(&name, &|at| at == first || at == second);
        }
    }
}

/// One transcript, ready to be played in one cut after another.
#[derive(Debug)]
pub struct Player {
    settings: Settings,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Ask(Request),
    Client(String),
    DeflateStarted,
    EndOfStream,
    Event(String),
    Fed,
    Quiet,
    Server(Vec<u8>),
    Starved,
    TlsStarted,
    Wait(Duration),
}

impl Player {
    pub fn new(settings: Settings, transcript: &str) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for line in transcript.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match (parse(line), steps.last_mut()) {
                (Step::Server(more), Some(Step::Server(bytes))) => bytes.extend(more),
                (step, _) => steps.push(step),
            }
        }
        Self { settings, steps }
    }

    fn server_bytes(&self) -> usize {
        let said = self.steps.iter().map(|step| match step {
            Step::Server(bytes) => bytes.len(),
            _ => 0,
        });
        said.sum()
    }

    fn play(&self, name: &str, cut_at: &dyn Fn(usize) -> bool) {
        let mut scene = Scene::new(&self.settings);
        for (index, step) in self.steps.iter().enumerate() {
            scene.perform(step, cut_at);
            if let Err(difference) = scene.compare(step) {
                panic!("{name}, step {index} {step:?}: {difference}");
            }
        }
        let left = (&scene.sent[..], &scene.events[..]);
        assert!(left.0.is_empty() && left.1.is_empty(), "{name}: left over {left:?}");
    }
}

struct Scene {
    connection: Connection,
    sink: PlainSink,
    now: Instant,
    heard: usize,
    asked: Vec<Request>,
    sent: String,
    events: Vec<String>,
}

impl Scene {
    fn new(settings: &Settings) -> Self {
        let now = Instant::now(); // any instant does: only differences matter
        Self {
            connection: Connection::new(now, settings.clone()),
            sink: PlainSink::default(),
            now,
            heard: 0,
            asked: Vec::new(),
            sent: String::new(),
            events: Vec::new(),
        }
    }

    fn perform(&mut self, step: &Step, cut_at: &dyn Fn(usize) -> bool) {
        match step {
            Step::Ask(request) => {
                let id = RequestId(self.asked.len() as u64);
                self.asked.push(request.clone());
                self.connection.ask(self.now, id, request.clone());
            }
            Step::DeflateStarted => self.connection.handle_deflate_started(self.now),
            Step::EndOfStream => self.connection.handle_end_of_stream(),
            Step::Fed => self.connection.handle_fed(self.now),
            Step::Server(bytes) => return self.hear(bytes, cut_at),
            Step::Starved => self.connection.handle_starved(self.now),
            Step::TlsStarted => self.connection.handle_tls_started(self.now),
            Step::Wait(time) => {
                self.now += *time;
                self.connection.handle_timeout(self.now);
            }
            Step::Client(_) | Step::Event(_) | Step::Quiet => {}
        }
        self.collect();
    }

    fn hear(&mut self, bytes: &[u8], cut_at: &dyn Fn(usize) -> bool) {
        let mut start = 0;
        for end in 1..=bytes.len() {
            if end == bytes.len() || cut_at(self.heard + end) {
                self.connection.handle_input(self.now, &bytes[start..end], &mut self.sink);
                self.collect();
                start = end;
            }
        }
        self.heard += bytes.len();
    }

    fn collect(&mut self) {
        let mut out = Vec::new();
        self.connection.poll_transmit(&mut out);
        self.sent.push_str(&String::from_utf8(out).expect("commands are text"));
        while let Some(event) = self.connection.poll_event() {
            if let Event::Began { .. } = event {
                continue; // where the answer line was, the transcript shows
            }
            let text = self.describe(event);
            self.events.push(text);
        }
    }

    fn compare(&mut self, step: &Step) -> Checked {
        match step {
            Step::Client(line) => match self.sent.strip_prefix(&format!("{line}\r\n")) {
                Some(rest) => self.sent = rest.to_owned(),
                None => return violated!("sent {:?}, events {:?}", self.sent, self.events),
            },
            Step::Event(text) => {
                if self.events.first() != Some(text) {
                    return violated!("events {:?}, sent {:?}", self.events, self.sent);
                }
                self.events.remove(0);
            }
            Step::Quiet if self.connection.poll_timeout().is_some() => {
                return violated!("a deadline is running");
            }
            _ => {}
        }
        Ok(())
    }

    fn describe(&mut self, event: Event) -> String {
        match event {
            Event::Answered { request, answer } => {
                let what = subject(&self.asked[request.0 as usize]);
                self.describe_answer(&what, &answer)
            }
            Event::Ended { why, unanswered } => {
                let owed: Vec<_> =
                    unanswered.iter().map(|id| subject(&self.asked[id.0 as usize])).collect();
                let owed = if owed.is_empty() { "nothing".to_owned() } else { owed.join(" ") };
                let text = if why == Ending::Quit { "quit".to_owned() } else { why.to_string() };
                format!("ended {}: {text}; unanswered {owed}", why.code())
            }
            Event::Began { .. } => "began".to_owned(),
            Event::Ready => "ready".to_owned(),
            Event::StartDeflate => "start deflate".to_owned(),
            Event::StartTls => "start tls".to_owned(),
        }
    }

    fn describe_answer(&mut self, what: &str, answer: &Answer) -> String {
        match answer {
            Answer::Body => format!("body {what} {:?}", String::from_utf8_lossy(&self.sink.take())),
            Answer::Date(text) => format!("date {text}"),
            Answer::Exists => format!("exists {what}"),
            Answer::Group { count, first, last } => format!("group {what} {count} {first} {last}"),
            Answer::Listed => {
                format!("list {what} {:?}", String::from_utf8_lossy(&self.sink.take()))
            }
            Answer::Missing(reply) => format!("missing {what}: {reply}"),
            Answer::NoSuchGroup(reply) => format!("no group {what}: {reply}"),
            Answer::NothingListed(reply) => format!("nothing {what}: {reply}"),
            Answer::Refused(reply) => format!("refused {what}: {reply}"),
        }
    }
}

fn subject(request: &Request) -> String {
    match request {
        Request::Article { id, .. } | Request::Body { id, .. } | Request::Stat(id) => {
            id.to_string()
        }
        Request::Group(name) => name.to_string(),
        Request::Hdr { range, .. } | Request::Over(range) | Request::Xover(range) => {
            range.to_string()
        }
        Request::Date | Request::List(_) | Request::Quit => request.command().to_ascii_lowercase(),
    }
}

fn parse(line: &str) -> Step {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "[S]" => Step::Server(unescaped(rest, "\r\n")),
        "[S-]" => Step::Server(unescaped(rest, "")),
        "[C]" => Step::Client(rest.to_owned()),
        "ask:" => Step::Ask(parse_request(rest)),
        "deflate:" => Step::DeflateStarted,
        "eof:" => Step::EndOfStream,
        "event:" => Step::Event(rest.to_owned()),
        "fed:" => Step::Fed,
        "quiet:" => Step::Quiet,
        "starved:" => Step::Starved,
        "tls:" => Step::TlsStarted,
        "wait:" => Step::Wait(parse_seconds(rest)),
        _ => panic!("no such step: {line}"),
    }
}

fn unescaped(text: &str, end: &str) -> Vec<u8> {
    let text = text.replace("\\r", "\r").replace("\\n", "\n").replace("\\0", "\0");
    [text.as_bytes(), end.as_bytes()].concat()
}

fn parse_seconds(text: &str) -> Duration {
    let seconds = text.strip_suffix('s').and_then(|number| number.parse().ok());
    Duration::from_secs(seconds.unwrap_or_else(|| panic!("no such time: {text}")))
}

fn parse_request(text: &str) -> Request {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let id = || MessageId::parse(rest).unwrap_or_else(|error| panic!("{text}: {error}"));
    match word {
        "article" => Request::Article { id: id(), limit: BODY_LIMIT },
        "body" => Request::Body { id: id(), limit: BODY_LIMIT, patience: None },
        "date" => Request::Date,
        "group" => Request::Group(GroupName::parse(rest).expect("a group name")),
        "hdr" => Request::Hdr { field: "Subject", range: parse_range(rest) },
        "list" => Request::List(parse_list(rest)),
        "over" => Request::Over(parse_range(rest)),
        "quit" => Request::Quit,
        "stat" => Request::Stat(id()),
        "xover" => Request::Xover(parse_range(rest)),
        _ => panic!("no such request: {text}"),
    }
}

fn parse_range(text: &str) -> ArticleRange {
    let numbers = text.split_once('-').map(|(first, last)| (first.parse(), last.parse()));
    let Some((Ok(first), Ok(last))) = numbers else { panic!("no such range: {text}") };
    ArticleRange { first, last }
}

fn parse_list(text: &str) -> List {
    let (what, pattern) = text.split_once(' ').unwrap_or((text, ""));
    let pattern = (!pattern.is_empty()).then(|| Wildmat::parse(pattern).expect("a pattern"));
    match what {
        "active" => List::Active(pattern),
        "newsgroups" => List::Newsgroups(pattern),
        _ => panic!("no such list: {text}"),
    }
}

/// Small, so that a transcript can show what happens beyond it.
const BODY_LIMIT: ByteCount = ByteCount(100);
