//! Requests that are done, with their answers.

use cts_testkit::hcp::{HcpSettings, Phase};
use serde_json::{Value, json};

use crate::client::Session;

#[tokio::test]
async fn discovery_names_the_base_path() {
    let session = Session::start(HcpSettings::default()).await;
    let url = format!("{}/.well-known/terraform.json", session.server.address());
    let services: Value = session
        .client
        .get(url)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(services["tfe.v2"], "/remote/api/v2/");
    let ping = session.get("/ping").await.unwrap();
    assert_eq!(ping.status(), 204);
    assert_eq!(ping.headers()["tfp-api-version"], "2.6");
    assert_eq!(ping.headers()["tfp-appname"], "HCP Terraform");
}

#[tokio::test]
async fn organizations_projects_and_pools_are_read() {
    let mut session = Session::start(HcpSettings::default()).await;
    let pool = session.server.add_agent_pool("inside", 2);
    session.server.add_agent_pool("inside-2", 0);
    session.keep("pool", &pool);
    let project = session.server.add_project("network");
    session.keep("project", &project);
    let rows = r#"
GET /organizations -> 200 {"data": [{"id": "acme", "type": "organizations"}]}
GET /organizations/acme -> 200 attributes {"name": "acme"}
GET /organizations/acme/entitlement-set -> 200 attributes {"operations": true, "agents": true}
GET /organizations/acme/projects -> 200 {"data": [{}, {"id": "{project}"}]}
GET /organizations/acme/projects?filter[names]=network -> 200 {"data": [{"id": "{project}"}]}
GET /projects/{project} -> 200 attributes {"name": "network"}
GET /organizations/acme/agent-pools?q=inside -> 200 {"meta": {"pagination": {"total-count": 2, "next-page": null}}}
GET /organizations/acme/agent-pools?q=inside&page%5Bsize%5D=1 -> 200
  {"data": [{"id": "{pool}"}], "meta": {"pagination": {"current-page": 1, "next-page": 2, "total-pages": 2}}}
GET /organizations/acme/agent-pools?q=inside&page%5Bsize%5D=1&page%5Bnumber%5D=2 -> 200
  {"data": [{"attributes": {"name": "inside-2"}}], "meta": {"pagination": {"next-page": null}}}
GET /agent-pools/{pool} -> 200 attributes {"name": "inside", "agent-count": 2}"#;
    session.table(rows).await;
}

#[tokio::test]
async fn workspaces_are_created_changed_and_deleted() {
    let mut session = Session::start(HcpSettings::default()).await;
    let pool = session.server.add_agent_pool("inside", 1);
    session.keep("pool", &pool);
    let rows = r#"
POST /organizations/acme/workspaces workspaces {"name": "web", "auto-apply": true, "terraform-version": "1.10.5",
  "source-name": "cts", "setting-overwrites": {"execution-mode": true}} -> 201 {"data": {"type": "workspaces",
  "attributes": {"name": "web", "auto-apply": true, "execution-mode": "remote", "locked": false, "vcs-repo": null,
  "tag-names": [], "structured-run-output-enabled": true, "terraform-version": "1.10.5", "source-name": "cts",
  "permissions": {"can-queue-run": true, "can-update-variable": true}},
  "relationships": {"current-run": {"data": null}, "project": {"data": {"type": "projects"}}}}} as web
POST /organizations/acme/workspaces workspaces {"name": "db", "execution-mode": "agent", "agent-pool-id": "{pool}"} -> 201
  {"data": {"relationships": {"agent-pool": {"data": {"id": "{pool}"}}}}} as db
GET /organizations/acme/workspaces/web -> 200 {"data": {"id": "{web}"}}
GET /workspaces/{db} -> 200 attributes {"name": "db", "execution-mode": "agent"}
PATCH /workspaces/{web} workspaces {"description": "e", "terraform-version": "~> 1.10.0"} -> 200
  attributes {"description": "e", "auto-apply": true, "terraform-version": "~> 1.10.0"}
GET /workspaces/{web}/varsets -> 200 {"data": []}
POST /workspaces/{web}/actions/safe-delete -> 204
DELETE /organizations/acme/workspaces/db -> 204
GET /organizations/acme/workspaces -> 200 {"data": []}"#;
    session.table(rows).await;
}

#[tokio::test]
async fn tags_are_added_searched_and_removed() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session.server.create_workspace("db", json!({}));
    let rows = r#"
POST /workspaces/{ws}/relationships/tags {"data": [{"type": "tags", "attributes": {"name": "source:cts"}}]} -> 204
GET /workspaces/{ws}/relationships/tags -> 200 {"data": [{"type": "tags", "attributes": {"name": "source:cts"}}]}
GET /organizations/acme/tags -> 200 {"data": [{"attributes": {"name": "source:cts", "instance-count": 1}}]}
GET /workspaces/{ws} -> 200 attributes {"tag-names": ["source:cts"]}
GET /organizations/acme/workspaces?search[tags]=source:cts -> 200 {"data": [{"attributes": {"name": "web"}}]}
GET /organizations/acme/workspaces?search[exclude-tags]=source:cts -> 200 {"data": [{"attributes": {"name": "db"}}]}
GET /organizations/acme/workspaces?search[name]=b -> 200 {"data": [{}, {}]}
DELETE /workspaces/{ws}/relationships/tags {"data": [{"type": "tags", "attributes": {"name": "source:cts"}}]} -> 204
GET /workspaces/{ws}/relationships/tags -> 200 {"data": []}"#;
    session.table(rows).await;
}

