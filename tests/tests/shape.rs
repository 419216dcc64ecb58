//! The shape of the workspace: which crate may depend on which, where a clock is read, and how large structs,
//! folders and `impl` blocks may become.
//!
//! The sources are read line by line, without their comments, strings and test modules. What may be over a
//! threshold stands in a table with its reason.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A reader holds about a dozen fields in mind; above this a struct is several structs.
const MOST_FIELDS: usize = 20;

/// More files side by side want folders. `lib.rs`, `main.rs` and `mod.rs` are not counted.
const MOST_FILES: usize = 15;

/// A type whose methods lie in more files is a program of its own.
const MOST_IMPL_FILES: usize = 3;

/// From the ground up. A crate depends only on crates of lines below its own.
const LAYERS: [(&str, &[&str]); 11] = [
    ("ground", &["types", "simd"]),
    ("codecs", &["yenc", "nzb", "xml", "par2", "archive"]),
    ("machines", &["nntp", "queue", "pool", "sched", "limit", "poll", "storage"]),
    ("heart", &["engine", "post", "feed", "newsgroups", "import"]),
    ("jobs", &["jobs"]),
    ("api", &["api"]),
    ("beside", &["newsd", "webd", "testkit"]),
    ("shells", &["net", "writer", "store", "watch", "rpc"]),
    ("config", &["config"]),
    ("apps", &["daemon", "cli"]),
    ("bin", &["bergamot"]),
];

/// Nothing that is shipped depends on these, and they know no shell.
const BESIDE: &str = "beside";

/// Dependencies that the layers do not allow, each with its reason.
const EXCEPTIONS: [(&str, &str, &str); 4] = [
    ("nzb", "xml", "an NZB is an XML document"),
    ("import", "feed", "rules of other programs are translated into rules of feeds"),
    ("testkit", "newsd", "the simulator answers with the faults of the news server"),
    ("cli", "newsd", "`bergamot demo` brings its own news server"),
];

/// Shells that read the clock, beside the whole of `daemon`; everywhere else time is an argument.
const CLOCKS: [(&str, &str); 18] = [
    ("cli/src/clock.rs", "the only clock of the command line"),
    ("cli/src/demo.rs", "shows how long the demo took"),
    ("jobs/src/machine/tests.rs", "any instant to count from"),
    ("net/src/connection.rs", "drives the NNTP machine of a connection"),
    ("net/src/session/mod.rs", "drives the NNTP machine of a session"),
    ("newsd/src/server/wire.rs", "paces what the news server sends"),
    ("rpc/src/http/body.rs", "drives the pace of request bodies"),
    ("rpc/src/http/handler.rs", "drives the throttle of logins"),
    ("rpc/src/socket/idle_timeout.rs", "closes idle and stalled connections"),
    ("testkit/src/converse.rs", "any instant to count from"),
    ("testkit/src/fixtures/manual.rs", "any instant to count from"),
    ("testkit/src/fixtures/quotas.rs", "any instant to count from"),
    ("testkit/src/fixtures/rules.rs", "any instant to count from"),
    ("testkit/src/job_days/world.rs", "any instant to count from"),
    ("testkit/src/sim/campaign.rs", "says how long a campaign of simulated days took"),
    ("testkit/src/sim/world.rs", "any instant to count from"),
    ("writer/src/threads/direct_io.rs", "measures the speed of a disk"),
    ("writer/src/threads/sync_thread.rs", "measures the speed of a disk"),
];

/// Structs with more fields than [`MOST_FIELDS`] that are lists by their nature.
const LARGE: [(&str, &str, &str); 8] = [
    ("api/src/view.rs", "Facts", "a view"),
    ("api/src/view.rs", "Job", "a view"),
    ("api/src/view.rs", "Status", "a view"),
    ("cli/src/client/response.rs", "Job", "the same view, as it comes over the wire"),
    ("config/src/lib.rs", "Config", "settings: one field for each table of the file"),
    ("jobs/src/record/mod.rs", "Record", "a record on disk"),
    ("rpc/src/dialect/sabnzbd/history.rs", "Slot", "a wire format of SABnzbd"),
    ("rpc/src/dialect/sabnzbd/status.rs", "Full", "a wire format of SABnzbd"),
];

/// Folders that are tables: one file for each method or group of methods.
const TABLES: [(&str, &str); 2] = [
    ("rpc/src/dialect/nzbget", "methods of NZBGet's dialect"),
    ("rpc/src/dialect/sabnzbd", "modes of SABnzbd's dialect"),
];

/// Types whose methods may lie in more files than [`MOST_IMPL_FILES`].
const SPREAD: [(&str, &str, &str); 1] =
    [("engine", "Engine", "one machine; each folder holds the methods of one of its parts")];

