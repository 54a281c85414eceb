//! A server that is given to the test run answers like the stub; differences are listed (CONTRIBUTING.md).

use std::collections::BTreeMap;

use cts_testkit::HcpServer;
use cts_testkit::hcp::{HcpAccess, HcpApi, HcpSettings};
use reqwest::Method;
use serde_json::Value;

use crate::table::{Row, difference, rows};

const JSON_API: &str = "application/vnd.api+json";

/// Requests that leave nothing behind.
const ROWS: &str = r#"
GET /organizations/{org}/workspaces/{name} -> 404 {"errors": [{"status": "404", "title": "not found"}]}
POST /organizations/{org}/workspaces workspaces {"name": "{name}", "auto-apply": false, "execution-mode": "remote",
  "source-name": "cts", "setting-overwrites": {"execution-mode": true}} -> 201 {"data": {"type": "workspaces",
  "attributes": {"name": "{name}", "auto-apply": false, "execution-mode": "remote", "locked": false, "vcs-repo": null,
  "tag-names": [], "permissions": {"can-queue-run": true, "can-update-variable": true}}}} as ws
POST /organizations/{org}/workspaces workspaces {"name": "{name}"} -> 422
POST /organizations/{org}/workspaces workspaces {"name": "a b"} -> 422
POST /organizations/{org}/workspaces workspaces {} -> 422
PATCH /workspaces/{ws} workspaces {"execution-mode": "agent"} -> 422
GET /organizations/{org}/workspaces/{name} -> 200 {"data": {"id": "{ws}"}}
PATCH /workspaces/{ws} workspaces {"description": "a test of cts"} -> 200 attributes {"description": "a test of cts"}
POST /workspaces/{ws}/relationships/tags {"data": [{"type": "tags", "attributes": {"name": "source:cts"}}]} -> 204
GET /workspaces/{ws}/relationships/tags -> 200 {"data": [{"attributes": {"name": "source:cts"}}]}
POST /workspaces/{ws}/vars vars {"key": "services", "value": "{}", "category": "terraform", "hcl": true,
  "sensitive": false} -> 201 attributes {"key": "services", "value": "{}", "hcl": true} as var
POST /workspaces/{ws}/vars vars {"key": "services", "value": "{}", "category": "terraform"} -> 422
POST /workspaces/{ws}/vars vars {"key": "token", "value": "t", "category": "env", "sensitive": true} -> 201
  attributes {"value": null, "sensitive": true} as secret
POST /workspaces/{ws}/vars vars {"key": "k", "value": "v"} -> 422
PATCH /workspaces/{ws}/vars/{secret} vars {"sensitive": false} -> 422
PATCH /workspaces/{ws}/vars/{secret} vars {"key": "other"} -> 422
PATCH /workspaces/{ws}/vars/{var} vars {"value": "{a = 1}"} -> 200 attributes {"value": "{a = 1}"}
DELETE /workspaces/{ws}/vars/{var} -> 204
POST /workspaces/{ws}/actions/lock {"reason": "a test"} -> 200 attributes {"locked": true}
POST /workspaces/{ws}/actions/lock {"reason": "a test"} -> 409
POST /workspaces/{ws}/actions/unlock -> 200 attributes {"locked": false}
POST /workspaces/{ws}/actions/unlock -> 409
GET /workspaces/{ws}/current-state-version -> 404
POST /workspaces/{ws}/configuration-versions configuration-versions {"auto-queue-runs": false} -> 201
  attributes {"status": "pending"} as cv
GET /configuration-versions/{cv} -> 200 {"data": {"id": "{cv}"}}
GET /workspaces/{ws}/runs -> 200 {"data": []}
GET /runs/run-0000000000000000 -> 404
POST /workspaces/{ws}/actions/safe-delete -> 204
GET /workspaces/{ws} -> 404"#;

/// The text with kept identifiers in place of their names.
fn filled(kept: &BTreeMap<String, String>, text: &str) -> String {
    let fill =
        |text: String, (name, id): (&String, &String)| text.replace(&format!("{{{name}}}"), id);
    kept.iter().fold(text.to_owned(), fill)
}

/// Sends the rows and returns a line for each answer that is not as expected.
async fn differences(access: &HcpAccess, name: &str) -> Vec<String> {
    let api = access.connect().await.unwrap();
    let mut kept = BTreeMap::from([
        ("org".to_owned(), access.organization.clone()),
        ("name".to_owned(), name.to_owned()),
    ]);
    let mut found = Vec::new();
    for row in rows(ROWS) {
        if let Err(difference) = answer(&api, &row, &mut kept).await {
            found.push(format!("{} {}: {difference}", row.method, row.path));
        }
    }
    found
}

async fn answer(
    api: &HcpApi,
    row: &Row,
    kept: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let method = Method::from_bytes(row.method.as_bytes()).unwrap();
    let path = filled(kept, &row.path);
    let mut request = api.request(method, path.trim_start_matches('/'))?;
    request = request.header("Content-Type", JSON_API);
    if !row.body.is_null() {
        request = request.body(filled(kept, &row.body.to_string()));
    }
    let answer = request.send().await.map_err(|error| error.to_string())?;
    let status = answer.status().as_u16();
    let content = answer.bytes().await.map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_slice(&content).unwrap_or_default();
    if let (false, Some(id)) = (row.keep.is_empty(), answer["data"]["id"].as_str()) {
        kept.insert(row.keep.clone(), id.to_owned());
    }
    if status != row.status {
        return Err(format!("{status}, not {}: {answer}", row.status));
    }
    let expected = filled(kept, &row.expected.to_string());
    let expected: Value = serde_json::from_str(&expected).unwrap();
    match difference(&expected, &answer, "").filter(|_text| !expected.is_null()) {
        Some(text) => Err(text),
        None => Ok(()),
    }
}

#[tokio::test]
async fn the_stub_answers_as_a_given_server_does() {
    let directory = tempfile::tempdir().unwrap();
    let stub = HcpServer::start_in(directory.path(), HcpSettings::default()).await;
    let name = format!("cts-test-rows-{}", uuid::Uuid::new_v4().simple());
    let of_stub = differences(&HcpAccess::of_stub(&stub, directory.path()), &name).await;
    assert!(of_stub.is_empty(), "the stub:\n{}", of_stub.join("\n"));
    if let Some(given) = HcpAccess::given() {
        let of_given = differences(&given, &name).await;
        let list = of_given.join("\n");
        assert!(of_given.is_empty(), "the given server differs:\n{list}");
    }
}
