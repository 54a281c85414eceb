//! The library in one test process, twice.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use cts::{
    AbsentPeers, Embedded, Failure, LogFormat, Observation, ProcessEnv, Sockets, StartMode,
    StartOptions,
};
use cts_config::LoadContext;
use cts_core::Clock as _;
use cts_runtime::SystemClock;
use cts_testkit::ConsulAgent;
use cts_tests::{Api, Backend, RECORDER, Site, task};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// An instance in this process.
#[derive(Debug)]
struct InProcess {
    api: Api,
    shutdown: CancellationToken,
    end: JoinHandle<Result<(), Failure>>,
}

async fn start(site: &Site) -> InProcess {
    let environment: BTreeMap<String, String> =
        site.surrounding_environment().into_iter().collect();
    let context = LoadContext {
        environment: &environment,
        current_dir: site.path(),
        hostname: "test",
        now: SystemClock.now(),
    };
    let loaded = cts_config::load(&[site.path().join("cts.hcl")], &context).unwrap();
    let surroundings = ProcessEnv {
        program: "cts",
        environment: environment
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect(),
        current_dir: site.path().to_owned(),
        hostname: "test".to_owned(),
        boot: None,
        memory: None,
        descriptors: 1024,
        is_root: false,
        clock: Arc::new(SystemClock),
        log_format: LogFormat::Text,
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let api = Api::new(listener.local_addr().unwrap());
    let sockets = Sockets {
        observation: Observation::default(),
        api: Some(listener),
        page: None,
        grpc: None,
    };
    let options = StartOptions {
        mode: StartMode::Daemon,
        reset_storage: false,
        restored: false,
        absent_peers: AbsentPeers::Fail,
    };
    let embedded = Embedded::prepare(&loaded.config, &surroundings, sockets, options)
        .await
        .unwrap();
    let shutdown = CancellationToken::new();
    let end = TaskTracker::new().spawn(embedded.run(shutdown.clone()));
    InProcess { api, shutdown, end }
}

/// One task of its own in a site of its own.
fn site_with_task(consul: &ConsulAgent, name: &str) -> Site {
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let task = task(name, "./modules/recorder", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &task);
    site
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_instances_in_one_process_do_not_meet() {
    let (red_consul, blue_consul) = tokio::join!(ConsulAgent::start(), ConsulAgent::start());
    let red_site = site_with_task(&red_consul, "red");
    let blue_site = site_with_task(&blue_consul, "blue");
    red_consul
        .register_service("web", "red-1", 1, &[], &[])
        .await;
    blue_consul
        .register_service("web", "blue-1", 2, &[], &[])
        .await;
    let (red, blue) = tokio::join!(start(&red_site), start(&blue_site));

    red_site.wait_for_ids("red", &["red-1"]).await;
    blue_site.wait_for_ids("blue", &["blue-1"]).await;
    red.api.wait_for_events("red", 1).await;
    blue.api.wait_for_events("blue", 1).await;
    let (status, _) = red.api.ask("/v1/status/tasks/blue").await.unwrap();
    assert_eq!(status, 404);

    // The end of one is no end of the other.
    red.shutdown.cancel();
    let red_end = timeout(Duration::from_secs(10), red.end).await.unwrap();
    red_end.unwrap().unwrap();
    assert!(red.api.ask("/v1/health").await.is_err());
    blue_consul
        .register_service("web", "blue-2", 3, &[], &[])
        .await;
    blue_site.wait_for_ids("blue", &["blue-1", "blue-2"]).await;
    blue.api.wait_for_events("blue", 2).await;
    blue.shutdown.cancel();
    let blue_end = timeout(Duration::from_secs(10), blue.end).await.unwrap();
    blue_end.unwrap().unwrap();

    // A stopped instance can be started again in the same process.
    let again = Box::pin(start(&red_site)).await;
    again.api.wait_for_events("red", 1).await;
    again.shutdown.cancel();
    again.end.await.unwrap().unwrap();
}
