//! State versions that a client creates.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cts_testkit::hcp::HcpSettings;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use crate::client::Session;
use crate::table::{Row, document};

fn state(serial: u64, lineage: &str) -> String {
    json!({"version": 4, "serial": serial, "lineage": lineage, "resources": []}).to_string()
}

fn digest(state: &str) -> String {
    format!("{:x}", Md5::digest(state))
}

/// Attributes of a new state, with these changes.
fn attributes(serial: u64, lineage: &str, changes: Value) -> Value {
    let state = state(serial, lineage);
    let encoded = BASE64_STANDARD.encode(&state);
    let mut attributes =
        json!({"serial": serial, "lineage": lineage, "md5": digest(&state), "state": encoded});
    let Value::Object(changes) = changes else {
        panic!("no object: {changes}");
    };
    attributes.as_object_mut().unwrap().extend(changes);
    attributes
}

async fn create(session: &mut Session, attributes: Value, status: u16) -> Value {
    let row = Row {
        method: "POST".to_owned(),
        path: "/workspaces/{ws}/state-versions".to_owned(),
        body: document("state-versions", attributes),
        status,
        expected: Value::Null,
        keep: String::new(),
    };
    session.call(&row).await
}

#[tokio::test]
async fn states_need_the_lock_a_higher_serial_and_the_right_digest() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    create(&mut session, attributes(3, "l", json!({})), 409).await;
    session.server.lock("web");
    create(&mut session, attributes(3, "l", json!({})), 409).await;
    session.server.unlock("web");
    session
        .table("POST /workspaces/{ws}/actions/lock -> 200")
        .await;
    let rows = [
        (3, "l", json!({}), 201),
        (3, "l", json!({}), 201),
        (3, "l", json!({"md5": "00"}), 409),
        (2, "l", json!({}), 409),
        (4, "other", json!({}), 409),
        (9, "l", json!({"serial": null}), 422),
        (9, "l", json!({"serial": 10}), 422),
        (9, "l", json!({"md5": null}), 422),
        (9, "l", json!({"md5": "00"}), 422),
        (9, "l", json!({"state": "%"}), 422),
    ];
    for (serial, lineage, changes, status) in rows {
        create(&mut session, attributes(serial, lineage, changes), status).await;
    }
    let rows = r#"
GET /state-versions -> 400 error bad request
GET /workspaces/{ws}/current-state-version -> 200 attributes {"serial": 3, "status": "finalized"}"#;
    session.table(rows).await;
    create(
        &mut session,
        attributes(2, "m", json!({"force": true})),
        201,
    )
    .await;
    assert_eq!(session.server.state("web").unwrap()["serial"], 2);
}

#[tokio::test]
async fn a_state_is_uploaded_and_downloaded_at_signed_addresses() {
    for redirects_to_states in [false, true] {
        let settings = HcpSettings {
            redirects_to_states,
            ..HcpSettings::default()
        };
        let mut session = Session::with_workspace(settings, json!({})).await;
        session
            .table("POST /workspaces/{ws}/actions/lock -> 200")
            .await;
        let made = create(
            &mut session,
            attributes(9, "m", json!({"state": null})),
            201,
        )
        .await;
        assert_eq!(made["data"]["attributes"]["status"], "pending");
        session
            .table("GET /workspaces/{ws}/current-state-version -> 404")
            .await;
        let upload = made["data"]["attributes"]["hosted-state-upload-url"]
            .as_str()
            .unwrap();
        let put = async |content: String| {
            session
                .client
                .put(upload)
                .body(content)
                .send()
                .await
                .unwrap()
                .status()
        };
        assert_eq!(put(state(8, "m")).await, 422);
        assert_eq!(put(state(9, "m")).await, 200);
        let current = session
            .table("GET /workspaces/{ws}/current-state-version -> 200")
            .await;
        let mut download = current["data"]["attributes"]["hosted-state-download-url"]
            .as_str()
            .unwrap()
            .to_owned();
        if redirects_to_states {
            assert_eq!(session.content(&download).await.0, 401);
            let token = session.server.token();
            let asked = session
                .client
                .get(&download)
                .bearer_auth(token)
                .send()
                .await
                .unwrap();
            assert_eq!(asked.status(), 307);
            asked.headers()["location"]
                .to_str()
                .unwrap()
                .clone_into(&mut download);
        }
        let (status, content) = session.content(&download).await;
        assert_eq!(
            (status, String::from_utf8(content).unwrap()),
            (200, state(9, "m"))
        );
    }
}
