//! Policies, and the deeds of a person.

use cts_testkit::hcp::{HcpSettings, Phase, Policy};
use serde_json::json;

use crate::client::Session;

#[tokio::test]
async fn a_soft_failed_policy_is_overridden_by_a_person() {
    let attributes = json!({"auto-apply": true});
    let mut session = Session::with_workspace(HcpSettings::default(), attributes).await;
    session.server.set_policy("web", Policy::SoftFailed);
    session.table("POST /runs run {} -> 201 as run").await;
    session.reached(Phase::PolicyOverride).await;
    let listed = session.table("GET /runs/{run}/policy-checks -> 200").await;
    session.keep("check", listed["data"][0]["id"].as_str().unwrap());
    let rows = r#"
GET /policy-checks/{check} -> 200 attributes {"status": "soft_failed", "result": {"soft-failed": 1, "hard-failed": 0},
  "actions": {"is-overridable": true}}
GET /policy-checks/{check}/output -> 307
GET /runs/{run} -> 200 attributes {"actions": {"is-discardable": true, "is-confirmable": false}}
POST /policy-checks/{check}/actions/override -> 200 attributes {"status": "overridden"}
POST /policy-checks/{check}/actions/override -> 409 error conflict"#;
    session.table(rows).await;
    session.reached(Phase::Applied).await;
    session.server.queue_run("web", "m");
    let id = session.reached(Phase::PolicyOverride).await;
    session.server.override_policy(&id);
    session.reached(Phase::Applied).await;
}

#[tokio::test]
async fn failed_policies_end_runs_that_cannot_be_overridden() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session.server.set_policy("web", Policy::SoftFailed);
    session
        .table(r#"POST /runs run {"plan-only": true} -> 201"#)
        .await;
    session.reached(Phase::PolicySoftFailed).await;
    session.server.set_policy("web", Policy::HardFailed);
    session.server.queue_run("web", "m");
    session.reached(Phase::Errored).await;
}

#[tokio::test]
async fn a_person_changes_a_workspace() {
    let session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session.server.tag("web", "a:b");
    session.server.connect_repository("web", "acme/repository");
    session
        .server
        .set_variable("web", "k", json!({"value": "1"}));
    session
        .server
        .set_variable("web", "k", json!({"value": "2"}));
    let attributes = session.server.workspace("web")["attributes"].clone();
    assert_eq!(attributes["tag-names"], json!(["a:b"]));
    assert_eq!(attributes["vcs-repo"]["identifier"], "acme/repository");
    let variables = session.server.variables("web");
    assert_eq!((variables.len(), variables[0].value.as_str()), (1, "2"));
    session.server.untag("web", "a:b");
    session.server.delete_workspace("web");
    assert_eq!(session.server.workspaces(), Vec::<String>::new());
}
