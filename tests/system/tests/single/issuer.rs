//! Tokens of an OIDC issuer, end to end (docs/access.md#oidc).

use cts_core::Clock as _;
use cts_proto::task::v1::UpdateTaskRequest;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_runtime::SystemClock;
use cts_testkit::{OidcIssuer, SigningKey, SigningKeyKind, eventually};
use cts_tests::{Backend, DEADLINE, Instance, Site, met, task as block};
use serde_json::json;
use tonic::{Code, Request as Call};

use crate::api::scene::{MODULE, Scene, prepare};
use crate::api::wire::{Answer, Request};

/// One process that accepts tokens of the issuer, with the task `web`.
async fn scene(issuer: &OidcIssuer) -> Scene {
    let security = format!(
        r#"
security {{
  require_auth = true

  oidc {{
    issuer     = "{}"
    audience   = ["cts"]
    name_claim = "email"
    role_claim = "realm.roles"
    roles      = {{ viewers = "read", ops = "operate", platform = "admin" }}
  }}
}}
"#,
        issuer.url()
    );
    let (site, consul) = prepare(Site::new(), "").await;
    let tasks = block("web", MODULE, &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &(security + &tasks));
    let instance = Instance::start_embedded(&site).await;
    Scene {
        instance,
        site,
        consul,
    }
}

/// A token of `alice` in these groups.
fn token(issuer: &OidcIssuer, key: &SigningKey, groups: &[&str]) -> String {
    let now = SystemClock.now().timestamp();
    let claims = json!({
        "iss": issuer.url(),
        "aud": ["cts", "other"],
        "sub": "4711",
        "email": "alice@example.com",
        "exp": now + 600,
        "realm": {"roles": groups},
    });
    key.token("ES256", &claims)
}

async fn ask(scene: &Scene, method: &str, path: &str, token: &str) -> Answer {
    let request = Request::new(method, path).header("Authorization", &format!("Bearer {token}"));
    let request = match method {
        "PATCH" => request.body("{\"enabled\": true}"),
        _ => request,
    };
    scene.send(&request).await
}

#[tokio::test]
async fn users_of_an_issuer_have_the_role_of_their_groups_also_while_its_keys_turn() {
    let issuer = OidcIssuer::start().await;
    let [old, new] = ["old", "new"].map(|id| SigningKey::new(id, SigningKeyKind::P256));
    issuer.publish(&[&old]);
    let scene = scene(&issuer).await;
    let viewer = token(&issuer, &old, &["viewers"]);
    eventually(DEADLINE, async || {
        let answer = ask(&scene, "GET", "/v1/status/tasks/web", &viewer).await;
        let is_applied = answer.json()["web"]["status"] == "successful";
        met(is_applied, answer.to_string())
    })
    .await;
    for (groups, statuses) in [
        (&["others"][..], [403, 403, 403]),
        (&["viewers"], [200, 403, 403]),
        (&["viewers", "ops"], [200, 200, 403]),
        (&["platform"], [200, 200, 404]),
    ] {
        let token = token(&issuer, &old, groups);
        for ((method, path), status) in [
            ("GET", "/v1/tasks/web"),
            ("PATCH", "/v1/tasks/web?run=now"),
            ("DELETE", "/v1/tasks/unknown"),
        ]
        .into_iter()
        .zip(statuses)
        {
            let answer = ask(&scene, method, path, &token).await;
            assert_eq!(
                answer.status, status,
                "{groups:?} {method} {path}: {answer}"
            );
        }
    }
    // The issuer makes its tokens with a new key from now on, and others forge one.
    issuer.publish(&[&old, &new]);
    let admin = token(&issuer, &new, &["platform"]);
    // The keys were read a moment ago, and are not read all the time.
    let runs = eventually(DEADLINE, async || {
        let answer = ask(&scene, "GET", "/v1/runs?limit=1", &admin).await;
        match answer.status {
            200 => Ok(answer.json()),
            _ => Err(answer.to_string()),
        }
    })
    .await;
    let by = format!("user \"alice@example.com\" of {}", issuer.url());
    assert_eq!(runs["runs"][0]["requested_by"], json!(by), "{runs}");
    let forged = SigningKey::new("new", SigningKeyKind::P256);
    let forged = token(&issuer, &forged, &["platform"]);
    assert_eq!(
        ask(&scene, "GET", "/v1/tasks/web", &forged).await.status,
        401
    );

    // These tokens are credentials of gRPC, too.
    let mut tasks = TaskServiceClient::new(scene.instance.grpc());
    let call = |token: &str| {
        let mut call = Call::new(UpdateTaskRequest {
            name: "web".to_owned(),
            enabled: Some(false),
            ..UpdateTaskRequest::default()
        });
        let value = format!("Bearer {token}").parse().unwrap();
        call.metadata_mut().insert("authorization", value);
        call
    };
    let refused = tasks.update_task(call(&forged)).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
    let viewer = token(&issuer, &new, &["viewers"]);
    let refused = tasks.update_task(call(&viewer)).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
    let operator = token(&issuer, &new, &["ops"]);
    tasks.update_task(call(&operator)).await.unwrap();

    // Records of refused calls are written in bundles, some of them after the change.
    let records = ask(&scene, "GET", "/v1/audit?limit=1000", &admin)
        .await
        .expect(200);
    let mut all = records["records"].as_array().unwrap().iter();
    let update =
        all.find(|it| it["action"] == "task.update" && it["arguments"]["enabled"] == "false");
    let update = update.unwrap_or_else(|| panic!("{records}"));
    assert_eq!(update["caller"], "alice@example.com", "{update}");
    assert_eq!(update["issuer"], json!(issuer.url()), "{update}");
    scene.instance.stop().await;
}
