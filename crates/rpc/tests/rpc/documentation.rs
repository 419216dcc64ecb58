//! `docs/rpc.md` says what is so. `BLESS=1` writes its tables anew.

use std::fs;
use std::path::Path;

#[test]
fn the_tables_of_the_documentation_are_those_of_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rpc.md");
    let page = fs::read_to_string(&path).unwrap_or_default();
    let (introduction, tables) = page.split_once(MARK).expect("the page has its mark");
    let expected = format!("\n\n{}", bergamot_rpc::markdown());
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{introduction}{MARK}{expected}")).expect("it can be written");
        return;
    }
    assert_eq!(tables, expected, "BLESS=1 writes it anew");
}

const MARK: &str = "<!-- What follows is generated from the registry of methods. -->";
