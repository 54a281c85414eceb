//! The end of an attempt.

use cts_store::{Completed, Completion, LeaseError};
use cts_store_sql::attempt_ends;
use sqlx::SqliteConnection;

use crate::call::shared;
use crate::logs;

pub(crate) async fn complete(
    connection: &mut SqliteConnection,
    completion: &Completion,
    now: i64,
) -> Result<Completed, LeaseError> {
    let read = attempt_ends::locked(&mut shared(connection, now), completion).await?;
    let Some((attempt, now)) = read else {
        return Err(completion.lost());
    };
    logs::append(connection, completion.run, &completion.log).await?;
    let end = attempt.completed(completion, now)?;
    Ok(attempt_ends::write(&mut shared(connection, now), end, now).await?)
}
