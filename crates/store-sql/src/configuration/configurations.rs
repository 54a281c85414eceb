//! Task blocks of the members' files, and the configuration in force.

use std::time::Duration;

use cts_store::cell::{encoded, span_micros};
use cts_store::fields::{Columns, Fields};
use cts_store::{
    AppliedConfiguration, Configuration, ConfigurationInForce, Member, MemberConfiguration,
    OtherConfiguration, Registered, StoreError, decide,
};

use crate::{Connection, integer, sql, text};

const OPERATION: &str = "register a configuration";

/// Key of the advisory lock of registering members: members register one at a time, so that the last member sees all
/// others.
const LOCK: i64 = 0x6374_735f_636f_6e66;

/// Registers the configuration of a member, and puts a configuration in force if the decision requires that.
pub async fn register(
    c: &mut dyn Connection,
    member: &Member,
    configuration: &Configuration,
    time_to_live: Duration,
) -> Result<Registered, StoreError> {
    let now = alone(c).await?;
    let registered_at = note(c, member, configuration, now).await?;
    let in_force = in_force(c).await?;
    let life = span_micros(time_to_live);
    let others = others(c, member, now.saturating_sub(life), registered_at).await?;
    let waited = now.saturating_sub(registered_at) >= life;
    let decided = decide(configuration, in_force.as_ref(), &others, waited);
    let (verdict, decided) = decided.map_err(not_encoded)?;
    let number = in_force.map_or(0, |in_force| in_force.number);
    let number = match decided {
        Some(decided) => put_in_force(c, &member.id, &decided, number, now).await?,
        None => number,
    };
    Ok(Registered { verdict, number })
}

/// Puts a configuration in force if no configuration is in force, or, with `replace`, in any case. Returns the
/// configuration in force afterwards.
pub async fn adopt(
    c: &mut dyn Connection,
    member: &Member,
    configuration: &Configuration,
    replace: bool,
) -> Result<ConfigurationInForce, StoreError> {
    let now = alone(c).await?;
    let before = in_force(c).await?;
    let number = match before {
        Some(in_force) if !replace => return Ok(in_force),
        before => before.map_or(0, |before| before.number),
    };
    put_in_force(c, &member.id, configuration, number, now).await?;
    let adopted = in_force(c).await?;
    adopted.ok_or_else(|| not_encoded("what was written cannot be read"))
}

/// Puts a configuration in force, if the present one is the one that it was compared with.
pub async fn apply(
    c: &mut dyn Connection,
    wanted: &AppliedConfiguration,
) -> Result<Option<u64>, StoreError> {
    let now = alone(c).await?;
    let before = in_force(c).await?;
    let configuration = wanted.completed(before.as_ref()).map_err(not_encoded)?;
    let Some(configuration) = configuration else {
        return Ok(None);
    };
    sql(
        "apply a configuration",
        "-- put_in_force: in order\nSELECT 1 FROM tasks ORDER BY name FOR UPDATE",
    )
    .on_postgres(c)
    .await?;
    let names = configuration.tasks.iter().map(|task| task.name().as_str());
    let names: Vec<&str> = names.collect();
    let forget = [
        "-- put_in_force: what the API has changed
        UPDATE tasks SET configured = NULL WHERE origin = 'config' AND name {in $1}",
        "-- put_in_force: what the API has deleted
        DELETE FROM deleted_tasks WHERE name {in $1}",
    ];
    let others = "-- put_in_force: other tasks of the API
        UPDATE tasks SET origin = 'config', configured = NULL
        WHERE origin = 'api' AND phase = 'ready' AND name {not in $1}";
    for statement in forget.into_iter().chain(wanted.prune.then_some(others)) {
        sql("apply a configuration", statement)
            .bind(&*names)
            .execute(c)
            .await?;
    }
    let by = &wanted.decided_by;
    let number = put_in_force(c, by, &configuration, wanted.number, now).await?;
    Ok(Some(number))
}

/// Waits until no other member registers, and returns the time.
async fn alone(c: &mut dyn Connection) -> Result<i64, StoreError> {
    sql(
        OPERATION,
        "-- register_configuration: one at a time\nSELECT pg_advisory_xact_lock($1)",
    )
    .bind(LOCK)
    .on_postgres(c)
    .await?;
    sql(
        OPERATION,
        "-- register_configuration: now\nSELECT {now} AS value",
    )
    .one(c, integer)
    .await
}

