//! Postgres goes away and comes back, and nothing is forgotten (ARCHITECTURE.md).

use std::time::Duration;

use cts_testkit::{ConsulAgent, Postgres, eventually};
use cts_tests::{Api, Backend, Cluster, DEADLINE, Plan, RECORDER, Site, task};
use tokio::time::{Instant, sleep};

use crate::cluster::logs::prompt_answers::ask_for;
use crate::cluster::scene::Scene;

async fn wait_for_health(api: &Api, status: u16) -> serde_json::Value {
    eventually(DEADLINE, async || match api.ask("/v1/health").await {
        Ok((answered, body)) if answered == status => Ok(body),
        other => Err(format!("{other:?}")),
    })
    .await
}

/// Words of every answer, also of gateways whose schedulers report that they do not serve.
const OUTAGE: &str = "the database of the schedulers is unreachable";

fn reports_outage(status: u16, body: &serde_json::Value) -> bool {
    let message = body["error"]["message"].as_str().unwrap_or_default();
    status == 503 && message.ends_with(OUTAGE)
}

/// Asks for some time. Each answer reports the outage, once the schedulers have noticed that their database stands still.
async fn outage_is_answered(api: &Api, path: &str) {
    eventually(DEADLINE, async || match api.ask(path).await {
        Ok((status, body)) if reports_outage(status, &body) => Ok(()),
        other => Err(format!("{path}: {other:?}")),
    })
    .await;
    for (status, body) in ask_for(api, path, Duration::from_secs(12)).await {
        assert!(reports_outage(status, &body), "{path}: {status} {body}");
    }
}

#[tokio::test]
async fn after_an_outage_all_is_as_before_and_changes_are_applied() {
    let mut postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    site.write_steps("idle");
    let tasks = task("pool", "./modules/pool", &["web"], "")
        + &task("idle", "./modules/idle", &["web"], "enabled = false");
    site.configure(&consul.address(), Backend::Shared, &tasks);
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 2, 2, 2);
    plan.database = Some(url);
    let cluster = Cluster::start(&site, plan).await;
    let apis = [cluster.api(0), cluster.api(1)];
    apis[0].wait_for_events("pool", 1).await;
    let mut ids = Vec::new();
    for number in 1..=5 {
        let id = format!("web-{number}");
        consul.register_service("web", &id, number, &[], &[]).await;
        ids.push(id);
        let all: Vec<&str> = ids.iter().map(String::as_str).collect();
        site.wait_for_ids("pool", &all).await;
    }
    let before = eventually(DEADLINE, async || {
        let queue = apis[0].get("/v1/queue").await;
        let events = apis[0].events("pool").await;
        let settled = queue["running"] == 0 && events.len() == 5;
        if settled {
            Ok(events)
        } else {
            Err(queue.to_string())
        }
    })
    .await;
    let status_before = apis[0].get("/v1/status").await;

    postgres.stop().await;
    for api in &apis {
        let body = wait_for_health(api, 503).await;
        assert!(body["error"]["message"].is_string(), "{body}");
    }
    consul.register_service("web", "web-6", 6, &[], &[]).await;
    postgres.start_again().await;
    for api in &apis {
        wait_for_health(api, 200).await;
    }
    let all = ["web-1", "web-2", "web-3", "web-4", "web-5", "web-6"];
    site.wait_for_ids("pool", &all).await;
    let after = eventually(DEADLINE, async || {
        let events = apis[1].events("pool").await;
        if events[0] == before[0] {
            Err("no new event")
        } else {
            Ok(events)
        }
    })
    .await;
    assert_eq!(
        after[1..],
        before[..4],
        "the newest of before, in their order"
    );
    assert_eq!(apis[1].get("/v1/status").await, status_before);
    for api in &apis {
        let idle = api.task_status("idle").await;
        assert_eq!(idle["enabled"], false, "{idle}");
        assert!(api.events("idle").await.is_empty());
    }
    assert!(site.journal("idle").is_empty());
}

#[tokio::test]
async fn work_goes_on_at_once_after_a_database_that_stood_still_for_longer_than_a_lease() {
    let postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    let site = Site::new();
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 2, 1, 1);
    plan.database = Some(url);
    plan.lease_ttl = Duration::from_secs(10);
    let lease = plan.lease_ttl;
    let mut scene = Scene::start_at(site, plan).await;
    scene.settled_events().await;

    // One run is under way, and a second one is due.
    scene.site.hold();
    scene.change().await;
    scene
        .site
        .wait_for_step("pool", "begin", &scene.ids())
        .await;
    postgres.pause();
    scene.change().await;
    sleep(lease + Duration::from_secs(2)).await;
    scene.site.release();
    postgres.resume();
    let resumed = Instant::now();
    scene.wait_until_applied().await;
    let took = resumed.elapsed();
    assert!(took < lease * 2 / 3, "{took:?}");
    scene.settled_events().await;
    scene.assert_no_overlap();
}

/// Calls for runs are held all through the outage, at the schedulers and before them: the lease of a later
/// grant must not count from before it.
#[tokio::test]
async fn the_first_run_after_a_long_outage_is_applied_at_once_by_idle_workers() {
    let postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    let site = Site::new();
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 2, 3, 1);
    plan.database = Some(url);
    plan.lease_ttl = Duration::from_secs(30);
    let mut scene = Scene::start_at(site, plan).await;
    scene.settled_events().await;

    // Longer than the half of a lease's life, and than a call for a run waits.
    postgres.pause();
    let api = scene.cluster.api(0);
    tokio::join!(
        sleep(Duration::from_secs(50)),
        outage_is_answered(&api, "/v1/status/tasks"),
        outage_is_answered(&api, "/v1/tasks/pool/explain"),
        outage_is_answered(&api, "/v1/health"),
    );
    scene.change().await;
    postgres.resume();
    let resumed = Instant::now();
    scene.wait_until_applied().await;
    let took = resumed.elapsed();
    assert!(took < Duration::from_secs(12), "{took:?}");
    scene.settled_events().await;
    scene.assert_each_step_once();
}
