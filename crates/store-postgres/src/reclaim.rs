//! Takes back the leases of lost workers.

use cts_core::LeaderEpoch;
use cts_store::{ExpiredLeases, LeaderError, Requeued};
use cts_store_sql::attempt_ends;
use cts_store_sql::leadership::fence;
use sqlx::{Connection as _, PgConnection};

use crate::call::shared;
use crate::row::failed_to;
use crate::{leadership, set_back};

const OPERATION: &str = "take back leases";

pub(crate) async fn reap(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    each: &[ExpiredLeases],
) -> Result<Vec<Requeued>, LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = fence(&mut shared(&mut transaction), leader).await?;
    set_back::bring_back(&mut transaction, now).await?;
    let requeued = attempt_ends::take_back(&mut shared(&mut transaction), each, now).await?;
    leadership::forget_silent(&mut transaction, now).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(requeued)
}
