//! The clock of the audit in Postgres, and faults that its triggers and locks cause.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};

/// Comes before the other statements. `drag` makes every write take so much longer.
pub(super) const SCHEMA: &str = "
CREATE SCHEMA audit;
CREATE FUNCTION audit.now() RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT $$;

CREATE TABLE audit.drag (milliseconds BIGINT NOT NULL);
CREATE FUNCTION audit.drag() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE pause BIGINT;
BEGIN
    SELECT max(milliseconds) INTO pause FROM audit.drag;
    IF pause IS NOT NULL THEN
        PERFORM pg_sleep(pause / 1000.0);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_drag BEFORE INSERT OR UPDATE OR DELETE ON runs
    FOR EACH STATEMENT EXECUTE FUNCTION audit.drag();
CREATE TRIGGER audit_drag BEFORE INSERT OR UPDATE OR DELETE ON tasks
    FOR EACH STATEMENT EXECUTE FUNCTION audit.drag();
CREATE TRIGGER audit_drag BEFORE INSERT OR UPDATE OR DELETE ON leadership
    FOR EACH STATEMENT EXECUTE FUNCTION audit.drag();
CREATE TRIGGER audit_drag BEFORE INSERT OR UPDATE OR DELETE ON run_requests
    FOR EACH STATEMENT EXECUTE FUNCTION audit.drag();
";

/// Makes every write take so much longer from now on, or no longer than usual.
pub(crate) async fn drag(url: &str, each: Option<Duration>) -> Result<(), sqlx::Error> {
    let mut connection = connect(url).await?;
    sqlx::query("DELETE FROM audit.drag")
        .execute(&mut connection)
        .await?;
    if let Some(each) = each {
        sqlx::query("INSERT INTO audit.drag VALUES ($1)")
            .bind(i64::try_from(each.as_millis()).unwrap_or(i64::MAX))
            .execute(&mut connection)
            .await?;
    }
    connection.close().await
}

/// Takes the locks of `statement`, which may take a while, and holds them so long.
pub(crate) async fn lock(
    url: &str,
    statement: &'static str,
    time: Duration,
) -> Result<(), sqlx::Error> {
    let mut connection = connect(url).await?;
    let mut transaction = connection.begin().await?;
    sqlx::query("SET LOCAL lock_timeout = '5s'")
        .execute(&mut *transaction)
        .await?;
    sqlx::query(statement).execute(&mut *transaction).await?;
    tokio::time::sleep(time).await;
    transaction.rollback().await?;
    connection.close().await
}

pub(super) async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    PgConnection::connect_with(&url.parse::<PgConnectOptions>()?).await
}
