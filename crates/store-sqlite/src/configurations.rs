//! Task blocks of the members' files, and the ones in force.

use std::time::Duration;

use cts_core::Incarnation;
use cts_store::{
    AppliedConfiguration, Configuration, ConfigurationInForce, Member, MemberConfiguration,
    OtherConfiguration, Registered, StoreError, decide,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::row::{Cell, encoded, failed_to, span_micros};

const OPERATION: &str = "register a configuration";

pub(crate) async fn register(
    connection: &mut SqliteConnection,
    member: &Member,
    configuration: &Configuration,
    time_to_live: Duration,
    now: i64,
) -> Result<Registered, StoreError> {
    let registered_at = note(connection, member, configuration, now).await?;
    let in_force = in_force(&mut *connection).await?;
    let life = span_micros(time_to_live);
    let others = others(connection, member, now.saturating_sub(life), registered_at).await?;
    let waited = now.saturating_sub(registered_at) >= life;
    let decided = decide(configuration, in_force.as_ref(), &others, waited);
    let (verdict, decided) = decided.map_err(not_encoded)?;
    let number = in_force.map_or(0, |in_force| in_force.number);
    let number = match decided {
        Some(decided) => put_in_force(connection, &member.id, &decided, number, now).await?,
        None => number,
    };
    Ok(Registered { verdict, number })
}

pub(crate) async fn adopt(
    connection: &mut SqliteConnection,
    member: &Member,
    configuration: &Configuration,
    replace: bool,
    now: i64,
) -> Result<ConfigurationInForce, StoreError> {
    let before = in_force(&mut *connection).await?;
    let number = match before {
        Some(in_force) if !replace => return Ok(in_force),
        before => before.map_or(0, |before| before.number),
    };
    put_in_force(connection, &member.id, configuration, number, now).await?;
    let adopted = in_force(connection).await?;
    adopted.ok_or_else(|| not_encoded("what was written cannot be read"))
}

pub(crate) async fn apply(
    connection: &mut SqliteConnection,
    wanted: &AppliedConfiguration,
    now: i64,
) -> Result<Option<u64>, StoreError> {
    let before = in_force(&mut *connection).await?;
    let configuration = wanted.completed(before.as_ref()).map_err(not_encoded)?;
    let Some(configuration) = configuration else {
        return Ok(None);
    };
    let names = configuration.tasks.iter().map(|task| task.name().as_str());
    let names = serde_json::Value::from(names.collect::<Vec<_>>()).to_string();
    let forget = [
        "-- put_in_force: what the API has changed
        UPDATE tasks SET configured = NULL
        WHERE origin = 'config' AND name IN (SELECT value FROM json_each(?))",
        "-- put_in_force: what the API has deleted
        DELETE FROM deleted_tasks WHERE name IN (SELECT value FROM json_each(?))",
    ];
    let others = "-- put_in_force: other tasks of the API
        UPDATE tasks SET origin = 'config', configured = NULL
        WHERE origin = 'api' AND phase = 'ready'
          AND name NOT IN (SELECT value FROM json_each(?))";
    for statement in forget.into_iter().chain(wanted.prune.then_some(others)) {
        sqlx::query(statement)
            .bind(&names)
            .execute(&mut *connection)
            .await
            .map_err(failed_to("apply a configuration"))?;
    }
    let by = &wanted.decided_by;
    let number = put_in_force(connection, by, &configuration, wanted.number, now).await?;
    Ok(Some(number))
}

/// Gives when this incarnation has registered first.
async fn note(
    connection: &mut SqliteConnection,
    member: &Member,
    configuration: &Configuration,
    now: i64,
) -> Result<i64, StoreError> {
    sqlx::query_scalar(
        "-- register_configuration: note
        INSERT INTO member_configurations
            (member_id, incarnation, fingerprint, tasks, settings, registered_at)
        VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (member_id) DO UPDATE
        SET registered_at = CASE WHEN incarnation = excluded.incarnation THEN registered_at
                            ELSE excluded.registered_at END,
            incarnation = excluded.incarnation,
            fingerprint = excluded.fingerprint,
            tasks = excluded.tasks,
            settings = excluded.settings
        RETURNING registered_at",
    )
    .bind(&member.id)
    .bind(member.incarnation.to_string())
    .bind(encoded(
        "encode a configuration",
        &configuration.fingerprint,
    )?)
    .bind(encoded("encode a configuration", &configuration.tasks)?)
    .bind(encoded("encode a configuration", &configuration.settings)?)
    .bind(now)
    .fetch_one(connection)
    .await
    .map_err(failed_to(OPERATION))
}

/// The other members that were seen after `since`.
async fn others(
    connection: &mut SqliteConnection,
    member: &Member,
    since: i64,
    registered_at: i64,
) -> Result<Vec<OtherConfiguration>, StoreError> {
    let rows = sqlx::query(
        "-- register_configuration: the others
        SELECT c.fingerprint, c.tasks, c.settings, m.seen_at > ?1 AS seen_since
        FROM members m
        LEFT JOIN member_configurations c
               ON c.member_id = m.id AND c.incarnation = m.incarnation
        WHERE m.id <> ?2 AND m.seen_at > ?3
        ORDER BY m.id",
    )
    .bind(registered_at)
    .bind(&member.id)
    .bind(since)
    .fetch_all(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    rows.iter().map(other).collect()
}

fn other(row: &SqliteRow) -> Result<OtherConfiguration, StoreError> {
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
    connection: &mut SqliteConnection,
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
        VALUES (1, ?, ?, ?, ?, ?)
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
    .execute(connection)
    .await
    .map_err(failed_to("put a configuration in force"))?;
    Ok(number)
}

pub(crate) async fn in_force(
    executor: impl SqliteExecutor<'_>,
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
    executor: impl SqliteExecutor<'_>,
    since: i64,
) -> Result<Vec<MemberConfiguration>, StoreError> {
    let read = failed_to("list configurations");
    let rows = sqlx::query(
        "-- configurations
        SELECT c.member_id, c.incarnation, c.fingerprint, c.settings, c.registered_at
        FROM member_configurations c
        JOIN members m ON m.id = c.member_id AND m.incarnation = c.incarnation
        WHERE m.seen_at >= ?
        ORDER BY c.member_id",
    )
    .bind(since)
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
        let incarnation: Incarnation =
            cell("incarnation").parse(row.try_get("incarnation").map_err(&read)?)?;
        let registered_at = row.try_get("registered_at").map_err(&read)?;
        Ok(MemberConfiguration {
            incarnation,
            fingerprint: cell("fingerprint").json(row.try_get("fingerprint").map_err(&read)?)?,
            settings: cell("settings").json(row.try_get("settings").map_err(&read)?)?,
            registered_at: cell("registered_at").time(registered_at)?,
            id: id.clone(),
        })
    });
    all.collect()
}

pub(crate) async fn version(executor: impl SqliteExecutor<'_>) -> Result<String, StoreError> {
    sqlx::query_scalar(
        "-- configuration_version
        SELECT coalesce((SELECT number FROM configuration_in_force), 0) || '.' ||
               coalesce((SELECT group_concat(registered_at || incarnation)
                         FROM (SELECT registered_at, incarnation FROM member_configurations
                               ORDER BY member_id)), '')",
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