/// Returns when this incarnation first registered these task blocks and settings.
async fn note(
    c: &mut dyn Connection,
    member: &Member,
    configuration: &Configuration,
    now: i64,
) -> Result<i64, StoreError> {
    sql(
        OPERATION,
        "-- register_configuration: note
        INSERT INTO member_configurations
            (member_id, incarnation, fingerprint, tasks, settings, registered_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (member_id) DO UPDATE
        SET registered_at = CASE WHEN member_configurations.incarnation = excluded.incarnation
                                  AND member_configurations.fingerprint = excluded.fingerprint
                                  AND member_configurations.settings = excluded.settings
                            THEN member_configurations.registered_at
                            ELSE excluded.registered_at END,
            incarnation = excluded.incarnation,
            fingerprint = excluded.fingerprint,
            tasks = excluded.tasks,
            settings = excluded.settings
        RETURNING registered_at AS value",
    )
    .bind(&member.id)
    .bind(member.incarnation)
    .bind(encoded(
        "encode a configuration",
        &configuration.fingerprint,
    )?)
    .bind(encoded("encode a configuration", &configuration.tasks)?)
    .bind(encoded("encode a configuration", &configuration.settings)?)
    .bind(now)
    .one(c, integer)
    .await
}

/// The other members seen after `since`.
async fn others(
    c: &mut dyn Connection,
    member: &Member,
    since: i64,
    registered_at: i64,
) -> Result<Vec<OtherConfiguration>, StoreError> {
    sql(
        OPERATION,
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
    .all(c, other)
    .await
}

fn other(row: &dyn Columns) -> Result<OtherConfiguration, StoreError> {
    let row = Fields::new(row, OPERATION, "member_configurations");
    Ok(OtherConfiguration {
        configuration: Configuration::understood(
            row.text_if_any("fingerprint")?,
            row.text_if_any("tasks")?,
            row.text_if_any("settings")?,
        ),
        seen_since: row.flag("seen_since")?,
    })
}

async fn put_in_force(
    c: &mut dyn Connection,
    decided_by: &str,
    configuration: &Configuration,
    before: u64,
    now: i64,
) -> Result<u64, StoreError> {
    let number = before.saturating_add(1);
    let fleet = configuration.fleet_max_shrink.as_ref();
    let fleet = fleet.map(|fleet| encoded("encode a configuration", fleet));
    sql(
        "put a configuration in force",
        "-- put_in_force
        INSERT INTO configuration_in_force
            (singleton, number, fingerprint, tasks, decided_by, decided_at, fleet_max_shrink,
             approvals, approvals_number)
        VALUES (TRUE, $1, $2, $3, $4, $5, $6, $7, $1)
        ON CONFLICT (singleton) DO UPDATE
        SET number = excluded.number,
            fingerprint = excluded.fingerprint,
            tasks = excluded.tasks,
            decided_by = excluded.decided_by,
            decided_at = excluded.decided_at,
            fleet_max_shrink = excluded.fleet_max_shrink,
            approvals = excluded.approvals,
            approvals_number = excluded.approvals_number",
    )
    .bind(number)
    .bind(encoded(
        "encode a configuration",
        &configuration.fingerprint,
    )?)
    .bind(encoded("encode a configuration", &configuration.tasks)?)
    .bind(decided_by)
    .bind(now)
    .bind(fleet.transpose()?)
    .bind(encoded("encode a configuration", &configuration.approvals)?)
    .execute(c)
    .await?;
    Ok(number)
}

/// The configuration in force; `None` also if this program cannot decode it.
pub async fn in_force(c: &mut dyn Connection) -> Result<Option<ConfigurationInForce>, StoreError> {
    let in_force = sql(
        "read the configuration in force",
        "-- configuration_in_force
        SELECT number, fingerprint, tasks, decided_by, decided_at, fleet_max_shrink,
               CASE WHEN approvals_number = number THEN approvals END AS approvals
        FROM configuration_in_force",
    );
    let in_force = in_force.optional(c, |row| {
        let row = Fields::new(
            row,
            "read the configuration in force",
            "configuration_in_force",
        );
        let (fingerprint, tasks) = (row.text("fingerprint")?, row.text("tasks")?);
        let understood = Configuration::understood(Some(fingerprint), Some(tasks), Some("{}"));
        let Some(understood) = understood else {
            return Ok(None);
        };
        Ok(Some(ConfigurationInForce {
            number: row.number("number")?,
            tasks: understood.tasks,
            fingerprint: understood.fingerprint,
            fleet_max_shrink: row.json_if_any("fleet_max_shrink")?,
            approvals: row.json_if_any("approvals")?.unwrap_or_default(),
            decided_by: row.text("decided_by")?.to_owned(),
            decided_at: row.time("decided_at")?,
        }))
    });
    Ok(in_force.await?.flatten())
}

/// The configurations of the members seen within the last `within`, by id.
pub async fn all(
    c: &mut dyn Connection,
    within: Duration,
) -> Result<Vec<MemberConfiguration>, StoreError> {
    sql(
        "list configurations",
        "-- configurations
        SELECT c.member_id, c.incarnation, c.fingerprint, c.settings, c.registered_at
        FROM member_configurations c
        JOIN members m ON m.id = c.member_id AND m.incarnation = c.incarnation
        WHERE m.seen_at >= {now} - $1
        ORDER BY c.member_id",
    )
    .bind(within)
    .all(c, |row| {
        let row = Fields::new(row, "list configurations", "member_configurations");
        let row = row.keyed("member_id")?;
        Ok(MemberConfiguration {
            incarnation: row.id("incarnation")?,
            fingerprint: row.json("fingerprint")?,
            settings: row.json("settings")?,
            registered_at: row.time("registered_at")?,
            id: row.key().to_owned(),
        })
    })
    .await
}

/// Opaque version. Changes whenever a configuration is registered or put in force.
pub async fn version(c: &mut dyn Connection) -> Result<String, StoreError> {
    sql(
        "read the version of the configurations",
        "-- configuration_version
        SELECT coalesce((SELECT number FROM configuration_in_force), 0) || '.' ||
               coalesce((SELECT string_agg(registered_at || CAST(incarnation AS TEXT), ',' ORDER BY member_id)
                         FROM member_configurations), '') AS value",
    )
    .one(c, text)
    .await
}

fn not_encoded(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Database {
        operation: "encode a configuration",
        source: error.into(),
    }
}
