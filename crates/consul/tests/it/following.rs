//! The loop against the real Consul.

use std::time::Duration;

use cts_core::ServiceView;
use cts_testkit::{ConsulAgent, eventually};
use tokio::time::Instant;

use crate::{DEADLINE, Poll, client, ids, instances, view};

#[tokio::test]
async fn changes_arrive_until_the_service_is_gone() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "a", 80, &[], &[]).await;
    let mut poll = Poll::start(client(&consul.address()), view("web"));
    assert_eq!(ids(&poll.snapshot().await), ["a"]);
    consul.register_service("web", "b", 80, &[], &[]).await;
    assert_eq!(ids(&poll.snapshot().await), ["a", "b"]);
    consul.deregister("a").await;
    assert_eq!(ids(&poll.snapshot().await), ["b"]);
    consul.deregister("b").await;
    assert!(poll.snapshot().await.is_empty());
}

#[tokio::test]
async fn a_restarted_consul_with_a_lower_index_is_followed_again() {
    let mut consul = ConsulAgent::start().await;
    // Drives the index up, far beyond what the new agent begins with.
    for number in 0..200 {
        consul.kv_put("counter", number.to_string()).await;
    }
    consul.register_service("web", "old", 80, &[], &[]).await;
    let mut poll = Poll::start(client(&consul.address()), view("web"));
    assert_eq!(ids(&poll.snapshot().await), ["old"]);

    consul.kill().await;
    let (message, failures, retry_after) = poll.failure().await;
    assert!(message.starts_with("cannot reach consul: "), "{message}");
    assert_eq!(failures, 1);
    assert!(retry_after <= Duration::from_millis(500));

    consul.restart().await;
    consul.register_service("web", "new", 80, &[], &[]).await;
    let restarted = Instant::now();
    eventually(DEADLINE, async || match poll.next().await {
        cts_consul::PollEvent::Snapshot { items, .. }
            if ids(&instances(items.clone())) == ["new"] =>
        {
            Ok(())
        }
        other => Err(format!("{other:?}")),
    })
    .await;
    // Far less than Consul would hold a query with the old index.
    assert!(restarted.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_rejected_filter_is_reported_and_tried_slowly() {
    let consul = ConsulAgent::start().await;
    let filter = "Nonsense == 1".to_owned();
    let view = ServiceView {
        filter,
        ..view("web")
    };
    let mut poll = Poll::start(client(&consul.address()), view);
    let (message, failures, retry_after) = poll.failure().await;
    assert!(
        message.starts_with("Unexpected response code: "),
        "{message}"
    );
    assert_eq!((failures, retry_after), (1, cts_consul::MAX_RETRY_DELAY));
}
