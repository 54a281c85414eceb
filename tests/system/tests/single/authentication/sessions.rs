//! Sessions of the page that a command ends (docs/access.md#sessions).

use std::time::Duration;

use cts_core::callers::{Caller, CallerKind};
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_proto::access::v1::{BeginSessionRequest, FollowSessionsRequest};
use cts_rpc::admission::{CALLER_METADATA, CallContext};
use cts_rpc::convert::duration_to_wire;
use cts_testkit::assert_contains;
use cts_tests::{Backend, DEADLINE, Instance, Site};
use tokio::time::timeout;
use tonic::Request;
use tonic::transport::Channel;

use super::cts;
use crate::api::scene::{Scene, prepare};

/// Begins a session as a gateway does.
async fn begin(channel: &Channel, name: &str, hash: u8) {
    let mut request = Request::new(BeginSessionRequest {
        sha256: vec![hash; 32],
        role: "read".to_owned(),
        lasts: Some(duration_to_wire(Duration::from_hours(1))),
        ..BeginSessionRequest::default()
    });
    let caller = CallContext::of(Caller::new(CallerKind::User, name, None));
    let metadata = request.metadata_mut();
    metadata.insert_bin(CALLER_METADATA, caller.to_metadata());
    let mut sessions = SessionServiceClient::new(channel.clone());
    sessions.begin_session(request).await.unwrap();
}

#[tokio::test]
async fn a_command_ends_the_sessions_of_a_person() {
    let (site, consul) = prepare(Site::new(), "").await;
    site.configure(&consul.address(), Backend::Shared, "");
    let instance = Instance::start_embedded(&site).await;
    let channel = instance.grpc();
    let scene = Scene {
        instance,
        site,
        consul,
    };
    for (name, hash) in [("alice", 1), ("alice", 2), ("bob", 3)] {
        begin(&channel, name, hash).await;
    }
    let mut sessions = SessionServiceClient::new(channel);
    let followed = sessions.follow_sessions(FollowSessionsRequest {}).await;
    let mut followed = followed.unwrap().into_inner();
    let mut next = async || {
        let message = timeout(DEADLINE, followed.message()).await.unwrap();
        message.unwrap().unwrap()
    };
    assert_eq!(next().await.begun.len(), 3);
    assert!(next().await.complete);
    let revoke = async |name: &str| {
        let words = ["token", "revoke", "-sessions", name, "-config-file=cts.hcl"];
        let (code, output, messages) = cts(&scene, "", &words).await;
        assert_eq!(output, "");
        (code, messages)
    };
    let (code, messages) = revoke("user:alice").await;
    assert_eq!(code, Some(0), "{messages}");
    assert_contains(&messages, ["2 sessions of \"user:alice\" ended."]);
    let ended: Vec<_> = next().await.ended.iter().map(|hash| hash[0]).collect();
    assert_eq!(ended, [1, 2]);
    let (code, messages) = revoke("alice").await;
    assert_eq!(code, Some(11), "{messages}");
    assert_contains(&messages, ["there is no session of \"alice\""]);
}
