//! Articles that are not what they say, as `hostile.md` lists them in its rows Y-01 to Y-19.
//!
//! Each row spoils the second of a file's three articles, as the wire carries it. Alone, a bad copy
//! fails the job and a good one completes it; beside a server that has the article whole, every job
//! completes. What holds for every row is looked after by [`FaultyServerTest`].

use std::fs;
use std::os::unix::fs::MetadataExt;

use bergamot_newsd::{Options, Posted};
use bergamot_tests::{FaultyServerTest, Home, sample};
use bergamot_types::MessageId;
use bergamot_yenc::encode::{Part, write_uu};

#[test]
fn y01_control_lines_that_are_missing_make_the_article_bad() {
    judge(vec![
        ("no =ybegin", swap("=ybegin ", "=xbegin "), Bad("article.yenc_header")),
        ("no =yend", before("=yend", ""), Bad("article.truncated")),
        ("no =ypart", swap("=ypart begin=3001 end=6000\r\n", ""), Bad("article.yenc_header")),
        ("nothing", Box::new(|_| Vec::new()), Bad("article.empty")),
    ]);
}

#[test]
fn y02_the_size_of_a_file_is_what_most_parts_say() {
    judge(vec![
        ("none", swap(" size=9000", ""), Good),
        ("-1", swap("size=9000", "size=-1"), Good),
        ("2^64", swap("size=9000", "size=18446744073709551616"), Good),
        ("2^64-1", swap("size=9000", "size=18446744073709551615"), Good),
        ("twice", swap("size=9000", "size=9000 size=1"), Good),
        ("none and no CRC", both(swap(" size=9000", ""), without_crc()), Bad("article.size")),
        ("0", swap("size=9000", "size=0"), Bad("article.range")),
        ("too small", swap("size=9000", "size=5999"), Bad("article.range")),
        ("too big", swap("size=9000", "size=9001"), LastResort),
        ("a terabyte", swap("size=9000", "size=1099511627776"), Bad("article.identity")),
        ("=yend too small", swap("=yend size=3000", "=yend size=2999"), Bad("article.size")),
        ("=yend without", swap("=yend size=3000", "=yend"), Good),
    ]);
}

#[test]
fn y04_a_wrong_crc_is_a_bad_copy_and_only_the_one_of_the_part_counts() {
    judge(vec![
        ("pcrc32 wrong", crc("pcrc32=deadbeef"), Bad("article.crc")),
        ("crc32 of the file beside it", crc("pcrc32={crc} crc32=deadbeef"), Good),
        (
            "pcrc32 wrong, crc32 as it should be",
            crc("pcrc32=deadbeef crc32={crc}"),
            Bad("article.crc"),
        ),
        ("one byte", Box::new(one_byte_off), Bad("article.crc")),
    ]);
}

#[test]
fn y05_crcs_are_read_as_writers_write_them() {
    judge(vec![
        ("blanks", crc("pcrc32=   {crc}"), Good),
        ("0x", crc("pcrc32=0x{crc}"), Good),
        ("capitals", crc("pcrc32={CRC}"), Good),
        ("short", crc("pcrc32={short}"), Good),
        ("sign-extended", crc("pcrc32=ffffffff{crc}"), Good),
        ("no number", crc("pcrc32=nonsense"), Unverified),
        ("empty", crc("pcrc32="), Unverified),
    ]);
}

#[test]
fn y06_an_article_without_a_crc_completes_unverified() {
    judge(vec![("no CRC", without_crc(), Unverified)]);
}

#[test]
fn y07_nothing_is_written_outside_the_file() {
    let range = |to: &'static str| swap("begin=3001 end=6000", to);
    judge(vec![
        ("begin 0", range("begin=0 end=6000"), Bad("article.range")),
        ("end before begin", range("begin=6000 end=3001"), Bad("article.range")),
        ("begin behind the file", range("begin=9001 end=12000"), Bad("article.range")),
        ("end behind the file", range("begin=7001 end=10000"), Bad("article.range")),
        ("too short", range("begin=3001 end=5999"), Bad("article.range")),
        ("too long", range("begin=3001 end=6001"), Bad("article.range")),
        ("overflow", range("begin=18446744073709551615 end=2999"), Bad("article.range")),
        ("negative", range("begin=-3001 end=6000"), Bad("article.range")),
        ("without", range(""), Bad("article.range")),
        ("over the first", range("begin=1 end=3000"), Bad("article.identity")),
    ]);
}

