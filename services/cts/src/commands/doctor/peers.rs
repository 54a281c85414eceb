//! The other services that this service calls: reach, health and clock.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use cts_config::SecurityConfig;
use cts_core::Chain;
use cts_rpc::{PeerCondition, Peers};
use cts_runtime::Tasks;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::clock;
use super::finding::Finding;
use super::subject::Subject;
use crate::failure::Failure;
use crate::services::connections::Links;

const SCHEDULERS: &str = "schedulers";
const WATCHERS: &str = "watchers";
const CLOCK: &str = "clock of scheduler";

/// Time for an answer, less than the time of the whole check.
const LIMIT: Duration = Duration::from_secs(4);

/// Time for the answer of a scheduler that has just answered.
const CLOCK_LIMIT: Duration = Duration::from_millis(800);

/// Checks schedulers and watchers, if they are called: each replica by itself.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    let needs = subject.needs;
    let (schedulers, watchers) = tokio::join!(
        of_service(SCHEDULERS, needs.schedulers, subject),
        of_service(WATCHERS, needs.watchers, subject)
    );
    schedulers.into_iter().chain(watchers).collect()
}

async fn of_service(check: &'static str, needed: bool, subject: Subject<'_>) -> Vec<Finding> {
    if !needed {
        return Vec::new();
    }
    let security = &subject.config.security;
    // Finds servers without a role, which are accepted until `security.server_roles` is set.
    let required = SecurityConfig {
        server_roles: security.checks_servers(),
        ..security.clone()
    };
    let tasks = Tasks::new(CancellationToken::new());
    let follow = async |security: &SecurityConfig| {
        let links = Links::new(&subject.config.services, security).await?;
        let clock = &subject.process_env.clock;
        if check == SCHEDULERS {
            links.schedulers(&[], clock, &tasks)
        } else {
            links.watchers(&[], clock, &tasks)
        }
    };
    let found = match (follow(security).await, follow(&required).await) {
        (Ok(peers), Ok(proven)) => of_peers(check, &peers, &proven, subject).await,
        (Err(failure), _) | (_, Err(failure)) => vec![unusable(check, &failure)],
    };
    tasks.token().cancel();
    found
}

/// A finding for each replica, and the clock of one. `proven` are the same replicas if their roles are required.
async fn of_peers(
    check: &'static str,
    peers: &Peers,
    proven: &Peers,
    subject: Subject<'_>,
) -> Vec<Finding> {
    let (conditions, proven) = tokio::join!(checked(peers), checked(proven));
    let serves = conditions.iter().any(|peer| peer.healthy);
    let counts = subject.config.security.checks_servers();
    let judged = conditions.iter().map(|peer| {
        let refused = proven.iter().find(|other| other.socket == peer.socket);
        let refused = refused.filter(|other| counts && other.is_checked() && !other.healthy);
        judge(
            check,
            peer,
            refused.map(|other| other.reason.as_str()),
            serves,
        )
    });
    let mut findings: Vec<Finding> = judged.collect();
    if findings.is_empty() {
        findings.push(silent(check, &format!("none within {LIMIT:?}")));
    }
    if serves && check == SCHEDULERS {
        findings.extend(clock_of(peers, subject).await);
    }
    findings
}

async fn checked(peers: &Peers) -> Arc<[PeerCondition]> {
    let checked = timeout(LIMIT, peers.checked()).await;
    checked.unwrap_or_else(|_elapsed| peers.conditions())
}

/// Judges a replica. `refused` is the reason why the replica is not accepted if its role is required; `serves` whether
/// any replica serves.
fn judge(
    check: &'static str,
    peer: &PeerCondition,
    refused: Option<&str>,
    serves: bool,
) -> Finding {
    let PeerCondition {
        address,
        socket,
        reason,
        ..
    } = peer;
    let shown = if socket.is_empty() || socket == address {
        address.clone()
    } else {
        format!("{address} ({socket})")
    };
    match refused {
        _ if !peer.healthy && reason.is_empty() => {
            silent(check, &format!("{shown}: none within {LIMIT:?}"))
        }
        _ if !peer.healthy && !serves => silent(check, &format!("{shown}: {reason}")),
        _ if !peer.healthy => Finding::warning(
            check,
            format!("{shown} does not serve: {reason}"),
            format!("see its log, and check services.{check} and services.tls"),
        ),
        Some(refused) => Finding::warning(
            check,
            format!("{shown} serves, but security.server_roles = true would refuse it: {refused}"),
            "`cts certs` makes certificates with roles; see docs/access.md#servers",
        ),
        None => Finding::ok(check, format!("{shown} serves")),
    }
}

/// The clock of a scheduler that serves.
async fn clock_of(peers: &Peers, subject: Subject<'_>) -> Option<Finding> {
    let clock = &subject.process_env.clock;
    let before = clock.now();
    let mut health = HealthClient::new(peers.channel());
    let asking = health.check(HealthCheckRequest {
        service: String::new(),
    });
    let answer = timeout(CLOCK_LIMIT, asking).await.ok()?.ok()?;
    let date = answer.metadata().get("date")?.to_str().ok()?;
    let there = DateTime::parse_from_rfc2822(date).ok()?;
    let times = (before, clock.now());
    Some(clock::compare(CLOCK, "a scheduler", there.to_utc(), times))
}

fn silent(check: &'static str, reason: &str) -> Finding {
    Finding::error(
        check,
        format!("no answer: {reason}"),
        format!("start the {check}, and check services.{check} and services.tls"),
    )
}

fn unusable(check: &'static str, failure: &Failure) -> Finding {
    let remedy = "correct the services block";
    Finding::error(check, Chain(failure).to_string(), remedy)
}
