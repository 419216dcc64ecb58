//! NZBs as indexers, posters and strangers write them, and what must come of each.

use std::io::Write;

use bergamot_nzb::{Limits, Nzb, NzbError, Par2, Problem, read};
use bergamot_types::{Secret, UnixTime};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

const GOOD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nzb PUBLIC "-//newzBin//DTD NZB 1.1//EN" "http://www.newzbin.com/DTD/nzb/nzb-1.1.dtd">
<nzb xmlns="http://www.newzbin.com/DTD/2003/nzb">
  <!-- made by hand -->
  <head>
    <meta type="title">A &amp; B</meta>
    <meta type="password">one</meta>
    <meta type="password">two</meta>
    <meta type="category">tv</meta>
    <meta type="tag">hd</meta>
    <meta type="x-custom">kept</meta>
  </head>
  <file poster="me &lt;me@x&gt;" date="1700000000" subject="[1/2] - &quot;a file.rar&quot; yEnc (1/2)">
    <groups><group>alt.binaries.test</group><group>alt.binaries.other</group></groups>
    <segments>
      <segment bytes="500000" number="2">b@x</segment>
      <segment bytes="700000" number="1">&lt;a@x&gt;</segment>
    </segments>
  </file>
  <file poster="me" date="1700000001" subject="&quot;a file.vol03+04.par2&quot; yEnc (1/1)">
    <groups><group>alt.binaries.test</group></groups>
    <segments><segment bytes="10" number="1">c@x</segment></segments>
  </file>
</nzb>
"#;

fn parse(text: impl AsRef<[u8]>) -> Result<Nzb, NzbError> {
    read(text.as_ref(), &Limits::default())
}

fn code(text: impl AsRef<[u8]>) -> &'static str {
    parse(text).map_or_else(|error| error.code(), |_| "fine")
}

fn code_within(text: impl AsRef<[u8]>, limits: &Limits) -> &'static str {
    read(text.as_ref(), limits).map_or_else(|error| error.code(), |_| "fine")
}

/// A file with the given segments.
fn file(segments: &str) -> String {
    format!("<file subject=\"x\"><groups/><segments>{segments}</segments></file>")
}

fn nzb(inner: &str) -> String {
    format!("<nzb>{inner}</nzb>")
}

fn segment(number: usize) -> String {
    format!("<segment bytes=\"1\" number=\"{number}\">{number}@x</segment>")
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).expect("a Vec takes everything");
    encoder.finish().expect("a Vec takes everything")
}

fn warned(nzb: &Nzb, problem: Problem) -> u64 {
    nzb.warnings.iter().find(|w| w.problem == problem).map_or(0, |w| w.count)
}

#[test]
fn a_good_nzb_is_read_whole() {
    let nzb = parse(GOOD).unwrap();
    assert_eq!(nzb.warnings, []);
    assert_eq!(nzb.meta.title.as_deref(), Some("A & B"));
    assert_eq!(nzb.meta.passwords, [Secret::new("one"), Secret::new("two")]);
    assert_eq!(nzb.meta.category.as_deref(), Some("tv"));
    assert_eq!(nzb.meta.tags, ["hd"]);
    assert_eq!(nzb.meta.others, [("x-custom".to_owned(), "kept".to_owned())]);
    let [first, second] = &nzb.files[..] else { panic!("two files") };
    assert_eq!((first.name(), &*first.poster), (Some("a file.rar"), "me <me@x>"));
    assert_eq!((first.date, first.announced()), (Some(UnixTime(1_700_000_000)), Some(2)));
    assert_eq!(first.groups.len(), 2);
    let segments: Vec<_> = first.segments.iter().map(|s| (s.number, s.bytes, s.id)).collect();
    assert_eq!(segments, [(1, Some(700_000), "a@x"), (2, Some(500_000), "b@x")]);
    assert_eq!(second.par2(), Some(Par2::Volume { first: 3, blocks: 4 }));
    assert_eq!((nzb.segments(), nzb.bytes()), (3, 1_200_010));
}

#[test]
fn nothing_is_empty() {
    for text in ["", " \r\n\t ", "\u{feff}", "\u{feff}\n"] {
        assert_eq!(code(text), "nzb.empty", "{text:?}");
    }
}

