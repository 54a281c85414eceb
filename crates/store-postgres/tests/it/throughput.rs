//! Measures the throughput. Run it alone, with `--ignored --nocapture` and in release.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cts_store::Store as _;
use cts_store_conformance::spec;
use cts_store_postgres::{PostgresStore, Settings, migrate};
use cts_testkit::Postgres;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::outage::{applied, claim, lead, request};

const TASKS: usize = 2000;
const ROUNDS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn leases_and_completions_per_second() {
    let postgres = Postgres::start().await;
    for connections in [1, 4, 16] {
        let url = postgres.create_database().await;
        let settings = Settings {
            url: url.as_str().into(),
            max_connections: connections,
            ca_cert: None,
        };
        migrate(&settings).await.unwrap();
        let store = Arc::new(cts_store_postgres::connect(&settings).await.unwrap());
        let leader = lead(&store, "one").await;
        let specs: Vec<_> = (0..TASKS).map(|n| spec(&format!("task-{n}"))).collect();
        let begin = Instant::now();
        store.replace_config_tasks(leader, &specs).await.unwrap();
        println!("{TASKS} tasks stored in {:?}", begin.elapsed());
        let (mut queueing, mut working) = (Duration::ZERO, Duration::ZERO);
        for round in 0..ROUNDS {
            let requests: Vec<_> = specs
                .iter()
                .map(|spec| {
                    let name = spec.name().as_str();
                    request(name, &format!("input {round} of {name}"))
                })
                .collect();
            let begin = Instant::now();
            store.enqueue(leader, requests).await.unwrap();
            queueing += begin.elapsed();
            working += drain(&store, connections).await;
        }
        let runs = TASKS * ROUNDS;
        println!(
            "{connections} connections: {:.0} lease+completion/s, {TASKS} runs queued in {:?}",
            f64::from(u32::try_from(runs).unwrap()) / working.as_secs_f64(),
            queueing / u32::try_from(ROUNDS).unwrap(),
        );
    }
}

async fn drain(store: &Arc<PostgresStore>, workers: u32) -> Duration {
    let done = Arc::new(AtomicUsize::new(0));
    let begin = Instant::now();
    let mut all = JoinSet::new();
    for number in 0..workers {
        let (store, done) = (Arc::clone(store), Arc::clone(&done));
        all.spawn(async move {
            let claim = claim(&format!("worker-{number}"));
            while let Some(lease) = store.acquire(&claim).await.unwrap() {
                let completion = applied(&lease);
                store.complete(completion).await.unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = all.join_next().await {
        ended.unwrap();
    }
    assert_eq!(done.load(Ordering::Relaxed), TASKS);
    begin.elapsed()
}
