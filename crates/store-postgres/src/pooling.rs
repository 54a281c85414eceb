//! Poolers between this program and the server: checks that all statements on a connection reach the same
//! session.
//!
//! Settings, prepared statements and `LISTEN` belong to a session. A pooler that lends a session of the server for
//! only one transaction loses them, so such a pooler is refused before any work.

use std::time::Duration;

use cts_store::StoreError;
use sqlx::postgres::PgListener;
use sqlx::{PgConnection, Row as _, raw_sql};
use tokio::time::timeout;

use crate::connection::{CONNECT_LIMIT, NoConnection, Target};

const CHANNEL: &str = "cts_probe";

/// Maximum delivery time of a notification.
const DELIVERY: Duration = Duration::from_secs(5);

/// Behaviour of a pooler that this program cannot work with. Found as the source of [`StoreError::Open`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolerError {
    /// Notifications do not arrive, because the session that waits for them is lent to other clients.
    #[error(
        "a notification (LISTEN, NOTIFY) did not arrive within {DELIVERY:?}: what is between cts and the server lends \
         sessions for a transaction only; let it pool sessions (PgBouncer: pool_mode = session), or connect to the \
         server itself"
    )]
    Transactions,
    /// An option of the address is not passed on.
    #[error(
        "`{name}` of the options in the address is not in force: what is between cts and the server ignores them; set \
         it for the user (ALTER ROLE … SET {name} …)"
    )]
    IgnoredOption {
        /// The setting.
        name: String,
    },
}

/// Refuses a pooler that this program cannot work with. `connection` is new.
pub(crate) async fn check(
    target: &Target,
    connection: &mut PgConnection,
) -> Result<(), StoreError> {
    let delivered = timeout(CONNECT_LIMIT + DELIVERY, is_delivered(target, connection)).await;
    match delivered {
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => return Err(target.open_error(PoolerError::Transactions)),
        Ok(Err(error)) => return Err(target.open_error(error)),
        Err(_elapsed) => return Err(target.open_error(NoConnection(CONNECT_LIMIT))),
    }
    let names = target.start_up_options().map(names).unwrap_or_default();
    let ignored: Option<String> = sqlx::query_scalar(
        "-- connect: what the address asks for
        SELECT name FROM pg_settings
        WHERE name = ANY ($1) AND source NOT IN ('client', 'session') LIMIT 1",
    )
    .bind(names)
    .fetch_optional(connection)
    .await
    .map_err(|error| target.open_error(error))?;
    match ignored {
        Some(name) => Err(target.open_error(PoolerError::IgnoredOption { name })),
        None => Ok(()),
    }
}

/// Whether a second connection receives what this connection sends. Uses only the simple protocol, because a pooler
/// can also lose prepared statements.
async fn is_delivered(target: &Target, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let pool = target.listener();
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    let sent = raw_sql(
        "-- connect: whether notifications arrive
        WITH probe AS MATERIALIZED (SELECT gen_random_uuid()::TEXT AS id)
        SELECT id, pg_notify('cts_probe', id) FROM probe",
    );
    let sent: String = match sent.fetch_one(connection).await {
        Ok(row) => row.try_get("id")?,
        // The notification came back to its sender, which had been lent the listening session.
        Err(sqlx::Error::Protocol(_unexpected)) => return Ok(false),
        Err(error) => return Err(error),
    };
    let arrived = async {
        loop {
            if listener.recv().await?.payload() == sent {
                return Ok(true);
            }
        }
    };
    timeout(DELIVERY, arrived).await.unwrap_or(Ok(false))
}

/// Names of the settings in start-up options, which have the form of the server's command line.
fn names(options: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut words = options.split_whitespace();
    while let Some(word) = words.next() {
        let setting = match word {
            "-c" => words.next(),
            _ => word.strip_prefix("--").or_else(|| word.strip_prefix("-c")),
        };
        if let Some((name, _value)) = setting.and_then(|setting| setting.split_once('=')) {
            names.push(name.replace('-', "_").to_lowercase());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn options_name_settings_in_three_ways() {
        let options = r"-c search_path=one,two -cgeqo=off --Work-Mem=4MB -c a.b=x\ c=d -v";
        assert_eq!(names(options), ["search_path", "geqo", "work_mem", "a.b"]);
    }
}
