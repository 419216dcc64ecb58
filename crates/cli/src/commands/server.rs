//! `server`: shows, adds, tests and removes news servers.

use std::path::Path;

use anyhow::Context;
use bergamot_types::Shown;
use serde_json::{Value, json};

use crate::arguments::{AddServer, ServerCommand, TestServer};
use crate::client::response::{Server, read};
use crate::client::session::{Form, Session};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::columns::{Cell, Columns, flexible, left, right};
use crate::terminal::format;
use crate::terminal::style::{Style, Tint};

pub(crate) fn server(session: &mut Session, command: &ServerCommand) -> Result<(), Failure> {
    match command {
        ServerCommand::Add(new) => add(session, new),
        ServerCommand::List => list(session),
        ServerCommand::Rm { name } => {
            let answer = session.ask("servers.remove", json!({ "name": name }))?;
            session.out.answer(&answer, |_| Ok(format!("{} is removed.\n", Shown(name))))
        }
        ServerCommand::Test(wanted) => test(session, wanted),
    }
}

fn list(session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask("servers.list", json!({}))?;
    let servers: Vec<Server> = read(&answer)?;
    if session.out.form == Form::Quiet {
        let ids: String = servers.iter().map(|server| format!("{}\n", server.id)).collect();
        return session.out.text(&ids);
    }
    session.out.answer(&answer, |style| Ok(page(&servers, style)))
}

fn test(session: &mut Session, wanted: &TestServer) -> Result<(), Failure> {
    let TestServer { server, port, plain, username, password_file } = wanted;
    let servers: Vec<Server> = read(&session.ask("servers.list", json!({}))?)?;
    let known = servers.iter().find(|known| known.name == *server || known.host == *server);
    // Only the daemon has its login.
    if let (Some(known), None, None, false) = (known, port, username, plain) {
        let answer = session.ask("servers.check", json!({ "server": known.id }))?;
        return session.out.answer(&answer, |_| {
            // The daemon does not show whether it has one.
            Ok(format!("{} answers and is ready for requests.\n", Shown(&known.name)))
        });
    }
    let mut probe = probe_of(server, known);
    if let Some(port) = port {
        probe["port"] = json!(port);
    }
    if *plain {
        probe["tls"] = json!(false);
    }
    if let (Some(name), Some(file)) = (username, password_file) {
        probe["username"] = json!(name);
        probe["password"] = json!(password_in(file)?);
    }
    try_out(session, probe, username.is_some())
}

/// What is added stays, even if it cannot be reached just now.
fn add(session: &mut Session, new: &AddServer) -> Result<(), Failure> {
    let mut server = json!({ "name": new.name, "host": new.host });
    let password = match (&new.password_file, new.password_stdin) {
        (Some(file), _) => Some(password_in(file)?),
        (None, true) => Some(password_from_input()?),
        (None, false) => None,
    };
    for (key, value) in [
        ("port", json!(new.port)),
        ("encryption", json!(new.encryption)),
        ("username", json!(new.username)),
        ("password", json!(password)),
        ("connections", json!(new.connections)),
        ("level", json!(new.level)),
        ("optional", json!(new.optional.then_some(true))),
        ("retention", json!(new.retention)),
    ] {
        if !value.is_null() {
            server[key] = value;
        }
    }
    let answer = session.ask("servers.add", server)?;
    let name = Shown(&new.name);
    if new.unchecked || session.out.form != Form::Page {
        return session.out.answer(&answer, |_| Ok(format!("{name} is added.\n")));
    }
    let servers: Vec<Server> = read(&session.ask("servers.list", json!({}))?)?;
    let id = servers.iter().find(|known| known.name == new.name).map(|known| known.id);
    let checked = session.ask("servers.check", json!({ "server": id }));
    let accepted = match new.username.is_some() {
        true => "it answers and accepts the login",
        false => "it answers, and no login was tried",
    };
    match checked {
        Ok(_) => session.out.text(&format!("{name} is added; {accepted}.\n")),
        Err(error) => {
            session.out.text(&format!("{name} is added, but does not work now: {error}\n"))?;
            // It may be reached later, but will not be given a login by itself.
            match error.exit() {
                exit @ Exit::NotAllowed => Err(Failure::ImportOutput(exit)),
                _ => Ok(()),
            }
        }
    }
}