#[test]
fn a_cut_anywhere_is_seen() {
    let end = GOOD.trim_end().len();
    for at in 1..end {
        assert_eq!(
            code(&GOOD[..at]),
            "nzb.truncated",
            "cut at {at}: {:?}",
            &GOOD[at.saturating_sub(20)..at]
        );
    }
    assert_eq!(code(&GOOD[..end]), "fine");
    let error = parse(&GOOD[..end - 10]).unwrap_err().to_string();
    assert_eq!(error, "line 23, near <segment>: the file ends before </nzb>");
}

#[test]
fn a_cut_in_gzip_is_seen() {
    let packed = gzip(GOOD.as_bytes());
    for at in 2..packed.len() - 20 {
        assert_eq!(code(&packed[..at]), "nzb.truncated", "cut at {at}");
    }
}

#[test]
fn entities_of_a_document_type_are_refused() {
    for subset in [
        r#"<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">"#,
        r#"<!ENTITY % p "ha"> %p;"#,
        r#"<!entity x SYSTEM "file:///etc/passwd">"#,
        r#"<!ENTITY x SYSTEM "http://127.0.0.1:1/">"#,
    ] {
        let text = format!("<!DOCTYPE nzb [ {subset} ]><nzb>{}</nzb>", file(&segment(1)));
        assert_eq!(code(text), "nzb.dtd_entities", "{subset}");
    }
    let harmless = "<!DOCTYPE nzb [ <!ELEMENT nzb ANY> ]>".to_owned() + &nzb(&file(&segment(1)));
    assert_eq!(code(harmless), "fine");
}

#[test]
fn nothing_is_included_from_elsewhere() {
    let text = format!(
        "<?xml-stylesheet href=\"http://127.0.0.1:1/\"?><nzb xmlns:xi=\"http://www.w3.org/2001/XInclude\">\
         <xi:include href=\"file:///etc/passwd\"/>{}</nzb>",
        file(&segment(1))
    );
    assert_eq!(code(text), "fine");
}

#[test]
fn html_entities_and_bare_ampersands_are_taken() {
    let text = nzb("<file subject=\"&quot;Gr&uuml;&szlig;e & mehr &foo; &.mkv&quot;\">\
         <groups><group>a.b&amp;c</group></groups><segments>\
         <segment bytes=\"1\" number=\"1\">a&amp;b&c@x</segment></segments></file>");
    let nzb = parse(text).unwrap();
    assert_eq!(nzb.files[0].name(), Some("Grüße & mehr &foo; &.mkv"));
    assert_eq!(nzb.files[0].groups[0].as_str(), "a.b&c");
    assert_eq!(nzb.files[0].segments.iter().next().unwrap().id, "a&b&c@x");
    assert_eq!(warned(&nzb, Problem::UnknownEntity), 1);
}

#[test]
fn encodings_are_followed() {
    let body = nzb(
        "<file subject=\"&quot;ä.mkv&quot;\"><segments><segment number=\"1\">a@x</segment></segments></file>",
    );
    let latin: Vec<u8> = format!("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>{body}")
        .chars()
        .map(|c| c as u8)
        .collect();
    let units: Vec<u16> = format!("\u{feff}<?xml version=\"1.0\" encoding=\"utf-16\"?>{body}")
        .encode_utf16()
        .collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    for text in [latin, little, big, format!("\u{feff}{body}").into_bytes()] {
        let nzb = parse(&text).unwrap();
        assert_eq!(nzb.files[0].name(), Some("ä.mkv"));
        assert_eq!(nzb.warnings, []);
        assert_eq!(code(gzip(&text)), "fine");
    }
    let unknown = format!("<?xml version=\"1.0\" encoding=\"klingon\"?>{body}");
    let nzb = parse(unknown).unwrap();
    assert_eq!((nzb.files[0].name(), warned(&nzb, Problem::UnknownEncoding)), (Some("ä.mkv"), 1));
}

