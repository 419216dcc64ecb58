//! Decode yEnc data as it lies on the wire.
//!
//! Two encodings lie over each other. NNTP ends every line with CR LF, puts a dot before each line
//! that starts with one, and ends the body by a line of a single dot (RFC 3977, section 3.1.1).
//! yEnc adds 42 to every byte; a critical one is written as `=` and the byte plus 64 more. One pass
//! undoes both:
//!
//! - CR and LF vanish, every other byte is lowered by 42;
//! - the byte after `=` is lowered by a further 64 and is data, whatever it is: CR and LF too;
//! - any LF starts a line, escaped or not, with or without a CR: NNTP's lines know nothing of yEnc,
//!   so an escape must not be able to hide the end of the body;
//! - one dot at a line start vanishes; if only a line end follows, the body ends there;
//! - `=y` at a line start, or behind a removed dot, begins a control line, which is the caller's.

/// Where in a line the next byte lies; all that has to survive a cut between two reads.
///
/// A CR changes nothing for the bytes behind it, since a bare LF ends a line too.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LineState {
    /// Nothing of the line was seen yet.
    #[default]
    Start,
    /// A dot at the line start: padding, or the end of the body.
    Dot,
    /// A dot and a CR at the line start.
    DotCr,
    /// `=` at the line start: an escape, or a control line.
    Equals,
    /// In the middle of a line.
    Middle,
    /// Behind a `=` in the middle of a line.
    Escape,
}

/// How far one call came, and why not further.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Decoded {
    pub consumed: usize,
    pub written: usize,
    pub stop: Stop,
}

/// Why a call returned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stop {
    /// `=y` at a line start was consumed: the rest of a control line follows.
    Control,
    /// The line that ends the body was consumed.
    End,
    /// All of the input was consumed.
    Input,
    /// The next byte is data and finds no room.
    Output,
}

/// Decodes from `src` into `dst` until one of the four [`Stop`]s.
pub fn decode(state: &mut LineState, src: &[u8], dst: &mut [u8]) -> Decoded {
    let mut run = Run { src, dst, read: 0, written: 0, state: *state };
    let stop = run.until_stop();
    *state = run.state;
    Decoded { consumed: run.read, written: run.written, stop }
}

struct Run<'a> {
    src: &'a [u8],
    dst: &'a mut [u8],
    read: usize,
    written: usize,
    state: LineState,
}

impl Run<'_> {
    fn until_stop(&mut self) -> Stop {
        loop {
            if self.state == LineState::Middle {
                self.ordinary_blocks();
            }
            let Some(&byte) = self.src.get(self.read) else { return Stop::Input };
            let step = self.step(byte);
            if let Some(data) = step.data {
                let Some(room) = self.dst.get_mut(self.written) else { return Stop::Output };
                *room = data;
                self.written += 1;
            }
            self.read += 1;
            self.state = step.next;
            if let Some(stop) = step.stop {
                return stop;
            }
        }
    }

    /// Eight bytes at a time, up to the first that is special or the last eight of either buffer.
    fn ordinary_blocks(&mut self) {
        while let Some((block, room)) = self.next_block() {
            let specials = special_bytes(block);
            *room = lowered(block).to_le_bytes();
            let ordinary = (specials.trailing_zeros() / 8) as usize;
            self.read += ordinary;
            self.written += ordinary;
            if ordinary < BLOCK {
                return;
            }
        }
    }

    fn next_block(&mut self) -> Option<(u64, &mut [u8; BLOCK])> {
        let block = self.src.get(self.read..)?.first_chunk()?;
        let room = self.dst.get_mut(self.written..)?.first_chunk_mut()?;
        Some((u64::from_le_bytes(*block), room))
    }

    fn step(&self, byte: u8) -> Step {
        match (self.state, byte) {
            (LineState::Escape | LineState::Equals, b'\n') => Step::data(escaped(byte)).at_start(),
            (LineState::Equals, b'y') => Step::stop(Stop::Control),
            (LineState::Escape | LineState::Equals, _) => Step::data(escaped(byte)),
            (LineState::Dot | LineState::DotCr, b'\n') => Step::stop(Stop::End),
            (LineState::Dot, b'\r') => Step::to(LineState::DotCr),
            (LineState::Start, b'.') => Step::to(LineState::Dot),
            (LineState::Start | LineState::Dot, b'=') => Step::to(LineState::Equals),
            (_, b'\r') => Step::to(LineState::Middle),
            (_, b'\n') => Step::to(LineState::Start),
            (_, b'=') => Step::to(LineState::Escape),
            _ => Step::data(byte.wrapping_sub(SHIFT)),
        }
    }
}

