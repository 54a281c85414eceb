//! Consul itself, and the token of cts.

use chrono::{DateTime, TimeDelta, Utc};
use cts_cli::local_time;
use cts_consul::{
    ConsulClient, ConsulError, REFUSED_KEY_REMEDY, Resource, Right, Scope, refused_key, refuses_key,
};
use cts_core::TaskName;
use cts_terraform::consul_key;
use semver::Version;

use super::clock;
use super::finding::Finding;
use super::subject::Subject;
use crate::services::wiring::unasked_consul_client;

const REACH: &str = "consul";
const VERSION: &str = "consul version";
const TOKEN: &str = "consul token";
const KEYS: &str = "consul keys";
const CLOCK: &str = "clock of consul";

/// The oldest version that cts works with.
const OLDEST: Version = Version::new(1, 8, 0);

/// Life of a token that is long enough.
const LONG_LIFE: TimeDelta = TimeDelta::days(7);

/// Reach, leader and clock.
pub(super) async fn reach(subject: Subject<'_>) -> Vec<Finding> {
    if !subject.needs.consul() {
        return vec![Finding::skipped(REACH, "this service does not use Consul")];
    }
    let address = &subject.config.consul.address;
    let client = match client(subject, REACH) {
        Ok(client) => client,
        Err(finding) => return vec![finding],
    };
    let clock = &subject.process_env.clock;
    let before = clock.now();
    match client.leader_and_time().await {
        Err(error) => vec![Finding::error(
            REACH,
            format!("{address}: {}", error.report()),
            "set consul.address or CONSUL_HTTP_ADDR, and consul.tls if Consul speaks TLS",
        )],
        Ok((leader, time)) => {
            let reached = match leader {
                Some(leader) => Finding::ok(REACH, format!("{address} answers, leader {leader}")),
                None => Finding::error(
                    REACH,
                    format!("{address} answers, but its cluster has no leader"),
                    "`consul operator raft list-peers` on a server shows the servers of the cluster",
                ),
            };
            let times = (before, clock.now());
            let clock = time.map(|time| clock::compare(CLOCK, "Consul", time, times));
            [reached].into_iter().chain(clock).collect()
        }
    }
}

/// Version of the agent.
pub(super) async fn version(subject: Subject<'_>) -> Vec<Finding> {
    let Some(client) = asked(subject) else {
        return Vec::new();
    };
    let agent = match client.agent().await {
        Ok(agent) => agent,
        Err(error) if is_denied(&error) => {
            let rule = Right::read(Resource::Agent, Scope::Prefix(String::new())).rule();
            let found = format!(
                "the token may not read the agent, which cts does not need: with {rule} the version is checked"
            );
            return vec![Finding::skipped(VERSION, found)];
        }
        Err(error) => return vec![unanswered(VERSION, &error)],
    };
    let version = &agent.version;
    vec![match version.parse::<Version>() {
        Ok(known) if known < OLDEST => Finding::error(
            VERSION,
            format!("{version} of node {}", agent.node),
            format!("update Consul to {OLDEST} or newer"),
        ),
        Ok(_) => Finding::ok(VERSION, format!("{version} of node {}", agent.node)),
        Err(_) => Finding::skipped(
            VERSION,
            format!("{version:?} is no version that cts can read"),
        ),
    }]
}

/// Whether Consul answers for the key of a state. The answer is the same if that state does not exist.
pub(super) async fn keys(subject: Subject<'_>) -> Vec<Finding> {
    let states = subject.needs.states.then(|| asked(subject)).flatten();
    let task = TaskName::new("cts-doctor").ok();
    let key = task.and_then(|task| consul_key(&task, &subject.config.driver.backend));
    let (Some(client), Some(key)) = (states, key) else {
        return Vec::new();
    };
    match client.raw_value(&key).await {
        Err(ConsulError::Status { body, .. }) if refuses_key(&body) => {
            let agent = client.agent().await.ok();
            let version = agent.as_ref().map(|agent| agent.version.as_str());
            vec![Finding::error(
                KEYS,
                refused_key(version),
                REFUSED_KEY_REMEDY,
            )]
        }
        Ok(_) => vec![Finding::ok(KEYS, "the keys of states are taken")],
        // The check of the rights reports a token that may not read them.
        Err(_) => Vec::new(),
    }
}

/// Whether Consul accepts the token, and its expiry.
pub(super) async fn token(subject: Subject<'_>) -> Vec<Finding> {
    let Some(client) = asked(subject) else {
        return Vec::new();
    };
    let has_token = subject.config.consul.token.is_some();
    vec![match client.own_token().await {
        Ok(None) if has_token => Finding::warning(
            TOKEN,
            "ACLs are off: Consul ignores the configured token, and everybody may write",
            "enable ACLs with the default policy \"deny\" (acl in the configuration of Consul)",
        ),
        Ok(None) => Finding::ok(TOKEN, "ACLs are off: everything is allowed"),
        Ok(Some(token)) => {
            let id = &token.accessor_id;
            let known = match (has_token, &token.expiration_time) {
                (false, _) => format!("no token is set: the anonymous one ({id}) counts"),
                (true, None) => format!("accessor {id}, without an end"),
                (true, Some(end)) => {
                    let known = DateTime::parse_from_rfc3339(end);
                    let end = known.map_or_else(|_other| end.clone(), local_time);
                    format!("accessor {id}, ends {end}")
                }
            };
            judge_end(
                known,
                token.expiration_time.as_deref(),
                subject.process_env.clock.now(),
            )
        }
        Err(error) if is_denied(&error) => Finding::error(
            TOKEN,
            if has_token {
                format!("Consul does not take the token: {error}")
            } else {
                format!("no token is set, and Consul needs one: {error}")
            },
            "make a token (`consul acl token create`), and set consul.token or CONSUL_HTTP_TOKEN",
        ),
        Err(error) => unanswered(TOKEN, &error),
    }]
}

fn judge_end(found: String, end: Option<&str>, now: DateTime<Utc>) -> Finding {
    let end = end.and_then(|end| DateTime::parse_from_rfc3339(end).ok());
    match end {
        Some(end) if end.to_utc() - now < LONG_LIFE => {
            Finding::warning(TOKEN, found, "make a new token before its end")
        }
        _ => Finding::ok(TOKEN, found),
    }
}

/// The client, if Consul is to be asked for more than its leader.
pub(super) fn asked(subject: Subject<'_>) -> Option<ConsulClient> {
    let client = subject.needs.consul().then(|| client(subject, REACH));
    // The check of the reach reports settings that cannot be used.
    client.and_then(Result::ok)
}

fn client(subject: Subject<'_>, check: &'static str) -> Result<ConsulClient, Finding> {
    unasked_consul_client(subject.config).map_err(|failure| {
        let found = cts_core::Chain(&failure).to_string();
        Finding::error(check, found, "correct the consul block")
    })
}

/// A check that got no answer. The check of the reach reports Consul that is away.
pub(super) fn unanswered(check: &'static str, error: &ConsulError) -> Finding {
    match error {
        ConsulError::Transport(_) => Finding::skipped(check, "Consul does not answer"),
        error => Finding::warning(check, error.report(), "see the log of the Consul agent"),
    }
}

const fn is_denied(error: &ConsulError) -> bool {
    matches!(error, ConsulError::Status { status: 403, .. })
}
