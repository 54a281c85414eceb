//! Runs that wait for consent while everything else is restarted: nothing is forgotten, applied or planned again.

use std::collections::BTreeSet;

use cts_testkit::{ConsulAgent, Postgres, eventually};
use cts_tests::{Api, Backend, Cluster, DEADLINE, Plan, RECORDER, Service, Site, met, task};
use serde_json::Value;

use crate::cluster::losses::consent_steps::{approve_all, wait_for};
use crate::cluster::losses::worker_loss::STARTED;

const TASKS: usize = 20;

/// Attempts beyond one for each plan and apply: under load a question for permission may stay without an answer, and
/// the run is planned once more. If a restart planned all waiting runs again, the number would be larger.
const UNANSWERED: usize = TASKS / 5;

fn names(numbers: std::ops::Range<usize>) -> BTreeSet<String> {
    numbers.map(|number| format!("t{number:02}")).collect()
}

/// All that the API tells about the effects.
async fn approvals(api: &Api) -> Value {
    eventually(DEADLINE, async || match api.ask("/v1/approvals").await {
        Ok((200, list)) => Ok(list["approvals"].clone()),
        other => Err(format!("{other:?}")),
    })
    .await
}

/// Plans and applies that workers have begun so far.
fn begun(cluster: &Cluster) -> usize {
    cluster.all_output().matches(STARTED).count()
}

/// Asserts that workers have begun this many plans and applies, but for attempts without an answer.
fn assert_begun(cluster: &Cluster, expected: usize) {
    let begun = begun(cluster);
    let range = expected..=expected + UNANSWERED;
    assert!(range.contains(&begun), "{begun} are not in {range:?}");
}

fn assert_untouched(site: &Site, tasks: &BTreeSet<String>) {
    for name in tasks {
        assert!(!site.state_path(name).exists(), "{name} is applied");
    }
}

#[tokio::test]
async fn waiting_runs_and_consents_outlast_workers_schedulers_and_the_database() {
    let mut postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let all = names(0..TASKS);
    let always = "approval = \"always\"";
    let tasks = all
        .iter()
        .map(|name| task(name, "./modules/recorder", &["web"], always));
    let tasks: String = tasks.collect();
    site.configure(&consul.address(), Backend::Shared, &tasks);
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 2, 2, 1);
    plan.database = Some(url);
    let mut cluster = Cluster::start(&site, plan).await;
    let api = cluster.api(0);
    wait_for(&api, &all).await;
    let before = approvals(&api).await;
    assert_begun(&cluster, TASKS);
    let plans = begun(&cluster);

    // A roll of all workers; while there is none, half of the effects are approved.
    cluster.restart(Service::Worker, 0).await;
    for worker in 0..2 {
        cluster.stop(Service::Worker, worker).await.assert_code(0);
    }
    let waits = approvals(&api).await;
    assert_eq!(waits, before);
    let approved = names(0..TASKS / 2);
    let set = api.get("/v1/approvals?task=t0*").await["set"].clone();
    approve_all(&api, &["t0*"], set.as_str().unwrap(), TASKS / 2).await;
    let decided = approvals(&api).await;

    // The leader dies, a second scheduler leads, and dies with all others.
    let leader = cluster.wait_for_leader().await;
    cluster.kill(Service::Scheduler, leader).await;
    let next = cluster.wait_for_leader().await;
    assert_eq!(approvals(&api).await, decided);
    cluster.kill(Service::Scheduler, next).await;
    postgres.kill().await;
    postgres.start_again().await;
    cluster.launch_all();
    cluster.wait_until_all_healthy().await;
    assert_eq!(approvals(&api).await, decided);

    // What is approved is applied, and the rest goes on waiting.
    for name in &approved {
        site.wait_for_ids(name, &["web-1"]).await;
    }
    let rest = names(TASKS / 2..TASKS);
    let set = wait_for(&api, &rest).await;
    assert_untouched(&site, &rest);
    eventually(DEADLINE, async || {
        let left = approvals(&api).await;
        let is_rest = left.as_array().unwrap() == &before.as_array().unwrap()[TASKS / 2..];
        met(is_rest, left)
    })
    .await;
    assert_begun(&cluster, plans + TASKS / 2);
    approve_all(&api, &["*"], &set, TASKS / 2).await;
    for name in &all {
        let events = api.wait_for_events(name, 1).await;
        assert_eq!(events.len(), 1, "{name}: {events:?}");
        assert_eq!(events[0]["success"], true, "{name}: {events:?}");
        site.wait_for_ids(name, &["web-1"]).await;
    }
    assert_begun(&cluster, plans + TASKS);
    assert_eq!(approvals(&api).await, serde_json::json!([]));
}
