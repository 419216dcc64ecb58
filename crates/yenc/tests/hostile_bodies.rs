//! Bodies as broken posters, servers and strangers write them, and what must come of each.

use bergamot_yenc::encode::{Part as Post, write_uu};
use bergamot_yenc::{Check, Decoder, Encoding, Fault, Outcome};

const DATA: &[u8] = b"0123456789";

fn decode_into(wire: &[u8], room: usize) -> (Outcome, Vec<u8>, usize) {
    let (mut decoder, mut out) = (Decoder::new(), vec![0; room]);
    let step = decoder.decode(wire, &mut out);
    out.truncate(step.written);
    (decoder.finish(), out, step.consumed)
}

fn decode(wire: impl AsRef<[u8]>) -> (Outcome, Vec<u8>) {
    let (outcome, out, _) = decode_into(wire.as_ref(), 1 << 20);
    (outcome, out)
}

fn code(outcome: &Outcome) -> &'static str {
    outcome.fault.as_ref().map_or("fine", Fault::code)
}

fn encoded(data: &[u8]) -> String {
    data.iter().map(|byte| char::from(byte + 42)).collect()
}

/// A body of `DATA` with the control lines given.
fn body(head: &str, tail: &str) -> String {
    format!("{head}\r\n{}\r\n{tail}\r\n.\r\n", encoded(DATA))
}

fn crc() -> String {
    format!("{:08x}", crc32fast::hash(DATA))
}

/// The middle part of a file of 30 bytes, with one thing changed.
fn part_with(from: &str, to: &str) -> Outcome {
    let crc = crc();
    let good = body(
        "=ybegin part=2 total=3 line=128 size=30 name=x\r\n=ypart begin=11 end=20",
        &format!("=yend size=10 part=2 pcrc32={crc} crc32=01234567"),
    );
    assert!(good.contains(from), "{from:?} is not in the body");
    decode(good.replace(from, to)).0
}

fn whole_with(from: &str, to: &str) -> Outcome {
    let tail = format!("=yend size=10 crc32={}", crc());
    let good = body("=ybegin line=128 size=10 name=x", &tail);
    assert!(good.contains(from), "{from:?} is not in the body");
    decode(good.replace(from, to)).0
}

#[test]
fn a_good_part_says_what_it_is() {
    let Outcome { part, fault } = part_with("name=x", "name=my file.bin ");
    assert_eq!(fault, None);
    assert_eq!((part.encoding, part.check), (Some(Encoding::Yenc), Check::Verified));
    assert_eq!(part.name.as_deref(), Some("my file.bin"));
    assert_eq!((part.number, part.total, part.file_size), (Some(2), Some(3), Some(30)));
    assert_eq!((part.range, part.length), (Some(10..20), 10));
    assert_eq!(part.crc32, crc32fast::hash(DATA));
    let Outcome { part, fault } = whole_with("x", "x");
    assert_eq!((fault, part.range, part.number), (None, Some(0..10), None));
}

#[test]
fn missing_control_lines_are_named() {
    let (no_begin, _) = decode("just text\r\n.\r\n");
    assert_eq!(code(&no_begin), "article.yenc_header");
    assert_eq!(code(&part_with("=ypart begin=11 end=20\r\n", "")), "article.yenc_header");
    let no_end = part_with("=yend", "=nend");
    assert_eq!(code(&no_end), "article.truncated");
    assert_eq!(no_end.part.range, Some(10..20), "damaged data keep their place");
    let (too_late, out) =
        decode(format!("{}\r\n{}", "x".repeat(64 << 10), body("=ybegin size=10 name=x", "=yend")));
    assert_eq!((code(&too_late), out.len()), ("article.yenc_header", 0));
}

#[test]
fn a_body_that_stops_short_is_truncated_wherever_it_stops() {
    let mut wire = Vec::new();
    Post { name: "x", number: 1, total: 2, file_size: 99, offset: 0, data: DATA }
        .write_wire(&mut wire);
    for end in 0..wire.len() {
        let (outcome, _) = decode(&wire[..end]);
        assert_eq!(code(&outcome), "article.truncated", "cut at {end}");
    }
}

