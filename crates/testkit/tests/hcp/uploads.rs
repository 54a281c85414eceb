//! Uploads and logs: signed addresses.

use cts_testkit::hcp::{HcpSettings, Phase, gzip_tar};
use serde_json::json;

use crate::client::Session;

#[tokio::test]
async fn an_upload_starts_a_run_unless_that_is_switched_off() {
    let mut session = Session::start(HcpSettings::default()).await;
    session.server.create_workspace("web", json!({}));
    let id = session.server.workspace("web")["id"].clone();
    session.keep("ws", id.as_str().unwrap());
    let kinds = [
        ("{}", 1),
        (r#"{"auto-queue-runs": false}"#, 1),
        (r#"{"speculative": true}"#, 2),
    ];
    for (attributes, runs) in kinds {
        let path = "/workspaces/{ws}/configuration-versions configuration-versions";
        let row =
            format!("POST {path} {attributes} -> 201 attributes {{\"status\": \"pending\"}} as cv");
        let made = session.table(&row).await;
        let upload = made["data"]["attributes"]["upload-url"].as_str().unwrap();
        assert!(!upload.starts_with(&session.server.address()), "{upload}");
        let content = gzip_tar(&[("main.tf", "# it")]);
        let put = session
            .client
            .put(upload)
            .body(content)
            .send()
            .await
            .unwrap();
        assert_eq!(put.status(), 200);
        let row = r#"
GET /configuration-versions/{cv} -> 200 attributes {"status": "uploaded", "upload-url": null}"#;
        session.table(row).await;
        assert_eq!(session.server.runs("web").len(), runs);
        let files = session.server.configuration_files(&session.kept["cv"]);
        assert_eq!(files["main.tf"], "# it");
    }
    assert!(session.server.runs("web")[1].plan_only);
    let listed = r#"
GET /workspaces/{ws}/configuration-versions -> 200 {"data": [{"id": "{cv}"}, {}, {}]}"#;
    session.table(listed).await;
    let answer = session
        .get("/configuration-versions/{cv}/download")
        .await
        .unwrap();
    assert_eq!(answer.status(), 307);
    let address = answer.headers()["location"].to_str().unwrap();
    assert_eq!(session.content(address).await.0, 200);
}

#[tokio::test]
async fn unreadable_and_large_uploads_are_no_configuration() {
    let settings = HcpSettings {
        upload_limit: 600,
        ..HcpSettings::default()
    };
    let mut session = Session::with_workspace(settings, json!({})).await;
    let uploads = [
        (vec![0; 601], 422, "pending"),
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
async fn uploads_can_be_held_failed_and_archived() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session.server.hold_uploads();
    session.upload(&[("main.tf", "")]);
    session
        .table(r#"GET /configuration-versions/{cv} -> 200 attributes {"status": "pending"}"#)
        .await;
    session.server.release_uploads();
    session
        .table(r#"GET /configuration-versions/{cv} -> 200 attributes {"status": "uploaded"}"#)
        .await;
    session.server.archive_configuration(&session.kept["cv"]);
    session.table("POST /runs run {} -> 201").await;
    session.reached(Phase::Errored).await;
    session.server.fail_uploads(Some("no space"));
    session.upload(&[("main.tf", "")]);
    let failed = r#"
GET /configuration-versions/{cv} -> 200 attributes {"status": "errored", "error-message": "no space"}"#;
    session.table(failed).await;
}

#[tokio::test]
async fn a_log_is_read_in_pieces_between_its_marks() {
    let mut session = Session::with_workspace(HcpSettings::default(), json!({})).await;
    session
        .table(r#"POST /runs run {"plan-only": true} -> 201 attributes {"plan-only": true} as run"#)
        .await;
    session.reached(Phase::PlannedAndFinished).await;
    let plan = session.table("GET /runs/{run}/plan -> 200").await;
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
    session.server.expire_signed_addresses();
    assert_eq!(session.content(address).await.0, 403);
}
