//! Documents that are refused for their content.

use cts_testkit::hcp::HcpSettings;
use serde_json::json;

use crate::client::{JSON_API, Session};

#[tokio::test]
async fn bodies_must_be_documents() {
    let session = Session::start(HcpSettings::default()).await;
    let path = "/organizations/acme/workspaces";
    let rows = [
        ("application/json", "{}", 415),
        (JSON_API, "{", 400),
        (JSON_API, "[]", 400),
        (JSON_API, "{}", 422),
    ];
    for (kind, body, status) in rows {
        let request = session
            .request("POST", path)
            .header("Content-Type", kind)
            .body(body);
        assert_eq!(
            request.send().await.unwrap().status(),
            status,
            "{kind} {body}"
        );
    }
}

#[tokio::test]
async fn attributes_are_validated() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session
        .server
        .set_variable("web", "hidden", json!({"value": "v", "sensitive": true}));
    let hidden = session.server.variables("web")[0].id.clone();
    session.keep("hidden", &hidden);
    for (name, length) in [
        ("long91", 91),
        ("long129", 129),
        ("long513", 513),
        ("long", 262_145),
    ] {
        session.keep(name, &"n".repeat(length));
    }
    let rows = r#"
POST /organizations/acme/workspaces workspaces {} -> 422 invalid name
POST /organizations/acme/workspaces workspaces {"name": "web"} -> 422 invalid name
POST /organizations/acme/workspaces workspaces {"name": "a b"} -> 422 invalid name
POST /organizations/acme/workspaces workspaces {"name": "{long91}"} -> 422 invalid name
POST /organizations/acme/workspaces vars {"name": "x"} -> 422 invalid type
PATCH /workspaces/{ws} workspaces {"name": ""} -> 422 invalid name
PATCH /workspaces/{ws} workspaces {"execution-mode": "x"} -> 422 invalid execution-mode
PATCH /workspaces/{ws} workspaces {"execution-mode": "agent"} -> 422 invalid agent-pool-id
PATCH /workspaces/{ws} workspaces {"execution-mode": "agent", "agent-pool-id": "none"} -> 422 invalid agent-pool-id
PATCH /workspaces/{ws} workspaces {"terraform-version": "9.9.9"} -> 422 invalid terraform-version
GET /workspaces/{ws} -> 200 attributes {"name": "web", "execution-mode": "remote"}
POST /workspaces/{ws}/vars vars {"key": "k", "value": "v"} -> 422 invalid category
POST /workspaces/{ws}/vars vars {"key": "", "category": "env"} -> 422 invalid key
POST /workspaces/{ws}/vars vars {"key": "{long129}", "category": "env"} -> 422 invalid key
POST /workspaces/{ws}/vars vars {"key": "k", "value": "{long}", "category": "env"} -> 422 invalid value
POST /workspaces/{ws}/vars vars {"key": "k", "description": "{long513}", "category": "env"} -> 422 invalid description
POST /workspaces/{ws}/vars vars {"key": "k", "category": "env", "hcl": true} -> 422 invalid hcl
POST /workspaces/{ws}/vars vars {"key": "hidden", "category": "terraform"} -> 422 invalid key
PATCH /workspaces/{ws}/vars/{hidden} vars {"sensitive": false} -> 422 invalid sensitive
PATCH /workspaces/{ws}/vars/{hidden} vars {"key": "other"} -> 422 invalid key
POST /workspaces/{ws}/relationships/tags {"data": [{"type": "tags", "attributes": {"name": "a b"}}]} -> 422 invalid name
POST /workspaces/{ws}/relationships/tags {"data": {}} -> 400 error bad request
POST /runs run {"variables": [{"value": "1"}]} -> 422 invalid variables
PATCH /workspaces/{ws} workspaces {"execution-mode": "local"} -> 200
POST /runs run {} -> 422 invalid workspace"#;
    session.table(rows).await;
}