#[test]
fn sizes_are_claims() {
    for (to, expected, size) in [
        ("", "fine", None),
        ("size=-1", "fine", None),
        ("size=18446744073709551616", "fine", None),
        ("size=17592186044416", "fine", Some(16 << 40)),
        ("size=17592186044417", "fine", None),
        ("size=30 size=31", "fine", None),
        ("size=0", "article.range", Some(0)),
        ("size=19", "article.range", Some(19)),
        ("size=20", "fine", Some(20)),
        ("size=1000000", "fine", Some(1_000_000)),
    ] {
        let outcome = part_with("size=30", to);
        assert_eq!((code(&outcome), outcome.part.file_size), (expected, size), "{to:?}");
    }
    for (to, expected) in [("size=11 ", "article.size"), ("size=9 ", "article.size"), ("", "fine")]
    {
        assert_eq!(code(&whole_with("size=10 name", &format!("{to}name"))), expected, "{to:?}");
    }
    assert_eq!(code(&whole_with("=yend size=10", "=yend size=11")), "article.size");
    assert_eq!(code(&part_with("=yend size=10", "=yend size=9")), "article.size");
    let (unvouched, _) = decode(body("=ybegin line=128 name=x", "=yend"));
    assert_eq!(code(&unvouched), "article.size");
}

#[test]
fn the_right_crc_speaks_for_the_data() {
    let good = crc();
    assert_eq!(code(&part_with("crc32=01234567", "crc32=ffffffff")), "fine");
    let wrong = part_with(&good, "12345678");
    assert_eq!(
        wrong.fault,
        Some(Fault::Crc { field: "pcrc32", stated: 0x12345678, computed: crc32fast::hash(DATA) })
    );
    assert_eq!(code(&whole_with(&good, "12345678")), "article.crc");
    assert_eq!(code(&whole_with(&format!("crc32={good}"), "crc32=1 pcrc32=2")), "article.crc");
}

#[test]
fn crc_texts_are_read_generously() {
    let good = crc();
    for text in [
        good.to_uppercase(),
        format!("0x{good}"),
        format!("   {good}"),
        format!("ffffffff{good}"),
        format!("00000000{good}  "),
    ] {
        let outcome = part_with(&good, &text);
        assert_eq!((code(&outcome), outcome.part.check), ("fine", Check::Verified), "{text:?}");
    }
    for text in ["", "xyz", "-1", "79b5066a,"] {
        let outcome = part_with(&format!("pcrc32={good}"), &format!("pcrc32={text}"));
        assert_eq!((code(&outcome), outcome.part.check), ("fine", Check::Absent), "{text:?}");
    }
}

#[test]
fn short_crcs_are_extended_with_zeros() {
    let data =
        (0_u32..).map(|n| n.to_le_bytes()).find(|d| crc32fast::hash(d) < 0x0010_0000).unwrap();
    let mut wire = Vec::new();
    Post { name: "x", number: 1, total: 1, file_size: 4, offset: 0, data: &data }
        .write_wire(&mut wire);
    let padded = format!("{:08x}", crc32fast::hash(&data));
    let text = String::from_utf8_lossy(&wire).into_owned();
    assert!(text.contains(&padded));
    let at = wire.windows(8).position(|window| window == padded.as_bytes()).unwrap();
    wire.splice(at..at + 8, padded.trim_start_matches('0').bytes());
    assert_eq!(decode(wire).0.part.check, Check::Verified);
}

#[test]
fn no_crc_is_accepted_as_unverified() {
    let outcome = part_with(&format!("pcrc32={}", crc()), "");
    assert_eq!((code(&outcome), outcome.part.check), ("fine", Check::Absent));
}

#[test]
fn a_range_outside_the_file_is_never_given() {
    for to in [
        "begin=0 end=9",
        "begin=20 end=11",
        "begin=31 end=40",
        "begin=25 end=34",
        "begin=11",
        "end=20",
        "begin=-1 end=8",
        "begin=18446744073709551615 end=18446744073709551615",
        "begin=18446744073709551616 end=18446744073709551626",
    ] {
        let outcome = part_with("begin=11 end=20", to);
        assert_eq!((code(&outcome), outcome.part.range), ("article.range", None), "{to:?}");
    }
    for to in ["begin=11 end=19", "begin=11 end=21", "begin=1 end=30"] {
        assert_eq!(code(&part_with("begin=11 end=20", to)), "article.range", "{to:?}");
    }
}

#[test]
fn part_numbers_are_hints() {
    for (to, number, total) in [
        ("part=0 total=3", None, Some(3)),
        ("part=9 total=3", Some(9), Some(3)),
        ("part=2 total=0", Some(2), None),
        ("part=2", Some(2), None),
        ("part=99999999999 total=x", None, None),
    ] {
        let outcome = part_with("part=2 total=3", to);
        assert_eq!(code(&outcome), "fine", "{to:?}");
        assert_eq!((outcome.part.number, outcome.part.total), (number, total), "{to:?}");
    }
}