#[test]
fn invalid_bytes_are_replaced_and_ruin_only_their_id() {
    let mut text =
        nzb(&file("<segment number=\"1\">a?@x</segment><segment number=\"2\">b@x</segment>"))
            .replace("subject=\"x\"", "subject=\"&quot;?.mkv&quot;\"")
            .into_bytes();
    text.iter_mut().filter(|byte| **byte == b'?').for_each(|byte| *byte = 0xff);
    let nzb = parse(text).unwrap();
    assert_eq!(nzb.files[0].name(), Some("\u{fffd}.mkv"));
    assert_eq!(nzb.files[0].segments.missing().collect::<Vec<_>>(), [1]);
    assert_eq!((warned(&nzb, Problem::InvalidBytes), warned(&nzb, Problem::BadMessageId)), (1, 1));
}

#[test]
fn the_size_is_limited_to_the_byte() {
    let text = nzb(&file(&segment(1)));
    for (room, expected) in [(-1, "nzb.too_large"), (0, "fine"), (1, "fine")] {
        let size = text.len().checked_add_signed(room).unwrap() as u64;
        let limits = Limits { size, ..Limits::default() };
        assert_eq!(code_within(&text, &limits), expected, "{room}");
        assert_eq!(code_within(gzip(text.as_bytes()), &limits), expected, "{room}");
    }
    let padded = text + "\n";
    let limits = Limits { size: padded.len() as u64 - 1, ..Limits::default() };
    assert_eq!(code_within(padded, &limits), "nzb.too_large");
}

#[test]
fn attributes_are_limited_to_the_byte() {
    let limit = Limits::default().attribute;
    for (length, expected) in [
        (limit - 1, "fine"),
        (limit, "fine"),
        (limit + 1, "nzb.attribute_too_long"),
        (1 << 20, "nzb.attribute_too_long"),
        (8 << 20, "nzb.attribute_too_long"),
    ] {
        for key in ["subject", "other"] {
            let text = format!(
                "<nzb><file {key}=\"{}\"><segments>{}</segments></file></nzb>",
                "x".repeat(length),
                segment(1)
            );
            assert_eq!(code(text), expected, "{key} {length}");
        }
    }
    let text = nzb(&format!("<!-- {} -->", "x".repeat(2 << 20)));
    assert_eq!(code(text), "nzb.too_large");
}

#[test]
fn the_depth_is_limited() {
    let limit = Limits::default().depth;
    for (depth, expected) in [
        (limit - 1, "nzb.no_files"),
        (limit, "nzb.no_files"),
        (limit + 1, "nzb.too_deep"),
        (4097, "nzb.too_deep"),
    ] {
        let text = nzb(&("<a>".repeat(depth - 1) + &"</a>".repeat(depth - 1)));
        assert_eq!(code(text), expected, "{depth}");
    }
}

#[test]
fn files_and_segments_are_limited() {
    let limits = Limits { files: 10, segments: 100, ..Limits::default() };
    for (count, expected) in [(9, "fine"), (10, "fine"), (11, "nzb.too_many_files")] {
        assert_eq!(code_within(nzb(&file(&segment(1)).repeat(count)), &limits), expected);
    }
    for (count, expected) in [
        (99, "fine"),
        (100, "fine"),
        (101, "nzb.too_many_segments"),
        (500, "nzb.too_many_segments"),
    ] {
        let segments: String = (1..=count).map(segment).collect();
        assert_eq!(code_within(nzb(&file(&segments)), &limits), expected, "{count} in one file");
        let halves = file(&(1..=count / 2).map(segment).collect::<String>())
            + &file(&(1..=count - count / 2).map(segment).collect::<String>());
        assert_eq!(code_within(nzb(&halves), &limits), expected, "{count} in two files");
    }
}

#[test]
fn the_default_limits_hold_exactly() {
    let files = |count| nzb(&"<file><segments/></file>".repeat(count));
    assert_eq!(code(files(100_000)), "fine");
    assert_eq!(code(files(100_001)), "nzb.too_many_files");
    let segments = |count| nzb(&file(&(1..=count).map(segment).collect::<String>()));
    assert_eq!(code(segments(1_000_000)), "fine");
    let error = parse(segments(1_000_001)).unwrap_err();
    assert_eq!(error.code(), "nzb.too_many_segments");
    assert!(error.to_string().contains("1000000"), "{error}");
}

