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
    session
        .table(r#"GET /workspaces/{ws}/current-state-version -> 200 attributes {"serial": 3}"#)
        .await;
    create(
        &mut session,
        attributes(2, "m", json!({"force": true})),
        201,
    )
    .await;
    assert_eq!(session.server.state("web").unwrap()["serial"], 2);
}
