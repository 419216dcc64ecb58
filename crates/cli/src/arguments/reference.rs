//! Generates `docs/cli.md` from the definitions of the commands; runs as a test.

use std::fmt::Write;
use std::path::Path;

use clap::CommandFactory;

use crate::arguments::program::Arguments;
use crate::exit::MEANINGS;

fn reference() -> String {
    let mut program = Arguments::command().term_width(WIDTH);
    program.build();
    let mut page = format!("{HEAD}```text\n{}\n```\n{CODES}", help_of(&program));
    for (code, meaning) in MEANINGS {
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page.push_str("\n## Commands\n");
    let program = program.mut_args(|argument| argument.hide(true));
    program.get_subcommands().for_each(|command| describe(&mut page, command));
    page
}

/// Commands within commands come after their own.
fn describe(page: &mut String, command: &clap::Command) {
    if command.get_name() == "help" {
        return;
    }
    let command = command.clone().mut_args(|argument| {
        let is_common = argument.is_global_set() || argument.get_id() == "help";
        argument.hide(is_common)
    });
    let name = command.get_bin_name().unwrap_or_default();
    let _ = write!(page, "\n### `{name}`\n\n```text\n{}\n```\n", help_of(&command));
    command.get_subcommands().for_each(|command| describe(page, command));
}

fn help_of(command: &clap::Command) -> String {
    let help = command.clone().term_width(WIDTH).render_long_help().to_string();
    let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[test]
fn the_reference_is_that_of_the_definitions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let wanted = reference();
    if std::env::var_os("BERGAMOT_BLESS").is_some() {
        std::fs::write(&path, &wanted).expect("the documents can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/cli.md is old; BERGAMOT_BLESS=1 cargo test -p bergamot-cli");
}

const WIDTH: usize = 100;

const HEAD: &str = "# The command line

One program is both the daemon (`bergamot run`) and its client. The commands use the control socket, or HTTP
with `-H`. This page is generated from their definitions.

- **The address of the daemon** is `-H`, else the socket in the configuration given with `-c`, else
  `BERGAMOT_HOST`, else the socket in the configuration that `BERGAMOT_CONFIG` names, else `BERGAMOT_SOCKET`,
  else that of `bergamot.toml` in the current directory, else `/run/bergamot/bergamot.sock` or
  `$XDG_RUNTIME_DIR/bergamot.sock`.
- **`--json`** prints the daemon's answer unchanged, as [rpc.md](rpc.md) describes it: indented on a terminal,
  on one line otherwise. `watch` and `log -f` print a line for each event or log line, `add` and `wait` one
  for each job.
- **`-q`** prints ids only: `bergamot list -q | xargs bergamot pause`.
- Colours appear on terminals only, and never if `NO_COLOR` is set. Control characters in names and messages
  are escaped.
- Jobs are given by their numbers, the first column of `list` and `history`.

";

const CODES: &str = "
## Exit codes

| code | |
|---|---|
";
