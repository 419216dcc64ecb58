//! Names, addresses, logins and round trips.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use bergamot_net::{BufferPool, Connection, Credit, Encryption, Report, Server, ServerSettings};
use bergamot_types::MessageId;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Finding;
use crate::clock;
use crate::config::Config;

pub(super) fn examine(config: &Config) -> anyhow::Result<Vec<Finding>> {
    if config.servers.is_empty() {
        let remedy = "Add one: bergamot server add.";
        return Ok(vec![Finding::warning("servers", "there are none", remedy)]);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut findings = Vec::new();
    for ((_, settings), server) in config.server_settings().into_iter().zip(&config.servers) {
        let about = format!("server {}", settings.name);
        if !server.active {
            findings.push(Finding::good(about, "is switched off"));
            continue;
        }
        findings.extend(of_name(&about, &settings));
        findings.push(runtime.block_on(of_login(about, settings, server.role.connections)));
    }
    // A name look-up that hangs must not hold up the end.
    runtime.shutdown_background();
    Ok(findings)
}

fn of_name(about: &str, settings: &ServerSettings) -> Vec<Finding> {
    let host = settings.host.trim_matches(['[', ']']);
    let addresses: Vec<SocketAddr> = match (host, settings.port).to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => {
            let remedy = "Check the spelling of the host and the DNS of this machine or container.";
            return vec![Finding::problem(about, format!("no address: {error}"), remedy)];
        }
    };
    let (six, four): (Vec<_>, Vec<_>) = addresses.into_iter().partition(SocketAddr::is_ipv6);
    let mut findings =
        vec![Finding::good(about, format!("{} IPv4, {} IPv6 addresses", four.len(), six.len()))];
    if let Some(Err(error)) = six.first().map(|at| TcpStream::connect_timeout(at, DIAL_PATIENCE)) {
        findings.push(Finding::warning(
            about,
            format!("cannot be reached over IPv6: {error}"),
            "Set ip_version = \"ipv4\" for it, or repair IPv6; until then IPv4 is used a moment later.",
        ));
    }
    findings
}

async fn of_login(about: String, settings: ServerSettings, configured: u16) -> Finding {
    let encryption = match settings.encryption {
        Encryption::None => "without encryption",
        Encryption::StartTls => "with STARTTLS",
        Encryption::Tls => "with TLS",
    };
    let is_plain = settings.encryption == Encryption::None;
    let has_login = settings.conversation.login.is_some();
    match round_trip(settings).await {
        Err(why) => Finding::problem(
            about,
            why,
            "Check host, port, encryption, username and password; `bergamot server test` tries again.",
        ),
        Ok(time) => {
            let Proposal { connections, depth } = proposal(time);
            let fact = format!(
                "answers {encryption}{}; {:.1} ms there and back; {connections} connections with \
                 {depth} articles asked for ahead fill 1 Gbit/s ({configured} are configured)",
                if has_login { " and accepts the login" } else { "" },
                time.as_secs_f64() * 1000.0,
            );
            match is_plain && has_login {
                true => Finding::warning(
                    about,
                    fact,
                    "Use TLS: the password goes over the net in clear.",
                ),
                false => Finding::good(about, fact),
            }
        }
    }
}

/// The least of a few questions about an article that nobody has.
async fn round_trip(settings: ServerSettings) -> Result<Duration, String> {
    let server = Server::new(settings).map_err(|error| error.to_string())?;
    let (sender, mut reports) = mpsc::unbounded_channel();
    let mut connection = Connection::start(Arc::new(server), BufferPool::new(0), move |report| {
        // Whoever asked may have given up meanwhile.
        let _ = sender.send(report);
    });
    connection.lend(Credit::Unlimited);
    let (mut best, mut asked, mut answers) = (None, clock::now().instant, 0);
    while answers < QUESTIONS {
        match timeout(PATIENCE, reports.recv()).await {
            Err(_) => return Err(format!("no answer within {PATIENCE:?}")),
            Ok(Some(Report::Ended { why, .. })) => return Err(why.to_string()),
            Ok(None) => return Err("the connection ended".to_owned()),
            Ok(Some(Report::Ready)) => {}
            Ok(Some(Report::Missing { .. } | Report::Present { .. } | Report::Refused { .. })) => {
                let time = clock::now().instant.saturating_duration_since(asked);
                best = Some(best.map_or(time, |best: Duration| best.min(time)));
                answers += 1;
            }
            Ok(Some(_)) => continue, // of what it may read
        }
        asked = clock::now().instant;
        let nobody = MessageId::parse("doctor@bergamot.invalid").expect("it is well formed");
        connection.stat(answers, nobody);
    }
    connection.hang_up();
    best.ok_or_else(|| "the server said nothing".to_owned())
}

#[derive(Debug, Eq, PartialEq)]
struct Proposal {
    connections: u64,
    depth: u64,
}

/// A connection brings what its window holds in each round trip, and no more than a thread decodes;
/// so many fill the line, and each has to have that much asked for ahead.
fn proposal(round_trip: Duration) -> Proposal {
    let micros = round_trip.as_micros().min(u128::from(u32::MAX)) as u64;
    let in_flight = LINE / 1_000_000 * micros;
    let connections = in_flight.div_ceil(WINDOW).clamp(FEWEST, MOST);
    let depth = (in_flight / connections).div_ceil(ARTICLE) + 1;
    Proposal { connections, depth: depth.clamp(2, DEEPEST) }
}

/// 1 Gbit/s, in bytes a second.
const LINE: u64 = 125_000_000;
/// What Linux lets a socket read ahead by itself, about.
const WINDOW: u64 = 3 << 20;
const ARTICLE: u64 = 750_000;
const FEWEST: u64 = 4;
const MOST: u64 = 50;
const DEEPEST: u64 = 128;

const QUESTIONS: u64 = 3;
const PATIENCE: Duration = Duration::from_secs(20);
const DIAL_PATIENCE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_far_away_needs_more() {
        for (millis, connections, depth) in [(1, 4, 2), (20, 4, 2), (100, 4, 6), (300, 12, 6)] {
            let proposed = proposal(Duration::from_millis(millis));
            assert_eq!(proposed, Proposal { connections, depth }, "{millis} ms");
        }
        assert!(proposal(Duration::MAX).connections <= MOST);
    }
}
