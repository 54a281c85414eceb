//! Most tasks lose their instances within a second, and the leader dies meanwhile (docs/runs.md#the-brake-of-the-fleet).

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Api, Cluster, DEADLINE, Plan, Service, Site, met, task};
use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::stand_in;

const FLEET: usize = 500;

/// Part of the fleet that is gone when the leader dies.
const BEFORE: usize = 90;

const BRAKE: &str =
    "fleet_max_shrink {\n  share = \"20%\"\n  within = \"10m\"\n  at_least = 20\n}\n";

/// The task that loses nothing.
const WHOLE: &str = "whole";

fn name(number: usize) -> String {
    format!("t{number}")
}

/// Number of runs that a worker has had.
async fn leased(api: &Api) -> usize {
    let mut leased = 0;
    let mut query = "?limit=1000".to_owned();
    loop {
        let page = api.get(&format!("/v1/runs{query}")).await;
        let runs = page["runs"].as_array().unwrap().iter();
        let was_leased = |run: &&Value| run["status"] != "queued" && run["status"] != "cancelled";
        leased += runs.filter(was_leased).count();
        match page["next"].as_str() {
            Some(next) => query = format!("?limit=1000&after={next}"),
            None => return leased,
        }
    }
}

/// Waits until this many runs have ended well, and none is at work.
async fn wait_for_quiet(api: &Api, at_least: usize) {
    let deadline = DEADLINE * 3;
    eventually(deadline, async || match api.ask("/v1/queue").await {
        Ok((200, queue)) if queue["running"] == 0 && queue["ready"] == 0 => {
            let leased = leased(api).await;
            met(leased >= at_least, format!("{leased} were leased"))
        }
        other => Err(format!("{other:?}")),
    })
    .await;
}

#[tokio::test]
async fn a_fleet_that_vanishes_loses_at_most_the_share_while_the_leader_dies() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    let terraform = stand_in::of_no_resources(&site);
    site.write(
        "modules/empty/main.tf",
        "variable \"services\" { type = any }\n",
    );
    let names = (0..FLEET).map(name).chain([WHOLE.to_owned()]);
    let mut tasks = String::new();
    for name in names {
        consul.register_service(&name, &name, 1, &[], &[]).await;
        tasks += &task(&name, "./modules/empty", &[&*name], "");
    }
    let driver = format!("path = \"{terraform}\"\n  {}", site.shared_backend());
    site.configure_driver(&consul.address(), &driver, &format!("{BRAKE}{tasks}"));
    let mut plan = Plan::of(1, 2, 1, 1);
    plan.slots = 16;
    let mut cluster = Cluster::start(&site, plan).await;
    let api = cluster.api(0);
    wait_for_quiet(&api, FLEET + 1).await;
    let before = leased(&api).await;
    let brake = api.get("/v1/brake").await;
    assert_eq!((&brake["set"], &brake["lost"]), (&false.into(), &0.into()));

    let leader = cluster.wait_for_leader().await;
    let began = Instant::now();
    for number in 0..FLEET {
        if number == BEFORE {
            cluster.kill(Service::Scheduler, leader).await;
        }
        consul.deregister(&name(number)).await;
    }
    let lasted = began.elapsed();
    let brake = eventually(DEADLINE, async || match api.ask("/v1/brake").await {
        Ok((200, brake)) if brake["set"] == true && brake["lost"] == FLEET => Ok(brake),
        other => Err(format!("{other:?}")),
    })
    .await;
    wait_for_quiet(&api, before).await;
    let lost = leased(&api).await - before;
    println!("{lost} of {FLEET} were leased; the fleet vanished within {lasted:?}");
    assert!(lost <= FLEET / 5, "{lost} of {FLEET} were leased: {brake}");

    // The system goes on, and leases no run that takes an instance away.
    consul.register_service(WHOLE, "another", 1, &[], &[]).await;
    wait_for_quiet(&api, before + lost + 1).await;
    assert_eq!(leased(&api).await, before + lost + 1);
    let brake = api.get("/v1/brake").await;
    let held = usize::try_from(brake["held"].as_u64().unwrap()).unwrap();
    assert_eq!(held + lost, FLEET, "{brake}");
}
