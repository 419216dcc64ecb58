//! Whatever is dropped as an NZB: refused by name, or downloaded as well as it can be.
//!
//! The rows are those of the catalogue of hostile input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;

use bergamot_newsd::{Fault, Faults, Generated, Manners, Options, Posted, Rule};
use bergamot_tests::{Control, Daemon, Home, News, content_of, file, nzb, password, sample};
use bergamot_types::{ByteCount, MessageId};
use flate2::Compression;
use flate2::write::GzEncoder;

#[test]
fn what_is_no_nzb_is_kept_beside_the_reason_why_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let home = Home::new();
    fs::write(home.join("canary.txt"), "a secret canary").unwrap();
    let cases = refused(listener.local_addr().unwrap().port(), &home);
    let control = Control::new();
    let news = News::plain(control.beside(Posted::new()));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    let idle = daemon.peak_memory();
    for (name, content, _) in &cases {
        home.drop_nzb(name, content);
    }
    for (name, _, code) in &cases {
        daemon.expect(&["refused", &format!("file={name}"), code]);
    }
    control.completes(&home, &mut daemon);
    for (name, content, code) in &cases {
        let reason = home.refusal(name, content);
        assert!(reason.starts_with(code), "{name}: {reason}");
    }
    for (name, limit) in
        [("N-09-attribute.nzb", "262144"), ("N-09-deep.nzb", "32"), ("N-09-size.nzb", "134217728")]
    {
        let reason = fs::read_to_string(home.join(format!("watch/{name}.error.txt"))).unwrap();
        assert!(reason.contains(limit), "{name}: {reason}");
    }
    assert_within(&daemon, idle, 64);
    assert!(listener.accept().is_err(), "nobody was asked for an entity");
    assert_eq!(fs::read_dir(home.join("complete")).unwrap().count(), 1, "only the control");
    assert!(home.inventory("incomplete").is_empty());
    assert_quiet(&daemon.stop().log, &["a secret canary", SECRET]);
    home.assert_contained();
}

/// Name, content and code. A name begins with its row.
fn refused(port: u16, home: &Home) -> Vec<(String, Vec<u8>, &'static str)> {
    let canary = home.join("canary.txt");
    let canary = canary.display();
    let (_, good, _) = sample("x.bin", 90_000, 20_000);
    let good = good.replacen("<nzb", &format!("<!-- {SECRET} --><nzb"), 1);
    let entities = |subset: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE nzb [{subset}]>\n<nzb>{}&a;</nzb>",
            password(SECRET)
        )
    };
    let laughs: String = (1..30)
        .map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10)))
        .collect();
    let quadratic = format!("<!ENTITY a \"{}\">", "x".repeat(50_000));
    let comments = format!("<nzb>{}</nzb>", format!("<!--{}-->", "x".repeat(900_000)).repeat(150));
    let deep = format!("<nzb>{}{}</nzb>", "<a>".repeat(4_097), "</a>".repeat(4_097));
    let long = format!("<nzb>{}</nzb>", file(&"x".repeat(1 << 20), &["a@x"]));
    let mut cases: Vec<(String, Vec<u8>, &'static str)> = [
        ("N-01-empty", String::new(), "nzb.empty"),
        ("N-01-blank", " \r\n\t ".to_owned(), "nzb.empty"),
        ("N-01-bom", "\u{feff}".to_owned(), "nzb.empty"),
        ("N-04-laughs", entities(&laughs), "nzb.dtd_entities"),
        ("N-04-quadratic", entities(&quadratic), "nzb.dtd_entities"),
        ("N-04-parameter", entities("<!ENTITY % a \"x\"> %a; %a;"), "nzb.dtd_entities"),
        (
            "N-05-file",
            entities(&format!("<!ENTITY a SYSTEM \"file://{canary}\">")),
            "nzb.dtd_entities",
        ),
        (
            "N-05-http",
            entities(&format!("<!ENTITY a SYSTEM \"http://127.0.0.1:{port}/a\">")),
            "nzb.dtd_entities",
        ),
        ("N-09-attribute", long, "nzb.attribute_too_long"),
        ("N-09-deep", deep, "nzb.too_deep"),
        ("N-09-size", comments, "nzb.too_large"),
        ("N-19-no-files", nzb(&password(SECRET)), "nzb.no_files"),
        ("page", "<!DOCTYPE html><html><body>log in</body></html>".to_owned(), "nzb.not_nzb"),
        (
            "indexer",
            "<error code=\"100\" description=\"no\u{1b}[31m such user\"/>".to_owned(),
            "nzb.indexer_error",
        ),
    ]
    .map(|(name, text, code)| (format!("{name}.nzb"), text.into_bytes(), code))
    .into();
    for cut in (1..good.len() - "</nzb>\n".len()).step_by(good.len() / 16) {
        let name = format!("N-02-cut-at-{cut}.nzb");
        cases.push((name, good.as_bytes()[..cut].to_vec(), "nzb.truncated"));
    }
    let zeros = gzip(&vec![0; 64 << 20]);
    let blanks = gzip(format!("<nzb>{}", " ".repeat(140 << 20)).as_bytes());
    let half = gzip(good.as_bytes());
    cases.push(("N-11-zeros.nzb.gz".into(), zeros, "nzb.too_large"));
    cases.push(("N-11-blanks.nzb".into(), blanks, "nzb.too_large"));
    cases.push(("N-11-cut.nzb.gz".into(), half[..half.len() / 2].to_vec(), "nzb.truncated"));
    cases.push(("N-11-bzip2.nzb".into(), b"BZh91AY&SYxxxxxxxx".to_vec(), "nzb.compressed"));
    cases.push((
        "N-11-noise.nzb.gz".into(),
        [&[0x1f, 0x8b, 8, 0][..], &[0xff; 500]].concat(),
        "nzb.corrupt_gzip",
    ));
    cases
}