#[test]
fn repeated_segments_collapse_before_they_are_counted() {
    let limits = Limits { segments: 100, ..Limits::default() };
    let copies = segment(1).repeat(8193);
    let nzb_of = |text: &str| read(nzb(&file(text)).as_bytes(), &limits).unwrap();
    let collapsed = nzb_of(&copies);
    assert_eq!((collapsed.segments(), warned(&collapsed, Problem::DuplicateSegment)), (1, 8192));
    let interleaved: String = (1..=100).map(segment).collect::<String>().repeat(20);
    let collapsed = nzb_of(&interleaved);
    assert_eq!((collapsed.segments(), warned(&collapsed, Problem::DuplicateSegment)), (100, 1900));
}

#[test]
fn a_gzip_bomb_ends_at_the_limit() {
    let bomb = gzip(&vec![0; 64 << 20]);
    assert!(bomb.len() < 70_000);
    let limits = Limits { size: 1 << 20, ..Limits::default() };
    assert_eq!(code_within(&bomb, &limits), "nzb.too_large");
    assert_eq!(code(&bomb), "nzb.too_large");
    let padded = [GOOD.as_bytes(), &vec![b' '; 64 << 20]].concat();
    assert_eq!(code_within(gzip(&padded), &limits), "nzb.too_large");
}

