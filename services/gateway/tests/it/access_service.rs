//! An access service over data in memory.

use std::sync::{Arc, Mutex};

use cts_access::TokenHash;
use cts_proto::access::v1::access_service_server::AccessService;
use cts_proto::access::v1::{
    AuditRecord, Caller, FollowTokensRequest, FollowTokensResponse, ListAuditRecordsRequest,
    ListAuditRecordsResponse, RecordRefusalsRequest, RecordRefusalsResponse, Refusal, Token,
};
use prost::Message as _;
use prost_types::Timestamp;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status};

/// Sends the tokens that it is given, and keeps what it is told.
#[derive(Debug, Clone)]
pub(crate) struct MemoryAccess {
    /// The newest tokens, or why the stream of them ends.
    tokens: watch::Sender<Result<Vec<Token>, Status>>,
    /// Number of calls for the tokens.
    follows: watch::Sender<usize>,
    /// Refused requests, in the order in which they came.
    pub(crate) refusals: Arc<Mutex<Vec<Refusal>>>,
    /// Callers that are named in calls of tasks and runs.
    pub(crate) callers: Arc<Mutex<Vec<Caller>>>,
    /// How the records were asked for.
    pub(crate) lists: Arc<Mutex<Vec<ListAuditRecordsRequest>>>,
}

impl Default for MemoryAccess {
    fn default() -> Self {
        Self::with([])
    }
}

impl MemoryAccess {
    pub(crate) fn with(tokens: impl IntoIterator<Item = Token>) -> Self {
        let tokens = tokens.into_iter().collect();
        Self {
            tokens: watch::channel(Ok(tokens)).0,
            follows: watch::channel(0).0,
            refusals: Arc::default(),
            callers: Arc::default(),
            lists: Arc::default(),
        }
    }

    /// Keeps the callers that calls name.
    pub(crate) fn noting_callers(
        &self,
    ) -> impl FnMut(Request<()>) -> Result<Request<()>, Status> + Clone + Send + Sync + 'static
    {
        let callers = Arc::clone(&self.callers);
        move |request| {
            if let Some(caller) = request.metadata().get_bin("cts-caller-bin") {
                let caller = Caller::decode(caller.to_bytes().unwrap()).unwrap();
                callers.lock().unwrap().push(caller);
            }
            Ok(request)
        }
    }

    /// Waits for so many calls for the tokens.
    pub(crate) async fn wait_for_follows(&self, count: usize) {
        let mut follows = self.follows.subscribe();
        follows.wait_for(|calls| *calls >= count).await.unwrap();
    }

    /// Sends other tokens, or ends the stream.
    pub(crate) fn send(&self, tokens: Result<Vec<Token>, Status>) {
        drop(self.tokens.send_replace(tokens));
    }
}

/// The token with this secret.
pub(crate) fn token(secret: &str, role: &str) -> Token {
    Token {
        name: format!("name of {role}"),
        sha256: TokenHash::of(secret).0.to_vec(),
        role: role.to_owned(),
        tasks: Vec::new(),
        expires_at: None,
    }
}

/// Limits the token to these tasks.
pub(crate) fn limited(token: Token, tasks: &[&str]) -> Token {
    Token {
        tasks: tasks.iter().map(|task| (*task).to_owned()).collect(),
        ..token
    }
}

/// Makes the token an expired one.
pub(crate) fn expired(token: Token) -> Token {
    Token {
        expires_at: Some(Timestamp {
            seconds: 1_700_000_000,
            nanos: 0,
        }),
        ..token
    }
}

#[tonic::async_trait]
impl AccessService for MemoryAccess {
    type FollowTokensStream =
        std::pin::Pin<Box<dyn Stream<Item = Result<FollowTokensResponse, Status>> + Send>>;

    async fn follow_tokens(
        &self,
        _request: Request<FollowTokensRequest>,
    ) -> Result<Response<Self::FollowTokensStream>, Status> {
        self.follows.send_modify(|calls| *calls += 1);
        self.tokens.borrow().as_ref().map_err(Clone::clone)?;
        let tables = WatchStream::new(self.tokens.subscribe());
        let tables = tables.map(|tokens| Ok(FollowTokensResponse { tokens: tokens? }));
        Ok(Response::new(Box::pin(tables)))
    }

    async fn record_refusals(
        &self,
        request: Request<RecordRefusalsRequest>,
    ) -> Result<Response<RecordRefusalsResponse>, Status> {
        let refusals = request.into_inner().refusals;
        self.refusals.lock().unwrap().extend(refusals);
        Ok(Response::new(RecordRefusalsResponse {}))
    }

    async fn list_audit_records(
        &self,
        request: Request<ListAuditRecordsRequest>,
    ) -> Result<Response<ListAuditRecordsResponse>, Status> {
        self.lists.lock().unwrap().push(request.into_inner());
        let record = AuditRecord {
            number: 7,
            caller_kind: "token".to_owned(),
            caller: "ci".to_owned(),
            action: "task.delete".to_owned(),
            target: "dns".to_owned(),
            outcome: "done".to_owned(),
            count: 1,
            ..AuditRecord::default()
        };
        Ok(Response::new(ListAuditRecordsResponse {
            records: vec![record],
        }))
    }
}