#[test]
fn y09_offsets_rule_and_numbers_are_hints() {
    let numbers = |to: &'static str| swap("part=2 total=3", to);
    judge(vec![
        ("part 0", numbers("part=0 total=3"), Good),
        ("total 0", numbers("part=2 total=0"), Good),
        ("another total", numbers("part=2 total=99"), LastResort),
        ("no total", numbers("part=2"), Good),
        ("part behind total", numbers("part=7 total=3"), LastResort),
        ("another part", numbers("part=3 total=3"), LastResort),
    ]);
}

#[test]
fn y10_escapes_at_the_end_of_anything() {
    judge(vec![
        ("of the data", before("=yend", "=\r\n=yend size=3000"), Bad("article.")),
        ("of the body", before("=yend", "="), Bad("article.truncated")),
        ("twice", in_data(b"=="), Bad("article.")),
        ("before NUL", in_data(b"=\0"), Bad("article.")),
    ]);
}

#[test]
fn y11_lines_may_have_any_length() {
    judge(vec![
        ("of one byte", Box::new(|body| relined(&body, 1)), Good),
        ("all in one", Box::new(|body| relined(&body, usize::MAX)), Good),
        ("line=0", swap("line=128", "line=0"), Good),
        ("line=2^64", swap("line=128", "line=18446744073709551616"), Good),
        ("no line=", swap("line=128 ", ""), Good),
        (
            "an endless control line",
            Box::new(|body| {
                replaced(&body, b"name=", format!("name={}", "x".repeat(5000)).as_bytes())
            }),
            Bad("article.yenc_header"),
        ),
    ]);
}

#[test]
fn y12_a_name_is_a_name_and_no_path() {
    let names = [
        "../../../canary/bird",
        "/etc/passwd",
        "..",
        "C:\\windows\\system32",
        "a\0b",
        "a\u{1b}[2J\u{202e}b.bin",
        &"long ".repeat(800),
        "  blanks.bin  ",
        "\"quoted.bin\"",
        "",
    ];
    let files: Vec<_> = names.iter().enumerate().map(|(n, name)| File::new(n, name)).collect();
    let mut posted = Posted::new();
    files.iter().for_each(|file| file.post(&mut posted, &file.bodies));
    let mut test = FaultyServerTest::start(TO_THE_END, [(Options::new(posted), "")]);
    for (n, (file, name)) in files.iter().zip(names).enumerate() {
        let job = format!("y{n}");
        test.home.drop_nzb(&format!("{job}.nzb"), file.nzb(OBFUSCATED));
        settle(&mut test, &job, name, file, Good);
        let safe = test.home.inventory(format!("complete/{job}")).into_keys().next().unwrap();
        assert_eq!(safe.components().count(), 1, "{safe:?}");
        let shown = safe.to_str().expect("UTF-8");
        assert!(shown.len() <= 240 && !shown.contains(['\0', '\u{1b}', '\u{202e}']), "{shown:?}");
    }
    let blanks = test.home.join("complete/y7/blanks.bin");
    assert!(blanks.exists() && test.home.join("complete/y8/quoted.bin").exists());
    test.end();
}

#[test]
fn y14_only_the_first_block_counts() {
    judge(vec![
        ("two blocks", Box::new(|body| [&body[..], &body[..]].concat()), Good),
        ("more behind it", Box::new(|body| [&body[..], b"-- \r\nsee you\r\n"].concat()), Good),
        ("a trailer in the data", in_data(b"\r\n=yend size=3000\r\n"), Bad("article.")),
        (
            "a header in the data",
            in_data(b"\r\n=ybegin line=128 size=1 name=x\r\n"),
            Bad("article."),
        ),
    ]);
}