// N-10
#[test]
fn more_files_or_segments_than_anyone_posts_are_refused_in_little_memory() {
    let home = Home::new();
    let control = Control::new();
    let news = News::plain(control.beside(Posted::new()));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    let idle = daemon.peak_memory();
    let many_files = nzb(&"<file subject=\"a\"></file>".repeat(100_001));
    let mut many_segments = String::from("<nzb><file subject=\"a\"><segments>");
    for number in 1..=1_000_001 {
        many_segments
            .push_str(&format!("<segment bytes=\"9\" number=\"{number}\">{number}@x</segment>"));
    }
    many_segments.push_str("</segments></file></nzb>");
    for (name, content, code) in [
        ("files.nzb", &many_files, "nzb.too_many_files: line 3, near <file>: more than 100000"),
        (
            "segments.nzb",
            &many_segments,
            "nzb.too_many_segments: line 1, near <segment>: more than 1000000",
        ),
    ] {
        home.drop_nzb(name, content);
        daemon.wait_for(&["refused", &format!("file={name}"), code]);
    }
    control.completes(&home, &mut daemon);
    assert!(home.refusal("files.nzb", &many_files).starts_with("nzb.too_many_files"));
    assert!(home.refusal("segments.nzb", &many_segments).starts_with("nzb.too_many_segments"));
    assert_within(&daemon, idle, 128);
    daemon.stop();
    home.assert_contained();
}

