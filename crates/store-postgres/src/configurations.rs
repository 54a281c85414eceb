//! Task blocks of the members' files, and the ones in force.

use std::time::Duration;

use cts_core::{Incarnation, LeaderEpoch};
use cts_store::{
    AppliedConfiguration, Configuration, ConfigurationInForce, LeaderError, Member,
    MemberConfiguration, OtherConfiguration, Registered, StoreError, decide,
};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgExecutor, PgTransaction, Row as _};
use uuid::Uuid;

use crate::leadership;
use crate::row::{Cell, encoded, failed_to, span_micros};

const OPERATION: &str = "register a configuration";

/// Key of the advisory lock of registering members: one at a time, so that the last sees all others.
const LOCK: i64 = 0x6374_735f_636f_6e66;

pub(crate) async fn register(
    connection: &mut PgConnection,
    member: &Member,
    configuration: &Configuration,
    time_to_live: Duration,
) -> Result<Registered, StoreError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = alone(&mut transaction).await?;
    let registered_at = note(&mut transaction, member, configuration, now).await?;
    let in_force = in_force(&mut *transaction).await?;
    let life = span_micros(time_to_live);
    let since = now.saturating_sub(life);
    let others = others(&mut transaction, member, since, registered_at).await?;
    let waited = now.saturating_sub(registered_at) >= life;
    let decided = decide(configuration, in_force.as_ref(), &others, waited);
    let (verdict, decided) = decided.map_err(not_encoded)?;
    let number = in_force.map_or(0, |in_force| in_force.number);
    let number = match decided {
        Some(decided) => put_in_force(&mut transaction, &member.id, &decided, number, now).await?,
        None => number,
    };
    transaction.commit().await.map_err(&failed)?;
    Ok(Registered { verdict, number })
}

pub(crate) async fn adopt(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    member: &Member,
    configuration: &Configuration,
    replace: bool,
) -> Result<ConfigurationInForce, LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    leadership::fence(&mut transaction, leader).await?;
    let now = alone(&mut transaction).await?;
    let before = in_force(&mut *transaction).await?;
    let number = match before {
        Some(in_force) if !replace => return Ok(in_force),
        before => before.map_or(0, |before| before.number),
    };
    put_in_force(&mut transaction, &member.id, configuration, number, now).await?;
    let adopted = in_force(&mut *transaction).await?;
    let adopted = adopted.ok_or_else(|| not_encoded("what was written cannot be read"))?;
    transaction.commit().await.map_err(&failed)?;
    Ok(adopted)
}

pub(crate) async fn apply(
    connection: &mut PgConnection,
    wanted: &AppliedConfiguration,
) -> Result<Option<u64>, StoreError> {
    let failed = failed_to("apply a configuration");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = alone(&mut transaction).await?;
    let before = in_force(&mut *transaction).await?;
    let configuration = wanted.completed(before.as_ref()).map_err(not_encoded)?;
    let Some(configuration) = configuration else {
        return Ok(None);
    };
    sqlx::query("-- put_in_force: in order\nSELECT FROM tasks ORDER BY name FOR UPDATE")
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    let names = configuration.tasks.iter().map(|task| task.name().as_str());
    let names: Vec<&str> = names.collect();
    let forget = [
        "-- put_in_force: what the API has changed
        UPDATE tasks SET configured = NULL WHERE origin = 'config' AND name = ANY ($1)",
        "-- put_in_force: what the API has deleted
        DELETE FROM deleted_tasks WHERE name = ANY ($1)",
    ];
    let others = "-- put_in_force: other tasks of the API
        UPDATE tasks SET origin = 'config', configured = NULL
        WHERE origin = 'api' AND phase = 'ready' AND name <> ALL ($1)";
    for statement in forget.into_iter().chain(wanted.prune.then_some(others)) {
        sqlx::query(statement)
            .bind(&names)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
    }
    let by = &wanted.decided_by;
    let number = put_in_force(&mut transaction, by, &configuration, wanted.number, now).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(Some(number))
}

/// Waits for other members that register, and returns the time.
async fn alone(transaction: &mut PgTransaction<'_>) -> Result<i64, StoreError> {
    let failed = failed_to(OPERATION);
    sqlx::query("-- register_configuration: one at a time\nSELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut **transaction)
        .await
        .map_err(&failed)?;
    sqlx::query_scalar("-- register_configuration: now\nSELECT cts_now()")
        .fetch_one(&mut **transaction)
        .await
        .map_err(&failed)
}

/// Gives when this incarnation has registered first.
async fn note(
    transaction: &mut PgTransaction<'_>,
    member: &Member,
    configuration: &Configuration,
    now: i64,
) -> Result<i64, StoreError> {
    sqlx::query_scalar(
        "-- register_configuration: note
        INSERT INTO member_configurations
            (member_id, incarnation, fingerprint, tasks, settings, registered_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (member_id) DO UPDATE
        SET registered_at = CASE WHEN member_configurations.incarnation = excluded.incarnation
                            THEN member_configurations.registered_at
                            ELSE excluded.registered_at END,
            incarnation = excluded.incarnation,
            fingerprint = excluded.fingerprint,
            tasks = excluded.tasks,
            settings = excluded.settings
        RETURNING registered_at",
    )
    .bind(&member.id)
    .bind(member.incarnation.as_uuid())
    .bind(encoded(
        "encode a configuration",
        &configuration.fingerprint,
    )?)
    .bind(encoded("encode a configuration", &configuration.tasks)?)
    .bind(encoded("encode a configuration", &configuration.settings)?)
    .bind(now)
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))
}

