//! Every kernel gives the scalar one's answer: the same bytes, the same state, the same stop.
//!
//! The inputs aim at what a vector kernel can get wrong: a special byte and its neighbour on either
//! side of a border between lanes, vectors, blocks or calls; room that ends in the middle of one.

use bergamot_simd::yenc::{Decoded, Kernel, LineState, Stop};

const STATES: [LineState; 6] = [
    LineState::Start,
    LineState::Dot,
    LineState::DotCr,
    LineState::Equals,
    LineState::Middle,
    LineState::Escape,
];

#[test]
fn at_every_length_from_every_state() {
    let mut seed = 1;
    for length in 0..=300 {
        for src in inputs(&mut seed, length) {
            for state in STATES {
                assert_twins(state, &src, length);
            }
        }
    }
}

#[test]
fn at_every_alignment() {
    let mut seed = 2;
    let inputs = inputs(&mut seed, 200);
    let (mut from, mut to) = (vec![0; 300], vec![0; 300]);
    for from_offset in 0..64 {
        for to_offset in 0..64 {
            let src = &inputs[(from_offset + to_offset) % inputs.len()];
            let expected = run(Kernel::Scalar, LineState::Start, src, src.len());
            from[from_offset..][..src.len()].copy_from_slice(src);
            for kernel in others() {
                let mut state = LineState::Start;
                let (src, dst) =
                    (&from[from_offset..][..src.len()], &mut to[to_offset..][..src.len()]);
                let decoded = kernel.decode(&mut state, src, dst);
                let dst = dst[..decoded.written].to_vec();
                assert_eq!((decoded, state, dst), expected, "{} of {src:?}", kernel.name());
            }
        }
    }
}

#[test]
fn with_every_amount_of_room() {
    let mut seed = 3;
    for length in [70, 130, 200, 300] {
        for src in inputs(&mut seed, length) {
            for room in 0..=length {
                assert_twins(LineState::Start, &src, room);
                assert_twins(LineState::Escape, &src, room);
            }
        }
    }
}

#[test]
fn with_every_cut_between_two_calls() {
    let mut seed = 4;
    for src in (0..12).flat_map(|_| inputs(&mut seed, 300)) {
        let whole = in_pieces(Kernel::Scalar, &src, &[]);
        for cut in 0..=src.len() {
            for kernel in Kernel::available() {
                let pieces = in_pieces(kernel, &src, &[cut]);
                assert_eq!(pieces, whole, "{} of {src:?} cut at {cut}", kernel.name());
            }
        }
    }
}

/// Four bytes of those that mean something, in every combination, at every place of three blocks.
#[test]
fn with_every_short_pattern_at_every_place() {
    const ALPHABET: [u8; 6] = *b"=\r\n.yz";
    let mut src = vec![b'z'; 150];
    for pattern in 0..ALPHABET.len().pow(4) {
        let digit = |n| ALPHABET[pattern / ALPHABET.len().pow(n) % ALPHABET.len()];
        for at in 0..140 {
            src[at..at + 4].copy_from_slice(&[digit(0), digit(1), digit(2), digit(3)]);
            assert_twins(LineState::Start, &src, 150);
            src[at..at + 4].fill(b'z');
        }
    }
}

/// Longer ones where blocks meet. The first byte of a call is stepped over alone: so they meet
/// before bytes 65 and 129.
#[test]
fn with_every_longer_pattern_where_blocks_meet() {
    const ALPHABET: [u8; 5] = *b"=\r\n.y";
    let mut src = vec![b'z'; 150];
    for pattern in 0..ALPHABET.len().pow(6) {
        let at = 59 + pattern % 7 + 64 * (pattern % 2);
        for n in 0..6 {
            src[at + n] = ALPHABET[pattern / ALPHABET.len().pow(n as u32) % ALPHABET.len()];
        }
        assert_twins(LineState::Middle, &src, 150);
        src[at..at + 6].fill(b'z');
    }
}

