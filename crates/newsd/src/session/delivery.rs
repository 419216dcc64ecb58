//! An article being sent, whole or damaged.

use std::ops::Range;

use crate::faults::Rule;
use crate::faults::fault::Fault;
use crate::session::Output;
use crate::session::outbox::Outbox;
use crate::session::site::Site;

/// Which parts of an article were asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    Article,
    Body,
}

/// Answers for an article the server has. `rule` is the fault that strikes, if one does.
pub(crate) fn deliver(
    site: &Site,
    form: Form,
    id: &str,
    die: u64,
    rule: Option<&Rule>,
    outbox: &mut Outbox,
) {
    if let Some(rule) = rule
        && refuse(rule, outbox)
    {
        site.tally.fire(rule.fault());
        return;
    }
    let struck = rule.is_some_and(|rule| spoil(site, form, id, die, rule, outbox));
    if let Some(rule) = rule.filter(|_| struck) {
        site.tally.fire(rule.fault());
    } else {
        outbox.bytes(Answer::new(site, form, id, id).bytes);
    }
    site.tally.serve(id, !struck);
}

/// Faults that need no body. Returns whether this was one.
fn refuse(rule: &Rule, outbox: &mut Outbox) -> bool {
    match rule.fault() {
        Fault::Goodbye => {
            outbox.line(rule.line());
            outbox.act(Output::Close);
        }
        Fault::LongStatus => {
            let mut line = b"222 0 ".to_vec();
            line.resize(LONG_STATUS, b'x');
            outbox.bytes(line);
            outbox.silence();
        }
        Fault::LoginAgain | Fault::Missing | Fault::OtherAnswer | Fault::Refused => {
            outbox.line(rule.line());
        }
        Fault::Silent => outbox.silence(),
        Fault::Swallowed => {}
        _ => return false,
    }
    true
}

/// Faults of the body. Returns false, having sent nothing, where this article cannot have it.
fn spoil(site: &Site, form: Form, id: &str, die: u64, rule: &Rule, outbox: &mut Outbox) -> bool {
    let mut answer = Answer::new(site, form, id, id);
    match rule.fault() {
        Fault::BareFeeds => outbox.bytes(answer.with_line_ends(b"\n")),
        Fault::BareReturns => outbox.bytes(answer.with_line_ends(b"\r")),
        Fault::Corrupt => {
            if !answer.corrupt(die) {
                return false;
            }
            outbox.bytes(answer.bytes);
        }
        Fault::CutAfterBody => {
            outbox.bytes(answer.bytes);
            outbox.act(Output::Cut);
        }
        Fault::CutBody => {
            let body = answer.body_range();
            answer.bytes.truncate(body.start + pick(die, body.len()));
            outbox.bytes(answer.bytes);
            outbox.act(Output::Cut);
        }
        Fault::Empty => {
            answer.bytes.truncate(answer.status_end);
            answer.bytes.extend_from_slice(TERMINATOR);
            outbox.bytes(answer.bytes);
        }
        Fault::Endless => {
            let end = answer.data_range().end;
            answer.bytes.truncate(end);
            outbox.bytes(answer.bytes);
            outbox.endless(filler());
        }
        Fault::ExtraAnswer => {
            let extra = match rule.own_line() {
                Some(line) => format!("{line}\r\n").into_bytes(),
                None => answer.bytes.clone(),
            };
            answer.bytes.extend_from_slice(&extra);
            outbox.bytes(answer.bytes);
        }
        Fault::ExtraTerminator => {
            answer.bytes.extend_from_slice(TERMINATOR);
            outbox.bytes(answer.bytes);
        }
        Fault::HangUp => {
            let end = match die % 3 {
                0 => 0,
                1 => pick(die / 3, answer.status_end),
                _ => answer.status_end + pick(die / 3, answer.bytes.len() - answer.status_end),
            };
            answer.bytes.truncate(end);
            outbox.bytes(answer.bytes);
            outbox.act(Output::Close);
        }
        Fault::HeadersInBody => {
            let headers = format!("Message-ID: <{id}>\r\nX-Newsreader: none\r\n");
            let start = answer.body_start;
            answer.bytes.splice(start..start, headers.into_bytes());
            outbox.bytes(answer.bytes);
        }
        Fault::Late => {
            outbox.wait(rule.delay);
            outbox.bytes(answer.bytes);
        }
        Fault::Slow => outbox.slow_bytes(answer.bytes, rule.pace),
        Fault::Truncated => {
            answer.truncate(die);
            outbox.bytes(answer.bytes);
        }
        Fault::WrongArticle => {
            let Some(other) = site.articles.another(id) else { return false };
            outbox.bytes(Answer::new(site, form, id, &other).bytes);
        }
        Fault::WrongId => {
            let other = site.articles.another(id).unwrap_or_else(|| format!("not.{id}"));
            outbox.bytes(Answer::new(site, form, &other, id).bytes);
        }
        _ => return false,
    }
    true
}

