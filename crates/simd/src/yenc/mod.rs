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
//!
//! `scalar` does this a byte at a time, `blocks` 64 bytes at a time, for any of the vector units
//! that [`Kernel`] can choose from; `lanes` is the part of it that SSSE3, AVX2 and NEON share.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod blocks;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod compress_table;
mod kernel;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod ssse3;
mod swar;

pub use kernel::Kernel;

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

/// Decodes from `src` into `dst` until one of the four [`Stop`]s, with the fastest kernel that this
/// processor has.
///
/// What `dst` holds behind the written bytes is lost: vectors are stored whole.
pub fn decode(state: &mut LineState, src: &[u8], dst: &mut [u8]) -> Decoded {
    Kernel::best().decode(state, src, dst)
}

/// What the encoder added to every byte.
const SHIFT: u8 = 42;
/// What it added to an escaped one besides.
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

    fn in_pieces(kernel: Kernel, src: &[u8], cuts: &[usize]) -> (Vec<u8>, usize, Stop) {
        let (mut out, mut state, mut total) = (vec![0; src.len()], LineState::Start, 0);
        let (mut written, mut from) = (0, 0);
        for &to in cuts.iter().chain([&src.len()]) {
            let step = kernel.decode(&mut state, &src[from..to], &mut out[written..]);
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

    /// What all kernels make of it.
    fn decoded(src: &[u8]) -> (Vec<u8>, usize, Stop) {
        let expected = in_pieces(Kernel::Scalar, src, &[]);
        for kernel in Kernel::available() {
            let text = src.escape_ascii();
            assert_eq!(in_pieces(kernel, src, &[]), expected, "{} of {text}", kernel.name());
        }
        expected
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
            assert_eq!(decoded(src), (data, consumed, stop), "{}", src.escape_ascii());
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
    fn hostile_bytes_decode_alike_however_they_are_cut() {
        let mut seed = 1;
        for length in (0..200).cycle().take(20_000) {
            let src = hostile(&mut seed, length);
            let expected = plainly(&src);
            assert_eq!(decoded(&src), expected, "{}", src.escape_ascii());
            let a = next(&mut seed) as usize % (length + 1);
            let b = a + next(&mut seed) as usize % (length - a + 1);
            for kernel in Kernel::available() {
                let name = kernel.name();
                let pieces = in_pieces(kernel, &src, &[a, b]);
                assert_eq!(pieces, expected, "{name} of {} at {a}, {b}", src.escape_ascii());
            }
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
