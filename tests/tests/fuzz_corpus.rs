//! What fuzzing began with and what it found, played again without it.

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/targets/mod.rs"]
mod targets;

#[test]
fn every_target_bears_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in targets::TARGETS {
        let entries = fs::read_dir(corpus.join(name)).expect("each target has a corpus");
        let mut played = 0;
        for entry in entries.flatten() {
            println!("{name} {}", entry.path().display()); // seen only when it fails
            target(&fs::read(entry.path()).expect("it can be read"));
            played += 1;
        }
        assert!(played > 0, "{name} has something to begin with");
    }
}
