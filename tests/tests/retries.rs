//! `docs/retries.md` names every retry rule with its constant: each is in its file with that value.

use std::fs;
use std::path::{Path, PathBuf};

struct Rule {
    constant: String,
    file: String,
    value: String,
}

#[test]
fn every_constant_of_the_table_has_its_value() {
    let text = fs::read_to_string(workspace().join("docs/retries.md")).expect("the table");
    let rules: Vec<_> = text.lines().filter_map(rule).collect();
    assert!(rules.len() >= 20, "only {} rules were read", rules.len());
    for Rule { constant, file, value } in rules {
        let source = fs::read_to_string(workspace().join(&file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let found = values(&source, &constant);
        assert_eq!(found, [value], "{constant} in {file}");
    }
}

/// A row of a table whose first three columns are code.
fn rule(line: &str) -> Option<Rule> {
    let mut columns = line.strip_prefix('|')?.split('|').map(str::trim);
    let mut code = || columns.next()?.strip_prefix('`')?.strip_suffix('`').map(str::to_owned);
    Some(Rule { constant: code()?, file: code()?, value: code()? })
}

/// What the source gives to a constant, or to the default of a setting.
fn values(source: &str, name: &str) -> Vec<String> {
    let constant = format!("const {name}: ");
    let setting = format!("{name}: ");
    let value = |line: &str| {
        let line = line.trim();
        if let Some((_, rest)) = line.split_once(&constant) {
            return rest.split_once("= ")?.1.strip_suffix(';').map(str::to_owned);
        }
        let value = line.strip_prefix(&setting)?.strip_suffix(',')?;
        value.starts_with(|first: char| first.is_ascii_digit()).then(|| value.to_owned())
    };
    source.lines().filter_map(value).collect()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lie in the workspace").to_owned()
}
