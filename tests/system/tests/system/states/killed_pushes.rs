//! A move of a state to S3 is killed while Terraform writes the state, whose lock it leaves
//! (docs/terraform.md#locks-of-lost-attempts).

use cts_testkit::{Link, ObjectStore, TcpProxy, eventually};
use cts_tests::{DEADLINE, Instance, met};

use super::killed_moves::{Point, Scene, driver};
use super::state_moves::{BUCKET, Stage, local, s3};

const STATE: &str = "states/env:/pool/new";
const LOCK: &str = "states/env:/pool/new.tflock";

/// Beginning of the request that writes the state.
const STATE_WRITE: &str = "PUT /states/env%3A/pool/new?";

/// Terraform makes such a state where a command names a workspace that does not exist.
const PLACEHOLDER: &str = r#"{"version":4,"terraform_version":"1.0.0","serial":1,"lineage":"0c1fd1b4-4f2d-4a55-8a5e-0a3c6c1a7b11","outputs":{},"resources":[]}"#;

/// Kills cts and its Terraform at the first write of the state, and starts cts again.
async fn killed_at_the_write(store: &ObjectStore, more: &str) -> (Scene, Instance) {
    let proxy = TcpProxy::start(store.socket()).await;
    let stage = Stage::new(&["pool"]).await;
    let old = local(&stage.file("old"));
    let scene = Scene::begin(stage, &old).await;
    proxy.set_link(Link::Hold(STATE_WRITE));
    let new = |address: &str| format!("{more}\n  {}", s3(address, "new"));
    let cts = scene
        .start(&new(&format!("http://{}", proxy.address())))
        .await;
    eventually(DEADLINE, async || match proxy.held() {
        0 => Err("no request is held"),
        _ => Ok(()),
    })
    .await;
    scene.kill(cts).await;
    assert!(store.get(LOCK).await.is_some());
    scene.stage.configure(&driver(&new(&store.address())));
    let cts = Instance::start(&scene.stage.site).await;
    (scene, cts)
}

#[tokio::test]
async fn the_lock_of_a_killed_push_is_released_where_that_is_wanted() {
    let store = ObjectStore::with_bucket(BUCKET).await;
    store.put(STATE, PLACEHOLDER).await;
    let (scene, cts) = killed_at_the_write(&store, "release_lost_locks = true").await;
    let released = "releasing the state lock that a lost attempt has left";
    eventually(DEADLINE, async || {
        let output = cts.output();
        met(output.contains(released), output)
    })
    .await;
    scene.finish(cts, Point::Recorded).await;
    assert_eq!(store.get(LOCK).await, None);
}

/// Terraform locks a state before it makes it, and needs the same lock to release it.
#[tokio::test]
async fn the_lock_of_a_state_that_was_never_made_is_removed_by_hand() {
    let said = [
        ("", "The lock was left by worker "),
        ("release_lost_locks = true", "error tf-unlock for 'pool'"),
    ];
    for (more, text) in said {
        let store = ObjectStore::with_bucket(BUCKET).await;
        let (scene, cts) = killed_at_the_write(&store, more).await;
        assert_eq!(store.get(STATE).await, None);
        let error = eventually(DEADLINE, async || {
            let runs = cts.api.get("/v1/runs?task=pool&limit=10").await;
            let runs = runs["runs"].as_array().unwrap();
            let mut errors = runs.iter().filter_map(|run| run["error"].as_str());
            let error = errors.find(|error| error.contains(text));
            error.map(str::to_owned).ok_or_else(|| format!("{runs:?}"))
        })
        .await;
        let by_hand = format!("Then remove the lock of {STATE} where the state is kept");
        assert!(error.contains(&by_hand), "{error}");
        store.remove(LOCK).await;
        scene.finish(cts, Point::Recorded).await;
        assert_eq!(store.get(LOCK).await, None);
    }
}
