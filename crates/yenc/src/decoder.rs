//! [`Decoder`]: decodes one article body.

use std::mem;

use bergamot_simd::yenc::{self, LineState, Stop};
use crc32fast::Hasher;

use crate::control::Control;
use crate::line::{Line, Progress};
use crate::part::Outcome;
use crate::preamble::{Found, Preamble};
use crate::uu::{self, Row};
use crate::verdict::{Evidence, UuEvidence, YencEvidence};

/// Decodes one body after the other.
///
/// Feed it until [`Step::ended`], or until no more bytes come; then `finish`. It allocates nothing
/// but one line buffer, which it keeps for the next body.
#[derive(Debug, Default)]
pub struct Decoder {
    stage: Stage,
    line: Line,
    preamble: Preamble,
    tally: Tally,
    yenc: Option<YencEvidence>,
    uu: Option<UuEvidence>,
}

/// What one call did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Step {
    /// Bytes of the input that belong to this body: all, unless it ended.
    pub consumed: usize,
    pub written: usize,
    /// The terminator was consumed; bytes behind it belong to the next answer.
    pub ended: bool,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Stage {
    /// Nothing recognised yet.
    #[default]
    Preamble,
    YencData(LineState),
    YencControl,
    UuRows,
    /// All that was wanted is here; only the end of the body is.
    Drain,
    Ended,
}