#[test]
fn y15_what_gateways_do_to_bytes_is_noticed() {
    judge(vec![
        ("NUL in the data", in_data(b"\0"), Bad("article.")),
        (
            "eighth bit lost",
            Box::new(|body| body.iter().map(|byte| byte & 0x7f).collect()),
            Bad("article."),
        ),
        ("dots stuffed twice", Box::new(|body| replaced(&body, b"\r\n..", b"\r\n...")), Any),
        ("returns doubled", Box::new(|body| replaced(&body, b"\r\n", b"\r\r\n")), Any),
    ]);
}

#[test]
fn y16_uu_is_decoded_by_its_rows_and_completes_unverified() {
    let content: Vec<u8> = sample("x", 3 * 4500 - 100, 4500).2;
    let encode = |name: Option<&str>, part: usize| {
        let mut body = Vec::new();
        let end = content.len().min((part + 1) * 4500);
        write_uu(name, &content[part * 4500..end], part == 2, &mut body);
        body
    };
    let good = [encode(Some("f.bin"), 0), encode(None, 1), encode(None, 2)];
    let first =
        |change: &dyn Fn(&[u8]) -> Vec<u8>| [change(&good[0]), good[1].clone(), good[2].clone()];
    let last =
        |change: &dyn Fn(&[u8]) -> Vec<u8>| [good[0].clone(), good[1].clone(), change(&good[2])];
    let bodies = [
        ("as it should be", good.clone(), Unverified),
        ("a path", first(&|body| replaced(body, b"f.bin", b"../../../canary/bird")), Unverified),
        ("a bad mode", first(&|body| replaced(body, b"begin 644", b"begin 9999999")), Unverified),
        ("no end", last(&|body| replaced(body, b"`\r\nend\r\n", b"")), Unverified),
        (
            "a bad length",
            first(&|body| replaced(body, b"f.bin\r\nM", b"f.bin\r\n\x7f")),
            Bad("article.uu_row"),
        ),
        (
            "an endless row",
            first(&|body| {
                let row = body.iter().position(|&byte| byte == b'\n').unwrap() + 1;
                let (before, behind) = body.split_at(row + 61);
                [before, &vec![b'#'; 1 << 20], behind].concat()
            }),
            Unverified,
        ),
    ];
    let mut posted = Posted::new();
    let mut files = Vec::new();
    for (n, (what, bodies, fate)) in bodies.into_iter().enumerate() {
        let file = File { ids: ids(n), bodies: bodies.to_vec(), content: content.clone() };
        file.post(&mut posted, &file.bodies);
        files.push((what, file, fate));
    }
    let mut test = FaultyServerTest::start(TO_THE_END, [(Options::new(posted), "")]);
    for (n, (what, file, fate)) in files.iter().enumerate() {
        let name = format!("y{n}");
        test.home.drop_nzb(&format!("{name}.nzb"), file.nzb("\"f.bin\" (1/3)"));
        settle(&mut test, &name, what, file, *fate);
    }
    test.end();
}

#[test]
fn y17_other_encodings_are_named() {
    let base64 = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJz\r\n".repeat(50);
    let mime = |encoding: &str| {
        let nested = (0..20).map(|n| {
            format!("--b{n}\r\nContent-Type: multipart/mixed; boundary=b{}\r\n\r\n", n + 1)
        });
        format!(
            "{}Content-Transfer-Encoding: {encoding}\r\n\r\n{base64}",
            nested.collect::<String>()
        )
    };
    let (bare, quoted, nested) = (base64.clone(), mime("quoted-printable"), mime("base64"));
    judge(vec![
        ("base64", Box::new(move |_| bare.clone().into_bytes()), Bad("article.encoding")),
        ("MIME", Box::new(move |_| nested.clone().into_bytes()), Bad("article.encoding")),
        ("quoted", Box::new(move |_| quoted.clone().into_bytes()), Bad("article.encoding")),
        ("UU among yEnc", Box::new(|_| uu(&[7; 3000])), Bad("article.identity")),
        ("prose", Box::new(|_| b"I had the same.\r\n".repeat(100)), Bad("article.yenc_header")),
    ]);
}

