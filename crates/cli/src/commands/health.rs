//! `health`: checks whether the daemon can work, for service managers that restart it otherwise.

use std::io::Write;

use bergamot_types::Shown;
use serde_json::json;

use crate::arguments::Options;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places;

/// Checks that the loop answers and that the state can be written. No other disk is touched: a hanging share
/// is no reason to restart the daemon. No login is needed, so none is sent.
pub(crate) fn health(options: Options) -> Result<(), Failure> {
    let (json, quiet) = (options.json, options.quiet);
    let (mut client, _) = places(options)?.and_port_without_login().reach()?;
    let ready = client.readiness()?;
    let text = Shown(&ready.text).to_string();
    let page = match (json, ready.is_ready) {
        (true, is_ready) => format!("{}\n", json!({ "ready": is_ready, "told": text })),
        (false, true) => format!("The daemon runs and answers: {text}.\n"),
        (false, false) => format!("The daemon runs and is {text}.\n"),
    };
    if !quiet {
        // A closed pipe is no error.
        let _ = std::io::stdout().write_all(page.as_bytes());
    }
    match ready.is_ready {
        true => Ok(()),
        false => Err(Failure::ImportOutput(Exit::Other)),
    }
}
