//! Sessions of the page, for gateways (docs/access.md#sessions).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::{Caller, CallerKind, Role};
use cts_proto::access::v1 as access;
use cts_rpc::admission::{CALLER_METADATA, CallContext};
use cts_rpc::convert;
use cts_runtime::SystemClock;
use cts_scheduler::{Options, Sharing};
use cts_store::{AccessStore as _, Member, NewStoredToken, SessionStore as _};
use tokio::time::timeout;
use tonic::{Code, Request, Status, Streaming};

use super::{LIMIT, by_ci, records};
use crate::setup::{Setup, member, store_in};

/// Documented is a second, for a machine that keeps up.
const SOON: Duration = Duration::from_secs(5);

fn login(hash: u8) -> access::BeginSessionRequest {
    access::BeginSessionRequest {
        sha256: vec![hash; 32],
        role: "operate,approve".to_owned(),
        tasks: vec!["web-*".to_owned()],
        token_sha256: Vec::new(),
        lasts: Some(convert::duration_to_wire(Duration::from_hours(8))),
    }
}

/// A call as a gateway makes it for the user `alice`.
fn by_alice<T>(message: T) -> Request<T> {
    let caller = Caller::new(CallerKind::User, "alice", "10.0.0.1".parse().ok());
    let context = CallContext::of(caller.of_issuer("https://login.example"));
    let mut request = Request::new(message);
    let metadata = request.metadata_mut();
    metadata.insert_bin(CALLER_METADATA, context.to_metadata());
    request
}

async fn begin(
    setup: &Setup,
    request: Request<access::BeginSessionRequest>,
) -> Result<access::Session, Status> {
    let begun = setup.sessions.clone().begin_session(request).await?;
    Ok(begun.into_inner().session.unwrap())
}

/// The sessions that a gateway knows.
struct Follower {
    messages: Streaming<access::FollowSessionsResponse>,
    known: BTreeSet<u8>,
}

impl Follower {
    async fn of(setup: &Setup) -> Self {
        let request = access::FollowSessionsRequest {};
        let followed = setup.sessions.clone().follow_sessions(request).await;
        let mut follower = Self {
            messages: followed.unwrap().into_inner(),
            known: BTreeSet::new(),
        };
        follower.next().await;
        follower
    }

    /// The first bytes of the hashes after the next change.
    async fn next(&mut self) -> Vec<u8> {
        loop {
            let message = timeout(SOON, self.messages.message()).await.unwrap();
            let message = message.unwrap().unwrap();
            self.known
                .extend(message.begun.iter().map(|it| it.sha256[0]));
            for ended in &message.ended {
                assert!(self.known.remove(&ended[0]));
            }
            if message.complete {
                return self.known.iter().copied().collect();
            }
        }
    }
}

#[tokio::test]
async fn gateways_see_each_change_of_the_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options::alone(Vec::new(), member());
    let setup = Setup::over(Arc::clone(&store), options).await;
    begin(&setup, by_alice(login(1))).await.unwrap();
    let mut follower = Follower::of(&setup).await;
    assert_eq!(follower.known, [1].into());
    // Commands write to the file while the scheduler works.
    let path = directory.path().join("cts.db");
    let command = cts_store_sqlite::attach(&path, Arc::new(SystemClock)).await;
    let command = command.unwrap();
    let token = NewStoredToken {
        name: "ci".to_owned(),
        sha256: [7; 32],
        role: Role::Operate,
        tasks: Vec::new(),
        created_by: "test".to_owned(),
        life: None,
    };
    command.create_token(&token).await.unwrap();
    let of_token = access::BeginSessionRequest {
        token_sha256: vec![7; 32],
        ..login(2)
    };
    let begun = begin(&setup, by_ci(of_token.clone())).await.unwrap();
    assert_eq!(
        (&*begun.kind, &*begun.name, &*begun.issuer),
        ("token", "ci", "")
    );
    assert_eq!(
        (&*begun.role, &*begun.tasks),
        ("operate,approve", &["web-*".to_owned()][..])
    );
    assert_eq!(
        begun.ends_at.unwrap().seconds - begun.begun_at.unwrap().seconds,
        8 * 3600
    );
    assert_eq!(follower.next().await, [1, 2]);
    command.revoke_token("ci").await.unwrap();
    assert_eq!(follower.next().await, [1]);
    let refused = begin(&setup, by_ci(of_token)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
    assert_eq!(refused.metadata().get("cts-reason").unwrap(), "unknown");
    begin(&setup, by_alice(login(3))).await.unwrap();
    assert_eq!(follower.next().await, [1, 3]);
    let logout = access::EndSessionRequest {
        sha256: vec![1; 32],
    };
    let ended = setup.sessions.clone().end_session(by_alice(logout)).await;
    ended.unwrap();
    assert_eq!(follower.next().await, [3]);
    let ended = command
        .end_sessions_of("alice", Some(CallerKind::User))
        .await;
    assert_eq!(ended.unwrap(), 1);
    assert!(follower.next().await.is_empty());
}

