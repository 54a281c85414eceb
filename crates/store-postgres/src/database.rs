//! The database: its connections, and the calls that it implements itself.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use cts_core::{JournalPart, LeaderEpoch};
use cts_store::{
    Claim, Completed, Completion, Continuity, Hint, HintStream, LeaderError, Leadership, Lease,
    LeaseError, Member, Settlement, StoreError, Timeline, Vouched,
};
use cts_store_sql::endings;
use cts_store_sql::{Connections, Database, Durability, Intent, Length, ServerLog, SqlStore};
use sqlx::PgConnection;

use crate::call::{Call, shared};
use crate::connection::{Settings, Target};
use crate::election_connection::{ElectionConnection, election_call};
use crate::row::failed_to;
use crate::session::{CALL_LIMIT, Session, WorkPool, call};
use crate::{complete, doubts, hints, leadership, lease, schema, statistics, timeline, version};

/// Time limit of a call whose work grows with the configuration or the history, in many transactions. Runs that prune
/// does not reach are forgotten by the next call.
const LONG_LIMIT: Duration = Duration::from_mins(30);

/// A store in one Postgres database. Cheap to clone; clones share the connections.
///
/// While the database is unreachable, every call fails with [`StoreError::Unreachable`] after at most five seconds of
/// waiting for a connection; afterwards, calls work again automatically. A call without an answer fails after 30 s. A
/// call whose future is dropped may still take effect completely.
pub type PostgresStore = SqlStore<PostgresDatabase>;

#[derive(Debug, Clone)]
pub struct PostgresDatabase {
    pool: WorkPool,
    sender: WorkPool,
    election: ElectionConnection,
    target: Target,
    timeline: timeline::Timeline,
    version: version::Version,
    /// Set once, if outages are logged.
    server_log: Arc<OnceLock<ServerLog>>,
}

/// Connects, and refuses a schema that does not fit this program.
///
/// [`crate::SchemaError`] is then the source of the [`StoreError::Open`]. Fails within seconds if the database does
/// not answer.
pub async fn connect(settings: &Settings) -> Result<PostgresStore, StoreError> {
    let target = Target::new(settings)?;
    schema::check(&target).await?;
    let timeline = timeline::Timeline::default();
    Ok(SqlStore::new(PostgresDatabase {
        pool: WorkPool::new(target.pool(&timeline)),
        sender: WorkPool::new(target.sender()),
        election: ElectionConnection::new(target.clone(), timeline.clone()),
        target,
        timeline,
        version: version::Version::default(),
        server_log: Arc::default(),
    }))
}

impl PostgresDatabase {
    /// Checks the timeline with every call, because a pooler may hide that the server was replaced.
    async fn lead_on(
        &self,
        connection: &mut PgConnection,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError> {
        let checked = self.timeline.check(connection).await;
        checked.map_err(failed_to("check the timeline"))?;
        leadership::lead(connection, member, epoch, time_to_live).await
    }

    /// Leases nothing while leases that a failover has forgotten may be in force, and until it is settled which
    /// inputs count as applied.
    async fn acquire_on(
        &self,
        connection: &mut PgConnection,
        claim: &Claim,
    ) -> Result<Option<Lease>, StoreError> {
        let life = claim.time_to_live;
        if self.timeline.may_have_forgotten(life)
            || self.timeline.may_have_forgotten(doubts::open_for(life))
                && doubts::are_open(connection).await?
        {
            return Ok(None);
        }
        if claim.may_end_remote_runs() {
            let ending = endings::acquire(&mut shared(&mut *connection), claim).await?;
            if ending.is_some() {
                return Ok(ending);
            }
        }
        lease::acquire(connection, claim).await
    }
}

#[async_trait]
impl Continuity for PostgresDatabase {
    async fn timeline(&self) -> Result<Timeline, StoreError> {
        call!(&self.pool, c => doubts::timeline(c))
    }

    async fn vouch(&self, part: &JournalPart) -> Result<Vouched, StoreError> {
        call!(&self.pool, c => doubts::vouch(c, part))
    }

    async fn settle(
        &self,
        leader: LeaderEpoch,
        lease: Duration,
    ) -> Result<Settlement, LeaderError> {
        call!(&self.pool, c => doubts::settle(c, leader, lease))
    }
}

#[async_trait]
impl Database for PostgresDatabase {
    async fn begin(
        &self,
        intent: Intent,
        _durability: Durability,
    ) -> Result<Box<dyn cts_store_sql::Session>, StoreError> {
        Ok(Box::new(Call(match intent {
            Intent::Read | Intent::Statement => Session::begin(&self.pool).await?,
            Intent::Transaction => Session::begin_transaction(&self.pool).await?,
        })))
    }

    fn limit(&self, length: Length) -> Duration {
        match length {
            Length::Short => CALL_LIMIT,
            Length::Long => LONG_LIMIT,
        }
    }

    fn system(&self) -> &'static str {
        "postgresql"
    }

    fn connections(&self) -> Connections {
        let pool = &self.pool.connections;
        Connections {
            most: pool.options().get_max_connections().into(),
            open: pool.size().into(),
            idle: u64::try_from(pool.num_idle()).unwrap_or(u64::MAX),
        }
    }

    fn server(&self) -> Option<String> {
        Some(format!("Postgres at {}", self.target.server()))
    }

    fn log_outages(&self, log: ServerLog) {
        // A second log would concern the same server.
        let _first_counts = self.server_log.set(log);
    }

    /// Leaves streams of hints open.
    async fn close(&self) {
        self.election.close().await;
        self.sender.connections.close().await;
        self.pool.connections.close().await;
    }

    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError> {
        election_call!(self.election, c => self.lead_on(c, member, epoch, time_to_live))
    }

    async fn resign(&self, member: &Member) -> Result<(), StoreError> {
        election_call!(self.election, c => leadership::resign(c, member))
    }

    async fn version(&self) -> Result<String, StoreError> {
        call!(&self.pool, c => self.version.read(c))
    }

    async fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError> {
        call!(&self.pool, c => self.acquire_on(c, claim))
    }

    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError> {
        call!(&self.pool, c => complete::complete(c, &completion))
    }

    async fn follow_growth(&self) -> Result<(), StoreError> {
        call!(&self.pool, c => statistics::follow(c))
    }

    async fn publish(&self, hints: &[Hint]) -> Result<(), StoreError> {
        call!(&self.sender, c => hints::publish(c, hints))
    }

    async fn listen(&self) -> Result<Option<HintStream>, StoreError> {
        hints::listen(self.target.clone(), Arc::clone(&self.server_log))
            .await
            .map(Some)
    }
}
