//! Uploads and logs: signed addresses.

use cts_testkit::hcp::{HcpSettings, Phase};
use serde_json::json;

use crate::client::Session;

#[tokio::test]
async fn unreadable_and_large_uploads_are_no_configuration() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    let uploads = [
        (vec![0; (10 << 20) + 1], 422, "pending"),
        (b"no archive".to_vec(), 200, "errored"),
    ];
    for (content, status, after) in uploads {
        let row = r#"
POST /workspaces/{ws}/configuration-versions configuration-versions {"auto-queue-runs": false} -> 201 as cv"#;
        let made = session.table(row).await;
        let address = made["data"]["attributes"]["upload-url"].as_str().unwrap();
        let put = session
            .client
            .put(address)
            .body(content)
            .send()
            .await
            .unwrap();
        assert_eq!(put.status(), status);
        let row = format!(
            "GET /configuration-versions/{{cv}} -> 200 attributes {{\"status\": \"{after}\"}}\n\
             POST /runs run {{}} -> 422 invalid configuration_version"
        );
        session.table(&row).await;
    }
}

#[tokio::test]
async fn a_log_is_read_in_pieces_between_its_marks() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session
        .table(r#"POST /runs run {"plan-only": true} -> 201 attributes {"plan-only": true} as run"#)
        .await;
    session.reached(Phase::PlannedAndFinished).await;
    let planned = session.table("GET /runs/{run} -> 200").await;
    let plan = &planned["data"]["relationships"]["plan"]["data"]["id"];
    session.keep("plan", plan.as_str().unwrap());
    let plan = session.table("GET /plans/{plan} -> 200").await;
    let address = plan["data"]["attributes"]["log-read-url"].as_str().unwrap();
    let (status, whole) = session.content(address).await;
    assert_eq!((status, whole[0], whole[whole.len() - 1]), (200, 2, 3));
    assert!(
        session
            .server
            .plan_log(&session.kept["run"])
            .starts_with("Plan: 1 to add")
    );
    let mut pieces = Vec::new();
    loop {
        let piece = session
            .content(&format!("{address}?limit=7&offset={}", pieces.len()))
            .await
            .1;
        if piece.is_empty() {
            break;
        }
        assert!(piece.len() <= 7);
        pieces.extend(piece);
    }
    assert_eq!(pieces, whole);
    let with_token = session
        .client
        .get(address)
        .bearer_auth("t")
        .send()
        .await
        .unwrap();
    assert_eq!(with_token.status(), 400);
    assert_eq!(session.content(&format!("{address}0")).await.0, 403);
}
