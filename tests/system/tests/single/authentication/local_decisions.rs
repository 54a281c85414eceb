//! Decisions of `cts approvals -config-file` beside a running cts (docs/cli.md#cts-approvals).

use cts_testkit::eventually;
use cts_tests::{DEADLINE, task as block};
use serde_json::Value;

use super::{cts, records, scene_of, token};
use crate::api::scene::{MODULE, Scene};

/// Calls `cts approvals` on the database; its output.
async fn approvals(scene: &Scene, words: &[&str]) -> String {
    let words = [&["approvals"], words, &["-config-file=cts.hcl", "-o=json"]].concat();
    let (code, output, messages) = cts(scene, "", &words).await;
    assert_eq!(code, Some(0), "{output}{messages}");
    output
}

#[tokio::test]
async fn local_decisions_are_carried_out_by_a_running_cts() {
    let scene = scene_of(&block("red", MODULE, &["web"], "approval = \"always\"")).await;
    let asked = eventually(DEADLINE, async || {
        let list = approvals(&scene, &["list"]).await;
        let list: Value = serde_json::from_str(&list).unwrap();
        match &list["approvals"][0] {
            Value::Null => Err(list.to_string()),
            asked => Ok(asked.clone()),
        }
    })
    .await;
    let [run, effect] = ["run_id", "effect"].map(|member| asked[member].as_str().unwrap());
    approvals(&scene, &["approve", run, "-effect", effect]).await;
    scene.site.wait_for_ids("red", &["web-1"]).await;

    let admin = token(&scene, "root", "admin", &[]).await;
    let records = records(&scene, &admin).await;
    let approved = records
        .iter()
        .find(|record| record["action"] == "approval.approve");
    assert_eq!(approved.unwrap()["caller_kind"], "local", "{records:?}");
}