/// One whole answer and where its parts begin.
struct Answer {
    bytes: Vec<u8>,
    status_end: usize,
    body_start: usize,
}

impl Answer {
    /// The answer that names the article `named` and carries the article `id`.
    fn new(site: &Site, form: Form, named: &str, id: &str) -> Self {
        let code = if form == Form::Article { 220 } else { 222 };
        let mut bytes = format!("{code} 0 <{named}>\r\n").into_bytes();
        let status_end = bytes.len();
        if form == Form::Article {
            bytes.extend_from_slice(site.headers(id).as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        let body_start = bytes.len();
        site.articles.append_body(id, &mut bytes);
        if bytes.len() > body_start && !bytes.ends_with(b"\r\n") {
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(TERMINATOR);
        Self { bytes, status_end, body_start }
    }

    fn body_range(&self) -> Range<usize> {
        self.body_start..self.bytes.len() - TERMINATOR.len()
    }

    /// The data lines of a yEnc body; the whole body if it is none.
    fn data_range(&self) -> Range<usize> {
        let body = self.body_range();
        let mut start = body.start;
        while self.bytes[start..body.end].starts_with(b"=y") {
            start += line_length(&self.bytes[start..body.end]);
        }
        let lines = self.bytes[start..body.end].split_inclusive(|&byte| byte == b'\n');
        let trailer: usize =
            lines.rev().take_while(|line| line.starts_with(b"=yend")).map(<[u8]>::len).sum();
        start..body.end - trailer
    }

    /// Changes one byte that stands for itself into another such byte.
    fn corrupt(&mut self, die: u64) -> bool {
        let data = self.data_range();
        let point = data.start + pick(die, data.len());
        let literal = |index: &usize| {
            !SPECIAL.contains(&self.bytes[*index]) && self.bytes[*index - 1] != b'='
        };
        let Some(index) = (point..data.end).chain(data.start..point).find(literal) else {
            return false;
        };
        let changed = (1..=u8::MAX).map(|step| self.bytes[index].wrapping_add(step));
        self.bytes[index] =
            changed.into_iter().find(|byte| !SPECIAL.contains(byte)).unwrap_or(b'x');
        true
    }

    /// Leaves some lines out at the end, the trailer with its CRC among them.
    fn truncate(&mut self, die: u64) {
        let data = self.data_range();
        let point = data.start + pick(die, data.len());
        let lines = &self.bytes[data.start..point];
        let whole = lines.iter().rposition(|&byte| byte == b'\n').map_or(0, |index| index + 1);
        self.bytes.truncate(data.start + whole);
        self.bytes.extend_from_slice(TERMINATOR);
    }

    fn with_line_ends(&self, end: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        for line in self.bytes.split_inclusive(|&byte| byte == b'\n') {
            bytes.extend_from_slice(line.strip_suffix(b"\r\n").unwrap_or(line));
            bytes.extend_from_slice(end);
        }
        bytes
    }
}

/// A place from 0 up to, not including, `length`.
fn pick(die: u64, length: usize) -> usize {
    (die % length.max(1) as u64) as usize
}

fn line_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |index| index + 1)
}

/// Lines of a body that goes on and on.
fn filler() -> Vec<u8> {
    let mut line = [b'x'; 130];
    line[128..].copy_from_slice(b"\r\n");
    line.repeat(FILLER_LINES)
}

pub(crate) const TERMINATOR: &[u8] = b".\r\n";
/// Bytes that mean more than themselves in a yEnc body, and the one no article may hold.
const SPECIAL: &[u8] = b"=.\r\n\0";
const LONG_STATUS: usize = 1 << 20;
/// 64 KiB at a time: few calls, and a reader that stops reading stops us soon.
const FILLER_LINES: usize = 512;
