//! More workers do more: 60 runs, each of which waits for two seconds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, Plan, RECORDER, Service, Site, task};
use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::scene::POLL;
use crate::cluster::stand_in;

const RUNS: usize = 60;

/// A cluster without workers whose runs are all ready.
struct Queue {
    cluster: Cluster,
    site: Site,
    _consul: ConsulAgent,
}

impl Queue {
    async fn start() -> Self {
        let consul = ConsulAgent::start().await;
        let site = Site::new();
        site.write("modules/pool/main.tf", RECORDER);
        let tasks = (0..RUNS).fold(String::new(), |mut text, number| {
            let name = format!("task-{number}");
            text.write_str(&task(&name, "./modules/pool", &["web"], ""))
                .unwrap();
            text
        });
        site.configure(&consul.address(), Backend::Consul, &tasks);
        let directory = stand_in::waiting(&site);
        site.write(
            "worker.hcl",
            &format!("log_level = \"DEBUG\"\ndriver \"terraform\" {{ path = \"{directory}\" }}\n"),
        );
        let mut plan = Plan::of(1, 1, 0, 1);
        plan.lease_ttl = Duration::from_secs(30);
        plan.files = vec![
            (Some(Service::Watcher), "cts.hcl".to_owned()),
            (Some(Service::Scheduler), "cts.hcl".to_owned()),
            (Some(Service::Worker), "worker.hcl".to_owned()),
        ];
        let cluster = Cluster::start(&site, plan).await;
        let queue = Self {
            cluster,
            site,
            _consul: consul,
        };
        queue.wait(|queue| queue["ready"] == RUNS).await;
        queue
    }

    async fn wait(&self, fits: impl Fn(&Value) -> bool) {
        let api = self.cluster.api(0);
        eventually(DEADLINE, async || {
            let queue = api.get("/v1/queue").await;
            if fits(&queue) {
                Ok(())
            } else {
                Err(queue.to_string())
            }
        })
        .await;
    }

    /// Adds workers, which begin at once.
    fn add_workers(&mut self, count: usize) {
        for _ in 0..count {
            let worker = self.cluster.add(Service::Worker);
            self.cluster.launch(Service::Worker, worker);
        }
    }

    fn started_by(&self, worker: usize) -> usize {
        let output = self.cluster.output(Service::Worker, worker);
        output.matches("run started").count()
    }

    /// Waits until all is done, each task once.
    async fn wait_until_done(&self) {
        self.wait(|queue| queue["queued"] == 0 && queue["running"] == 0)
            .await;
        let applied = fs::read_to_string(self.site.path().join("applied")).unwrap();
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for name in applied.lines() {
            *times.entry(name).or_default() += 1;
        }
        assert_eq!(times.len(), RUNS);
        assert!(times.values().all(|times| *times == 1), "{times:?}");
    }
}

/// Time from the first run's beginning to the last one's end.
async fn time_with(workers: usize) -> Duration {
    let mut queue = Queue::start().await;
    queue.add_workers(workers);
    queue.wait(|queue| queue["running"] != 0).await;
    let begun = Instant::now();
    queue.wait_until_done().await;
    begun.elapsed()
}

#[tokio::test]
async fn three_workers_take_a_third_of_the_time() {
    let one = time_with(1).await;
    let three = time_with(3).await;
    let ratio = three.as_secs_f64() / one.as_secs_f64();
    assert!(ratio < 0.45, "{three:?} with three, {one:?} with one");
    // The workers shared the waiting: four at a time.
    assert!(one + POLL > Duration::from_secs(2) * 15, "{one:?}");
}

#[tokio::test]
async fn a_worker_that_comes_in_mid_flight_takes_part_and_one_that_drains_leaves() {
    let mut queue = Queue::start().await;
    queue.add_workers(3);
    queue
        .wait(|queue| queue["queued"].as_u64() < Some(45))
        .await;
    queue.add_workers(1);
    queue.cluster.wait_until_healthy(Service::Worker, 3).await;
    let healthy = Instant::now();
    eventually(DEADLINE, async || {
        let started = queue.started_by(3);
        if started == 4 { Ok(()) } else { Err(started) }
    })
    .await;
    assert!(healthy.elapsed() < POLL * 2, "{:?}", healthy.elapsed());

    let before = queue.started_by(0);
    let exit = queue.cluster.stop(Service::Worker, 0).await;
    exit.assert_code(0);
    // Its slots may have been on the way to their next runs.
    assert!(queue.started_by(0) <= before + 4);
    queue.wait(|queue| queue["slots"] == 12).await;
    queue.wait_until_done().await;
    let by_workers: Vec<usize> = (0..4).map(|worker| queue.started_by(worker)).collect();
    assert_eq!(by_workers.iter().sum::<usize>(), RUNS, "{by_workers:?}");
}