#[test]
fn y19_a_first_article_that_disagrees_with_all_others_names_nothing() {
    let file = File::new(0, "the real name.bin");
    let mut bodies = file.bodies.clone();
    bodies[0] = replaced(&bodies[0], b"the real name.bin", b"somethingelse.txt");
    let mut posted = Posted::new();
    file.post(&mut posted, &bodies);
    let mut test = FaultyServerTest::start(
        "[download]\npipeline = 1\n",
        [(Options::new(posted), "connections = 1")],
    );
    test.home.drop_nzb("job.nzb", file.nzb(OBFUSCATED));
    test.daemon.wait_complete("job");
    assert_eq!(fs::read(test.home.join("complete/job/the real name.bin")).unwrap(), file.content);
    test.end();
}

#[test]
fn y19_a_first_article_that_lies_about_the_size_is_outvoted() {
    let file = File::new(0, "f.bin");
    let mut bodies = file.bodies.clone();
    bodies[0] = replaced(&bodies[0], b"size=9000", b"size=9999");
    let (mut liar, mut honest) = (Posted::new(), Posted::new());
    file.post(&mut liar, &bodies);
    file.post(&mut honest, &file.bodies);
    let servers = [(Options::new(liar), "connections = 1"), (Options::new(honest), "level = 1")];
    let mut test = FaultyServerTest::start("[download]\npipeline = 1\n", servers);
    test.home.drop_nzb("job.nzb", file.nzb(SUBJECT));
    test.daemon.wait_complete("job");
    assert_eq!(file.only_file(&test.home, "job"), file.content);
    let after = test.end();
    after.assert_said(&["article.identity", file.ids[0].as_str()]);
    assert_eq!(after.news.tally(1).served(file.ids[2].as_str()), 0, "those who agree are believed");
}

/// These jobs are so small that one bad article is too much for any repair.
const TO_THE_END: &str = "[download]\nhealth_check = \"none\"\n";

type Spoil = Box<dyn Fn(Vec<u8>) -> Vec<u8>>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It ends, one way or the other.
    Any,
    /// No good, for this reason.
    Bad(&'static str),
    Good,
    /// It does not go with the other parts: accepted, unverified, if no server has a better copy.
    LastResort,
    Unverified,
}
use Fate::{Any, Bad, Good, LastResort, Unverified};

/// Each row is a job of its own, alone and beside a server that has every article whole.
fn judge(rows: Vec<(&str, Spoil, Fate)>) {
    let (mut spoilt, mut whole) = (Posted::new(), Posted::new());
    let files: Vec<_> = (0..rows.len()).map(|n| File::new(n, "f.bin")).collect();
    for (file, (_, spoil, _)) in files.iter().zip(&rows) {
        let second = spoil(file.bodies[1].clone());
        file.post(&mut spoilt, &[file.bodies[0].clone(), second, file.bodies[2].clone()]);
        file.post(&mut whole, &file.bodies);
    }
    let mut alone = FaultyServerTest::start(TO_THE_END, [(Options::new(spoilt.clone()), "")]);
    for (n, (file, (what, _, fate))) in files.iter().zip(&rows).enumerate() {
        let name = format!("y{n}");
        alone.home.drop_nzb(&format!("{name}.nzb"), file.nzb(SUBJECT));
        settle(&mut alone, &name, what, file, *fate);
    }
    let after = alone.end();
    for (file, (what, _, fate)) in files.iter().zip(&rows) {
        let id = file.ids[1].as_str();
        assert!(after.news.tally(0).served(id) > 0, "{what}: it was delivered");
        if let Bad(code) = fate {
            after.assert_said(&[code, &format!("id={id} ")]);
            after.assert_said(&["no server has", id]);
        }
    }
    let servers = [(Options::new(spoilt), ""), (Options::new(whole), "level = 1")];
    let mut beside = FaultyServerTest::start("", servers);
    for (n, (file, (what, _, fate))) in files.iter().zip(&rows).enumerate() {
        let name = format!("y{n}");
        beside.home.drop_nzb(&format!("{name}.nzb"), file.nzb(SUBJECT));
        let fate = if matches!(fate, Bad(_) | LastResort) { Good } else { *fate };
        settle(&mut beside, &name, what, file, fate);
    }
    beside.end().assert_nothing_lost();
}