#[derive(Clone, Copy, Debug)]
enum What {
    Fields,
    Files,
    ImplFiles,
    StringErrors,
}

#[test]
fn dependencies_point_down() {
    let layer = |name: &str| LAYERS.iter().position(|(_, crates)| crates.contains(&name));
    let beside = LAYERS.iter().position(|(name, _)| *name == BESIDE).unwrap();
    let mut exceptions: BTreeSet<_> = EXCEPTIONS.map(|(from, to, _)| format!("{from} {to}")).into();
    let mut seen = 0;
    for name in crate_names() {
        let own = layer(&name).unwrap_or_else(|| panic!("LAYERS has no line for {name}"));
        let manifest = workspace().join("crates").join(&name).join("Cargo.toml");
        for dependency in dependencies(&fs::read_to_string(manifest).unwrap()) {
            seen += 1;
            let other = layer(&dependency).unwrap_or_else(|| panic!("{dependency} has no layer"));
            let excepted = exceptions.remove(&format!("{name} {dependency}"));
            let allowed = other < own && other != beside;
            assert!(
                allowed != excepted,
                "{name} depends on {dependency}: LAYERS says {allowed}, EXCEPTIONS says {excepted}"
            );
        }
    }
    assert!(seen > 50, "only {seen} dependencies were read");
    assert!(exceptions.is_empty(), "no longer there: {exceptions:?}");
}

#[test]
fn only_shells_read_the_clock() {
    let named: BTreeMap<_, _> = CLOCKS.into();
    let reads = |source: &Source| CLOCK_WORDS.iter().any(|word| source.code.contains(word));
    let sources = sources();
    let read = sources.iter().filter(|source| source.krate != "daemon" && reads(source));
    let read: BTreeSet<_> = read.map(|source| source.path.as_str()).collect();
    for path in &read {
        assert!(named.contains_key(path), "{path} reads the clock; pass `now` as an argument");
    }
    for (path, reason) in &named {
        assert!(read.contains(path), "{path} ({reason}) no longer reads the clock; take it out");
    }
}

#[test]
fn structs_are_small() {
    let mut counted = BTreeMap::new();
    for source in sources() {
        for (name, fields) in structs(&source.code) {
            let most: &mut usize = counted.entry(format!("{} {name}", source.path)).or_default();
            *most = fields.max(*most);
        }
    }
    assert!(counted.len() > 500, "only {} structs were read", counted.len());
    let exempt = LARGE.map(|(path, name, reason)| (format!("{path} {name}"), reason));
    hold(What::Fields, &counted, MOST_FIELDS, &exempt);
}

#[test]
fn folders_are_small() {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources() {
        let (folder, name) = source.path.rsplit_once('/').unwrap();
        if !["lib.rs", "main.rs", "mod.rs"].contains(&name) {
            *counted.entry(folder.to_owned()).or_default() += 1;
        }
    }
    let exempt = TABLES.map(|(folder, reason)| (folder.to_owned(), reason));
    hold(What::Files, &counted, MOST_FILES, &exempt);
}

#[test]
fn methods_of_a_type_lie_together() {
    let mut implemented: BTreeMap<String, usize> = BTreeMap::new();
    let mut defined: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources() {
        let names: BTreeSet<_> = inherent_impls(&source.code).collect();
        for name in names {
            *implemented.entry(format!("{} {name}", source.krate)).or_default() += 1;
        }
        for name in definitions(&source.code) {
            *defined.entry(format!("{} {name}", source.krate)).or_default() += 1;
        }
    }
    // Types of one name in several modules are several types, each in a file of its own.
    for (name, files) in &mut implemented {
        let others = defined.get(name).map_or(0, |times| times.saturating_sub(1));
        *files = files.saturating_sub(others);
    }
    let exempt = SPREAD.map(|(krate, name, reason)| (format!("{krate} {name}"), reason));
    hold(What::ImplFiles, &implemented, MOST_IMPL_FILES, &exempt);
}

#[test]
fn errors_are_types() {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources() {
        *counted.entry(source.krate).or_default() += string_errors(&source.code);
    }
    hold(What::StringErrors, &counted, 0, &[]);
}

#[test]
fn a_number_is_one_decision() {
    let mut numbers = BTreeMap::new();
    for entry in fs::read_dir(workspace().join("docs/decisions")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (number, _) = name.split_once('-').unwrap_or_else(|| panic!("{name} has no number"));
        assert!(number.len() == 3 && number.parse::<u32>().is_ok(), "{name} has no number");
        let title = fs::read_to_string(&path).unwrap();
        assert!(
            title.starts_with(&format!("# {number}")),
            "{name} has another number in its title"
        );
        if let Some(other) = numbers.insert(number.to_owned(), name.clone()) {
            panic!("{other} and {name} have the same number");
        }
    }
    assert!(numbers.len() >= 30, "only {} decisions were read", numbers.len());
}