#[test]
fn line_lengths_do_not_matter() {
    for to in ["line=0", "line=18446744073709551616", "line=-1", ""] {
        assert_eq!(code(&part_with("line=128", to)), "fine", "{to:?}");
    }
    let data = vec![7; 1 << 20];
    let crc = crc32fast::hash(&data);
    for width in [1, 1 << 20] {
        let mut wire = format!("=ybegin line=128 size={} name=x\r\n", data.len()).into_bytes();
        for line in data.chunks(width) {
            wire.extend(line.iter().map(|byte| byte + 42));
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend(format!("=yend size={} crc32={crc:08x}\r\n.\r\n", data.len()).bytes());
        let (outcome, out) = decode(wire);
        assert_eq!((code(&outcome), out == data), ("fine", true), "lines of {width}");
    }
}

#[test]
fn control_lines_are_bounded() {
    let head = "=ybegin line=128 size=10 name=";
    for (length, expected) in [(4095, "fine"), (4096, "fine"), (4097, "article.yenc_header")] {
        let name = "n".repeat(length - head.len());
        let tail = format!("=yend size=10 crc32={}", crc());
        let (outcome, out) = decode(body(&format!("{head}{name}"), &tail));
        assert_eq!((code(&outcome), &out[..]), (expected, DATA), "{length}");
        assert!(outcome.part.name.unwrap().len() <= 4096);
    }
}

#[test]
fn names_come_as_they_are() {
    for (to, name) in [
        ("name=../../etc/passwd", Some("../../etc/passwd")),
        ("name=a\0b", Some("a\0b")),
        ("name=  ", None),
        ("", None),
        ("name=\"q.bin\"", Some("q.bin")),
    ] {
        let outcome = part_with("name=x", to);
        assert_eq!((code(&outcome), outcome.part.name.as_deref()), ("fine", name), "{to:?}");
    }
    let tail = format!("=yend size=10 crc32={}", crc());
    let mut wire = body("=ybegin size=10 name=?", &tail).into_bytes();
    let at = wire.iter().position(|&byte| byte == b'?').unwrap();
    wire[at] = 0xe4;
    assert_eq!(decode(wire).0.part.name.as_deref(), Some("\u{fffd}"));
}

#[test]
fn only_the_first_block_counts() {
    let first = body("=ybegin size=10 name=a", &format!("=yend size=10 crc32={}", crc()));
    let first = first.strip_suffix(".\r\n").unwrap();
    let wire = format!("{first}=ybegin size=3 name=b\r\nabc\r\n=yend size=3\r\nmore\r\n.\r\n");
    let (outcome, out) = decode(&wire);
    assert_eq!((code(&outcome), &out[..]), ("fine", DATA));
    assert_eq!(outcome.part.name.as_deref(), Some("a"));
    let without_end = wire.replacen("=yend size=10", "=yfoo size=10", 1);
    assert_eq!(code(&decode(without_end).0), "article.truncated");
}

#[test]
fn a_trailer_inside_a_line_is_data() {
    let wire =
        format!("=ybegin size=15 name=a\r\n{}=yend\r\n=yend size=15\r\n.\r\n", encoded(DATA));
    let (outcome, out) = decode(wire);
    assert_eq!(out.len(), 14, "an escaped y and three more");
    assert_eq!(code(&outcome), "article.size");
}

#[test]
fn damage_on_the_way_shows_in_the_crc() {
    for (from, to) in
        [("Z[\\]", "Z[\\"), ("Z[\\]", "Z\0\\]"), ("Z[\\]", "Z=\r\n[\\]"), ("Z[", "Z==[")]
    {
        assert_eq!(code(&part_with(from, to)), "article.crc", "{to:?}");
    }
    assert_eq!(code(&part_with("\r\n=y", "\r\r\n=y")), "fine", "CR is never data");
}

#[test]
fn bare_line_feeds_end_lines_too() {
    let wire = body("=ybegin size=10 name=x", &format!("=yend size=10 crc32={}", crc()));
    let (outcome, out, consumed) = decode_into(wire.replace('\r', "").as_bytes(), 10);
    assert_eq!((code(&outcome), &out[..]), ("fine", DATA));
    assert_eq!(consumed, wire.replace('\r', "").len());
}

#[test]
fn an_empty_body_is_bad_and_the_next_answer_is_left_alone() {
    for wire in [&b".\r\n222 next"[..], b"\r\n\r\n.\r\n222 next"] {
        let (outcome, _, consumed) = decode_into(wire, 10);
        assert_eq!((code(&outcome), consumed), ("article.empty", wire.len() - 8));
    }
    let (outcome, _, consumed) = decode_into(b".\r\n.\r\n", 10);
    assert_eq!((code(&outcome), consumed), ("article.empty", 3));
}

#[test]
fn a_file_of_no_bytes_is_a_file() {
    let (outcome, _) =
        decode("=ybegin line=128 size=0 name=x\r\n=yend size=0 crc32=00000000\r\n.\r\n");
    assert_eq!((code(&outcome), outcome.part.range), ("fine", Some(0..0)));
}

#[test]
fn a_full_buffer_still_finds_the_end_and_says_what_was_needed() {
    let data = vec![1; 20_000];
    let mut wire = Vec::new();
    Post { name: "x", number: 1, total: 1, file_size: 20_000, offset: 0, data: &data }
        .write_wire(&mut wire);
    for (room, fault) in [
        (0, Some(Fault::TooLarge { needed: 20_000, room: 0 })),
        (19_999, Some(Fault::TooLarge { needed: 20_000, room: 19_999 })),
        (20_000, None),
        (20_001, None),
    ] {
        let (outcome, out, consumed) = decode_into(&wire, room);
        assert_eq!((outcome.fault, consumed), (fault, wire.len()));
        assert_eq!(out.len(), room.min(20_000));
    }
}

#[test]
fn an_article_answer_with_or_without_its_blank_line_is_read() {
    let body = body("=ybegin size=10 name=x", &format!("=yend size=10 crc32={}", crc()));
    for blank in ["\r\n", ""] {
        let wire = format!("Path: a!b\r\nSubject: \"x\" yEnc (1/1)\r\n{blank}{body}");
        assert_eq!(code(&decode(wire).0), "fine");
    }
}

#[test]
fn uu_posts_are_decoded_by_their_rows() {
    let data: Vec<u8> = (0..=255).cycle().take(1000).collect();
    let mut wire = Vec::new();
    write_uu(Some("../x"), &data, true, &mut wire);
    wire.extend_from_slice(b"-- \r\nsignature\r\n.\r\n");
    let (outcome, out) = decode(&wire);
    assert_eq!((code(&outcome), out == data), ("fine", true));
    let part = outcome.part;
    assert_eq!((part.encoding, part.check, part.range), (Some(Encoding::Uu), Check::Absent, None));
    assert_eq!(part.name.as_deref(), Some("../x"));
}

#[test]
fn later_uu_parts_have_neither_begin_nor_end() {
    let data = [0xaa; 450];
    let mut wire = Vec::new();
    write_uu(None, &data, false, &mut wire);
    let plain = String::from_utf8(wire).unwrap();
    for wire in
        [format!("{plain}.\r\n"), format!("some words\r\n\r\n{}.\r\n", plain.replace('`', " "))]
    {
        let (outcome, out) = decode(&wire);
        assert_eq!((code(&outcome), &out[..], outcome.part.name), ("fine", &data[..], None));
    }
}

#[test]
fn bad_uu_rows_are_named_and_long_ones_bounded() {
    let (outcome, out) = decode("begin 644 x\r\n#0V%T\r\n~bad\r\n#0V%T\r\n.\r\n");
    assert_eq!(outcome.fault, Some(Fault::Row { row: 2, value: '~' }));
    assert_eq!(out, b"CatCat");
    let long = format!("begin 644 x\r\n#0V%T{}\r\n`\r\nend\r\n.\r\n", "A".repeat(1 << 20));
    assert_eq!(decode(long).1, b"Cat");
    assert_eq!(code(&decode("begin 644 x\r\n`\r\nend\r\n.\r\n").0), "article.empty");
}

#[test]
fn encodings_we_do_not_read_are_named() {
    let row = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5";
    let base64 = Some(Fault::Encoding { found: "base64" });
    assert_eq!(decode(format!("{row}\r\n{row}\r\n.\r\n")).0.fault, base64);
    let mime = format!("Content-Transfer-Encoding: base64\r\n\r\n{row}\r\n.\r\n");
    assert_eq!(decode(mime).0.fault, base64);
    let quoted = "Content-Transfer-Encoding: Quoted-Printable\r\n\r\n=41=42\r\n.\r\n";
    assert_eq!(decode(quoted).0.fault, Some(Fault::Encoding { found: "quoted-printable" }));
}
