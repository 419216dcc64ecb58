//! Checks of the news servers: DNS, connections, login, TLS, clock and round trip; async, on the doctor's runtime.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bergamot_config::Config;
use bergamot_net::{
    Encryption, IpVersion, Recall, Server, ServerSettings, Session, SessionError, TlsAgreement,
    TlsSetupError,
};
use bergamot_types::{MessageId, UnixTime};
use chrono::NaiveDateTime;
use thiserror::Error;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::Finding;
use super::machine::spoken_date;
use crate::clock;

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
            findings.push(Finding::good(about, "is not active"));
            continue;
        }
        findings.extend(runtime.block_on(of_server(about, settings, server.role.connections)));
    }
    // A name look-up that hangs must not hold up the end.
    runtime.shutdown_background();
    Ok(findings)
}

/// DNS first, then a connection over each IP version, and only then the login.
async fn of_server(about: String, settings: ServerSettings, configured: u16) -> Vec<Finding> {
    let addresses = match look_up(&settings).await {
        Ok(addresses) => addresses,
        Err(why) => {
            let remedy = "Check the spelling of the host and the DNS of this machine or container.";
            return vec![Finding::problem(format!("{about} (name)"), why.to_string(), remedy)];
        }
    };
    let (six, four): (Vec<_>, Vec<_>) = addresses.into_iter().partition(SocketAddr::is_ipv6);
    let named = format!("IPv4 (A): {}; IPv6 (AAAA): {}", listed(&four), listed(&six));
    let mut findings = vec![Finding::good(format!("{about} (name)"), named)];
    if settings.ip_version != IpVersion::V6 {
        findings.extend(of_way(&about, "IPv4", &four, six.is_empty()).await);
    }
    if settings.ip_version != IpVersion::V4 {
        findings.extend(of_way(&about, "IPv6", &six, four.is_empty()).await);
    }
    findings.extend(of_conversation(about, settings, configured).await);
    findings
}

async fn look_up(settings: &ServerSettings) -> Result<Vec<SocketAddr>, CheckError> {
    let host = settings.host.trim_matches(['[', ']']);
    match timeout(LOOKUP_TIMEOUT, lookup_host((host, settings.port))).await {
        Err(_) => Err(CheckError::LookupTimeout { host: host.to_owned() }),
        Ok(Err(error)) => Err(CheckError::Lookup { host: host.to_owned(), error }),
        Ok(Ok(addresses)) => Ok(addresses.collect()),
    }
}

