//! Requests that make no sense end the stream.

use cts_proto::watch::v1::Unsubscribe;
use cts_proto::watch::v1::watch_request::Change;
use tonic::Code;

use crate::rig::{Rig, view};

/// Nothing listens there, and nothing needs to.
const NO_CONSUL: &str = "127.0.0.1:9";

#[tokio::test]
async fn a_view_without_a_name_is_invalid() {
    let rig = Rig::start(NO_CONSUL);
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&view("web"), &view("")]);
    let status = subscriber.end().await;
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("name"), "{status:?}");
}

#[tokio::test]
async fn a_request_that_asks_for_nothing_is_invalid() {
    let rig = Rig::start(NO_CONSUL);
    let mut subscriber = rig.subscriber().await;
    subscriber.send(None);
    assert_eq!(subscriber.end().await.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_view_that_is_not_followed_cannot_be_left() {
    let rig = Rig::start(NO_CONSUL);
    let mut subscriber = rig.subscriber().await;
    let view_ids = vec!["health.service(web)".to_owned()];
    subscriber.send(Some(Change::Unsubscribe(Unsubscribe { view_ids })));
    let status = subscriber.end().await;
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("health.service(web)"));
}