/// What stands at the end of a call decides its state; what stands at the end of the room, too.
#[test]
fn with_every_short_pattern_at_every_end() {
    const ALPHABET: [u8; 6] = *b"=\r\n.yz";
    for pattern in 0..ALPHABET.len().pow(3) {
        let digit = |n| ALPHABET[pattern / ALPHABET.len().pow(n) % ALPHABET.len()];
        for length in 0..=134 {
            let mut src = vec![b'z'; length];
            src.extend([digit(0), digit(1), digit(2)]);
            for room in length.saturating_sub(3)..=src.len() {
                assert_twins(LineState::Start, &src, room);
            }
            src.extend([b'z'; 70]);
            assert_twins(LineState::Start, &src, length + 1);
        }
    }
}

#[test]
fn for_every_byte_at_every_place_escaped_or_not() {
    for byte in 0..=u8::MAX {
        for at in 0..140 {
            let mut src = [b'z'; 150];
            src[at] = byte;
            assert_twins(LineState::Middle, &src, 150);
            src[at..at + 2].copy_from_slice(&[b'=', byte]);
            assert_twins(LineState::Middle, &src, 150);
        }
    }
}

#[test]
fn on_articles_cut_anywhere_which_come_back_whole() {
    let mut seed = 5;
    for length in [0, 1, 100, 127, 128, 129, 5_000, 200_000] {
        let data: Vec<u8> = (0..length).map(|_| next(&mut seed) as u8).collect();
        let mut wire = lines(&data, 128);
        wire.extend_from_slice(b"=yend size=1\r\n.\r\n");
        let expected = (data, wire.len(), Stop::End);
        for pieces in [1, 2, 7, 40] {
            let mut cuts: Vec<_> =
                (1..pieces).map(|_| next(&mut seed) as usize % (wire.len() + 1)).collect();
            cuts.sort_unstable();
            for kernel in Kernel::available() {
                let came = in_pieces(kernel, &wire, &cuts);
                assert!(came == expected, "{}, {length} bytes cut at {cuts:?}", kernel.name());
            }
        }
    }
}

/// Runs of `=` are decided pair by pair, whatever is before and behind them.
#[test]
fn on_runs_of_one_byte() {
    for byte in *b"=\r\n.y" {
        for before in 0..70 {
            for length in 0..140 {
                let mut src = vec![b'z'; before];
                src.extend(vec![byte; length]);
                src.extend([b'z'; 70]);
                assert_twins(LineState::Middle, &src, src.len());
            }
        }
    }
}

#[test]
fn every_kernel_has_a_name_of_its_own() {
    let names: Vec<_> = Kernel::available().map(Kernel::name).collect();
    assert_eq!(names[0], "scalar");
    assert_eq!(names.last(), Some(&Kernel::best().name()));
    assert!(names.iter().all(|name| names.iter().filter(|other| other == &name).count() == 1));
}