impl Decoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes raw bytes of the answer, still dot-stuffed and cut anywhere, and writes to the start
    /// of `out`, the free rest of the caller's buffer. When that is full the decoder goes on to
    /// find the end and only counts what it drops.
    pub fn decode(&mut self, raw: &[u8], out: &mut [u8]) -> Step {
        let mut step = Step::default();
        while step.consumed < raw.len() && self.stage != Stage::Ended {
            let (rest, room) = (&raw[step.consumed..], &mut out[step.written..]);
            let (consumed, written) = match self.stage {
                Stage::YencData(state) => self.on_data(state, rest, room),
                _ => self.on_line_bytes(rest, room),
            };
            step.consumed += consumed;
            step.written += written;
        }
        step.ended = self.stage == Stage::Ended;
        step
    }

    /// How many bytes were decoded so far, with those that found no room.
    pub fn length(&self) -> u64 {
        self.tally.length()
    }

    /// Judges what came, complete or not, and is ready for the next body.
    pub fn finish(&mut self) -> Outcome {
        let mut line = mem::take(&mut self.line);
        line.clear();
        let done = mem::replace(self, Self { line, ..Self::default() });
        Evidence {
            ended: done.stage == Stage::Ended,
            preamble: done.preamble,
            yenc: done.yenc,
            uu: done.uu,
            length: done.tally.length(),
            kept: done.tally.kept,
            crc32: done.tally.crc.finalize(),
        }
        .judge()
    }

    fn on_data(&mut self, mut state: LineState, raw: &[u8], out: &mut [u8]) -> (usize, usize) {
        if self.tally.overflows {
            let step = yenc::decode(&mut state, raw, &mut [0; SCRATCH]);
            self.tally.dropped += step.written as u64;
            self.after_data(state, step.stop);
            return (step.consumed, 0);
        }
        let step = yenc::decode(&mut state, raw, out);
        self.tally.keep(&out[..step.written]);
        self.after_data(state, step.stop);
        (step.consumed, step.written)
    }

    fn after_data(&mut self, state: LineState, stop: Stop) {
        self.stage = match stop {
            Stop::Control => {
                self.line.start_with(b"=y");
                Stage::YencControl
            }
            Stop::End => Stage::Ended,
            Stop::Input => Stage::YencData(state),
            Stop::Output => {
                self.tally.overflows = true;
                Stage::YencData(state)
            }
        };
    }

    fn on_line_bytes(&mut self, raw: &[u8], out: &mut [u8]) -> (usize, usize) {
        let (consumed, progress) = self.line.take(raw);
        match progress {
            Progress::More => (consumed, 0),
            Progress::End => {
                self.stage = Stage::Ended;
                (consumed, 0)
            }
            Progress::Line => {
                let mut line = mem::take(&mut self.line);
                let written = self.on_line(&line, out);
                line.clear();
                self.line = line;
                (consumed, written)
            }
        }
    }

    fn on_line(&mut self, line: &Line, out: &mut [u8]) -> usize {
        match self.stage {
            Stage::Preamble => return self.on_preamble(line, out),
            Stage::UuRows => return self.on_row(line.text(), out),
            Stage::YencControl => self.on_control(line),
            Stage::YencData(_) | Stage::Drain | Stage::Ended => {}
        }
        0
    }

    fn on_preamble(&mut self, line: &Line, out: &mut [u8]) -> usize {
        match self.preamble.look(line.text(), line.wire_length()) {
            Found::Nothing => {}
            Found::GiveUp => self.stage = Stage::Drain,
            Found::Yenc(begin) => {
                self.yenc = Some(YencEvidence::new(begin, line.is_overlong()));
                self.stage = Stage::YencData(LineState::Start);
            }
            Found::Uu { name } => {
                self.uu = Some(UuEvidence { name: Some(name), ..UuEvidence::default() });
                self.stage = Stage::UuRows;
            }
            Found::UuRow => {
                self.uu = Some(UuEvidence::default());
                self.stage = Stage::UuRows;
                return self.on_row(line.text(), out);
            }
        }
        0
    }

    fn on_control(&mut self, line: &Line) {
        self.stage = Stage::YencData(LineState::Start);
        let Some(yenc) = &mut self.yenc else { return };
        yenc.overlong |= line.is_overlong();
        match Control::parse(line.text()) {
            Control::Part(placing) if yenc.placing.is_none() && self.tally.length() == 0 => {
                yenc.placing = Some(placing);
            }
            Control::End(trailer) => {
                yenc.trailer = Some(trailer);
                self.stage = Stage::Drain;
            }
            // A second block: the first has lost its trailer, and only the first counts.
            Control::Begin(_) => self.stage = Stage::Drain,
            // Nothing an encoder writes; if data were lost with the line, size and CRC will tell.
            Control::Part(_) | Control::Unknown => {}
        }
    }

    fn on_row(&mut self, line: &[u8], out: &mut [u8]) -> usize {
        let Some(uu) = &mut self.uu else { return 0 };
        let mut bytes = [0; uu::LONGEST_ROW];
        uu.rows += 1;
        match uu::row(line, &mut bytes) {
            Row::Bytes(length) => return self.tally.put(&bytes[..length], out),
            Row::Bad(value) => uu.bad_row = uu.bad_row.or(Some((uu.rows, value))),
            Row::Empty => {}
            Row::End => self.stage = Stage::Drain,
        }
        0
    }
}

/// Counts and sums what was decoded.
#[derive(Debug, Default)]
struct Tally {
    kept: u64,
    dropped: u64,
    overflows: bool, // once a byte was dropped all later ones are, lest the data have a hole
    crc: Hasher,
}

impl Tally {
    fn keep(&mut self, bytes: &[u8]) {
        self.kept += bytes.len() as u64;
        self.crc.update(bytes);
    }

    /// Copies what has room.
    fn put(&mut self, bytes: &[u8], out: &mut [u8]) -> usize {
        let room = if self.overflows { 0 } else { out.len().min(bytes.len()) };
        out[..room].copy_from_slice(&bytes[..room]);
        self.keep(&bytes[..room]);
        self.dropped += (bytes.len() - room) as u64;
        self.overflows |= room < bytes.len();
        room
    }

    fn length(&self) -> u64 {
        self.kept + self.dropped
    }
}

/// Where the bytes go that find no room.
const SCRATCH: usize = 4096;
