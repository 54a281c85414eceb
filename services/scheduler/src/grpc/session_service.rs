//! `cts.access.v1.SessionService`: logins on the page (docs/access.md#sessions).

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::{AuditAction, Caller, CallerKind, Role, TaskPatterns};
use cts_proto::access::v1 as proto;
use cts_proto::access::v1::session_service_server::SessionService;
use cts_rpc::convert;
use cts_store::{
    NewStoredSession, SessionError, SessionLimits, Store, StoredSession, StoredSessions,
};
use futures::stream::iter;
use futures::{Stream, StreamExt as _};
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Response, Status};

use crate::audit::recorder::{note, outcome_of, record};
use crate::notifier::Notifier;
use crate::status::{OrStatus as _, store_failure};
use crate::tasks::refusal::declined;
use crate::tokens::followed::Followed;

/// Largest numbers of sessions.
const LIMITS: SessionLimits = SessionLimits {
    of_person: 20,
    of_all: 10_000,
};

/// Longest life of a session.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// Sessions in one message, with their names and patterns far below the limit of a message.
const PART: usize = 100;

#[derive(Debug)]
pub(crate) struct SessionEndpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) sessions: Followed<StoredSessions>,
    pub(crate) shutdown: CancellationToken,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl SessionService for SessionEndpoint {
    type FollowSessionsStream = Answers<proto::FollowSessionsResponse>;

    async fn follow_sessions(
        &self,
        _request: Request<proto::FollowSessionsRequest>,
    ) -> Result<Response<Self::FollowSessionsStream>, Status> {
        let mut sent = Arc::<StoredSessions>::default();
        let newest = WatchStream::new(self.sessions.follow()).filter_map(ready);
        let messages = newest.flat_map(move |newest| {
            let messages = changes(&sent, &newest);
            sent = newest;
            iter(messages.into_iter().map(Ok))
        });
        let shutdown = self.shutdown.clone().cancelled_owned();
        Ok(Response::new(Box::pin(messages.take_until(shutdown))))
    }

    async fn begin_session(
        &self,
        request: Request<proto::BeginSessionRequest>,
    ) -> Result<Response<proto::BeginSessionResponse>, Status> {
        let record = record(&request, AuditAction::BeginSession, "");
        let session = session_from_wire(request.into_inner(), &record.caller)?;
        let record = record
            .with("role", &session.role)
            .with("tasks", &session.tasks.join(", "))
            .with("lasts", &format!("{}s", session.life.as_secs()));
        let recording = self.store.recording(record.clone());
        let refused = match recording.begin_session(&session, LIMITS).await {
            Ok(begun) => {
                self.notifier.written();
                let session = Some(session_to_wire(&begun));
                return Ok(Response::new(proto::BeginSessionResponse { session }));
            }
            Err(error @ SessionError::TokenEnded) => {
                declined(Code::FailedPrecondition, "unknown", error.to_string())
            }
            Err(error @ SessionError::TooMany(_)) => {
                declined(Code::ResourceExhausted, "busy", error.to_string())
            }
            Err(SessionError::Store(error)) => store_failure(&error),
        };
        note(&self.store, record, outcome_of(&refused)).await;
        Err(refused)
    }

    async fn end_session(
        &self,
        request: Request<proto::EndSessionRequest>,
    ) -> Result<Response<proto::EndSessionResponse>, Status> {
        let record = record(&request, AuditAction::EndSession, "");
        let sha256 = sha256_from_wire(&request.into_inner().sha256)?;
        let recording = self.store.recording(record);
        if recording.end_session(&sha256).await.or_status()? {
            self.notifier.written();
        }
        Ok(Response::new(proto::EndSessionResponse {}))
    }
}

/// The messages that bring a follower from `sent` to `newest`; at least one.
fn changes(sent: &StoredSessions, newest: &StoredSessions) -> Vec<proto::FollowSessionsResponse> {
    let begun = missing(newest, sent).map(session_to_wire);
    let begun: Vec<_> = begun.collect();
    let mut messages: Vec<_> = begun
        .chunks(PART)
        .map(|part| proto::FollowSessionsResponse {
            begun: part.to_vec(),
            ..proto::FollowSessionsResponse::default()
        })
        .collect();
    messages.push(proto::FollowSessionsResponse {
        begun: Vec::new(),
        ended: missing(sent, newest).map(|it| it.sha256.to_vec()).collect(),
        complete: true,
    });
    messages
}

/// The sessions that `other` does not have.
fn missing<'a>(
    these: &'a StoredSessions,
    other: &'a StoredSessions,
) -> impl Iterator<Item = &'a StoredSession> {
    let is_there = |session: &StoredSession| {
        let place = other
            .sessions
            .binary_search_by_key(&session.sha256, |it| it.sha256);
        place.is_ok()
    };
    let sessions = these.sessions.iter();
    sessions.filter(move |session| !is_there(session))
}

fn session_to_wire(session: &StoredSession) -> proto::Session {
    proto::Session {
        sha256: session.sha256.to_vec(),
        kind: session.kind.as_str().to_owned(),
        name: session.name.clone(),
        issuer: session.issuer.clone(),
        // Gateways accept no session with an empty role.
        role: session
            .role
            .map_or_else(String::new, |role| role.to_string()),
        tasks: session.tasks.clone(),
        begun_at: Some(convert::timestamp_to_wire(session.begun_at)),
        ends_at: Some(convert::timestamp_to_wire(session.ends_at)),
    }
}

/// The session of a person, if the request is complete.
fn session_from_wire(
    request: proto::BeginSessionRequest,
    person: &Caller,
) -> Result<NewStoredSession, Status> {
    if person.kind == CallerKind::Anonymous {
        return Err(Status::invalid_argument(
            "a session needs a caller that is recognised",
        ));
    }
    let role: Result<Role, _> = request.role.parse();
    let role = role.map_err(|error| Status::invalid_argument(error.to_string()))?;
    let tasks = TaskPatterns::new(request.tasks);
    let tasks = tasks.map_err(|error| Status::invalid_argument(error.to_string()))?;
    let token = Some(request.token_sha256).filter(|sha256| !sha256.is_empty());
    let life = convert::duration_from_wire(request.lasts.as_ref());
    if life.is_zero() || life > LONGEST {
        return Err(Status::invalid_argument("a session lasts at most 7 days"));
    }
    Ok(NewStoredSession {
        sha256: sha256_from_wire(&request.sha256)?,
        kind: person.kind,
        name: person.name.clone(),
        issuer: person.issuer.clone(),
        role,
        tasks: tasks.texts().to_vec(),
        token: token.as_deref().map(sha256_from_wire).transpose()?,
        life,
    })
}

fn sha256_from_wire(bytes: &[u8]) -> Result<[u8; 32], Status> {
    let sha256 = bytes.try_into();
    sha256.map_err(|_other| Status::invalid_argument("a SHA-256 has 32 bytes"))
}
