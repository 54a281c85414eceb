//! A lost state blocks its task at every worker.

use cts_testkit::eventually;
use cts_tests::{Cluster, DEADLINE, Plan, Service};

use crate::system::states::lost_states::{Scene, assert_waits, keep_new, key, refused, settled};

#[tokio::test]
async fn a_lost_state_is_begun_anew_by_no_worker() {
    let scene = Scene::new(1).await;
    let mut cluster = Cluster::start(&scene.site, Plan::of(1, 1, 2, 1)).await;
    let api = cluster.api(0);
    let one: &[&str] = &["web-1"];
    scene
        .applied("web-1", &[("pool", one), ("rest", one)])
        .await;
    settled(&api, "pool").await;
    // Consul comes back without the state: the worker that has applied sees that, and the other one never had
    // the directory.
    scene.consul.kv_delete(&key("pool")).await;
    scene
        .applied("web-2", &[("rest", &["web-1", "web-2"])])
        .await;
    refused(&api, "the task's state is not there").await;

    // Whichever worker is left.
    let mut all = vec!["web-1", "web-2"];
    for (stopped, id) in [(0, "web-3"), (1, "web-4")] {
        cluster.stop(Service::Worker, stopped).await.assert_code(0);
        all.push(id);
        scene.applied(id, &[("rest", &all)]).await;
        assert_waits(&api).await;
        cluster.run(Service::Worker, stopped).await;
    }
    assert_eq!(scene.made_now("pool"), one);

    keep_new(&api).await;
    eventually(DEADLINE, async || match scene.made_now("pool").len() {
        5 => Ok(()),
        made => Err(format!("{made}")),
    })
    .await;
    settled(&api, "pool").await;
}
