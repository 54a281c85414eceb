//! How streams and the watcher end.

use cts_testkit::{ConsulAgent, eventually};
use tokio::time::timeout;
use tonic::Code;

use crate::DEADLINE;
use crate::rig::{Rig, ids, view};

#[tokio::test]
async fn a_shutdown_ends_all_streams_and_pollers() {
    let consul = ConsulAgent::start().await;
    let mut rig = Rig::start(&consul.address());
    let mut following = rig.follower(&view("web")).await;
    let mut idle = rig.subscriber().await;
    rig.stop.cancel();
    assert_eq!(following.end().await.code(), Code::Unavailable);
    assert_eq!(idle.end().await.code(), Code::Unavailable);
    // Returns only when the pollers are gone.
    let ended = timeout(DEADLINE, rig.running.join_next()).await.unwrap();
    assert!(ended.unwrap().is_ok());
    let mut late = rig.subscriber().await;
    assert_eq!(late.end().await.code(), Code::Unavailable);
}

#[tokio::test]
async fn a_subscriber_that_has_nothing_more_to_say_goes_on_receiving() {
    let consul = ConsulAgent::start().await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.follower(&view("web")).await;
    subscriber.close_requests();
    consul.register_service("web", "a", 80, &[], &[]).await;
    assert_eq!(ids(&subscriber.delta().await.1), ["a"]);
}

#[tokio::test]
async fn a_stream_that_follows_nothing_and_will_not_is_over() {
    let rig = Rig::start("127.0.0.1:9");
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&view("web")]);
    subscriber.unsubscribe(&view("web"));
    subscriber.close_requests();
    assert_eq!(subscriber.end().await.code(), Code::Ok);
    eventually(DEADLINE, async || match rig.watcher.followed_views() {
        0 => Ok(()),
        count => Err(format!("{count} views are followed")),
    })
    .await;
}