#[tokio::test]
async fn workspaces_are_locked_and_unlocked() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    let rows = r#"
POST /workspaces/{ws}/actions/lock {"reason": "r"} -> 200 {"data": {"attributes": {"locked": true},
  "relationships": {"locked-by": {"data": {"type": "users", "id": "cts-service"}}}}}
POST /workspaces/{ws}/actions/unlock -> 200 attributes {"locked": false}
POST /workspaces/{ws}/actions/lock -> 200
POST /workspaces/{ws}/actions/force-unlock -> 200 attributes {"locked": false}"#;
    session.table(rows).await;
}

#[tokio::test]
async fn variables_hide_sensitive_values() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    let rows = r#"
POST /workspaces/{ws}/vars vars {"key": "services", "value": "{ }", "category": "terraform", "hcl": true} -> 201
  attributes {"key": "services", "value": "{ }", "hcl": true, "sensitive": false} as plain
POST /workspaces/{ws}/vars vars {"key": "TOKEN", "value": "s", "category": "env", "sensitive": true} -> 201
  attributes {"value": null, "category": "env"} as secret
PATCH /workspaces/{ws}/vars/{plain} vars {"value": "[]"} -> 200 attributes {"value": "[]", "hcl": true}
PATCH /workspaces/{ws}/vars/{secret} vars {"value": "t"} -> 200 attributes {"value": null}
GET /workspaces/{ws}/vars -> 200 {"data": [{"id": "{plain}"}, {"id": "{secret}"}]}"#;
    session.table(rows).await;
    let values = session
        .server
        .variables("web")
        .into_iter()
        .map(|one| one.value);
    assert_eq!(values.collect::<Vec<_>>(), ["[]", "t"]);
    session
        .table("DELETE /workspaces/{ws}/vars/{plain} -> 204")
        .await;
    assert_eq!(session.server.variables("web").len(), 1);
}

#[tokio::test]
async fn a_run_goes_from_its_creation_to_the_apply() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session.server.hold(Phase::Planning);
    let created = r#"
POST /runs run {"message": "m [uuid]"} -> 201
  attributes {"status": "pending", "plan-only": false, "message": "m [uuid]", "auto-apply": false} as run"#;
    session.table(created).await;
    session.reached(Phase::Planning).await;
    let planning = r#"
GET /runs/{run} -> 200 {"data": {"attributes": {"status": "planning", "actions": {
  "is-cancelable": true, "is-confirmable": false, "is-discardable": false, "is-force-cancelable": false}},
  "relationships": {"workspace": {"data": {"id": "{ws}"}}, "configuration-version": {"data": {"id": "{cv}"}}}}}
GET /workspaces/{ws} -> 200 {"data": {"attributes": {"locked": true}, "relationships": {
  "current-run": {"data": {"id": "{run}"}}, "locked-by": {"data": {"type": "runs"}}}}}"#;
    session.table(planning).await;
    session.server.release(Phase::Planning);
    session.confirmable().await;
    let planned = r#"
GET /runs/{run} -> 200 attributes {"status": "planned", "has-changes": true,
  "actions": {"is-confirmable": true, "is-discardable": true}}
GET /runs/{run}/plan -> 200 attributes {"status": "finished", "has-changes": true, "resource-additions": 1} as plan
GET /plans/{plan} -> 200 attributes {"resource-additions": 1, "resource-changes": 0, "resource-destructions": 0}
GET /runs/{run}/apply -> 200 attributes {"status": "pending", "resource-additions": 0} as apply
POST /runs/{run}/actions/apply {"comment": "c"} -> 202"#;
    session.table(planned).await;
    session.reached(Phase::Applied).await;
    let applied = r#"
GET /applies/{apply} -> 200 attributes {"status": "finished", "resource-additions": 1}
GET /workspaces/{ws} -> 200 attributes {"locked": false, "resource-count": 1}
GET /workspaces/{ws}/runs?search[basic]=uuid -> 200 {"data": [{"id": "{run}"}]}
GET /workspaces/{ws}/runs?search[basic]=other -> 200 {"data": []}
GET /workspaces/{ws}/runs?filter[status]=errored,applied -> 200 {"data": [{"id": "{run}"}]}
GET /workspaces/{ws}/runs?filter[status]=errored -> 200 {"data": []}
GET /runs/{run}/task-stages -> 200 {"data": []}
GET /runs/{run}/policy-checks -> 200 {"data": []}
GET /workspaces/{ws}/current-state-version -> 200 attributes {"serial": 1, "status": "finalized"} as state
GET /state-versions/{state} -> 200 {"data": {"id": "{state}", "relationships": {"run": {"data": {"id": "{run}"}}}}}
GET /state-versions?filter[organization][name]=acme&filter[workspace][name]=web -> 200 {"data": [{"id": "{state}"}]}"#;
    session.table(applied).await;
}
