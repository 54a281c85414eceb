//! The store over a database: each method makes one call.

mod access_store;
mod approvals;
mod brake;
mod calls;
mod configurations;
mod facts;
mod held_leases;
mod housekeeping;
mod plans;
mod remote_runs;
mod restored;
mod sessions;
mod settings;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::callers::AuditRecord;
use cts_core::{Clock, JournalPart, LeaderEpoch};
use cts_runtime::CallBegun;
use cts_store::{Continuity, LeaderError, Settlement, StoreError, Timeline, Vouched};
use opentelemetry::metrics::Meter;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::database::{Database, Durability, Failure, Intent, Session, late, unanswered};
use crate::metrics::Calls;
use crate::server_log::ServerLog;

/// Maximum number of attempts at a call that the database undoes because of concurrent calls.
pub(crate) const TRIES: u32 = 5;

/// Maximum wait for a connection during a known outage. A request of the API makes at most two such calls, and must
/// be answered within two seconds.
const OUTAGE_LIMIT: Duration = Duration::from_millis(700);

/// A store in a database. Cheap to clone; clones share the connections.
#[derive(Debug, Clone)]
pub struct SqlStore<D> {
    database: D,
    /// The API call that causes the changes of this handle, and its record.
    record: Option<Arc<AuditRecord>>,
    calls: Calls,
    /// Logs outages of a server.
    server: Option<ServerLog>,
}

impl<D: Database> SqlStore<D> {
    /// A store in this database.
    pub fn new(database: D) -> Self {
        Self {
            database,
            record: None,
            calls: Calls::unmeasured(),
            server: None,
        }
    }

    /// Enables logging of the server's reachability, once for all clones, with the times of `clock`.
    #[must_use]
    pub fn logging_outages(mut self, clock: Arc<dyn Clock>) -> Self {
        let name = self.database.server();
        self.server = name.map(|name| ServerLog::new(name, clock));
        if let Some(server) = &self.server {
            self.database.log_outages(server.clone());
        }
        self
    }

    /// Begins a call. During a known outage the call fails early, so that its caller gets an answer.
    async fn begin(
        &self,
        intent: Intent,
        durability: Durability,
    ) -> Result<Box<dyn Session>, StoreError> {
        let call = self.call_begun();
        let begun = self.in_time(self.database.begin(intent, durability)).await;
        if begun.is_ok() {
            // The server has not answered yet: a connection that was idle for a moment may have ended.
            return begun;
        }
        self.note(call, begun)
    }

    /// Limits the time of a call that may be given up, while the server is known to be unreachable.
    async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if !self.server.as_ref().is_some_and(ServerLog::is_in_outage) {
            return call.await;
        }
        match timeout(OUTAGE_LIMIT, call).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(unanswered(elapsed)),
        }
    }

    /// Enables metrics of all calls and of the connections (docs/telemetry.md#database).
    #[must_use]
    pub fn measured(mut self, meter: &Meter) -> Self {
        self.calls = Calls::of(meter, &self.database);
        self
    }

    /// Closes the connections after the calls in progress.
    pub async fn close(&self) {
        self.database.close().await;
    }

    /// Notes the beginning of a call to the server.
    fn call_begun(&self) -> Option<CallBegun> {
        self.server.as_ref().map(ServerLog::begin)
    }

    /// Notes whether the server has answered a call.
    fn note<T, E: Failure>(&self, call: Option<CallBegun>, answer: Result<T, E>) -> Result<T, E> {
        if let Some((server, call)) = self.server.as_ref().zip(call) {
            server.note(call, answer.as_ref().err().and_then(Failure::store));
        }
        answer
    }

    /// Makes a call, and notes whether the server has answered it.
    async fn noted<T, E: Failure>(&self, call: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let begun = self.call_begun();
        self.note(begun, call.await)
    }

    /// The error of a call that timed out.
    fn late(&self, elapsed: Elapsed) -> StoreError {
        if self.server.is_some() {
            unanswered(elapsed)
        } else {
            late(elapsed)
        }
    }
}

#[async_trait]
impl<D: Database> Continuity for SqlStore<D> {
    async fn timeline(&self) -> Result<Timeline, StoreError> {
        let _call = self.calls.begin(Intent::Read);
        self.noted(self.database.timeline()).await
    }

