//! [`skip`]: how a test says that it cannot run on this machine.

use std::io::Write;

/// Says why a test shows nothing, past the harness, which keeps what tests print to itself.
///
/// # Panics
/// Where `BERGAMOT_SKIP` is `never`, as in `./check` on a machine that permits everything: all that tests
/// need is installed there, so what is left out is a failure. `tests/skip` is the same for scripts.
pub fn skip(why: &str) {
    let is_forbidden = std::env::var_os("BERGAMOT_SKIP").is_some_and(|value| value == "never");
    assert!(!is_forbidden, "this must not be skipped: {why}");
    let test = std::thread::current();
    // Who cannot be told is not the test's concern.
    let _ = writeln!(std::io::stderr(), "skipped: {}: {why}", test.name().unwrap_or("main"));
}