// N-10
#[test]
fn copies_of_one_segment_count_once() {
    let home = Home::new();
    let mut posted = Posted::new();
    let ids = posted.post("inside.bin", &[7; 30_000], 20_000);
    let first = format!("<segment bytes=\"20000\" number=\"1\">{}</segment>", ids[0]);
    let text = file("&quot;a.bin&quot;", &[&ids[0].as_str(), &ids[1].as_str()])
        .replace("<segments>", &format!("<segments>{}", first.repeat(8_193)));
    let news = News::plain(Arc::new(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    home.drop_nzb("copies.nzb", nzb(&text));
    daemon.wait_complete("copies");
    assert_eq!(fs::read(home.join("complete/copies/a.bin")).unwrap(), [7; 30_000]);
    assert_eq!(news.tally(0).asked(ids[0].as_str()), 1, "asked for once");
    daemon.stop();
}

// N-13
#[test]
fn segments_listed_twice_or_from_zero_cost_no_file() {
    let (home, control) = (Home::new(), Control::new());
    let mut posted = Posted::new();
    let mut files = String::new();
    let names =
        ["missing-first", "wrong-first", "from-zero", "extra-number", "inserted-number", "one"];
    for (number, name) in (1..).zip(names) {
        let length = if name == "one" { 15_000 } else { 50_000 };
        let ids = posted.post(&format!("{name}.bin"), &vec![number; length], 20_000);
        let ids: Vec<_> = ids.iter().map(MessageId::as_str).collect();
        let listed: Vec<(u32, &str)> = match (name, &ids[..]) {
            ("missing-first", [a, b, c]) => vec![(1, a), (2, "gone@x"), (2, b), (3, c)],
            ("wrong-first", [a, b, c]) => vec![(1, a), (2, c), (3, c), (2, b)],
            ("from-zero", [a, b, c]) => vec![(0, a), (1, b), (2, c)],
            ("extra-number", [a, b, c]) => vec![(1, a), (2, b), (3, c), (4, c)],
            ("inserted-number", [a, b, c]) => vec![(1, a), (2, a), (3, b), (4, c)],
            ("one", [a]) => vec![(1, a), (2, a)],
            (_, ids) => panic!("{} parts", ids.len()),
        };
        let segment = |(number, id): (u32, &str)| {
            format!("<segment bytes=\"20000\" number=\"{number}\">{id}</segment>")
        };
        let segments: String = listed.into_iter().map(segment).collect();
        files += &file(&format!("&quot;{name}.bin&quot;"), &[""; 0])
            .replace("<segments>", &format!("<segments>{segments}"));
    }
    let news = News::plain(control.beside(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    home.drop_nzb("twice.nzb", nzb(&files));
    daemon.wait_complete("twice");
    for (number, name) in (1..).zip(names) {
        let length = if name == "one" { 15_000 } else { 50_000 };
        let found = fs::read(home.join(format!("complete/twice/{name}.bin"))).unwrap();
        assert!(found == vec![number; length], "{name}");
    }
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

#[test]
fn an_odd_nzb_is_downloaded_as_it_was_meant() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (home, control) = (Home::new(), Control::new());
    let mut posted = Posted::new();
    let mut odd = |name: &str, encode: &dyn Fn(&str) -> Vec<u8>, expected: &'static str| {
        let content = name.repeat(5_000).into_bytes();
        let ids = posted.post("inside.bin", &content, 20_000);
        let ids: Vec<_> = ids.iter().map(MessageId::as_str).collect();
        (encode(&file(&format!("&quot;{name}&quot; yEnc (1/1)"), &ids)), content, expected)
    };
    let utf8 = |text: &str| nzb(&format!("{}{text}", password(SECRET))).into_bytes();
    let latin1 = |text: &str| {
        let text = format!("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><nzb>{text}</nzb>");
        text.chars().map(|c| c as u8).collect::<Vec<u8>>()
    };
    let utf16 = |text: &str| {
        let text = format!("\u{feff}<?xml version=\"1.0\" encoding=\"UTF-16\"?><nzb>{text}</nzb>");
        text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let broken = |text: &str| {
        let text = nzb(text).into_bytes();
        let at = text.windows(5).position(|five| five == b"wrong").unwrap();
        [&text[..at], b"\xff\xfe", &text[at + 5..]].concat()
    };
    let far = |text: &str| {
        let place = format!("http://127.0.0.1:{port}");
        format!(
            "<?xml version=\"1.0\"?><?xml-stylesheet href=\"{place}/style\"?>\
             <!DOCTYPE nzb SYSTEM \"{place}/dtd\">\
             <nzb xmlns:xi=\"http://www.w3.org/2001/XInclude\">\
             <xi:include href=\"{place}/more\"/><xi:include href=\"file:///etc/passwd\"/>\
             {text}</nzb>"
        )
        .into_bytes()
    };
    let plain = |text: &str| nzb(text).into_bytes();
    let packed = |text: &str| gzip(nzb(text).as_bytes());
    let cases = [
        ("N-05-far.nzb", odd("far.bin", &far, "far.bin")),
        ("N-06-html.nzb", odd("f&uuml;r &bogus; you & me.bin", &plain, "für &bogus; you & me.bin")),
        ("N-07-latin1.nzb", odd("Grüße.bin", &latin1, "Grüße.bin")),
        ("N-07-utf16.nzb", odd("Grüße 漢.bin", &utf16, "Grüße 漢.bin")),
        ("N-07-invalid.nzb", odd("is wrong.bin", &broken, "is \u{fffd}\u{fffd}.bin")),
        ("N-11-disguise.nzb", odd("disguise.bin", &packed, "disguise.bin")),
        ("N-11-packed.nzb.gz", odd("packed.bin", &packed, "packed.bin")),
        ("meta.nzb", odd("meta.bin", &utf8, "meta.bin")),
    ];
    let news = News::plain(control.beside(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    for (name, (text, content, expected)) in &cases {
        home.drop_nzb(name, text);
        let job = name.trim_end_matches(".gz").trim_end_matches(".nzb");
        daemon.wait_complete(job);
        let found = home.inventory(format!("complete/{job}"));
        let names: Vec<_> = found.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, [*expected], "{name}");
        assert!(fs::read(home.join(format!("complete/{job}/{expected}"))).unwrap() == *content);
        assert_eq!(fs::read(home.join(format!("watch/{name}.queued"))).unwrap(), *text);
    }
    control.completes(&home, &mut daemon);
    assert!(listener.accept().is_err(), "nothing else was fetched");
    assert_quiet(&daemon.stop().log, &[SECRET, "root:"]);
    home.assert_contained();
}

// N-14, N-15, N-16, N-17
#[test]
fn no_name_leads_anywhere_and_no_two_files_share_one() {
    let long = "x".repeat(300) + ".mkv";
    let emoji = "🦀".repeat(200) + ".mkv";
    let names = [
        // As the subject has it, and what becomes of it, where there is only one answer.
        ("../escape.bin", "escape.bin"),
        ("/etc/absolute.bin", "absolute.bin"),
        ("a/../../up.bin", "up.bin"),
        ("..\\back.bin", "back.bin"),
        ("C:\\drive.bin", "drive.bin"),
        ("\\\\server\\share\\unc.bin", "unc.bin"),
        ("\\\\?\\C:\\verbatim.bin", "verbatim.bin"),
        ("\\\\?\\GLOBALROOT\\Device\\x\\global.bin", "global.bin"),
        ("../../../../canary/bird", "bird"),
        ("CON", "_CON"),
        ("NUL.txt", "_NUL.txt"),
        ("COM¹.bin", "_COM¹.bin"),
        ("dots.bin. . .", "dots.bin"),
        ("Case.bin", ""), // each of them, or numbered: whichever is finished first has its name
        ("case.BIN", ""),
        ("CASE.bin", ""),
        ("stream.bin:evil", "stream.bin_evil"),
        ("lt&lt;gt&gt;ask?star*pipe|.bin", "lt_gt_ask_star_pipe_.bin"),
        ("line&#10;feed.bin", "line_feed.bin"),
        ("esc&#27;[31m.bin", "esc_[31m.bin"),
        ("bidi&#x202e;nib.exe", "bidi_nib.exe"),
        ("crab 🦀.bin", "crab 🦀.bin"),
        ("a&#x308;.bin", ""),
        ("ä.bin", ""),
        (".htaccess.bin", "_.htaccess.bin"),
        ("0000.part", "_0000.part"),
        (&*long, ""),
        (&*emoji, ""),
    ];
    let (home, control) = (Home::new(), Control::new());
    let mut posted = Posted::new();
    let mut files = String::new();
    for (number, (name, _)) in names.iter().enumerate() {
        let content = format!("{number} {name}");
        let ids = posted.post("abc.xyz.bin", content.as_bytes(), 20_000);
        files += &file(&format!("&quot;{name}&quot; yEnc (1/1)"), &[ids[0].as_str()]);
    }
    let news = News::plain(control.beside(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 1"));
    home.drop_nzb("names.nzb", nzb(&files));
    daemon.wait_complete("names");
    let found = home.inventory("complete/names");
    for (number, (raw, expected)) in names.iter().enumerate() {
        if !expected.is_empty() {
            let path = home.join("complete/names").join(expected);
            let content = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{raw}: {found:#?}"));
            assert_eq!(content, format!("{number} {raw}"));
        }
    }
    assert_eq!(found.len(), names.len(), "every file has survived");
    let folded = found.keys().map(|path| path.to_str().unwrap().to_lowercase());
    assert_eq!(folded.collect::<HashSet<_>>().len(), names.len(), "also where case is ignored");
    for path in found.keys() {
        let name = path.to_str().unwrap();
        assert!(name.len() <= 240 && path.components().count() == 1, "{name}");
        assert!(!name.contains(|c: char| c.is_control() || "<>:\"\\|?*".contains(c)), "{name}");
    }
    assert_eq!(found.keys().filter(|path| path.extension().is_some_and(|e| e == "mkv")).count(), 2);
    control.completes(&home, &mut daemon);
    assert_quiet(&daemon.stop().log, &["\u{1b}", "\u{202e}"]);
    home.assert_contained();
}

// N-14
#[test]
fn a_job_is_named_by_its_title_and_still_stays_where_it_belongs() {
    let titles = ["../../evil", "/etc/evil", "..\\evil", "evil\u{7}/..", "evil/../../canary"];
    let (home, control) = (Home::new(), Control::new());
    let mut posted = Posted::new();
    let mut drops = Vec::new();
    for (number, title) in titles.iter().enumerate() {
        let ids = posted.post("inside.bin", format!("{number}").as_bytes(), 20_000);
        let kind = if number % 2 == 0 { "title" } else { "name" };
        let title = title.replace('\u{7}', "&#7;");
        let head = format!("<head><meta type=\"{kind}\">{title}</meta></head>");
        let text = nzb(&format!("{head}{}", file("&quot;a.bin&quot;", &[ids[0].as_str()])));
        // A name of nothing but a password leaves the job to its meta data.
        drops.push((format!("{{{{{SECRET}{number}}}}}.nzb"), text));
    }
    let news = News::plain(control.beside(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    for (name, text) in drops {
        home.drop_nzb(&name, text);
        daemon.wait_for(&["INFO complete"]);
    }
    control.completes(&home, &mut daemon);
    assert_eq!(home.inventory("complete").len(), titles.len() + 1);
    assert_quiet(&daemon.stop().log, &[SECRET, "\u{7}"]);
    home.assert_contained();
}

// N-19
#[test]
fn a_file_without_articles_fails_its_job_but_not_the_other_files() {
    let (home, control) = (Home::new(), Control::new());
    let mut posted = Posted::new();
    let ids = posted.post("inside.bin", b"here", 20_000);
    let nothing: [&str; 0] = [];
    let text = nzb(&format!(
        "{}{}",
        file("&quot;none.bin&quot;", &nothing),
        file("&quot;some.bin&quot;", &[ids[0].as_str()])
    ));
    let news = News::plain(control.beside(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    home.drop_nzb("holes.nzb", text);
    let line = daemon.wait_failed("holes");
    assert!(line.contains("job.incomplete: files incomplete: 1 of 2"), "{line}");
    assert_eq!(fs::read(home.join("incomplete/holes/some.bin")).unwrap(), b"here");
    control.completes(&home, &mut daemon);
    assert!(!home.join("complete/holes").exists());
    daemon.stop();
    home.assert_contained();
}

// N-19
#[test]
fn par2_volumes_are_fetched_when_they_are_all_there_is_or_something_is_missing() {
    let (home, control) = (Home::new(), Control::new());
    let post = |seed| {
        let post = Generated::new(seed, ByteCount(10_000)).file("a.par2", ByteCount(9_000));
        post.file("a.vol00+01.par2", ByteCount(25_000)).file("a.vol01+02.par2", ByteCount(25_000))
    };
    let only = post(1);
    let [whole, holed] = [2, 3].map(|seed| post(seed).file("a.rar", ByteCount(95_000)));
    let lost = holed.id(3, 5);
    let articles: Vec<Arc<dyn bergamot_newsd::Articles>> =
        vec![Arc::new(only.clone()), Arc::new(whole.clone()), Arc::new(holed.clone())];
    let faults = Faults::none().with(Rule::new(Fault::Missing).only([lost.clone()]));
    let articles = control.beside(articles);
    let news = News::start([Options { articles, faults, ..Options::default() }]);
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    home.drop_nzb("only.nzb", only.nzb());
    daemon.wait_complete("only");
    assert_eq!(home.inventory("complete/only").len(), 3);
    home.drop_nzb("whole.nzb", whole.nzb());
    daemon.wait_complete("whole");
    let names: Vec<_> = home.inventory("complete/whole").into_keys().collect();
    assert_eq!(names, ["a.par2", "a.rar"].map(std::path::PathBuf::from));
    assert_eq!(news.tally(0).asked(&whole.id(1, 1)), 0, "the volumes were not needed");
    home.drop_nzb("holed.nzb", holed.nzb());
    let line = daemon.wait_failed("holed");
    assert!(line.contains("job.incomplete: files incomplete: 1 of 4, articles lost: 1"), "{line}");
    assert!(news.tally(0).fired(Fault::Missing) > 0, "an article was missing");
    for volume in [1, 2] {
        assert!(news.tally(0).served(&holed.id(volume, 3)) > 0, "volume {volume} was fetched");
    }
    let kept = fs::read(home.join("incomplete/holed/a.vol00+01.par2")).unwrap();
    assert_eq!(kept.len(), 25_000);
    control.completes(&home, &mut daemon);
    daemon.stop();
    home.assert_contained();
}

// N-07, N-20, N-21
#[test]
fn ids_and_groups_cannot_smuggle_a_command_to_the_server() {
    let (home, control) = (Home::new(), Control::new());
    let mut posted = Posted::new();
    let ids = posted.post("inside.bin", b"good", 20_000);
    let good = ids[0].as_str();
    let long = format!("{}@x", "y".repeat(250));
    let bad = [
        "a@x&#13;&#10;QUIT",
        "a@x\r\nPOST",
        "a b@x",
        "a&gt;&#13;&#10;STAT b@x",
        "a&#0;@x",
        &*long,
        "",
        "&lt;a@x&gt;&lt;b@x&gt;",
        "INVALID",
    ];
    let groups: String = (0..10_000).map(|n| format!("<group>alt.g{n}</group>")).collect();
    let groups = format!("<group>alt.x&#13;&#10;LIST</group><group></group>{groups}");
    let text = nzb(&format!(
        "{}{}",
        file("&quot;bad.bin&quot;", &bad),
        file("&quot;good.bin&quot;", &[format!("&lt;{good}&gt;")])
    ));
    let text = text.replace("<groups>", &format!("<groups>{groups}")).into_bytes();
    let at = text.windows(7).position(|seven| seven == b"INVALID").unwrap();
    let text = [&text[..at], b"a\xff\xfe@x", &text[at + 7..]].concat();
    let manners = Manners { transcript: true, ..Manners::default() };
    let articles = control.beside(posted);
    let news = News::start([Options { articles, manners, ..Options::default() }]);
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 1\njoin_group = true"));
    home.drop_nzb("bad.nzb", &text);
    let line = daemon.wait_failed("bad");
    assert!(line.contains("the NZB lacks 9"), "{line}");
    daemon.expect(&["odd NZB", "BadMessageId", "count: 9"]);
    daemon.expect(&["odd NZB", "BadGroup"]);
    assert_eq!(fs::read(home.join("incomplete/bad/good.bin")).unwrap(), b"good");
    control.completes(&home, &mut daemon);
    daemon.stop();
    let commands: Vec<_> = news.tally(0).transcript();
    for command in &commands {
        let command = command.split_once(' ').unwrap().1;
        let known = ["BODY <", "GROUP alt.", "CAPABILITIES", "MODE READER", "QUIT", "DATE"];
        assert!(known.iter().any(|known| command.starts_with(known)), "{command}");
    }
    let bodies: Vec<_> = commands.iter().filter(|line| line.contains("BODY")).collect();
    assert_eq!(bodies.len(), 1 + 5, "the good article and the control's: {bodies:#?}");
    assert_eq!(news.tally(0).commands("unknown"), 0);
    home.assert_contained();
}

// N-22
#[test]
fn wrong_sizes_and_dates_are_not_believed() {
    let wrong = ["-1", "0", "18446744073709551615", "many", "4294967295", ""];
    let (home, control) = (Home::new(), Control::new());
    let mut posted = Posted::new();
    let mut files = String::new();
    for (number, bytes) in wrong.iter().enumerate() {
        let content = vec![number as u8; 50_000];
        let ids = posted.post("inside.bin", &content, 20_000);
        let ids: Vec<_> = ids.iter().map(MessageId::as_str).collect();
        files += &file(&format!("&quot;{number}.bin&quot;"), &ids)
            .replace("bytes=\"20000\"", &format!("bytes=\"{bytes}\""))
            .replace("date=\"1767225600\"", "date=\"-100000000000000000000\"");
    }
    let news = News::plain(control.beside(posted));
    let mut daemon = Daemon::start(&home, &news.section(0, "connections = 4\nretention = 3000"));
    let idle = daemon.peak_memory();
    home.drop_nzb("sizes.nzb", nzb(&files));
    daemon.wait_complete("sizes");
    for (number, bytes) in wrong.iter().enumerate() {
        let found = fs::read(home.join(format!("complete/sizes/{number}.bin"))).unwrap();
        assert!(found == vec![number as u8; 50_000], "bytes={bytes:?}");
    }
    control.completes(&home, &mut daemon);
    assert_within(&daemon, idle, 64);
    daemon.stop();
}

// N-24
#[test]
fn the_same_articles_are_downloaded_once_unless_they_failed() {
    let (home, control) = (Home::new(), Control::new());
    let (posted, text, content) = sample("x.bin", 90_000, 20_000);
    let (lost, lost_text) = {
        let post = Generated::new(5, ByteCount(20_000)).file("l.bin", ByteCount(30_000));
        (post.id(0, 1), post)
    };
    let articles: Vec<Arc<dyn bergamot_newsd::Articles>> =
        vec![Arc::new(posted), Arc::new(lost_text.clone())];
    // Each ask costs a connection; two refusals in a row lose it, and later it is there.
    let faults = Faults::none().with(Rule::new(Fault::Missing).only([lost]).first_asks(1));
    let articles = control.beside(articles);
    let news = News::start([Options { articles, faults, ..Options::default() }]);
    let mut daemon = Daemon::start(&home, &news.section(0, ""));
    home.drop_nzb("x.nzb", &text);
    let added = daemon.wait_for(&["INFO added", "name=x"]);
    let job = added.split("job=").nth(1).unwrap().split(' ').next().unwrap();
    home.drop_nzb("x.nzb", &text);
    daemon.wait_for(&["nzb.duplicate", "file=x.nzb"]);
    daemon.expect(&["INFO complete", "name=x "]);
    let other = text.replace("x.bin", "y.bin").replace("<nzb", "<!-- another -->\n<nzb");
    home.drop_nzb(&format!("y{{{{{SECRET}}}}}.nzb"), &other);
    daemon.wait_for(&["nzb.duplicate"]);
    home.drop_nzb("lost.nzb", lost_text.nzb());
    daemon.wait_failed("lost");
    home.drop_nzb("lost.nzb", lost_text.nzb());
    daemon.wait_complete("lost");
    control.completes(&home, &mut daemon);
    let names = [("x.nzb".to_owned(), &text), (format!("y{{{{{SECRET}}}}}.nzb"), &other)];
    for (name, text) in names {
        let why = home.verdict(&name, "duplicate", text);
        assert_eq!(why, format!("nzb.duplicate: job {job} has the same articles\n"));
    }
    assert_eq!(fs::read(home.join("complete/x/x.bin")).unwrap(), content);
    assert_eq!(fs::read(home.join("complete/lost/l.bin")).unwrap(), content_of(&lost_text));
    assert_eq!(fs::read_dir(home.join("complete")).unwrap().count(), 3);
    assert_eq!(news.tally(0).served("1.1@posted.example"), 1, "fetched once");
    assert_quiet(&daemon.stop().log, &[SECRET]);
    home.assert_contained();
}

// L-02
#[test]
fn a_hundred_thousand_segments_take_little_memory() {
    let home = Home::new();
    let post = Generated::new(9, ByteCount(10)).file("huge.bin", ByteCount(1_000_000));
    assert_eq!(post.parts(0), 100_000);
    // Nobody listens there: the job is to be held, not downloaded.
    let config = "[[server]]\nname = \"s\"\nhost = \"127.0.0.1\"\nport = 1\nencryption = \"none\"";
    let mut daemon = Daemon::start(&home, config);
    let idle = daemon.peak_memory();
    home.drop_nzb("huge.nzb", post.nzb());
    daemon.wait_for(&["INFO started", "name=huge"]);
    daemon.wait_for(&["unreachable"]);
    assert_within(&daemon, idle, 32);
    daemon.stop();
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn assert_within(daemon: &Daemon, idle: ByteCount, mebibytes: u64) {
    let above = ByteCount(daemon.peak_memory().0 - idle.0);
    assert!(above.0 <= mebibytes << 20, "{above} above idle, {mebibytes} MiB are allowed");
}

fn assert_quiet(log: &[String], secrets: &[&str]) {
    for secret in secrets {
        let told = log.iter().find(|line| line.contains(secret));
        assert!(told.is_none(), "{:?} is in the log: {}", secret, told.unwrap());
    }
}

const SECRET: &str = "pl4nted-secret";