/// A kernel that got lost would only be missed by its speed.
#[test]
fn every_kernel_is_there_whose_features_are() {
    let is_there = |kernel| Kernel::available().any(|other| other == kernel);
    assert!(is_there(Kernel::Scalar) && is_there(Kernel::Swar));
    assert_eq!(is_there(Kernel::Neon), cfg!(target_arch = "aarch64"));
    #[cfg(target_arch = "x86_64")]
    for (kernel, features) in [
        (Kernel::Ssse3, is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt")),
        (Kernel::Avx2, is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2")),
        (Kernel::Avx512, is_x86_feature_detected!("avx512vbmi2")),
    ] {
        assert_eq!(is_there(kernel), features, "{}", kernel.name());
    }
}

#[test]
fn a_kernel_that_is_not_there_decodes_all_the_same() {
    for kernel in [Kernel::Ssse3, Kernel::Avx2, Kernel::Avx512, Kernel::Neon] {
        let answer = run(kernel, LineState::Start, b"..ab=}\r\n.\r\n", 9);
        assert_eq!(answer, run(Kernel::Scalar, LineState::Start, b"..ab=}\r\n.\r\n", 9));
    }
}

type Answer = (Decoded, LineState, Vec<u8>);

fn assert_twins(state: LineState, src: &[u8], room: usize) {
    let expected = run(Kernel::Scalar, state, src, room);
    for kernel in others() {
        let answer = run(kernel, state, src, room);
        let name = kernel.name();
        assert_eq!(answer, expected, "{name} from {state:?}, room {room}: {}", src.escape_ascii());
    }
}

/// Decodes into the middle of a buffer, whose other bytes must not change.
fn run(kernel: Kernel, mut state: LineState, src: &[u8], room: usize) -> Answer {
    let mut buffer = vec![GUARD; room + 128];
    let decoded = kernel.decode(&mut state, src, &mut buffer[64..64 + room]);
    let (before, rest) = buffer.split_at(64);
    let (dst, behind) = rest.split_at(room);
    assert!(before.iter().chain(behind).all(|&byte| byte == GUARD), "{}", kernel.name());
    (decoded, state, dst[..decoded.written].to_vec())
}

fn others() -> impl Iterator<Item = Kernel> {
    Kernel::available().filter(|&kernel| kernel != Kernel::Scalar)
}

/// Data, bytes consumed and the last stop; control lines are skipped as a caller would.
fn in_pieces(kernel: Kernel, src: &[u8], cuts: &[usize]) -> (Vec<u8>, usize, Stop) {
    let (mut out, mut written, mut read) = (vec![0; src.len()], 0, 0);
    let (mut state, mut in_control) = (LineState::Start, false);
    for &to in cuts.iter().chain([&src.len()]) {
        while read < to {
            if in_control {
                in_control = src[read] != b'\n';
                read += 1;
                continue;
            }
            let step = kernel.decode(&mut state, &src[read..to], &mut out[written..]);
            read += step.consumed;
            written += step.written;
            in_control = step.stop == Stop::Control;
            if step.stop == Stop::End {
                out.truncate(written);
                return (out, read, Stop::End);
            }
        }
    }
    out.truncate(written);
    (out, read, Stop::Input)
}

/// From harmless to hostile.
fn inputs(seed: &mut u64, length: usize) -> Vec<Vec<u8>> {
    let special = |n: u64| b"\r\n.=y\r\n\r\n.="[n as usize % 11];
    let mut mixed = |one_in: u64| -> Vec<u8> {
        let byte = |n: u64| if n.is_multiple_of(one_in) { special(n / one_in) } else { n as u8 };
        (0..length).map(|_| byte(next(seed))).collect()
    };
    let mut inputs = vec![mixed(u64::MAX), mixed(64), mixed(16), mixed(4), mixed(1)];
    let mut article = lines(&inputs[0], 128);
    let mut dotted = lines(&inputs[0].iter().map(|byte| byte & 7).collect::<Vec<_>>(), 9);
    article.truncate(length);
    dotted.truncate(length);
    inputs.extend([article, dotted]);
    inputs
}

/// Encoded as on the wire, dots stuffed.
fn lines(data: &[u8], width: usize) -> Vec<u8> {
    let (mut out, mut column) = (Vec::new(), 0);
    for byte in data.iter().map(|byte| byte.wrapping_add(42)) {
        match byte {
            0 | b'\n' | b'\r' | b'=' => out.extend([b'=', byte.wrapping_add(64)]),
            b'.' if column == 0 => out.extend(b".."),
            _ => out.push(byte),
        }
        column += 1;
        if column == width {
            out.extend(b"\r\n");
            column = 0;
        }
    }
    out.extend(b"\r\n");
    out
}

/// Knuth's linear congruential generator: tests need no better, and no dependency.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

const GUARD: u8 = 0xa5;
