//! A session service over data in memory.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cts_proto::access::v1::session_service_server::SessionService;
use cts_proto::access::v1::{
    BeginSessionRequest, BeginSessionResponse, Caller, EndSessionRequest, EndSessionResponse,
    FollowSessionsRequest, FollowSessionsResponse, Session,
};
use prost::Message as _;
use prost_types::Timestamp;
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::{Stream, StreamExt as _, once};
use tonic::{Request, Response, Status};

/// Begins and ends sessions, and sends them.
#[derive(Debug, Clone)]
pub(crate) struct MemorySessions {
    /// Whether the scheduler is of a version without the service.
    pub(crate) unserved: bool,
    /// The last login was made with this request.
    pub(crate) begun: Arc<Mutex<Option<BeginSessionRequest>>>,
    /// Why the next login is declined.
    pub(crate) declined: Arc<Mutex<Option<Status>>>,
    changes: broadcast::Sender<FollowSessionsResponse>,
}

impl Default for MemorySessions {
    fn default() -> Self {
        Self {
            unserved: false,
            begun: Arc::default(),
            declined: Arc::default(),
            changes: broadcast::channel(64).0,
        }
    }
}

impl MemorySessions {
    /// Ends the session of the last login, as another gateway or a command does.
    pub(crate) fn end_last(&self) {
        let begun = self.begun.lock().unwrap();
        let sha256 = begun.as_ref().unwrap().sha256.clone();
        let change = FollowSessionsResponse {
            ended: vec![sha256],
            ..FollowSessionsResponse::default()
        };
        self.changes.send(change).unwrap();
    }
}

#[tonic::async_trait]
impl SessionService for MemorySessions {
    type FollowSessionsStream =
        Pin<Box<dyn Stream<Item = Result<FollowSessionsResponse, Status>> + Send>>;

    async fn follow_sessions(
        &self,
        _request: Request<FollowSessionsRequest>,
    ) -> Result<Response<Self::FollowSessionsStream>, Status> {
        let none = FollowSessionsResponse {
            complete: true,
            ..FollowSessionsResponse::default()
        };
        let changes = BroadcastStream::new(self.changes.subscribe());
        let changes = changes.map(|change| change.map_err(|lag| Status::internal(lag.to_string())));
        Ok(Response::new(Box::pin(once(Ok(none)).chain(changes))))
    }

    async fn begin_session(
        &self,
        request: Request<BeginSessionRequest>,
    ) -> Result<Response<BeginSessionResponse>, Status> {
        if let Some(declined) = self.declined.lock().unwrap().take() {
            return Err(declined);
        }
        let caller = request.metadata().get_bin("cts-caller-bin").unwrap();
        let caller = Caller::decode(caller.to_bytes().unwrap()).unwrap();
        let request = request.into_inner();
        *self.begun.lock().unwrap() = Some(request.clone());
        let session = Session {
            sha256: request.sha256,
            kind: caller.kind,
            name: caller.name,
            issuer: caller.issuer,
            role: request.role,
            tasks: request.tasks,
            begun_at: Some(Timestamp {
                seconds: 1_700_000_000,
                nanos: 0,
            }),
            ends_at: Some(Timestamp {
                seconds: 4_000_000_000,
                nanos: 0,
            }),
        };
        let change = FollowSessionsResponse {
            begun: vec![session.clone()],
            ..FollowSessionsResponse::default()
        };
        // Without a follower nobody waits for it.
        let _followers = self.changes.send(change);
        Ok(Response::new(BeginSessionResponse {
            session: Some(session),
        }))
    }

    async fn end_session(
        &self,
        _request: Request<EndSessionRequest>,
    ) -> Result<Response<EndSessionResponse>, Status> {
        Ok(Response::new(EndSessionResponse {}))
    }
}
