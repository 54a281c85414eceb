//! Several handlers, and the handler for trying things out.

use std::time::Duration;

use cts_handlers::WebhookSettings;
use cts_testkit::{ScriptedAnswer, ScriptedHttp};
use cts_tls::ClientFiles;
use serde_json::{Value, json};

use crate::stage::{PACE, applied, handlers, provider, request};

fn fake(arguments: Value) -> (cts_core::ProviderId, Option<cts_core::ProviderBlock>) {
    provider("fake-sync", arguments)
}

#[tokio::test]
async fn the_last_provider_comes_first_and_webhooks_after_all_of_them() {
    let receiver = ScriptedHttp::start([ScriptedAnswer::Json(400, Value::Null)]).await;
    let mut request = request();
    request.providers = vec![
        fake(json!({ "name": "first", "err": true })),
        provider("other", json!({ "auto_commit": true })),
        fake(json!({ "name": "quiet" })),
        fake(json!({ "name": "last", "err": true })),
    ];
    request.names = vec!["tickets".to_owned()];
    request.webhooks = vec![WebhookSettings {
        name: "tickets".to_owned(),
        url: format!("http://{}/", receiver.address()).into(),
        secret: None,
        timeout: Duration::from_secs(5),
        retries: 0,
        tls: ClientFiles::default(),
        server_name: None,
    }];
    let chain = handlers(PACE).prepare(&request).unwrap();
    let error = chain.run(&applied()).await.unwrap_err();
    assert_eq!(error.errors().len(), 3);
    assert_eq!(
        error.to_string(),
        "the apply succeeded, but what follows it did not: provider \"fake-sync\": \"last\" fails because of `err`; \
         provider \"fake-sync\": \"first\" fails because of `err`; \
         webhook \"tickets\" was not delivered: the receiver answers 400 Bad Request"
    );
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn only_the_first_apply_of_a_task_passes() {
    let handlers = handlers(PACE);
    let mut request = request();
    request.providers = vec![fake(
        json!({ "name": "x", "err": true, "success_first": true }),
    )];
    for expected in [true, false, false] {
        let chain = handlers.prepare(&request).unwrap();
        assert_eq!(chain.run(&applied()).await.is_ok(), expected);
    }
    request.task = cts_core::TaskName::new("another").unwrap();
    let chain = handlers.prepare(&request).unwrap();
    chain.run(&applied()).await.unwrap();
}

#[tokio::test]
async fn a_fake_without_a_name_or_a_block_is_refused() {
    for provider in [
        fake(json!({ "err": true })),
        fake(json!({ "name": "" })),
        ("fake-sync".into(), None),
    ] {
        let mut request = request();
        request.providers = vec![provider];
        let error = handlers(PACE).prepare(&request).unwrap_err().to_string();
        assert_eq!(error, "terraform_provider \"fake-sync\" needs a `name`");
    }
}
