//! Handlers that control the daemon as a whole: pauses, the rate limit, servers, reload and shutdown.

use std::time::Duration;

use bergamot_api::Control;
use bergamot_api::request::{Certificates, Part, Pause, ServerProbe};
use bergamot_types::{ByteRate, Secret, ServerId};

use crate::access::Access;
use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;

pub(crate) async fn pause_download<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    pause(call, Part::Download).await
}

pub(crate) async fn pause_post<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    pause(call, Part::Post).await
}

pub(crate) async fn pause_scan<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    pause(call, Part::Scan).await
}

async fn pause<C: Control>(call: Call<'_, C>, part: Part) -> Result<Reply, Fault> {
    let author = call.caller.name.clone();
    call.control.pause(Pause { parts: vec![part], lasting: None, author }).await?;
    call.done()
}

pub(crate) async fn resume_download<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    resume(call, Part::Download).await
}

pub(crate) async fn resume_post<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    resume(call, Part::Post).await
}

pub(crate) async fn resume_scan<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    resume(call, Part::Scan).await
}

async fn resume<C: Control>(call: Call<'_, C>, part: Part) -> Result<Reply, Fault> {
    call.control.resume(vec![part]).await?;
    call.done()
}

/// Sets an end for every pause set by a user; pauses of the timetable, the quota or a disk stay.
pub(crate) async fn schedule_resume<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let seconds = call.arguments()?.integer("Seconds")?;
    let seconds = u64::try_from(seconds).map_err(|_| Fault::parameter("Seconds is negative"))?;
    call.control.resume_in(Duration::from_secs(seconds)).await?;
    call.done()
}

pub(crate) async fn rate<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let kibibytes = call.arguments()?.integer("Limit")?;
    let rate = u64::try_from(kibibytes).map_err(|_| Fault::parameter("Limit is negative"))?;
    let rate = ByteRate(rate.saturating_mul(1024));
    call.control.limit(Some(rate).filter(|rate| rate.0 > 0)).await?;
    call.done()
}

pub(crate) async fn edit_server<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let mut switches = Vec::new();
    while !arguments.is_empty() {
        let id = u16::try_from(arguments.integer("ID")?);
        let id = id.map_err(|_| Fault::parameter("ID is not the id of a server"))?;
        switches.push((ServerId(id), arguments.bool("Active")?));
    }
    if switches.is_empty() {
        return Err(Fault::parameter("ID is missing"));
    }
    call.control.switch_servers(switches).await?;
    call.done()
}

/// What went wrong is the result, not an error.
pub(crate) async fn test_server<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let host = bounds::host(&arguments.text("Host")?)?;
    let port = u16::try_from(arguments.integer("Port")?);
    let username = arguments.text("Username")?.into_owned();
    let password = Secret::new(arguments.text("Password")?.into_owned());
    let tls = arguments.bool("Encryption")?;
    let _cipher = arguments.optional_text();
    let seconds = arguments.integer_or("Timeout", 0)?;
    let certificates = match arguments.integer_or("CertLevel", 2)? {
        0 => Certificates::Unchecked,
        1 => Certificates::WithoutName,
        _ => Certificates::Strict,
    };
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    let probe = ServerProbe {
        host,
        port: port.map_err(|_| Fault::parameter("Port is not a port number"))?,
        tls,
        username,
        password,
        timeout: bounds::probe_time(seconds.map(Duration::from_secs)),
        certificates,
        may_be_private: call.caller.access == Access::Control,
    };
    match call.control.test_server(probe).await {
        Ok(()) => call.answer(&""),
        Err(refusal) => call.answer(&refusal.to_string()),
    }
}

pub(crate) async fn scan<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.control.scan().await?;
    call.done()
}

pub(crate) async fn reload<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.control.reload().await?;
    call.done()
}

pub(crate) async fn shutdown<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.control.shut_down().await?;
    call.done()
}