#[test]
fn files_that_the_documents_name_exist() {
    for document in ["architecture.md", "contributing.md", "glossary.md"] {
        let text = fs::read_to_string(workspace().join("docs").join(document)).unwrap();
        let code = text.split('`').skip(1).step_by(2).filter(|code| !code.contains(' '));
        for path in code.filter(|code| code.contains('/') && code.ends_with(".rs")) {
            // `queue/job_state.rs` is short for `crates/queue/src/job_state.rs`.
            let (krate, rest) = path.split_once('/').unwrap();
            let short = workspace().join("crates").join(krate).join("src").join(rest);
            let exists = short.exists() || workspace().join(path).exists();
            assert!(exists, "docs/{document} names {path}, which is not there");
        }
    }
}

#[test]
fn comments_strings_and_generics_do_not_count() {
    let text = r##"
        /* struct A { a: u8 } /* nested */ */
        // Instant::now
        pub struct Large<'a, T: Fn(u8) -> Vec<u8>> where T: Clone {
            /// one: two,
            #[serde(default = "x: y")]
            pub(super) one: BTreeMap<u8, Result<&'a str, String>>, two: (u8, [u8; 2]), // three: u8,
            r#type: fn(a: u8, b: u8) -> T,
        }
        struct Unit;
        struct Tuple(u8, u8);
        const QUOTE: char = '"';
        const RAW: &str = r#"impl Large { "Instant::now" }"#;
        impl<'a, T: Fn(u8) -> Vec<u8>> Large<'a, T> { fn a() -> Result<(), Vec<String>> {} }
        impl Display for Large {}
        fn b() -> Result<Vec<(u8, String)>, String> { "Result<(), String>" }
        #[cfg(test)]
        mod tests { struct InTests { a: u8 } fn c() -> Result<(), String> { Instant::now() } }
        fn d() {}
    "##;
    let code = without_tests(&without_comments(text));
    assert!(!code.contains("Instant") && code.contains("fn d"), "{code}");
    assert_eq!(structs(&code), [("Large".to_owned(), 3)]);
    assert_eq!(inherent_impls(&code).collect::<Vec<_>>(), ["Large"]);
    assert_eq!(definitions(&code).collect::<Vec<_>>(), ["Large", "Unit", "Tuple"]);
    assert_eq!(string_errors(&code), 2);
}

/// Everything over `most` is exempt, and the tables of exemptions name nothing else.
fn hold(what: What, counted: &BTreeMap<String, usize>, most: usize, exempt: &[(String, &str)]) {
    let found = |name: &str| counted.get(name).copied().unwrap_or_default();
    for (name, count) in counted.iter().filter(|(_, count)| **count > most) {
        let is_exempt = exempt.iter().any(|(exempt, _)| exempt == name);
        assert!(is_exempt, "{what:?} of {name}: {count}, and at most {most} are allowed");
    }
    for (name, reason) in exempt {
        assert!(found(name) > most, "{what:?} of {name} ({reason}): no exemption is needed");
    }
}

struct Source {
    krate: String,
    /// Below `crates`.
    path: String,
    /// Without comments, contents of strings, and tests.
    code: String,
}

fn sources() -> Vec<Source> {
    let crates = workspace().join("crates");
    let mut sources = Vec::new();
    for krate in crate_names() {
        let mut paths = Vec::new();
        collect(&crates.join(&krate).join("src"), &mut paths);
        for path in paths {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned();
            let code = without_tests(&without_comments(&text));
            sources.push(Source { krate: krate.clone(), path, code });
        }
    }
    assert!(sources.len() > 300, "only {} sources were read", sources.len());
    sources
}

