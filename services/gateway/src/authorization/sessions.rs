//! The sessions of the page, as the schedulers send them (docs/access.md#sessions).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use cts_access::{FoundSession, Principal, Session, SessionTable, TokenHash};
use cts_core::Clock;
use cts_core::callers::TaskPatterns;
use cts_listen::{ClientLimit, ClientLimiter, client_key};
use cts_proto::access::v1 as proto;
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_proto::time::timestamp_from_wire;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::Status;
use tonic::transport::Channel;

use super::retries::Retries;

/// Longest wait for a session that may have begun at another gateway.
const WAIT: Duration = Duration::from_secs(2);

/// Requests that wait at the same time. A stranger with random cookies can occupy no more.
const WAITING: ClientLimit = ClientLimit {
    total: 64,
    per_client: 8,
};

/// The newest table. The table stays while no scheduler can be reached.
#[derive(Debug)]
pub(super) struct Sessions {
    /// `None` until a scheduler has sent all sessions.
    table: watch::Sender<Option<SessionTable>>,
    waiting: ClientLimiter,
    clock: Arc<dyn Clock>,
}

impl Sessions {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            table: watch::Sender::new(None),
            waiting: ClientLimiter::new(WAITING),
            clock,
        }
    }

    /// Whether a scheduler has sent the sessions.
    pub(super) fn are_known(&self) -> bool {
        self.table.borrow().is_some()
    }

    /// Follows the sessions for ever.
    pub(super) async fn follow(&self, mut schedulers: SessionServiceClient<Channel>) {
        let mut retries = Retries::new("login sessions");
        loop {
            let end = self.follow_once(&mut schedulers, &mut retries).await;
            retries.pause(end, self.are_known()).await;
        }
    }

    async fn follow_once(
        &self,
        schedulers: &mut SessionServiceClient<Channel>,
        retries: &mut Retries,
    ) -> Result<(), Status> {
        let answer = schedulers.follow_sessions(proto::FollowSessionsRequest {});
        let mut messages = answer.await?.into_inner();
        // The first messages have all sessions, the later ones the changes.
        let mut all = Some(SessionTable::default());
        while let Some(message) = messages.message().await? {
            let is_complete = message.complete;
            match &mut all {
                Some(table) => change(table, message),
                None => self.change(|table| change(table, message)),
            }
            if is_complete && all.is_some() {
                self.table.send_replace(all.take());
            }
            retries.received();
        }
        Ok(())
    }

    fn change(&self, change: impl FnOnce(&mut SessionTable)) {
        self.table.send_modify(|table| {
            if let Some(table) = table {
                change(table);
            }
        });
    }

    /// The session whose secret has this hash. Waits if there is no such session yet; `None` if it does not come, has
    /// ended, or too many requests wait, of this client or in all.
    pub(super) async fn find(&self, hash: TokenHash, client: IpAddr) -> Option<Arc<Session>> {
        let mut watched = self.watch(hash);
        match watched.find() {
            FoundSession::Valid(session) => return Some(session),
            FoundSession::Ended => return None,
            FoundSession::Unknown => {}
        }
        let _waiting = self.waiting.acquire(client_key(client)).ok()?;
        let arrives = async {
            while watched.find() == FoundSession::Unknown {
                watched.changed().await;
            }
        };
        // The newest table decides, also after the limit.
        let _arrived = timeout(WAIT, arrives).await;
        match watched.find() {
            FoundSession::Valid(session) => Some(session),
            FoundSession::Ended | FoundSession::Unknown => None,
        }
    }

    /// Watches for the end of a session.
    pub(super) fn watch(&self, hash: TokenHash) -> WatchedSession {
        WatchedSession {
            table: self.table.subscribe(),
            hash,
            clock: Arc::clone(&self.clock),
        }
    }

    /// Notes a session that has begun at this gateway, before the schedulers send it.
    pub(super) fn begun(&self, session: proto::Session) {
        if let Some(session) = from_wire(session) {
            let now = self.clock.now();
            self.change(|table| table.begin_here(session, now));
        }
    }

    /// Notes a session that has ended at this gateway.
    pub(super) fn ended(&self, hash: TokenHash) {
        self.change(|table| table.end(hash));
    }
}

/// One session in all tables to come.
pub(super) struct WatchedSession {
    table: watch::Receiver<Option<SessionTable>>,
    hash: TokenHash,
    clock: Arc<dyn Clock>,
}

impl WatchedSession {
    /// The session, as far as the newest table has it.
    pub(super) fn find(&mut self) -> FoundSession {
        let now = self.clock.now();
        let table = self.table.borrow_and_update();
        let found = table.as_ref().map(|table| table.find(&self.hash, now));
        found.unwrap_or(FoundSession::Unknown)
    }

    /// Returns when there is a newer table. Safe to cancel.
    pub(super) async fn changed(&mut self) {
        if self.table.changed().await.is_err() {
            // The gateway ends.
            std::future::pending::<()>().await;
        }
    }
}

fn change(table: &mut SessionTable, message: proto::FollowSessionsResponse) {
    for session in message.begun {
        let name = session.name.clone();
        match from_wire(session) {
            Some(session) => table.begin(session),
            // A newer scheduler may send it. A session must not count without all of its limits.
            None => {
                tracing::warn!(target: "api", name, "a session cannot be understood and is not accepted");
            }
        }
    }
    for hash in message.ended {
        if let Some(hash) = TokenHash::from_slice(&hash) {
            table.end(hash);
        }
    }
}

fn from_wire(session: proto::Session) -> Option<Session> {
    let principal = Principal {
        kind: session.kind.parse().ok()?,
        name: session.name,
        issuer: session.issuer,
        role: Some(session.role.parse().ok()?),
        tasks: TaskPatterns::new(session.tasks).ok()?,
        expires_at: None,
    };
    let begun_at = timestamp_from_wire(session.begun_at.as_ref())?;
    let ends_at = timestamp_from_wire(session.ends_at.as_ref())?;
    let hash = TokenHash::from_slice(&session.sha256)?;
    Some(Session::new(hash, principal, begun_at, ends_at))
}

#[cfg(test)]
mod tests;
