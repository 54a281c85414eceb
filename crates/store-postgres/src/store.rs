//! The store: its connections.

mod calls;
mod continuity;
mod held_leases;
mod housekeeping;
mod settings;

use std::time::Duration;

use cts_core::LeaderEpoch;
use cts_store::{Claim, Leadership, Lease, Member, StoreError};
use sqlx::{PgConnection, PgPool};

use crate::connection::{Settings, Target};
use crate::election_connection::ElectionConnection;
use crate::row::failed_to;
use crate::timeline::Timeline;
use crate::{doubts, leadership, lease, schema, states};

/// A store in one Postgres database. Cheap to clone; clones share the connections.
///
/// While the database is away every call fails with [`StoreError::Database`] after at most five seconds of
/// waiting for a connection; when it is back, calls work again by themselves. A call without an answer fails
/// after 30 s. A call whose future is dropped may still happen completely.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    pool: PgPool,
    sender: PgPool,
    election: ElectionConnection,
    target: Target,
    timeline: Timeline,
    version: states::Version,
}

impl PostgresStore {
    /// Connects, and refuses a schema that does not fit this program: [`crate::SchemaError`] is then the
    /// source of the [`StoreError::Open`]. Fails within some seconds if the database does not answer.
    pub async fn connect(settings: &Settings) -> Result<Self, StoreError> {
        let target = Target::new(settings)?;
        schema::check(&target).await?;
        let timeline = Timeline::default();
        Ok(Self {
            pool: target.pool(&timeline),
            sender: target.sender(),
            election: ElectionConnection::new(target.clone(), timeline.clone()),
            target,
            timeline,
            version: states::Version::default(),
        })
    }

    /// Closes the connections, after the calls in progress. Streams of hints go on.
    pub async fn close(&self) {
        self.election.close().await;
        self.sender.close().await;
        self.pool.close().await;
    }
}

impl PostgresStore {
    /// Checks the timeline with every call, because a pooler may hide that the server has been replaced.
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

    /// Leases nothing while leases that a failover has forgotten may be in force, and before it is settled
    /// which inputs count as applied.
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
        lease::acquire(connection, claim).await
    }
}