    async fn vouch(&self, part: &JournalPart) -> Result<Vouched, StoreError> {
        let _call = self.calls.begin(Intent::Transaction);
        self.noted(self.database.vouch(part)).await
    }

    async fn settle(
        &self,
        leader: LeaderEpoch,
        lease: Duration,
    ) -> Result<Settlement, LeaderError> {
        let _call = self.calls.begin(Intent::Transaction);
        self.noted(self.database.settle(leader, lease)).await
    }
}

/// Makes one call: begins it, does the work within the time limit and commits. A call that collided with a different
/// call is repeated.
macro_rules! call {
    ($store:ident, $intent:ident, $durability:ident, $length:ident, $c:ident => $work:expr) => {{
        let mut tries = 0;
        let _call = $store.calls.begin($crate::database::Intent::$intent);
        loop {
            let (intent, durability) = (
                $crate::database::Intent::$intent,
                $crate::database::Durability::$durability,
            );
            let call = $store.call_begun();
            let mut session = $store.begin(intent, durability).await?;
            let limit = $store.database.limit($crate::database::Length::$length);
            let work = async {
                let $c = &mut *session;
                let done = $work.await?;
                session.commit().await?;
                Ok(done)
            };
            let answer = tokio::time::timeout(limit, work).await;
            session.end($crate::database::outcome(&answer)).await;
            let answer = answer.unwrap_or_else(|elapsed| Err($store.late(elapsed).into()));
            let answer = $store.note(call, answer);
            tries += 1;
            if tries == $crate::store::TRIES || !$crate::database::is_repeatable(&answer) {
                break answer;
            }
        }
    }};
}

/// Statements that only read.
macro_rules! read {
    ($store:ident, $c:ident => $work:expr) => {
        $crate::store::call!($store, Read, Process, Short, $c => $work)
    };
}

/// One statement that writes.
macro_rules! statement {
    ($store:ident, $c:ident => $work:expr) => {
        $crate::store::call!($store, Statement, Process, Short, $c => $work)
    };
}

/// A transaction. With a leader's epoch, its fence is checked first.
macro_rules! transaction {
    ($store:ident, $durability:ident, $c:ident => $work:expr) => {
        $crate::store::transaction!($store, $durability, Short, $c => $work)
    };
    ($store:ident, $durability:ident, $length:ident, $c:ident => $work:expr) => {
        $crate::store::call!($store, Transaction, $durability, $length, $c => $work)
    };
    ($store:ident, $durability:ident, $length:ident, $leader:ident, $c:ident => $work:expr) => {
        $crate::store::call!($store, Transaction, $durability, $length, $c => async {
            $crate::leadership::fence($c, $leader).await?;
            Ok::<_, cts_store::LeaderError>($work.await?)
        })
    };
}

/// A step of a longer call. A power cut may undo its writes.
macro_rules! step {
    ($store:ident, $intent:ident, $c:ident => $work:expr) => {{
        let answer: Result<_, cts_store::StoreError> =
            $crate::store::call!($store, $intent, Process, Short, $c => $work);
        answer?
    }};
}

/// A change that a caller requests: the transaction also writes the record of the call, and notes the caller in the
/// run with this id, if the change requests a run.
macro_rules! change {
    ($store:ident, $length:ident, $run:expr, $c:ident => $work:expr) => {
        $crate::store::change!($store, $length, $run, if |_| true, $c => $work)
    };
    ($store:ident, $length:ident, $run:expr, if $is_made:expr, $c:ident => $work:expr) => {
        $crate::store::transaction!($store, PowerCut, $length, $c => async {
            match $work.await {
                Ok(done) => {
                    let is_made = $crate::audit::holds(&done, $is_made);
                    let record = $store.record.as_deref().filter(|_| is_made);
                    match $crate::audit::note($c, record, $run).await {
                        Ok(()) => Ok(done),
                        Err(error) => Err(error.into()),
                    }
                }
                Err(error) => Err(error),
            }
        })
    };
}

pub(crate) use {call, change, read, statement, step, transaction};