/// Why a check of a server failed.
#[derive(Debug, Error)]
enum CheckError {
    #[error("no address of {host} within {LOOKUP_TIMEOUT:?}")]
    LookupTimeout { host: String },
    #[error("no address of {host}: {error}")]
    Lookup { host: String, error: std::io::Error },
    #[error("no answer within {TALK_TIMEOUT:?}")]
    Timeout,
    #[error(transparent)]
    Settings(#[from] TlsSetupError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

fn listed(addresses: &[SocketAddr]) -> String {
    let shown = addresses.iter().take(MOST_SHOWN).map(|address| address.ip().to_string());
    let shown: Vec<String> = shown.collect();
    match addresses.len() {
        0 => "none".to_owned(),
        count if count > shown.len() => format!("{}, … ({count})", shown.join(", ")),
        _ => shown.join(", "),
    }
}

/// Whether a connection over one IP version succeeds; nothing is sent over it.
async fn of_way(
    about: &str,
    family: &str,
    addresses: &[SocketAddr],
    is_only: bool,
) -> Option<Finding> {
    let about = format!("{about} ({family})");
    let address = addresses.first()?;
    let begun = clock::now().instant;
    let why = match timeout(DIAL_TIMEOUT, TcpStream::connect(address)).await {
        Err(_) => format!("no answer within {DIAL_TIMEOUT:?}"),
        Ok(Err(error)) => error.to_string(),
        Ok(Ok(_)) => {
            let time = clock::now().instant.saturating_duration_since(begun);
            let fact = format!("connects within {:.1} ms", time.as_secs_f64() * 1000.0);
            return Some(Finding::good(about, fact));
        }
    };
    let fact = format!("cannot be reached at {address}: {why}");
    Some(match is_only {
        true => Finding::problem(about, fact, "Check port, firewall and routes."),
        false => Finding::warning(
            about,
            fact,
            "Set ip_version of the server to the version that works, or fix this one; until then the other \
             is used after a short delay.",
        ),
    })
}

async fn of_conversation(about: String, settings: ServerSettings, configured: u16) -> Vec<Finding> {
    let joins_groups = settings.join_group;
    let is_plain = settings.encryption == Encryption::None;
    let has_login = settings.conversation.login.is_some();
    let talked = timeout(TALK_TIMEOUT, talk(settings)).await;
    let talked = talked.unwrap_or(Err(CheckError::Timeout));
    let Conversation { tls, round_trip, off, group_wanted } = match talked {
        Ok(talk) => talk,
        Err(why) => {
            let remedy = "Check host, port, encryption, username and password; `bergamot server \
                          test` tries again.";
            return vec![Finding::problem(about, why.to_string(), remedy)];
        }
    };
    let clock = off.map(|off| of_clock(&about, off));
    let Proposal { connections, depth } = proposal(round_trip);
    let fact = format!(
        "answers {}{}; round trip {:.1} ms; {connections} connections with {depth} articles requested ahead \
         fill 1 Gbit/s ({configured} are configured)",
        match tls {
            Some(TlsAgreement { version, cipher }) => format!("with {version} ({cipher})"),
            None => "without encryption".to_owned(),
        },
        if has_login { " and accepts the login" } else { "" },
        round_trip.as_secs_f64() * 1000.0,
    );
    let remedy = "Set encryption = \"tls\": the password is sent unencrypted.";
    let answer = match is_plain && has_login {
        true => Finding::warning(about, fact, remedy),
        false => Finding::good(about, fact),
    };
    let group = group_wanted.filter(|_| !joins_groups).map(|reply| {
        let fact = format!("refuses articles while no newsgroup is selected: {reply}");
        Finding::problem(answer.about.clone(), fact, "Set join_group = true for it.")
    });
    [answer].into_iter().chain(group).chain(clock).collect()
}

/// The results of one connection.
struct Conversation {
    tls: Option<TlsAgreement>,
    round_trip: Duration,
    /// Seconds that the server's clock is ahead of this machine's, if it supports `DATE`.
    off: Option<i64>,
    /// Its reply to a request for an article, if it requires a newsgroup to be selected first.
    group_wanted: Option<String>,
}

/// The round trip is the minimum of a few `DATE` requests, which servers answer at once, even with an
/// error.
async fn talk(settings: ServerSettings) -> Result<Conversation, CheckError> {
    let server = Server::new(settings)?;
    let opened = Session::open(Arc::new(server), false, Recall::default()).await;
    let mut errand = opened?;
    let (mut round_trip, mut off) = (Duration::MAX, None);
    for _ in 0..QUESTIONS {
        let asked = clock::now().instant;
        let answer = errand.date().await;
        let now = clock::now();
        round_trip = round_trip.min(now.instant.saturating_duration_since(asked));
        match answer {
            Ok(text) => off = date_of(&text).map(|date| date.0.saturating_sub(now.date.0)),
            Err(SessionError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let nothing = MessageId::parse(NO_ARTICLE).expect("the constant is a message id");
    let group_wanted = match errand.stat(nothing).await {
        Err(SessionError::Refused { reply, .. }) if reply.wants_group() => Some(reply.to_string()),
        Ok(_) | Err(SessionError::Refused { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let tls = errand.tls();
    errand.close().await;
    Ok(Conversation { tls, round_trip, off, group_wanted })
}

/// `yyyymmddhhmmss`, in UTC (RFC 3977, section 7.1).
fn date_of(text: &str) -> Option<UnixTime> {
    let digits = text.split_whitespace().next()?;
    let date = NaiveDateTime::parse_from_str(digits, "%Y%m%d%H%M%S").ok()?;
    Some(UnixTime(date.and_utc().timestamp()))
}

fn of_clock(about: &str, off: i64) -> Finding {
    let about = format!("{about} (clock)");
    let theirs = UnixTime(clock::now().date.0.saturating_add(off));
    match off.unsigned_abs() > MOST_OFF {
        false => Finding::good(about, "agrees with the clock of this machine"),
        true => Finding::warning(
            about,
            format!(
                "says it is {}, which is {} s {} this machine",
                spoken_date(theirs),
                off.unsigned_abs(),
                if off > 0 { "ahead of" } else { "behind" }
            ),
            "Set the clock of this machine, preferably by NTP, unless the other servers agree with it.",
        ),
    }
}

#[derive(Debug, Eq, PartialEq)]
struct Proposal {
    connections: u64,
    depth: u64,
}
/// The connections and the pipeline depth that fill 1 Gbit/s: a connection brings one receive window per
/// round trip, and no more than a thread decodes.
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
/// No server has this article; only the kind of refusal matters.
const NO_ARTICLE: &str = "doctor@bergamot.invalid";
/// As long as resolvers try by themselves.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);
const DIAL_TIMEOUT: Duration = Duration::from_secs(3);
/// Connecting and shaking hands may take a quarter of a minute each.
const TALK_TIMEOUT: Duration = Duration::from_secs(45);

/// Of each family; providers have a handful.
const MOST_SHOWN: usize = 4;
/// In seconds; smaller differences have no effect on certificates, quotas and retention.
const MOST_OFF: u64 = 60;

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;

    #[test]
    fn who_is_far_away_needs_more() {
        for (millis, connections, depth) in [(1, 4, 2), (20, 4, 2), (100, 4, 6), (300, 12, 6)] {
            let proposed = proposal(Duration::from_millis(millis));
            assert_eq!(proposed, Proposal { connections, depth }, "{millis} ms");
        }
        assert!(proposal(Duration::MAX).connections <= MOST);
    }

    #[test]
    fn a_minute_is_nothing_and_more_is_told() {
        assert_eq!(date_of("20261116213826"), Some(UnixTime(1_794_865_106)));
        assert_eq!(date_of("20261116213826 UTC"), Some(UnixTime(1_794_865_106)));
        for odd in ["", "now", "2026", "20261316213826", "99999999999999999999"] {
            assert_eq!(date_of(odd), None, "{odd}");
        }
        assert_eq!(of_clock("server a", -60).grade, Grade::Ok);
        let late = of_clock("server a", 61);
        assert_eq!(late.grade, Grade::Warning);
        assert!(late.fact.contains("61 s ahead of"), "{late:?}");
        assert_eq!(of_clock("server a", i64::MIN).grade, Grade::Warning);
    }
}