struct Step {
    data: Option<u8>,
    next: LineState,
    stop: Option<Stop>,
}

impl Step {
    fn data(data: u8) -> Self {
        Self { data: Some(data), next: LineState::Middle, stop: None }
    }

    fn to(next: LineState) -> Self {
        Self { data: None, next, stop: None }
    }

    fn stop(stop: Stop) -> Self {
        Self { data: None, next: LineState::Start, stop: Some(stop) }
    }

    fn at_start(self) -> Self {
        Self { next: LineState::Start, ..self }
    }
}

fn escaped(byte: u8) -> u8 {
    byte.wrapping_sub(SHIFT).wrapping_sub(ESCAPE_SHIFT)
}

/// The top bit of each byte of `block` that is `=`, CR or LF. Bits above the lowest may lie: a
/// borrow can run into the byte behind a true hit, so only the lowest one counts.
fn special_bytes(block: u64) -> u64 {
    zero_bytes(block ^ repeat(b'='))
        | zero_bytes(block ^ repeat(b'\r'))
        | zero_bytes(block ^ repeat(b'\n'))
}

fn zero_bytes(block: u64) -> u64 {
    block.wrapping_sub(repeat(0x01)) & !block & repeat(0x80)
}

/// Each byte lowered by 42 on its own: the top bits are kept out of the subtraction, so that no
/// borrow crosses a byte, and put right afterwards.
fn lowered(block: u64) -> u64 {
    let top = repeat(0x80);
    ((block | top) - repeat(SHIFT)) ^ (!block & top)
}

const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; BLOCK])
}