#[tokio::test]
async fn a_gateway_hears_of_sessions_that_began_at_another_scheduler() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let shared = |id: &str| {
        let member = Member {
            id: id.into(),
            ..member()
        };
        Options {
            sharing: Sharing::Shared,
            ..Options::alone(Vec::new(), member)
        }
    };
    let one = Setup::over(Arc::clone(&store), shared("one")).await;
    let two = Setup::over(Arc::clone(&store), shared("two")).await;
    let mut follower = Follower::of(&two).await;
    begin(&one, by_alice(login(1))).await.unwrap();
    assert_eq!(follower.next().await, [1]);
    let logout = access::EndSessionRequest {
        sha256: vec![1; 32],
    };
    one.sessions
        .clone()
        .end_session(by_alice(logout))
        .await
        .unwrap();
    assert!(follower.next().await.is_empty());
}

#[tokio::test]
async fn more_sessions_than_a_message_takes_come_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options::alone(Vec::new(), member());
    let setup = Setup::over(Arc::clone(&store), options).await;
    for hash in 0..150 {
        let caller = Caller::new(CallerKind::User, &format!("user {hash}"), None);
        let mut request = Request::new(login(hash));
        let metadata = request.metadata_mut();
        metadata.insert_bin(CALLER_METADATA, CallContext::of(caller).to_metadata());
        begin(&setup, request).await.unwrap();
    }
    let follower = Follower::of(&setup).await;
    assert_eq!(follower.known, (0..150).collect());
}

#[tokio::test]
async fn logins_and_logouts_are_recorded() {
    let setup = Setup::new(Vec::new(), LIMIT).await;
    begin(&setup, by_alice(login(1))).await.unwrap();
    for _ in 0..2 {
        let logout = access::EndSessionRequest {
            sha256: vec![1; 32],
        };
        let ended = setup.sessions.clone().end_session(by_alice(logout)).await;
        ended.unwrap();
    }
    let of_no_token = access::BeginSessionRequest {
        token_sha256: vec![7; 32],
        ..login(2)
    };
    begin(&setup, by_ci(of_no_token)).await.unwrap_err();
    let records = records(&setup).await;
    let shown: Vec<_> = records
        .iter()
        .map(|it| (&*it.action, &*it.caller, &*it.issuer, &*it.outcome))
        .collect();
    let issuer = "https://login.example";
    let expected = [
        ("session.begin", "alice", issuer, "done"),
        ("session.end", "alice", issuer, "done"),
        ("session.begin", "ci", "", "refused"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(records[0].arguments["role"], "operate,approve");
    assert_eq!(records[0].arguments["lasts"], "28800s");
    assert_eq!(
        records[2].reason,
        "the token of the login is revoked or has expired"
    );
}

#[tokio::test]
async fn an_incomplete_login_begins_no_session() {
    let setup = Setup::new(Vec::new(), LIMIT).await;
    let with = |change: fn(&mut access::BeginSessionRequest)| {
        let mut request = login(1);
        change(&mut request);
        by_alice(request)
    };
    for request in [
        Request::new(login(1)),
        with(|request| request.sha256 = vec![1; 31]),
        with(|request| request.token_sha256 = vec![1; 31]),
        with(|request| request.role = "root".to_owned()),
        with(|request| request.tasks = vec!["web-[".to_owned()]),
        with(|request| request.lasts = None),
        with(|request| {
            let longer = Duration::from_hours(7 * 24) + Duration::from_secs(1);
            request.lasts = Some(convert::duration_to_wire(longer));
        }),
    ] {
        let refused = begin(&setup, request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    }
    assert_eq!(Follower::of(&setup).await.known, BTreeSet::new());
}