/// The settings of the server of that name, as far as the daemon shows them; it does not show passwords. For
/// a host no login is sent, because it might be sent in plain text.
fn probe_of(server: &str, known: Option<&Server>) -> Value {
    match known.filter(|known| known.name == server) {
        Some(known) => json!({ "host": known.host, "port": known.port, "tls": known.tls }),
        None => json!({ "host": server }),
    }
}

fn password_in(file: &Path) -> anyhow::Result<String> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Its first line, so that it can be typed as well.
fn password_from_input() -> anyhow::Result<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read the password")?;
    let password = line.trim_end_matches(['\r', '\n']);
    anyhow::ensure!(!password.is_empty(), "there is no password on standard input");
    Ok(password.to_owned())
}

fn try_out(session: &mut Session, probe: Value, logs_in: bool) -> Result<(), Failure> {
    let host = probe["host"].as_str().unwrap_or_default().to_owned();
    let answer = session.ask("servers.test", probe)?;
    let how = if logs_in { "and accepts the login" } else { "(no login was tried)" };
    session.out.answer(&answer, |_| Ok(format!("{} answers {how}.\n", Shown(&host))))
}

fn page(servers: &[Server], style: Style) -> String {
    if servers.is_empty() {
        return "There are no servers.\n".to_owned();
    }
    let heads = [
        right("ID"),
        left("NAME"),
        left("HOST"),
        right("LEVEL"),
        right("CONNECTIONS"),
        right("RATE"),
        right("TOTAL"),
        flexible("STATE"),
    ];
    let mut table = Columns::new(heads);
    for server in servers {
        let lock = if server.tls { "" } else { " (plain)" };
        table.push([
            server.id.to_string().into(),
            Shown(&server.name).to_string().into(),
            format!("{}:{}{lock}", Shown(&server.host), server.port).into(),
            server.level.to_string().into(),
            format!("{} of {}", server.open, server.connections).into(),
            format::rate(server.rate).into(),
            format::size(server.downloaded).into(),
            state(server, style),
        ]);
    }
    table.page(style)
}

fn state(server: &Server, style: Style) -> Cell {
    if !server.active {
        return Cell::tinted(Tint::Faint, "switched off");
    }
    let Some(trouble) = &server.trouble else {
        return match (server.working, server.open) {
            (0, 0) => Cell::tinted(Tint::Faint, "asleep"),
            (0, _) => "idle".into(),
            _ => Cell::tinted(Tint::Good, "busy"),
        };
    };
    let left = server.rests_until.map(|until| until.0.0.saturating_sub(style.now.0));
    let rest = left.and_then(|left| u64::try_from(left).ok()).filter(|left| *left > 0);
    let until = rest.map_or(String::new(), |left| format!(", rests {}", format::span(left)));
    Cell::tinted(Tint::Bad, format!("{}{until}", Shown(trouble)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, trouble: Option<&str>) -> Server {
        let server = json!({
            "id": 1, "name": name, "host": "news.x", "port": 563, "tls": true, "active": true,
            "level": 0, "connections": 20, "open": 8, "working": 5, "rate": 2_000_000,
            "trouble": trouble, "rests_until": trouble.map(|_| "2027-01-15T08:01:30Z"),
            "downloaded": 5_000_000,
        });
        read(&server).unwrap()
    }

    #[test]
    fn servers_say_how_they_do() {
        let mut off = sample("off", None);
        off.active = false;
        let servers = [sample("a", None), sample("b", Some("refused")), off];
        assert_eq!(
            page(&servers, Style::plain(120)),
            "ID  NAME  HOST        LEVEL  CONNECTIONS      RATE   TOTAL  STATE\n \
             1  a     news.x:563      0      8 of 20  2.0 MB/s  5.0 MB  busy\n \
             1  b     news.x:563      0      8 of 20  2.0 MB/s  5.0 MB  refused, rests 1 min 30 s\n \
             1  off   news.x:563      0      8 of 20  2.0 MB/s  5.0 MB  switched off\n"
        );
    }

    #[test]
    fn a_configured_server_is_known_by_its_name() {
        let known = sample("a", None);
        assert_eq!(
            probe_of("a", Some(&known)),
            json!({ "host": "news.x", "port": 563, "tls": true })
        );
        assert_eq!(probe_of("news.y", None), json!({ "host": "news.y" }));
        assert_eq!(
            probe_of("news.x", Some(&known)),
            json!({ "host": "news.x" }),
            "not by its host"
        );
    }
}
