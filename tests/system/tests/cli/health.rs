//! `cts health` without a service that serves; `cluster::tls` asks real ones.

use cts_testkit::assert_contains;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::cli::calls::{OURS, Place};

/// An address on which nothing listens: the port of a listener that is closed by now.
async fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}

#[tokio::test]
async fn a_service_that_is_not_there_does_not_serve() {
    let place = Place::new();
    let address = closed().await;
    for (asked, shown) in [
        (address.clone(), address.clone()),
        (format!("http://{address}"), format!("http://{address}")),
    ] {
        let called = place.call(OURS, &["health", &asked]).await;
        assert_eq!((called.code, called.stdout.as_str()), (1, ""));
        assert_contains(&called.stderr, [format!("{shown} does not serve: ")]);
        assert_eq!(called.stderr.lines().count(), 1, "{called:?}");
    }
    let called = place.call(OURS, &["health", "-o", "json", &address]).await;
    assert_eq!((called.code, called.stderr.as_str()), (1, ""));
    let document: Value = serde_json::from_str(&called.stdout).unwrap();
    assert_eq!(document["address"], address);
    assert_eq!(document["healthy"], false);
    assert!(!document["problem"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn a_service_that_does_not_answer_is_given_up_in_time() {
    let place = Place::new();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let called = place.call(OURS, &["health", &address]).await;
    assert_eq!(called.code, 1, "{called:?}");
    assert_contains(&called.stderr, [format!("{address} does not serve: ")]);
}

#[tokio::test]
async fn the_api_of_the_environment_is_asked_without_an_address() {
    let mut place = Place::new();
    let address = format!("http://{}", closed().await);
    place.set("CTS_ADDRESS", &address);
    let called = place.call(OURS, &["health"]).await;
    assert_eq!(called.code, 1, "{called:?}");
    assert_contains(&called.stderr, [format!("{address} does not serve: ")]);
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_has_its_own_exit_code() {
    let place = Place::new();
    place.write("cts.hcl", "services { tls = 1 }\n");
    let words = ["health", "-config-file=cts.hcl", "127.0.0.1:1"];
    assert_eq!(place.call(OURS, &words).await.code, 15);
}
