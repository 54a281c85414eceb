//! How the database executes statements that must stay fast: every call of the store is made against a
//! database with a long history and a long queue, and the rows that each of its statements read are compared
//! with a limit.

#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod calls;
mod seen;

use std::collections::BTreeMap;
use std::time::Duration;

use cts_store::Store as _;
use cts_store_conformance::spec;
use cts_store_postgres::{Settings, migrate};
use cts_testkit::{History, Postgres, PostgresSettings, eventually};
use sqlx::{Connection as _, PgConnection};

use self::calls::Calls;
use self::seen::Seen;

/// Each statement is planned for its values at first. After the fifth time its connection may keep one plan
/// for all.
const TIMES: usize = 8;

const TASKS: usize = 10_000;

const DEADLINE: Duration = Duration::from_mins(2);

const HISTORY: History = History {
    runs_per_task: 100,
    lines_per_run: 1,
    span: Duration::from_hours(24 * 30),
};

/// A server that logs how every statement was executed, and does nothing by itself.
async fn server() -> Postgres {
    Postgres::start_with(PostgresSettings {
        fsync: false,
        parameters: &[
            ("autovacuum", "off"),
            ("shared_buffers", "512MB"),
            ("max_wal_size", "8GB"),
            ("log_line_prefix", "@ "),
            ("session_preload_libraries", "auto_explain"),
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_nested_statements", "on"),
            ("auto_explain.log_analyze", "on"),
            ("auto_explain.log_buffers", "on"),
            ("auto_explain.log_timing", "off"),
            ("auto_explain.log_format", "json"),
        ],
        ..PostgresSettings::default()
    })
    .await
}

async fn execute(url: &str, statement: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql("SET auto_explain.log_min_duration = -1")
        .execute(&mut connection)
        .await
        .unwrap();
    sqlx::raw_sql(statement)
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

/// How many tables have outgrown their statistics.
async fn outgrown(url: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let outgrown = sqlx::query_scalar(
        "SELECT count(*) FROM pg_class
        WHERE oid = ANY (ARRAY['tasks', 'inputs', 'runs', 'events', 'log_lines']::REGCLASS[])
          AND pg_relation_size(oid) > 3 * greatest(relpages, 8) * 8192",
    );
    let outgrown = outgrown.fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    outgrown
}

const QUEUE: &str = "
    INSERT INTO runs (id, task_name, incarnation, input_hash, status, due_at, created_at, updated_at)
    SELECT gen_random_uuid(), t.name, t.incarnation, (SELECT min(hash) FROM inputs), 'queued',
           cts_now() - 1000000, cts_now() - 1000000, cts_now() - 1000000
    FROM tasks t WHERE t.active_run IS NULL
    ON CONFLICT DO NOTHING";

const OLD_BUNDLE: &str = "
    INSERT INTO bundles (hash, content, created_at, used_at) VALUES (repeat('0', 64), '', 0, 0)";

/// The logs of old runs have been measured before; the server's log of it would be long.
const MEASURED: &str = "
    INSERT INTO log_sizes (run_id, bytes)
    SELECT id, 10 FROM runs WHERE finished_at IS NOT NULL ORDER BY finished_at DESC OFFSET 20000
    ON CONFLICT DO NOTHING";

const EMPTY_QUEUE: &str = "DELETE FROM runs WHERE status = 'queued'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_reads_the_history() {
    let postgres = server().await;
    let url = postgres.create_database().await;
    let settings = Settings {
        url: url.as_str().into(),
        // All statements use one connection, which keeps their plans.
        max_connections: 1,
        ca_cert: None,
    };
    migrate(&settings).await.unwrap();
    let store = cts_store_postgres::connect(&settings).await.unwrap();
    let mut calls = Calls::begin(store.clone()).await;
    let leader = calls.leader();
    let names: Vec<_> = (0..TASKS).map(|n| format!("task-{n:05}")).collect();
    let specs: Vec<_> = names.iter().map(|name| spec(name)).collect();

    // Plans are made for an almost empty database, with statistics to match.
    let few = &names[..20];
    store
        .replace_config_tasks(leader, &specs[..20])
        .await
        .unwrap();
    execute(&url, OLD_BUNDLE).await;
    calls.all(TIMES, few).await;
    execute(&url, "ANALYZE").await;
    execute(&url, OLD_BUNDLE).await;
    calls.all(TIMES, few).await;

    store.replace_config_tasks(leader, &specs).await.unwrap();
    HISTORY.add(&url).await;
    execute(&url, MEASURED).await;
    execute(&url, QUEUE).await;
    // Each call of the leader, one a second, makes the statistics of one table.
    let followed = async || {
        calls.reap().await;
        let left = outgrown(&url).await;
        if left == 0 { Ok(()) } else { Err(left) }
    };
    eventually(DEADLINE, followed).await;
    let mut trial = Trial::of(&postgres);
    execute(&url, OLD_BUNDLE).await;
    calls.all(TIMES, &names).await;
    trial.judge("after it has grown");

    execute(&url, "VACUUM ANALYZE").await;
    trial.skip();
    execute(&url, OLD_BUNDLE).await;
    calls.all(TIMES, &names).await;
    trial.judge("with good statistics");

    execute(&url, EMPTY_QUEUE).await;
    execute(&url, "ANALYZE runs").await;
    calls.look(TIMES).await;
    execute(&url, QUEUE).await;
    trial.skip();
    calls.work(TIMES, &names).await;
    calls.look(TIMES).await;
    trial.judge("with statistics of an empty queue");

    execute(
        &url,
        "UPDATE tasks SET active_run = gen_random_uuid(); ANALYZE tasks",
    )
    .await;
    calls.look(TIMES).await;
    execute(&url, "UPDATE tasks SET active_run = NULL").await;
    trial.skip();
    calls.work(TIMES, &names).await;
    calls.look(TIMES).await;
    trial.judge("with statistics of busy tasks");

    assert!(trial.problems.is_empty(), "{}", trial.problems.join("\n"));

    // Changes as large as the configuration finish within the limits of a call.
    store.replace_config_tasks(leader, &[]).await.unwrap();
}

/// Statements seen by the server, judged part after part.
struct Trial<'a> {
    postgres: &'a Postgres,
    judged: usize,
    problems: Vec<String>,
}

impl<'a> Trial<'a> {
    fn of(postgres: &'a Postgres) -> Self {
        Self {
            judged: postgres.log().len(),
            postgres,
            problems: Vec::new(),
        }
    }

    fn skip(&mut self) {
        self.judged = self.postgres.log().len();
    }

    /// Judges the statements executed since the last judgement; each statement by its worst execution.
    fn judge(&mut self, circumstances: &str) {
        let log = self.postgres.log();
        let mut worst = BTreeMap::new();
        for seen in Seen::read(&log[self.judged..]) {
            let bad = (seen.problem().is_some(), seen.pages());
            let is_worse = |(known, _): &((bool, u64), Seen)| *known < bad;
            if worst.get(&seen.name).is_none_or(is_worse) {
                worst.insert(seen.name.clone(), (bad, seen));
            }
        }
        let mut names = worst.keys();
        let endings = names.any(|name| name.starts_with("acquire: an ending"));
        assert!(
            endings && worst.len() > 40,
            "only {:?} were seen",
            worst.keys()
        );
        for (name, (_, seen)) in worst {
            if let Some(problem) = seen.problem() {
                let plan = seen.plan();
                self.problems
                    .push(format!("`{name}` {circumstances}: {problem}\n{plan}"));
            }
        }
        self.judged = log.len();
    }
}