/// Waits for what becomes of a job and looks at what lies on the disk.
fn settle(test: &mut FaultyServerTest, name: &str, what: &str, file: &File, fate: Fate) {
    let line = test.daemon.wait_settled(name);
    let complete = line.contains("INFO complete");
    match fate {
        Any => {}
        Bad(_) => assert!(!complete, "{what} is bad: {line}"),
        Good => assert!(complete && line.contains("verified=true"), "{what} is good: {line}"),
        LastResort | Unverified => {
            assert!(complete && line.contains("verified=false"), "{what}: {line}")
        }
    }
    if complete {
        assert_eq!(file.only_file(&test.home, name), file.content, "{what}");
    } else {
        assert!(line.contains("job."), "{what}: {line}");
        assert!(!test.home.join("complete").join(name).exists(), "{what} looks finished");
        for path in test.home.inventory("incomplete").into_keys() {
            let metadata = fs::metadata(test.home.join("incomplete").join(&path));
            let metadata = metadata.expect("it was just listed");
            let most = file.content.len() as u64 + (64 << 10);
            assert!(metadata.blocks() * 512 <= most, "{what}: {path:?} takes no more room");
        }
    }
}

/// A file in three articles.
struct File {
    ids: Vec<MessageId>,
    bodies: Vec<Vec<u8>>,
    content: Vec<u8>,
}

impl File {
    /// Its second part has a CRC that begins with 0, so that it can be written short.
    fn new(n: usize, name: &str) -> Self {
        let contents = (0..).map(|salt: usize| {
            let mut content = sample("x", SIZE, SIZE).2;
            content[PART..PART + 8].copy_from_slice(&salt.to_be_bytes());
            content
        });
        let encoded = contents.map(|content| (encode(name, &content), content));
        let is_short = |bodies: &[Vec<u8>]| crc_of(&bodies[1]).starts_with('0');
        let (bodies, content) =
            encoded.into_iter().find(|(bodies, _)| is_short(bodies)).expect("one in sixteen is");
        Self { ids: ids(n), bodies, content }
    }

    fn post(&self, posted: &mut Posted, bodies: &[Vec<u8>]) {
        for (id, body) in self.ids.iter().zip(bodies) {
            posted.insert_wire(id, body.clone());
        }
    }

    fn nzb(&self, subject: &str) -> String {
        let segment = |(number, id): (usize, &MessageId)| {
            let bytes = self.bodies[number].len();
            format!("<segment bytes=\"{bytes}\" number=\"{}\">{id}</segment>", number + 1)
        };
        let segments: String = self.ids.iter().enumerate().map(segment).collect();
        format!(
            "<nzb xmlns=\"http://www.newzbin.com/DTD/2003/nzb\"><file subject=\"{}\" \
             poster=\"x\" date=\"1767225600\"><groups><group>a.b</group></groups>\
             <segments>{segments}</segments></file></nzb>",
            subject.replace('"', "&quot;")
        )
    }

    fn only_file(&self, home: &Home, job: &str) -> Vec<u8> {
        let directory = home.join("complete").join(job);
        let mut entries = fs::read_dir(directory).expect("the job's directory");
        let file = entries.next().expect("a file").expect("it can be listed");
        assert!(entries.next().is_none(), "one file");
        fs::read(file.path()).expect("the finished file")
    }
}

fn uu(data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    write_uu(Some("f.bin"), data, true, &mut body);
    body
}

fn ids(n: usize) -> Vec<MessageId> {
    let id = |part| MessageId::parse(&format!("{n}.{part}@spoilt.example")).expect("a good id");
    (1..=3).map(id).collect()
}

