//! A failover of Postgres to a replica runs only the tasks whose last runs may be lost with it.

use std::time::Duration;

use cts_testkit::{ConsulAgent, Postgres, eventually};
use cts_tests::{Api, Backend, Cluster, DEADLINE, Plan, RECORDER, Service, Site, met, task};

/// Life of the leases here.
const LIFE: Duration = Duration::from_secs(8);

/// Log texts of a leader that trusts the tasks, and of one that does not.
const TRUSTED: &str = "all workers vouch for the tasks";
const DISTRUSTED: &str = "every task runs once";

/// The tasks "a", "b" and "c", each of the service of its name, which are applied by two workers.
struct Scene {
    postgres: Postgres,
    consul: ConsulAgent,
    site: Site,
    cluster: Cluster,
    api: Api,
}

const TASKS: [&str; 3] = ["a", "b", "c"];

impl Scene {
    async fn start() -> Self {
        let postgres = Postgres::start().await;
        let url = postgres.create_database().await;
        let consul = ConsulAgent::start().await;
        let site = Site::new();
        site.write("modules/recorder/main.tf", RECORDER);
        let mut tasks = String::new();
        for name in TASKS {
            tasks += &task(name, "./modules/recorder", &[name], "");
            let first = format!("{name}-1");
            consul.register_service(name, &first, 1, &[], &[]).await;
        }
        site.configure(&consul.address(), Backend::Shared, &tasks);
        site.write_database(&url);
        site.migrate().await;
        let mut plan = Plan::of(1, 2, 2, 1);
        plan.database = Some(url);
        plan.lease_ttl = LIFE;
        let cluster = Cluster::start(&site, plan).await;
        let api = cluster.api(0);
        let scene = Self {
            postgres,
            consul,
            site,
            cluster,
            api,
        };
        for name in TASKS {
            scene.wait_until_applied(name, 1).await;
        }
        scene.wait_until_settled().await;
        scene
    }

    /// Waits until so many instances of the task are applied.
    async fn wait_until_applied(&self, name: &str, instances: usize) {
        let ids: Vec<String> = (1..=instances)
            .map(|number| format!("{name}-{number}"))
            .collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.site.wait_for_ids(name, &ids).await;
    }

    async fn change(&self, name: &str, number: u16) {
        let id = format!("{name}-{number}");
        self.consul
            .register_service(name, &id, number, &[], &[])
            .await;
        self.wait_until_applied(name, number.into()).await;
    }

    /// Waits until nothing is queued or running.
    async fn wait_until_settled(&self) {
        eventually(DEADLINE, async || match self.api.ask("/v1/queue").await {
            Ok((200, queue)) if queue["queued"] == 0 && queue["running"] == 0 => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    }

    async fn wait_for_log(&self, text: &str) {
        eventually(DEADLINE, async || {
            let output = self.cluster.all_output();
            met(output.contains(text), format!("{text:?} is not logged"))
        })
        .await;
    }

    /// How many events each task has, when nothing is to be done any more.
    async fn events(&self) -> [usize; 3] {
        self.wait_until_settled().await;
        let mut counts = [0; 3];
        for (name, count) in TASKS.iter().zip(&mut counts) {
            *count = self.api.events(name).await.len();
        }
        counts
    }
}

#[tokio::test]
async fn a_failover_that_loses_nothing_runs_no_task() {
    let mut scene = Scene::start().await;
    assert_eq!(scene.events().await, [1, 1, 1]);
    let replica = scene.postgres.replica().await;
    replica.catch_up(&scene.postgres).await;
    scene.postgres.fail_over(replica).await;
    scene.wait_for_log(TRUSTED).await;
    // Later changes are applied, and applied inputs are not.
    scene.change("a", 2).await;
    assert_eq!(scene.events().await, [2, 1, 1]);
    assert!(!scene.cluster.all_output().contains(DISTRUSTED));
}

#[tokio::test]
async fn only_the_task_whose_last_run_is_lost_runs_once() {
    let mut scene = Scene::start().await;
    let replica = scene.postgres.replica().await;
    replica.catch_up(&scene.postgres).await;
    replica.stop_following().await;
    scene.change("b", 2).await;
    scene.wait_until_settled().await;
    // Consul is as before, so that the database of the new primary sees no change.
    scene.consul.deregister("b-2").await;
    scene.wait_until_applied("b", 1).await;
    scene.wait_until_settled().await;
    scene.postgres.fail_over(replica).await;
    scene.wait_for_log(TRUSTED).await;
    // The run of "b" after its first is lost.
    scene.api.wait_for_events("b", 2).await;
    scene.change("a", 2).await;
    assert_eq!(scene.events().await, [2, 2, 1]);
}

#[tokio::test]
async fn a_worker_that_was_killed_vouches_when_it_is_back_in_its_directory() {
    let mut scene = Scene::start().await;
    let replica = scene.postgres.replica().await;
    replica.catch_up(&scene.postgres).await;
    scene.cluster.kill(Service::Worker, 0).await;
    scene.postgres.fail_over(replica).await;
    scene.cluster.launch(Service::Worker, 0);
    scene.wait_for_log(TRUSTED).await;
    scene.change("a", 2).await;
    assert_eq!(scene.events().await, [2, 1, 1]);
}

#[tokio::test]
async fn every_task_runs_once_if_a_worker_does_not_come_back() {
    let mut scene = Scene::start().await;
    let replica = scene.postgres.replica().await;
    replica.catch_up(&scene.postgres).await;
    scene.cluster.kill(Service::Worker, 0).await;
    scene.postgres.fail_over(replica).await;
    scene.wait_for_log(DISTRUSTED).await;
    for name in TASKS {
        scene.api.wait_for_events(name, 2).await;
    }
    assert_eq!(scene.events().await, [2, 2, 2]);
}
