//! `servers.*`: news servers and what was downloaded from each.

use std::time::Duration;

use bergamot_api::Control;
use bergamot_api::request::{Certificates, NewServer, ServerProbe};
use bergamot_types::{Secret, ServerId};
use serde::Deserialize;

use crate::access::Access;
use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::native::Nothing;

pub(crate) async fn list<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.servers().await?)
}

pub(crate) async fn volumes<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Nothing {} = call.named()?;
    call.answer(&call.control.volumes().await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    server: u16,
    active: bool,
}

pub(crate) async fn switch<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Switch { server, active } = call.named()?;
    call.control.switch_servers(vec![(ServerId(server), active)]).await?;
    call.answer(&())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reset {
    server: Option<u16>,
    #[serde(default)]
    only_custom: bool,
}

pub(crate) async fn reset<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Reset { server, only_custom } = call.named()?;
    call.control.reset_volumes(server.map(ServerId), only_custom).await?;
    call.answer(&())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    name: String,
    host: String,
    port: Option<u16>,
    username: Option<String>,
    password: Option<String>,
    encryption: Option<String>,
    connections: Option<u16>,
    level: Option<u32>,
    optional: Option<bool>,
    retention: Option<u32>,
}

pub(crate) async fn add<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let add: Add = call.named()?;
    let server = NewServer {
        name: bounds::name(&add.name)?,
        host: bounds::host(&add.host)?,
        port: add.port,
        username: add.username,
        password: add.password.map(Secret::new),
        encryption: add.encryption,
        connections: add.connections,
        level: add.level,
        optional: add.optional,
        retention: add.retention,
    };
    call.control.add_server(server).await?;
    call.answer(&())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Remove {
    name: String,
}

pub(crate) async fn remove<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Remove { name } = call.named()?;
    call.control.remove_server(name).await?;
    call.answer(&())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    server: u16,
}

pub(crate) async fn check<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Check { server } = call.named()?;
    call.control.check_server(ServerId(server)).await?;
    call.answer(&())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    host: String,
    port: Option<u16>,
    #[serde(default = "yes")]
    tls: bool,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    seconds: Option<u64>,
    certificates: Option<Checking>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Checking {
    Unchecked,
    WithoutName,
    Strict,
}

pub(crate) async fn test<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let Test { host, port, tls, username, password, seconds, certificates } = call.named()?;
    let probe = ServerProbe {
        host: bounds::host(&host)?,
        port: port.unwrap_or(if tls { 563 } else { 119 }),
        tls,
        username,
        password: Secret::new(password),
        timeout: bounds::probe_time(seconds.map(Duration::from_secs)),
        certificates: match certificates {
            Some(Checking::Unchecked) => Certificates::Unchecked,
            Some(Checking::WithoutName) => Certificates::WithoutName,
            Some(Checking::Strict) | None => Certificates::Strict,
        },
        may_be_private: call.caller.access == Access::Control,
    };
    call.control.test_server(probe).await?;
    call.answer(&())
}

fn yes() -> bool {
    true
}