fn encode(name: &str, content: &[u8]) -> Vec<Vec<u8>> {
    let part = |(number, data): (u32, &[u8])| {
        let offset = u64::from(number - 1) * PART as u64;
        let mut body = Vec::new();
        Part { name, number, total: 3, file_size: SIZE as u64, offset, data }.write_body(&mut body);
        body
    };
    (1..).zip(content.chunks(PART)).map(part).collect()
}

fn replaced(body: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    [&out[..], rest].concat()
}

fn swap(from: &'static str, to: &'static str) -> Spoil {
    Box::new(move |body| replaced(&body, from.as_bytes(), to.as_bytes()))
}

fn both(one: Spoil, other: Spoil) -> Spoil {
    Box::new(move |body| other(one(body)))
}

/// What comes before the mark, and something else behind.
fn before(mark: &'static str, then: &'static str) -> Spoil {
    Box::new(move |body| {
        let kept = &body[..find(&body, mark.as_bytes())];
        let kept = kept.strip_suffix(b"\r\n").unwrap_or(kept);
        let end: &[u8] = if then.starts_with('=') { b"" } else { b"\r\n" };
        [kept, end, then.as_bytes(), b"\r\n"].concat()
    })
}

/// The trailer with another CRC; `{crc}`, `{CRC}` and `{short}` stand for the right one.
fn crc(text: &'static str) -> Spoil {
    Box::new(move |body| {
        let right = crc_of(&body);
        let wanted = text
            .replace("{crc}", &right)
            .replace("{CRC}", &right.to_uppercase())
            .replace("{short}", right.trim_start_matches('0'));
        replaced(&body, format!("pcrc32={right}").as_bytes(), wanted.as_bytes())
    })
}

fn without_crc() -> Spoil {
    crc("")
}

fn crc_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let (_, crc) = text.rsplit_once("pcrc32=").expect("a CRC");
    crc.trim().to_owned()
}

/// Where the data lines begin and end.
fn data(body: &[u8]) -> std::ops::Range<usize> {
    let start = line_end(body, find(body, b"=ypart"));
    start..find(body, b"=yend")
}

fn find(body: &[u8], mark: &[u8]) -> usize {
    body.windows(mark.len()).position(|window| window == mark).expect("the mark")
}

/// Where the line behind this place begins.
fn line_end(body: &[u8], from: usize) -> usize {
    from + find(&body[from..], b"\n") + 1
}

/// Puts bytes into the second line of the data.
fn in_data(bytes: &'static [u8]) -> Spoil {
    Box::new(move |body| {
        let at = line_end(&body, data(&body).start) + 1;
        let at = if body[at - 1] == b'=' { at + 1 } else { at };
        [&body[..at], bytes, &body[at..]].concat()
    })
}

fn one_byte_off(mut body: Vec<u8>) -> Vec<u8> {
    let plain = |at: &usize| body[*at].is_ascii_alphanumeric() && body[*at - 1] != b'=';
    let at = data(&body).find(plain).expect("a letter");
    body[at] = if body[at] == b'a' { b'b' } else { b'a' };
    body
}

/// The same data in lines of another length.
fn relined(body: &[u8], length: usize) -> Vec<u8> {
    let range = data(body);
    let mut out = body[..range.start].to_vec();
    let mut codes = Vec::new();
    for line in body[range.clone()].split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r\n").unwrap_or(line);
        codes.extend_from_slice(line.strip_prefix(b".").unwrap_or(line));
    }
    let (mut at, mut column) = (0, 0);
    while at < codes.len() {
        let code = &codes[at..(at + 1 + usize::from(codes[at] == b'=')).min(codes.len())];
        if column == 0 && code == b"." {
            out.push(b'.');
        }
        out.extend_from_slice(code);
        at += code.len();
        column += 1;
        if column == length || at == codes.len() {
            out.extend_from_slice(b"\r\n");
            column = 0;
        }
    }
    out.extend_from_slice(&body[range.end..]);
    out
}

const PART: usize = 3000;
const SIZE: usize = 3 * PART;
const SUBJECT: &str = "\"f.bin\" yEnc (1/3)";
/// A subject that gives no name worth having.
const OBFUSCATED: &str = "\"0123456789abcdef0123456789abcdef\" yEnc (1/3)";
