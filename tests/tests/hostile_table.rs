//! `tests/hostile.md` has a row for every case of hostile input that a test refers to, and names those tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops here")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Tests by the ids of the rows they refer to.
type References = BTreeMap<String, BTreeSet<String>>;

#[test]
fn every_case_has_its_row_and_every_row_its_tests() {
    let path = workspace().join("tests/hostile.md");
    let text = fs::read_to_string(&path).unwrap();
    let references = references();
    let mut rows = BTreeSet::new();
    let mut written = String::new();
    for line in text.lines() {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        match columns[..] {
            ["", id, sent, outcome, _, ""] if is_id(id) => {
                assert!(rows.insert(id.to_owned()), "{id} has two rows");
                let tests = references.get(id).unwrap_or_else(|| panic!("no test refers to {id}"));
                let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
                let tests = tests.join(", ");
                written.push_str(&format!("| {id} | {sent} | {outcome} | {tests} |\n"));
            }
            _ => written.push_str(&format!("{line}\n")),
        }
    }
    for (id, tests) in &references {
        assert!(rows.contains(id), "{id} has no row; {tests:?} refer to it");
    }
    if std::env::var_os("BERGAMOT_BLESS").is_some() {
        fs::write(&path, &written).unwrap();
    } else {
        assert!(
            text == written,
            "tests/hostile.md is old; BERGAMOT_BLESS=1 writes its last column"
        );
    }
}

fn references() -> References {
    let mut paths = Vec::new();
    collect(&workspace().join("tests/tests"), &mut paths);
    for entry in fs::read_dir(workspace().join("crates")).unwrap() {
        for part in ["src", "tests"] {
            let directory = entry.as_ref().unwrap().path().join(part);
            if directory.is_dir() {
                collect(&directory, &mut paths);
            }
        }
    }
    let mut references = References::new();
    for path in paths {
        let file = path.strip_prefix(workspace()).unwrap().with_extension("");
        let file = file.to_str().unwrap().trim_start_matches("tests/tests/").to_owned();
        refer(&file, &fs::read_to_string(&path).unwrap(), &mut references);
    }
    references
}

/// A comment belongs to the next function; the name of an input to its file.
fn refer(file: &str, source: &str, references: &mut References) {
    let mut add = |id: String, test: String| references.entry(id).or_default().insert(test);
    let mut above = BTreeSet::new();
    for line in source.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("// ").or_else(|| line.strip_prefix("/// ")) {
            above.extend(ids(comment));
        } else if let Some(function) = function(line) {
            above.extend(numbered(function));
            for id in std::mem::take(&mut above) {
                add(id, format!("{file}::{function}"));
            }
        } else if !line.starts_with("//") {
            for input in line.split('"').skip(1).step_by(2).filter(|input| input.len() > 5) {
                // Such as `N-04-laughs`.
                let id = input.get(..4).filter(|id| is_id(id) && input[4..].starts_with('-'));
                if let Some(id) = id {
                    add(id.to_owned(), file.to_owned());
                }
            }
        }
    }
}

fn ids(comment: &str) -> impl Iterator<Item = String> {
    let words = comment.split(|it: char| !it.is_ascii_alphanumeric() && it != '-');
    words.filter(|word| is_id(word)).map(str::to_owned)
}

/// The name of a function without parameters, as tests are.
fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split_once("()").map(|(name, _)| name)
}

/// `p14_a_user_name_may_suffice` shows P-14.
fn numbered(function: &str) -> Option<String> {
    let (head, _) = function.split_once('_')?;
    let (letter, number) = head.split_at_checked(1)?;
    let id = format!("{}-{number}", letter.to_ascii_uppercase());
    is_id(&id).then_some(id)
}

fn is_id(word: &str) -> bool {
    let bytes = word.as_bytes();
    let [letter, b'-', tens, ones] = bytes else { return false };
    AREAS.contains(letter) && tens.is_ascii_digit() && ones.is_ascii_digit()
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            // This file's own examples are none.
            if !path.ends_with("hostile_table.rs") {
                found.push(path);
            }
        }
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lie in the workspace").to_owned()
}

/// NZB, NNTP, TLS, yEnc, files, state, control, watch folder, feeds, load, archives, recovery.
const AREAS: &[u8] = b"NPTYFSCWULAR";