/// The other members that were seen after `since`.
async fn others(
    transaction: &mut PgTransaction<'_>,
    member: &Member,
    since: i64,
    registered_at: i64,
) -> Result<Vec<OtherConfiguration>, StoreError> {
    let rows = sqlx::query(
        "-- register_configuration: the others
        SELECT c.fingerprint, c.tasks, c.settings, m.seen_at > $1 AS seen_since
        FROM members m
        LEFT JOIN member_configurations c
               ON c.member_id = m.id AND c.incarnation = m.incarnation
        WHERE m.id <> $2 AND m.seen_at > $3
        ORDER BY m.id",
    )
    .bind(registered_at)
    .bind(&member.id)
    .bind(since)
    .fetch_all(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
    rows.iter().map(other).collect()
}

fn other(row: &PgRow) -> Result<OtherConfiguration, StoreError> {
    let read = failed_to(OPERATION);
    let fingerprint: Option<&str> = row.try_get("fingerprint").map_err(&read)?;
    let tasks: Option<&str> = row.try_get("tasks").map_err(&read)?;
    let settings: Option<&str> = row.try_get("settings").map_err(&read)?;
    Ok(OtherConfiguration {
        configuration: Configuration::understood(fingerprint, tasks, settings),
        seen_since: row.try_get("seen_since").map_err(&read)?,
    })
}

async fn put_in_force(
    transaction: &mut PgTransaction<'_>,
    decided_by: &str,
    configuration: &Configuration,
    before: u64,
    now: i64,
) -> Result<u64, StoreError> {
    let number = before.saturating_add(1);
    sqlx::query(
        "-- put_in_force
        INSERT INTO configuration_in_force
            (singleton, number, fingerprint, tasks, decided_by, decided_at)
        VALUES (TRUE, $1, $2, $3, $4, $5)
        ON CONFLICT (singleton) DO UPDATE
        SET number = excluded.number,
            fingerprint = excluded.fingerprint,
            tasks = excluded.tasks,
            decided_by = excluded.decided_by,
            decided_at = excluded.decided_at",
    )
    .bind(i64::try_from(number).unwrap_or(i64::MAX))
    .bind(encoded(
        "encode a configuration",
        &configuration.fingerprint,
    )?)
    .bind(encoded("encode a configuration", &configuration.tasks)?)
    .bind(decided_by)
    .bind(now)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("put a configuration in force"))?;
    Ok(number)
}

pub(crate) async fn in_force(
    executor: impl PgExecutor<'_>,
) -> Result<Option<ConfigurationInForce>, StoreError> {
    let read = failed_to("read the configuration in force");
    let row = sqlx::query(
        "-- configuration_in_force
        SELECT number, fingerprint, tasks, decided_by, decided_at FROM configuration_in_force",
    )
    .fetch_optional(executor)
    .await
    .map_err(&read)?;
    let Some(row) = row else { return Ok(None) };
    let cell = |column| Cell {
        table: "configuration_in_force",
        column,
        row: "",
    };
    let fingerprint: &str = row.try_get("fingerprint").map_err(&read)?;
    let tasks: &str = row.try_get("tasks").map_err(&read)?;
    let understood = Configuration::understood(Some(fingerprint), Some(tasks), Some("{}"));
    let Some(understood) = understood else {
        return Ok(None);
    };
    Ok(Some(ConfigurationInForce {
        number: cell("number").number(row.try_get("number").map_err(&read)?)?,
        tasks: understood.tasks,
        fingerprint: understood.fingerprint,
        decided_by: row.try_get("decided_by").map_err(&read)?,
        decided_at: cell("decided_at").time(row.try_get("decided_at").map_err(&read)?)?,
    }))
}

pub(crate) async fn all(
    executor: impl PgExecutor<'_>,
    within: Duration,
) -> Result<Vec<MemberConfiguration>, StoreError> {
    let read = failed_to("list configurations");
    let rows = sqlx::query(
        "-- configurations
        SELECT c.member_id, c.incarnation, c.fingerprint, c.settings, c.registered_at
        FROM member_configurations c
        JOIN members m ON m.id = c.member_id AND m.incarnation = c.incarnation
        WHERE m.seen_at >= cts_now() - $1
        ORDER BY c.member_id",
    )
    .bind(span_micros(within))
    .fetch_all(executor)
    .await
    .map_err(&read)?;
    let all = rows.iter().map(|row| {
        let id: String = row.try_get("member_id").map_err(&read)?;
        let cell = |column| Cell {
            table: "member_configurations",
            column,
            row: &id,
        };
        let incarnation: Uuid = row.try_get("incarnation").map_err(&read)?;
        let registered_at = row.try_get("registered_at").map_err(&read)?;
        Ok(MemberConfiguration {
            incarnation: Incarnation::from_uuid(incarnation),
            fingerprint: cell("fingerprint").json(row.try_get("fingerprint").map_err(&read)?)?,
            settings: cell("settings").json(row.try_get("settings").map_err(&read)?)?,
            registered_at: cell("registered_at").time(registered_at)?,
            id: id.clone(),
        })
    });
    all.collect()
}

pub(crate) async fn version(executor: impl PgExecutor<'_>) -> Result<String, StoreError> {
    sqlx::query_scalar(
        "-- configuration_version
        SELECT coalesce((SELECT number FROM configuration_in_force), 0) || '.' ||
               coalesce((SELECT string_agg(registered_at || incarnation::TEXT, ',' ORDER BY member_id)
                         FROM member_configurations), '')",
    )
    .fetch_one(executor)
    .await
    .map_err(failed_to("read the version of the configurations"))
}

fn not_encoded(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Database {
        operation: "encode a configuration",
        source: error.into(),
    }
}
