//! The other services that this one calls: reach, health and clock.

use std::time::Duration;

use chrono::DateTime;
use cts_core::Chain;
use cts_rpc::Peers;
use cts_runtime::Tasks;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::Subject;
use super::clock;
use super::finding::Finding;
use crate::failure::Failure;
use crate::services::connections::Links;

const SCHEDULERS: &str = "schedulers";
const WATCHERS: &str = "watchers";
const CLOCK: &str = "clock of scheduler";

/// Time for an answer, less than that of the whole check.
const LIMIT: Duration = Duration::from_secs(4);

/// Checks schedulers and watchers, if they are called.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    let needs = subject.needs;
    if !needs.schedulers && !needs.watchers {
        return Vec::new();
    }
    let links = match Links::new(&subject.config.services).await {
        Ok(links) => links,
        Err(failure) => return vec![unusable(SCHEDULERS, &failure)],
    };
    let end = CancellationToken::new();
    let tasks = Tasks::new(end.clone());
    let clock = &subject.process_env.clock;
    let schedulers = needs
        .schedulers
        .then(|| links.schedulers(&[], clock, &tasks, &end));
    let watchers = needs
        .watchers
        .then(|| links.watchers(&[], clock, &tasks, &end));
    let (schedulers, watchers) = tokio::join!(
        of_service(SCHEDULERS, schedulers, subject),
        of_service(WATCHERS, watchers, subject)
    );
    end.cancel();
    schedulers.into_iter().chain(watchers).collect()
}

async fn of_service(
    check: &'static str,
    peers: Option<Result<Peers, Failure>>,
    subject: Subject<'_>,
) -> Vec<Finding> {
    let peers = match peers {
        None => return Vec::new(),
        Some(Err(failure)) => return vec![unusable(check, &failure)],
        Some(Ok(peers)) => peers,
    };
    let clock = &subject.process_env.clock;
    let before = clock.now();
    let mut health = HealthClient::new(peers.channel());
    let asking = health.check(HealthCheckRequest {
        service: String::new(),
    });
    let answer = match timeout(LIMIT, asking).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(status)) => return vec![silent(check, status.message())],
        Err(_elapsed) => return vec![silent(check, &format!("none within {LIMIT:?}"))],
    };
    let date = answer.metadata().get("date");
    let date = date.and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok());
    let times = (before, clock.now());
    let clock = date
        .filter(|_| check == SCHEDULERS)
        .map(|there| clock::compare(CLOCK, "a scheduler", there.to_utc(), times));
    let serving = match answer.into_inner().status() {
        ServingStatus::Serving => Finding::ok(check, "one of them answers and serves"),
        other => Finding::warning(
            check,
            format!("one of them answers and reports {}", other.as_str_name()),
            "see its log",
        ),
    };
    [serving].into_iter().chain(clock).collect()
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