/// Comments become nothing, strings and characters empty ones.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = code.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if first == '"' {
            string(rest)
        } else if first == 'r' && !in_word {
            raw_string(rest)
        } else if first == '\'' {
            character(rest)
        } else {
            0
        };
        if skipped > 0 {
            let is_text = !rest.starts_with('/');
            code.push_str(if is_text { "\"\"" } else { "" });
            rest = &rest[skipped..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

fn block_comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        let (step, change) = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        (at, depth) = (at + step, depth + change);
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// 0 where it is none, as in `r#type`.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let start = hashes + 2;
    text[start..].find(&end).map_or(text.len(), |at| start + at + end.len())
}

/// 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(0, |at| 3 + at + 1),
        Some(_) => chars.next().filter(|(_, last)| *last == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

/// Without each item that has the attribute `#[cfg(test)]`.
fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some((before, item)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        let body = item.find(['{', ';']).unwrap_or(item.len());
        let end = if item[body..].starts_with('{') { closing(&item[body..]) } else { 1 };
        rest = item.get(body + end..).unwrap_or_default();
    }
    kept + rest
}

/// The length of a block in braces.
fn closing(block: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in block.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    block.len()
}

/// Structs with named fields, and how many those are.
fn structs(code: &str) -> Vec<(String, usize)> {
    let body = |rest: &str| {
        // Bounds may hold brackets, as in `Fn(u8) -> Vec<u8>`.
        let (mut depth, mut last) = (0, ' ');
        for (at, now) in rest.char_indices() {
            match now {
                '{' | ';' if depth == 0 => return (now == '{').then_some(at),
                '(' | '[' | '<' => depth += 1,
                '>' if last == '-' || last == '=' => {}
                ')' | ']' | '>' => depth -= 1,
                _ => {}
            }
            last = now;
        }
        None
    };
    let count = |(name, rest): (String, &str)| Some((name, fields(&rest[body(rest)?..])));
    items(code, &["struct"]).into_iter().filter_map(count).collect()
}

/// Fields in a block in braces: one for each `:` outside of any bracket.
fn fields(block: &str) -> usize {
    let inner = &block[1..closing(block) - 1];
    let (mut depth, mut count, mut last) = (0, 0, ' ');
    let mut chars = inner.chars().peekable();
    while let Some(now) = chars.next() {
        match now {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if last == '-' || last == '=' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ':' if depth == 0 && last != ':' && chars.peek() != Some(&':') => count += 1,
            _ => {}
        }
        last = now;
    }
    count
}

/// The names of types that have an `impl` without a trait, in their order.
fn inherent_impls(code: &str) -> impl Iterator<Item = String> {
    let blocks = code.lines().filter_map(|line| line.trim().strip_prefix("impl"));
    blocks.filter_map(|head| {
        let rest = if head.starts_with('<') { &head[generics(head)..] } else { head };
        let rest = rest.strip_prefix(' ')?;
        let name: String =
            rest.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
        let after = &rest[name.len()..];
        let after = if after.starts_with('<') { &after[generics(after)..] } else { after };
        let is_trait = after.starts_with(" for ") || after.starts_with("::");
        (!name.is_empty() && !is_trait).then_some(name)
    })
}

/// The length of a list in angle brackets.
fn generics(text: &str) -> usize {
    let (mut depth, mut last) = (0, ' ');
    for (at, now) in text.char_indices() {
        match now {
            '<' => depth += 1,
            '>' if last != '-' && last != '=' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
        last = now;
    }
    text.len()
}

/// Types, and aliases of those of other modules.
fn definitions(code: &str) -> impl Iterator<Item = String> {
    items(code, &["struct", "enum", "type"]).into_iter().map(|(name, _)| name)
}

/// Items of these kinds: their names, and what follows them.
fn items<'a>(code: &'a str, kinds: &[&str]) -> Vec<(String, &'a str)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        let mut words = line.split_whitespace();
        let mut word = words.next().unwrap_or_default();
        if word.starts_with("pub") {
            word = words.next().unwrap_or_default();
        }
        if kinds.contains(&word)
            && let Some(next) = words.next()
        {
            let is_name = |it: &char| it.is_alphanumeric() || *it == '_';
            let name: String = next.chars().take_while(is_name).collect();
            let at = start + line.find(&format!("{word} {name}")).unwrap_or_default();
            found.push((name.clone(), &code[at + word.len() + 1 + name.len()..]));
        }
        start += line.len();
    }
    found
}

/// How many times `Result<_, String>` is written.
fn string_errors(code: &str) -> usize {
    let of_string = |(at, _): &(usize, &str)| {
        let list = &code[at + "Result".len()..];
        let list = &list[1..generics(list) - 1];
        list.rsplit_once(',').is_some_and(|(first, last)| {
            let depth = first.matches('<').count() as i64 - first.matches('>').count() as i64
                + first.matches("->").count() as i64;
            depth == 0 && last.trim() == "String"
        })
    };
    code.match_indices("Result<").filter(of_string).count()
}

/// Crates of the workspace in `[dependencies]` and those of a target; those of tests do not count.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut counts = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = line == "[dependencies]"
                || line.starts_with("[target.") && line.ends_with(".dependencies]");
        } else if let Some(name) = line.strip_prefix("bergamot-").filter(|_| counts) {
            let is_name = |it: &char| it.is_alphanumeric() || *it == '_' || *it == '-';
            found.push(name.chars().take_while(is_name).collect());
        }
    }
    found
}

fn crate_names() -> Vec<String> {
    let entries = fs::read_dir(workspace().join("crates")).unwrap();
    let entries = entries.map(|entry| entry.unwrap());
    let crates = entries.filter(|entry| entry.path().join("Cargo.toml").exists());
    let mut names: Vec<_> = crates.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lie in the workspace").to_owned()
}

const CLOCK_WORDS: [&str; 4] = ["Instant::now", "SystemTime", "Utc::now", "Local::now"];
