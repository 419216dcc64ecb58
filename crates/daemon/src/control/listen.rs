//! [`open`]: opens the control socket and the HTTP port, before the main loop runs.

use std::sync::Arc;

use anyhow::Context;
use bergamot_rpc::{Access, Hub, Server, Settings, StartError, Token, User};
use bergamot_types::Secret;
use tracing::{info, warn};

use crate::control::handle::Handle;
use crate::service_manager;
use bergamot_config as config;
use bergamot_config::control_socket as socket;
use bergamot_config::{Config, Socket};

/// Opens the socket and the port that are configured.
pub(crate) async fn open(config: &Config, handle: &Handle, hub: &Hub) -> anyhow::Result<Server> {
    let metrics = config.metrics.clone();
    let settings = Settings { socket: None, metrics, ..settings(&config.control) };
    let handle = Arc::new(handle.clone());
    let doors = service_manager::inherited(|name| std::env::var(name).ok());
    if doors.control.is_some() || !doors.http.is_empty() {
        let socket = match &config.control.socket {
            Socket::At(path) => Some(path.clone()),
            Socket::None | Socket::Usual => None,
        };
        let settings = Settings { socket, ..settings };
        let server = Server::start_with(settings, doors, handle, hub.clone()).await?;
        return Ok(told(server));
    }
    let start = |socket| {
        let settings = Settings { socket, ..settings.clone() };
        Server::start(settings, handle.clone(), hub.clone())
    };
    let server = match &config.control.socket {
        Socket::At(path) => start(Some(path.clone())).await?,
        Socket::None => start(None).await?,
        Socket::Usual => {
            let state = config.directories.state.as_path();
            let places = socket::usual(|name| std::env::var(name).ok(), Some(state));
            let mut opened = None;
            for place in places {
                match start(Some(place)).await {
                    Ok(server) => {
                        opened = Some(server);
                        break;
                    }
                    Err(error) if is_about_the_socket(&error) => warn!("{error}"),
                    Err(error) => return Err(error).context("cannot be controlled"),
                }
            }
            match opened {
                Some(server) => server,
                None => start(None).await?,
            }
        }
    };
    Ok(told(server))
}

fn told(server: Server) -> Server {
    let addresses: Vec<_> = server.addresses().iter().map(ToString::to_string).collect();
    let http = (!addresses.is_empty()).then(|| addresses.join(", "));
    let socket = server.socket().map(tracing::field::debug);
    match http.is_none() && socket.is_none() {
        true => info!("not listening: neither a control socket nor an HTTP address is configured"),
        false => info!(http, socket, "listening"),
    }
    server
}

/// There may be another place for it.
fn is_about_the_socket(error: &StartError) -> bool {
    matches!(
        error,
        StartError::InUse(_)
            | StartError::NotASocket(_)
            | StartError::PathTooLong { .. }
            | StartError::Socket { .. }
    )
}

fn settings(control: &config::Control) -> Settings {
    let users = [
        (&control.full, Access::Control),
        (&control.restricted, Access::Restricted),
        (&control.add, Access::Add),
    ];
    let user = |(access, level): (&config::Access, Access)| {
        Some(User {
            name: access.username.as_ref().map_or(String::new(), |name| name.reveal().to_owned()),
            password: access.password.clone()?,
            access: level,
        })
    };
    let keys = [(&control.api_key, Access::Control), (&control.nzb_key, Access::Add)];
    let token = |(key, access): (&Option<Secret>, Access)| {
        key.clone().map(|secret| Token { secret, access })
    };
    Settings {
        socket: None,
        socket_group: control.socket_group,
        listen: control.address.into_iter().collect(),
        users: users.into_iter().filter_map(user).collect(),
        tokens: keys.into_iter().filter_map(token).collect(),
        allowed_hosts: control.allowed_hosts.clone(),
        allowed_origins: control.allowed_origins.clone(),
        ..Settings::default()
    }
}
