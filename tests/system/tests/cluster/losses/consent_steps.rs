//! Processes are killed while a run that needs consent is at each of its steps: nothing is applied that nobody has
//! approved, and what is approved is applied once.

mod steps;

use std::collections::BTreeSet;
use std::time::Duration;

use cts_testkit::{ConsulAgent, Postgres, eventually};
use cts_tests::{Api, Cluster, DEADLINE, Instance, Plan, Service, Site, met};
use reqwest::Method;
use serde_json::json;

use self::steps::{AT_WORK, STEPS, Step, Steps};

/// Processes that are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Workers,
    Schedulers,
    Database,
}

/// Waits until exactly these tasks wait; returns the fingerprint of their effects.
pub(super) async fn wait_for(api: &Api, tasks: &BTreeSet<String>) -> String {
    eventually(DEADLINE, async || {
        let (names, set) = api.waiting_tasks().await;
        met(names == *tasks, format!("{names:?} wait, {set}")).map(|()| set)
    })
    .await
}

/// Approves what the task waits for.
async fn approve(api: &Api, task: &str) {
    let list = api.get(&format!("/v1/approvals?task={task}")).await;
    approve_all(api, &[task], list["set"].as_str().unwrap(), 1).await;
}

/// Approves a set of this many effects of these tasks.
pub(super) async fn approve_all(api: &Api, tasks: &[&str], set: &str, count: usize) {
    let body = json!({"tasks": tasks, "set": set});
    let path = "/v1/approvals/approve";
    let (status, answer) = api.send(Method::POST, path, Some(body)).await;
    assert_eq!(status, 200, "{answer}");
    let approved = answer["approvals"].as_array().map(Vec::len);
    assert_eq!(approved, Some(count), "{answer}");
}

fn names(steps: impl IntoIterator<Item = Step>) -> BTreeSet<String> {
    let names = steps.into_iter().map(|step| step.task.to_owned());
    names.collect()
}

/// Brings each task to its step, but for those that the database holds.
async fn bring_to_steps(api: &Api, steps: &Steps) {
    let first = STEPS.iter().filter(|step| step.holds_first);
    let others = STEPS.iter().filter(|step| !step.holds_first);
    for step in first {
        steps.wait_until_held(*step).await;
    }
    wait_for(api, &names(others.clone().copied())).await;
    for step in others {
        steps.assert_untouched(step.task);
        steps.hold(*step);
        if step.approved {
            approve(api, step.task).await;
            steps.wait_until_held(*step).await;
        }
    }
}

/// Waits for the end of all: those that `ask` are approved once more.
async fn wait_for_ends(api: &Api, steps: &Steps, ask: &BTreeSet<String>) {
    for step in STEPS.iter().filter(|step| !ask.contains(step.task)) {
        steps.wait_until_applied(step.task).await;
    }
    let set = wait_for(api, ask).await;
    for step in STEPS.iter().filter(|step| !step.approved) {
        steps.assert_untouched(step.task);
    }
    approve_all(api, &["*"], &set, ask.len()).await;
    for step in &STEPS {
        let events = api.wait_for_events(step.task, 1).await;
        assert_eq!(events.len(), 1, "{}: {events:?}", step.task);
        assert_eq!(events[0]["success"], true, "{}: {events:?}", step.task);
        steps.assert_applied_once(*step);
    }
    let list = api.get("/v1/approvals").await;
    assert_eq!(list["approvals"], json!([]), "{list}");
}

/// Tasks that ask once all is started again, if attempts at work were interrupted.
fn asking(interrupted: bool) -> BTreeSet<String> {
    let open = STEPS.into_iter().filter(|step| !step.approved);
    let mut asking = names(open);
    if interrupted {
        // Terraform has marked an object as tainted, and would replace the object, which nobody has approved.
        asking.extend(AT_WORK.map(str::to_owned));
    }
    asking
}

async fn configured(consul: &ConsulAgent) -> (Site, Steps) {
    let site = Site::new();
    let steps = Steps::prepare(&site);
    site.configure_driver(&consul.address(), &steps.driver(&site), &Steps::tasks());
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    (site, steps)
}

async fn kill_at_each_step(victim: Victim) {
    let mut postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    let consul = ConsulAgent::start().await;
    let (site, steps) = configured(&consul).await;
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 2, 2, 1);
    plan.database = Some(url.clone());
    plan.slots = STEPS.len();
    if victim != Victim::Workers {
        plan.lease_ttl = Duration::from_mins(1);
    }
    let mut cluster = Cluster::start(&site, plan).await;
    let api = cluster.api(0);
    bring_to_steps(&api, &steps).await;

    // Two questions come to a database that answers neither.
    let held = Postgres::hold_writes(&url, "approvals").await;
    let at_database: Vec<Step> = (STEPS.into_iter())
        .filter(|step| step.at_database)
        .collect();
    for step in &at_database {
        steps.release(*step);
    }
    // Statements of housekeeping write into the table, too, and do not count.
    let blocked = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE NOT l.granted AND l.mode = 'RowExclusiveLock' AND a.query LIKE '-- permit_apply%'";
    eventually(DEADLINE, async || {
        let count = postgres.number(blocked).await;
        let enough = usize::try_from(count).unwrap() >= at_database.len();
        met(enough, format!("{count} wait"))
    })
    .await;
    match victim {
        Victim::Workers => {
            for worker in 0..2 {
                cluster.kill(Service::Worker, worker).await;
            }
            site.wait_until_quiet().await;
        }
        Victim::Schedulers => {
            for scheduler in 0..2 {
                cluster.kill(Service::Scheduler, scheduler).await;
            }
        }
        Victim::Database => postgres.kill().await,
    }
    drop(held);
    if victim == Victim::Database {
        postgres.start_again().await;
    }
    steps.release_all();
    cluster.launch_all();
    cluster.wait_until_all_healthy().await;
    wait_for_ends(&api, &steps, &asking(victim == Victim::Workers)).await;
}

#[tokio::test]
async fn workers_that_are_killed_at_each_step_apply_nothing_unapproved_and_nothing_twice() {
    kill_at_each_step(Victim::Workers).await;
}

#[tokio::test]
async fn schedulers_that_are_killed_at_each_step_forget_no_consent() {
    kill_at_each_step(Victim::Schedulers).await;
}

#[tokio::test]
async fn a_database_that_is_killed_at_each_step_forgets_no_consent() {
    kill_at_each_step(Victim::Database).await;
}

/// The database of this shape cannot be held: two tasks are just before their questions.
#[tokio::test]
async fn a_single_process_that_is_killed_at_each_step_applies_nothing_unapproved_and_nothing_twice()
{
    let consul = ConsulAgent::start().await;
    let (site, steps) = configured(&consul).await;
    let instance = Instance::start_embedded(&site).await;
    bring_to_steps(&instance.api, &steps).await;
    instance.kill().await;
    site.kill_terraform().await;
    steps.release_all();
    let instance = Instance::start_embedded(&site).await;
    wait_for_ends(&instance.api, &steps, &asking(false)).await;
    instance.stop().await;
}
