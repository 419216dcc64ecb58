//! However the bytes are cut, the outcome is the same.

use bergamot_yenc::encode::{Part, write_uu};
use bergamot_yenc::{Check, Decoder, Outcome};
use proptest::prelude::*;

/// Outcome, data, and how many bytes belonged to the body.
type Seen = (Outcome, Vec<u8>, usize);

fn decode_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>, room: usize) -> Seen {
    let (mut decoder, mut out) = (Decoder::new(), vec![0; room]);
    let (mut written, mut consumed) = (0, 0);
    for piece in pieces {
        let step = decoder.decode(piece, &mut out[written..]);
        written += step.written;
        consumed += step.consumed;
        assert!(step.ended || step.consumed == piece.len(), "bytes of the body were left");
        if step.ended {
            break;
        }
    }
    out.truncate(written);
    (decoder.finish(), out, consumed)
}

fn decode(wire: &[u8], room: usize) -> Seen {
    decode_pieces([wire].into_iter(), room)
}

/// Dots at line starts, escapes at line ends, blank lines, bytes of the next answer.
fn yenc_article() -> Vec<u8> {
    let data: Vec<u8> = [4, 4, 4, 19, 214, 224, 227, 0].into_iter().cycle().take(300).collect();
    let mut wire = b"X-Header: value\r\n\r\n".to_vec();
    Part { name: "a.bin", number: 2, total: 2, file_size: 500, offset: 200, data: &data }
        .write_wire(&mut wire);
    wire.extend_from_slice(b"430 no such article\r\n");
    wire
}

fn uu_article() -> Vec<u8> {
    let data: Vec<u8> = (0..=200).collect();
    let mut wire = Vec::new();
    write_uu(Some("a.bin"), &data, true, &mut wire);
    wire.extend_from_slice(b".\r\n222 next\r\n");
    wire
}

#[test]
fn every_cut_and_every_pair_of_cuts_gives_the_same() {
    for wire in [yenc_article(), uu_article()] {
        let expected = decode(&wire, 1000);
        assert_eq!(expected.0.fault, None);
        for a in 0..=wire.len() {
            for b in a..=wire.len() {
                let pieces = [&wire[..a], &wire[a..b], &wire[b..]];
                assert_eq!(decode_pieces(pieces.into_iter(), 1000), expected, "cut at {a} and {b}");
            }
        }
    }
}

#[test]
fn chunks_around_the_widths_of_vectors_give_the_same() {
    for wire in [yenc_article(), uu_article()] {
        let expected = decode(&wire, 1000);
        for size in [1, 15, 16, 17, 31, 32, 33, 63, 64, 65] {
            assert_eq!(decode_pieces(wire.chunks(size), 1000), expected, "chunks of {size}");
        }
    }
}

#[test]
fn a_decoder_serves_one_body_after_the_other() {
    let wire = yenc_article();
    let (expected, data, _) = decode(&wire, 1000);
    let mut decoder = Decoder::new();
    for _ in 0..3 {
        let mut out = vec![0; 1000];
        let step = decoder.decode(&wire, &mut out);
        assert_eq!((decoder.length(), &out[..step.written]), (300, &data[..]));
        assert_eq!(decoder.decode(b"more", &mut []).consumed, 0);
        assert_eq!(decoder.finish(), expected);
    }
}

proptest! {
    #[test]
    fn what_was_encoded_comes_back(
        data in proptest::collection::vec(prop_oneof![any::<u8>(), Just(4), Just(214), Just(19)], 0..3000),
        chunk in 1..700_usize,
    ) {
        let mut wire = Vec::new();
        let size = data.len() as u64 + 10;
        Part { name: "x", number: 1, total: 2, file_size: size, offset: 0, data: &data }
            .write_wire(&mut wire);
        let (outcome, out, consumed) = decode_pieces(wire.chunks(chunk), data.len());
        prop_assert_eq!(&out, &data);
        prop_assert_eq!(consumed, wire.len());
        if !data.is_empty() {
            prop_assert_eq!(outcome.fault, None);
            prop_assert_eq!(outcome.part.check, Check::Verified);
            prop_assert_eq!(outcome.part.range, Some(0..data.len() as u64));
        }
    }

    #[test]
    fn uu_comes_back(data in proptest::collection::vec(any::<u8>(), 1..1000), chunk in 1..300_usize) {
        let mut wire = Vec::new();
        write_uu(Some("x"), &data, true, &mut wire);
        wire.extend_from_slice(b".\r\n");
        let (outcome, out, _) = decode_pieces(wire.chunks(chunk), data.len());
        prop_assert_eq!(outcome.fault, None);
        prop_assert_eq!(out, data);
    }

    #[test]
    fn hostile_bytes_never_leave_the_bounds(
        words in proptest::collection::vec(hostile_word(), 0..60),
        room in 0..200_usize,
        chunk in 1..100_usize,
    ) {
        let wire = words.concat();
        let whole = decode(&wire, room);
        let pieces = decode_pieces(wire.chunks(chunk), room);
        prop_assert!(whole.1.len() <= room && whole.2 <= wire.len());
        prop_assert!(whole.0.part.length >= whole.1.len() as u64);
        if let (Some(range), Some(size)) = (&whole.0.part.range, whole.0.part.file_size) {
            prop_assert!(range.start <= range.end && range.end <= size);
        }
        prop_assert_eq!(pieces, whole);
    }
}

fn hostile_word() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "\r\n",
        "\n",
        "\r",
        ".",
        ".\r\n",
        "=",
        "=y",
        "\r\n=ybegin part=1 size=9 name=x\r\n",
        "=ybegin size=3 name=y\r\n",
        "=ypart begin=1 end=5\r\n",
        "\r\n=ypart begin=0 end=99999999999999999999\r\n",
        "\r\n=yend size=3 pcrc32=0\r\n",
        "begin 644 x\r\n",
        "#0V%T\r\n",
        "`\r\nend\r\n",
    ]);
    prop_oneof![
        word.prop_map(|word| word.as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ]
}
