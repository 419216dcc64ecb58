//! `fullstatus` and `warnings`: the state of the daemon as a whole.

use bergamot_api::Control;
use bergamot_api::request::{Lines, LogQuery};
use bergamot_api::view::{Facts, LogKind, Server, Status};
use serde::Serialize;
use serde_json::{Value, json};

use crate::dialect::sabnzbd::format;
use crate::dialect::sabnzbd::mode::{Answer, Call, answer};
use crate::dialect::sabnzbd::queue::Header;

#[derive(Serialize)]
struct Full {
    #[serde(flatten)]
    header: Header,
    uptime: String,
    completedir: String,
    downloaddir: String,
    configfn: String,
    logfile: String,
    loglevel: &'static str,
    cpumodel: &'static str,
    cpusimd: &'static str,
    localipv4: &'static str,
    publicipv4: &'static str,
    ipv6: &'static str,
    dnslookup: &'static str,
    pystone: u32,
    downloaddirspeed: u32,
    completedirspeed: u32,
    internetbandwidth: u32,
    active_socks5_proxy: Option<&'static str>,
    delayed_assembler: u32,
    folders: [&'static str; 0],
    servers: Vec<Value>,
    warnings: Vec<Warning>,
}

#[derive(Serialize)]
struct Warning {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
    time: i64,
    origin: &'static str,
}

/// Values that are not measured are empty, not invented. Only DNS is reported as working without a test:
/// clients take anything else for a broken network, and failures show up at each server.
pub(super) async fn full<C: Control>(call: Call<'_, C>) -> Answer {
    let status = call.control.status().await?;
    let facts = call.control.config().await?.facts;
    let quotas = call.control.quotas().await?;
    let servers = call.control.servers().await?;
    let warnings = lately(call.control, &status).await?;
    let full = Full {
        header: Header::of(&status, &facts, &quotas),
        uptime: uptime(&status),
        completedir: facts.destination.clone(),
        downloaddir: facts.incomplete.clone(),
        configfn: facts.config_file.clone(),
        logfile: facts.log_file.clone(),
        loglevel: "1",
        cpumodel: "",
        cpusimd: "",
        localipv4: "",
        publicipv4: "",
        ipv6: "",
        dnslookup: "OK",
        pystone: 0,
        downloaddirspeed: 0,
        completedirspeed: 0,
        internetbandwidth: 0,
        active_socks5_proxy: None,
        delayed_assembler: 0,
        folders: [],
        servers: servers.iter().map(|server| server_view(server, &facts)).collect(),
        warnings,
    };
    answer(&json!({ "status": full }))
}

fn server_view(server: &Server, facts: &Facts) -> Value {
    let known = facts.servers.iter().find(|known| known.name == server.name);
    json!({
        "servername": server.name,
        "servertotalconn": server.connections,
        "serverssl": i32::from(server.tls),
        "serversslinfo": "",
        "serveractiveconn": server.working,
        "serveroptional": i32::from(known.is_some_and(|known| known.optional)),
        "serveractive": server.active && server.trouble.is_none(),
        "servererror": server.trouble.as_deref().unwrap_or_default(),
        "serverpriority": server.level,
        "serverbps": format::units(server.rate),
        "serverconnections": [],
    })
}

fn uptime(status: &Status) -> String {
    let minutes = status.now.0.saturating_sub(status.started.0).max(0) / 60;
    match (minutes / 1440, minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h {minutes}m"),
        (days, hours, _) => format!("{days}d {hours}h"),
    }
}

pub(super) async fn warnings<C: Control>(call: Call<'_, C>) -> Answer {
    let status = call.control.status().await?;
    answer(&json!({ "warnings": lately(call.control, &status).await? }))
}

/// What is wrong now, and what the log has of warnings and errors.
async fn lately<C: Control>(
    control: &C,
    status: &Status,
) -> Result<Vec<Warning>, bergamot_api::Refusal> {
    let query = LogQuery { job: None, lines: Lines::Last(LINES_LOOKED_AT) };
    let lines = control.log(query).await?.into_iter();
    let lines = lines.filter(|line| line.kind >= LogKind::Warning).map(|line| Warning {
        kind: if line.kind == LogKind::Error { "ERROR" } else { "WARNING" },
        text: line.text,
        time: line.at.0,
        origin: "",
    });
    let standing = status.warnings.iter().map(|text| Warning {
        kind: "WARNING",
        text: text.clone(),
        time: status.now.0,
        origin: "",
    });
    Ok(lines.chain(standing).collect())
}

const LINES_LOOKED_AT: usize = 200;