const BLOCK: usize = 8;
const SHIFT: u8 = 42;
const ESCAPE_SHIFT: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules of the module's text once more, a byte at a time and without any speed.
    fn plainly(src: &[u8]) -> (Vec<u8>, usize, Stop) {
        let (mut out, mut read, mut line_start) = (Vec::new(), 0, true);
        loop {
            let mut rest = &src[read..];
            if line_start {
                for end in [&b".\r\n"[..], b".\n"] {
                    if rest.starts_with(end) {
                        return (out, read + end.len(), Stop::End);
                    }
                }
                if rest.starts_with(b".") {
                    read += 1;
                    rest = &rest[1..];
                }
                if rest.starts_with(b"=y") {
                    return (out, read + 2, Stop::Control);
                }
            }
            let (used, data) = match rest {
                [] | [b'='] => return (out, src.len(), Stop::Input),
                [b'=', byte, ..] => (2, Some(byte.wrapping_sub(106))),
                [b'\r' | b'\n', ..] => (1, None),
                [byte, ..] => (1, Some(byte.wrapping_sub(42))),
            };
            line_start = rest[used - 1] == b'\n';
            out.extend(data);
            read += used;
        }
    }

    fn in_pieces(src: &[u8], cuts: &[usize]) -> (Vec<u8>, usize, Stop) {
        let (mut out, mut state, mut total) = (vec![0; src.len()], LineState::Start, 0);
        let (mut written, mut from) = (0, 0);
        for &to in cuts.iter().chain([&src.len()]) {
            let step = decode(&mut state, &src[from..to], &mut out[written..]);
            total += step.consumed;
            written += step.written;
            if step.stop != Stop::Input {
                out.truncate(written);
                return (out, total, step.stop);
            }
            assert_eq!(step.consumed, to - from);
            from = to;
        }
        out.truncate(written);
        (out, total, Stop::Input)
    }

    fn decoded(src: &[u8]) -> (Vec<u8>, usize, Stop) {
        in_pieces(src, &[])
    }

    #[test]
    fn dots_are_unstuffed_and_the_end_is_found() {
        for (src, data, consumed, stop) in [
            (&b".\r\n200"[..], &b""[..], 3, Stop::End),
            (b".\n200", b"", 2, Stop::End),
            (b"..\r\n.\r\n", b".", 7, Stop::End),
            (b"...\r\n.\r\n", b"..", 8, Stop::End),
            (b"a.\r\n.\r\n", b"a.", 7, Stop::End),
            (b".\ra\r\n", b"a", 5, Stop::Input),
            (b".ab\n.c\n.\n", b"abc", 9, Stop::End),
            (b"=\r\n.\r\n", &[b'\r'.wrapping_sub(64)], 6, Stop::End),
            (b"=\n.\r\n", &[b'\n'.wrapping_sub(64)], 5, Stop::End),
        ] {
            let data: Vec<u8> = data.iter().map(|b| b.wrapping_sub(42)).collect();
            assert_eq!(
                decoded(src),
                (data, consumed, stop),
                "{:?}",
                src.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn control_lines_stop_only_at_a_line_start() {
        assert_eq!(decoded(b"=yend size=1").1, 2);
        assert_eq!(decoded(b"ab\r\n=yend").2, Stop::Control);
        assert_eq!(decoded(b"ab\r\n.=yend").1, 7);
        assert_eq!(decoded(b"ab=yend").2, Stop::Input);
        assert_eq!(decoded(b"==y").2, Stop::Input);
    }

    #[test]
    fn a_full_buffer_stops_before_the_byte_that_does_not_fit() {
        let (mut state, mut dst) = (LineState::Start, [0; 2]);
        let step = decode(&mut state, b"ab\r\n=}c", &mut dst);
        assert_eq!(step, Decoded { consumed: 5, written: 2, stop: Stop::Output });
        let step = decode(&mut state, b"}c", &mut dst);
        assert_eq!(step, Decoded { consumed: 2, written: 2, stop: Stop::Input });
        assert_eq!(dst, [b'}' - 106, b'c' - 42]);
    }

    #[test]
    fn every_byte_is_lowered_on_its_own() {
        for byte in 0..=u8::MAX {
            let block = u64::from_le_bytes([byte, 0, 255, byte, 41, 42, 43, byte]);
            let expected = block.to_le_bytes().map(|b| b.wrapping_sub(42));
            assert_eq!(lowered(block).to_le_bytes(), expected, "{byte}");
        }
    }

    #[test]
    fn hostile_bytes_decode_alike_however_they_are_cut() {
        let mut seed = 1;
        for length in (0..90).cycle().take(20_000) {
            let src = hostile(&mut seed, length);
            let expected = plainly(&src);
            assert_eq!(decoded(&src), expected, "{:?}", src.escape_ascii().to_string());
            let a = next(&mut seed) as usize % (length + 1);
            let b = a + next(&mut seed) as usize % (length - a + 1);
            assert_eq!(in_pieces(&src, &[a, b]), expected, "{:?}", src.escape_ascii().to_string());
        }
    }

    /// Mostly the bytes that matter, in all their neighbourhoods, between runs of others.
    fn hostile(seed: &mut u64, length: usize) -> Vec<u8> {
        let dense = next(seed).is_multiple_of(2);
        let special = |n: u64| b"\r\n.=y\r\n\r\n.="[n as usize % 11];
        (0..length)
            .map(|_| match next(seed) {
                n if dense || n.is_multiple_of(16) => special(n / 16),
                n => (n / 16) as u8,
            })
            .collect()
    }

    /// Knuth's linear congruential generator: tests need no better, and no dependency.
    fn next(seed: &mut u64) -> u64 {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 33
    }
}
