//! Names that would mean something in a URL.

use cts_consul::ConsulError;
use cts_testkit::ConsulAgent;

use crate::{AskHealth as _, client, ids, view};

#[tokio::test]
async fn every_name_finds_its_own_service() {
    let consul = ConsulAgent::start().await;
    let names = [
        "a/b",
        "a b",
        "a?index=1",
        "a#b",
        "a%2Fb",
        "a&b=c+d",
        "gr\u{fc}n",
        "\u{1f680}",
        "a\\b",
        "...",
        "a;b",
        "%",
        "a\"b",
    ];
    for (number, name) in names.iter().enumerate() {
        consul
            .register_service(name, &format!("id-{number}"), 80, &[], &[])
            .await;
    }
    let client = client(&consul.address());
    for (number, name) in names.iter().enumerate() {
        let answer = client.health_service(&view(name), 0).await;
        let answer = answer.unwrap_or_else(|error| panic!("{name:?}: {}", error.report()));
        assert_eq!(ids(&answer.instances), [format!("id-{number}")], "{name:?}");
        assert_eq!(answer.instances[0].name, *name);
    }
}

#[tokio::test]
async fn no_name_leads_to_another_path() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 80, &[], &[]).await;
    consul.kv_put("secret", "[]").await;
    let client = client(&consul.address());
    // Consul would redirect some to the path that they amount to, and refuses control characters.
    for name in [
        "w\teb",
        "we\nb",
        "web\0",
        "../service/web",
        "x/../web",
        "../../kv/secret?raw",
        "//web",
    ] {
        match client.health_service(&view(name), 0).await {
            Ok(answer) => assert!(answer.instances.is_empty(), "{name:?}"),
            Err(ConsulError::Status { status, .. }) => {
                assert!((300..500).contains(&status), "{name:?}: {status}");
            }
            Err(error) => panic!("{name:?}: {}", error.report()),
        }
    }
    for name in ["", ".", ".."] {
        let error = client.health_service(&view(name), 0).await.unwrap_err();
        assert!(
            matches!(&error, ConsulError::UnusableName { name: refused } if refused == name),
            "{error:?}"
        );
    }
}