#[test]
fn other_archives_are_named() {
    for head in [&b"BZh91AY"[..], b"PK\x03\x04", b"Rar!\x1a\x07", b"7z\xbc\xaf\x27\x1c"] {
        assert_eq!(code(head), "nzb.compressed");
    }
    assert_eq!(
        code(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage, not deflate"),
        "nzb.corrupt_gzip"
    );
}

#[test]
fn hostile_names_stay_as_they_are() {
    for name in ["../x", "/etc/x", "a/../../x", "..\\x", "C:\\x", "\\\\host\\share\\x", "\\\\?\\x"]
    {
        let text =
            nzb(&file(&segment(1)).replace("\"x\"", &format!("\"&quot;{name}&quot; yEnc (1/1)\"")));
        assert_eq!(parse(text).unwrap().files[0].name(), Some(name));
    }
}

#[test]
fn no_files_are_refused_and_empty_files_kept() {
    for text in ["<nzb></nzb>", "<nzb/>", "<nzb><head/></nzb>"] {
        assert_eq!(code(text), "nzb.no_files", "{text}");
    }
    let nzb = parse(nzb(&(file("") + &file(&segment(1))))).unwrap();
    assert!(nzb.files[0].segments.is_empty());
    assert_eq!(nzb.files[1].segments.len(), 1);
}

#[test]
fn bad_message_ids_cost_only_their_segment() {
    let long = "x".repeat(249);
    for id in [
        "a\r\nQUIT",
        "a b@x",
        "a&gt;b@x",
        "a&#0;b@x",
        "a&#13;&#10;b",
        "",
        " ",
        &long,
        &"x".repeat(1 << 16),
    ] {
        let text =
            nzb(&file(&format!("<segment bytes=\"5\" number=\"1\">{id}</segment>{}", segment(2))));
        let nzb = parse(text).unwrap();
        let segments = &nzb.files[0].segments;
        assert_eq!((segments.len(), segments.count()), (1, 2), "{id:?}");
        assert_eq!(segments.unusable()[0].number, 1);
        assert_eq!(warned(&nzb, Problem::BadMessageId), 1);
    }
    let nzb = parse(nzb(&file("<segment number=\"1\"> &lt;a@x&gt;\n</segment>"))).unwrap();
    assert_eq!(nzb.files[0].segments.id(0).as_str(), "a@x");
}

#[test]
fn groups_are_checked_and_few() {
    let groups: String = (0..10_000).map(|n| format!("<group>g{n}</group>")).collect();
    let text =
        nzb(&format!("<file><groups><group>a\r\nQUIT</group><group/>{groups}</groups></file>"));
    let nzb = parse(text).unwrap();
    assert_eq!(nzb.files[0].groups.len(), 64);
    assert_eq!(nzb.files[0].groups[0].as_str(), "g0");
    assert_eq!(warned(&nzb, Problem::BadGroup), 2 + 10_000 - 64);
}

#[test]
fn nonsense_numbers_are_unknown() {
    for bytes in ["-1", "0", "18446744073709551615", "text", ""] {
        let text = nzb(&file(&format!("<segment bytes=\"{bytes}\" number=\"1\">a@x</segment>")));
        let nzb = parse(text).unwrap();
        assert_eq!(nzb.files[0].segments.iter().next().unwrap().bytes, None, "{bytes:?}");
    }
    for date in ["-100000000000000000000", "-1", "0", "text", "99999999999999", ""] {
        let text = nzb(&file(&segment(1)).replace("<file", &format!("<file date=\"{date}\"")));
        assert_eq!(parse(text).unwrap().files[0].date, None, "{date:?}");
    }
    for number in ["-1", "4294967296", "1000001", "text", ""] {
        let odd = format!("<segment bytes=\"1\" number=\"{number}\">b@x</segment>");
        let nzb = parse(nzb(&file(&(segment(7) + &odd)))).unwrap();
        let numbers: Vec<_> = nzb.files[0].segments.iter().map(|s| s.number).collect();
        assert_eq!((numbers, warned(&nzb, Problem::BadNumber)), (vec![7, 8], 1), "{number:?}");
    }
}

type Listed = Vec<(u32, String)>;

/// Number and id of each segment, and of each further id of one.
fn listing(subject: &str, listed: &[(&str, &str)]) -> (Listed, Listed) {
    let segment = |(number, id): &(&str, &str)| {
        format!("<segment bytes=\"1\" number=\"{number}\">{id}</segment>")
    };
    let text = nzb(&file(&listed.iter().map(segment).collect::<String>()));
    let nzb = parse(text.replace("\"x\"", &format!("\"{subject}\""))).expect("a good NZB");
    let segments = &nzb.files[0].segments;
    let told = |it: bergamot_nzb::Segment<'_>| (it.number, it.id.to_owned());
    (segments.iter().map(told).collect(), segments.alternates().map(told).collect())
}

fn pairs<const N: usize>(list: [(u32, &str); N]) -> Listed {
    list.map(|(number, id)| (number, id.to_owned())).to_vec()
}

#[test]
fn two_ids_under_one_number_are_both_kept() {
    let listed = [("1", "a@x"), ("2", "b@x"), ("2", "c@x"), ("2", "b@x"), ("1", "d@x")];
    let (segments, others) = listing("x", &listed);
    assert_eq!(segments, pairs([(1, "a@x"), (2, "b@x")]));
    assert_eq!(others, pairs([(1, "d@x"), (2, "c@x")]));
}

#[test]
fn further_ids_are_limited_over_all_files() {
    let ids: String = (1..=3).map(|n| segment(1).replace("1@x", &format!("{n}@x"))).collect();
    let limits = Limits { alternates: 5, ..Limits::default() };
    let nzb = read(nzb(&file(&ids).repeat(4)).as_bytes(), &limits).unwrap();
    let kept: Vec<_> = nzb.files.iter().map(|file| file.segments.alternates().count()).collect();
    assert_eq!((kept, nzb.segments()), (vec![2, 2, 1, 0], 4));
    assert_eq!(warned(&nzb, Problem::DuplicateSegment), 3);
}

#[test]
fn segments_may_be_numbered_from_zero() {
    let from_zero = [("0", "a@x"), ("2", "c@x"), ("1", "b@x"), ("2", "d@x")];
    for subject in ["x", "x (1/3)", "x (1/4)"] {
        let (segments, others) = listing(subject, &from_zero);
        assert_eq!(segments, pairs([(1, "a@x"), (2, "b@x"), (3, "c@x")]), "{subject}");
        assert_eq!(others, pairs([(3, "d@x")]), "{subject}");
    }
    let (segments, others) = listing("x (1/2)", &from_zero);
    assert_eq!(segments, pairs([(1, "b@x"), (2, "c@x"), (3, "a@x")]), "there is a number 2 of 2");
    assert_eq!(others, pairs([(2, "d@x")]));
    let (segments, others) = listing("x (1/1)", &[("0", "a@x"), ("0", "b@x"), ("1", "c@x")]);
    assert_eq!((segments, others), (pairs([(1, "c@x"), (2, "a@x")]), pairs([(2, "b@x")])));
    assert_eq!(listing("x (1/1)", &[("0", "a@x")]).0, pairs([(1, "a@x")]));
    let (segments, _) = listing("x", &[("0", "a@x"), ("0", "b@x"), ("0", "c@x")]);
    assert_eq!(segments, pairs([(1, "a@x"), (2, "b@x"), (3, "c@x")]), "by their places");
}

#[test]
fn what_is_declared_is_limited() {
    let two: String =
        (1..=2).map(|n| format!("<segment bytes=\"50\" number=\"{n}\">{n}@x</segment>")).collect();
    for (declared, expected) in [(99, "nzb.declares_too_much"), (100, "fine"), (101, "fine")] {
        let limits = Limits { declared, ..Limits::default() };
        assert_eq!(code_within(nzb(&file(&two)), &limits), expected);
    }
}

#[test]
fn answers_that_are_no_nzb_are_told_apart() {
    let error = parse("<?xml version=\"1.0\"?><error code=\"100\" description=\"Incorrect \u{1b}[31m credentials\"/>").unwrap_err();
    assert_eq!(error.code(), "nzb.indexer_error");
    assert_eq!(
        error.to_string(),
        "the indexer answered with error 100: Incorrect \\u{1b}[31m credentials"
    );
    assert_eq!(code("<!DOCTYPE html><html><body>Not found</body></html>"), "nzb.not_nzb");
    assert_eq!(code("{\"error\": \"limit reached\"}"), "nzb.not_nzb");
    assert_eq!(code("<nzb><file></nzb>"), "nzb.malformed");
    assert_eq!(code("<nzb></file></nzb>"), "nzb.malformed");
}

#[test]
fn prefixes_and_the_case_of_names_do_not_matter() {
    let text = "<n:NZB xmlns:n=\"u\"><n:File Subject=\"s\"><n:Segments><n:Segment number=\"1\">a@x</n:Segment></n:Segments></n:File></n:NZB>";
    let nzb = parse(text).unwrap();
    assert_eq!((&*nzb.files[0].subject, nzb.files[0].segments.len()), ("s", 1));
}

#[test]
fn meta_data_are_bounded() {
    let many: String = (0..100).map(|n| format!("<meta type=\"x{n}\">v</meta>")).collect();
    let long = format!("<meta type=\"name\">{}</meta>", "x".repeat(5000));
    let nzb = parse(nzb(&format!("<head>{long}{many}<meta>v</meta></head>{}", file(&segment(1)))))
        .unwrap();
    assert_eq!((nzb.meta.others.len(), nzb.meta.name), (64, None));
    assert_eq!(nzb.warnings[0].count, 38);
}

#[test]
fn the_same_articles_have_the_same_fingerprint() {
    let print = |text: &str| {
        let mut bytes = Vec::new();
        parse(text).unwrap().fingerprint(|piece| bytes.extend_from_slice(piece));
        bytes
    };
    let (a, b) = (file(&(segment(1) + &segment(2))), file(&segment(3)));
    let renamed = b.replace("\"x\"", "\"other\"") + &file(&(segment(2) + &segment(1)));
    assert_eq!(print(&nzb(&(a.clone() + &b))), print(&nzb(&renamed)));
    assert_ne!(print(&nzb(&a)), print(&nzb(&b)));
}

proptest! {
    #[test]
    fn no_mutation_of_a_good_nzb_panics(
        edits in proptest::collection::vec((0..GOOD.len(), any::<u8>(), 0..4_usize), 1..20),
    ) {
        let mut text = GOOD.as_bytes().to_vec();
        for (at, byte, kind) in edits {
            let at = at.min(text.len().saturating_sub(1));
            match kind {
                0 => text[at] = byte,
                1 => text.insert(at, b"<>&;\"'/!?=["[usize::from(byte) % 11]),
                2 => { text.remove(at); }
                _ => { text.drain(at..(at + usize::from(byte)).min(text.len() - 1).max(at)); }
            }
        }
        if let Ok(nzb) = parse(&text) {
            for file in &nzb.files {
                file.name();
                file.announced();
                file.par2();
                prop_assert!(file.segments.highest() <= 1_000_001);
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&bytes);
        let _ = parse([&b"<nzb><file subject='"[..], &bytes].concat());
        let _ = parse([&b"\x1f\x8b\x08"[..], &bytes].concat());
    }
}
