//! The real Postgres can be started, handled and got rid of.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_testkit::{Postgres, PostgresSettings, eventually};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

const DEADLINE: Duration = Duration::from_secs(20);

const QUICK: PostgresSettings<'_> = PostgresSettings {
    fsync: false,
    password: None,
    parameters: &[],
    tls: None,
};

async fn text(url: &str, query: &str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let text = sqlx::query_scalar(AssertSqlSafe(query))
        .fetch_one(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    text
}

async fn execute(url: &str, statement: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

fn program(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/exe"))
}

async fn gone(path: &Path) {
    eventually(DEADLINE, async || {
        if std::fs::symlink_metadata(path).is_ok() && std::fs::read_link(path).is_ok() {
            Err(format!("{} is there", path.display()))
        } else {
            Ok(())
        }
    })
    .await;
}

#[tokio::test]
async fn data_outlives_a_stop_and_a_crash() {
    let mut postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    execute(&url, "CREATE TABLE notes (note TEXT)").await;
    execute(&url, "INSERT INTO notes VALUES ('kept')").await;
    let first = postgres.pid();
    postgres.stop().await;
    assert!(PgConnection::connect(&url).await.is_err());
    postgres.start_again().await;
    assert_ne!(postgres.pid(), first);
    execute(&url, "INSERT INTO notes VALUES ('again')").await;
    postgres.kill().await;
    assert!(PgConnection::connect(&url).await.is_err());
    postgres.start_again().await;
    let notes = "SELECT string_agg(note, ',') FROM notes";
    assert_eq!(text(&url, notes).await, "kept,again");
}

#[tokio::test]
async fn databases_are_empty_and_apart() {
    let postgres = Postgres::shared().await;
    let (first, second) = tokio::join!(postgres.create_database(), postgres.create_database());
    execute(&first, "CREATE TABLE notes (note TEXT)").await;
    execute(&second, "CREATE TABLE notes (note TEXT)").await;
    let collation = "SELECT datcollate FROM pg_database WHERE datname = current_database()";
    assert_eq!(text(&first, collation).await, "C.UTF-8");
    assert_eq!(text(&first, "SHOW server_encoding").await, "UTF8");
}

#[tokio::test]
async fn a_password_is_asked_for() {
    let postgres = Postgres::start_with(PostgresSettings {
        password: Some("open-sesame"),
        ..QUICK
    })
    .await;
    let url = postgres.create_database().await;
    assert_eq!(text(&url, "SELECT 'in'").await, "in");
    let without = url.replace(":open-sesame", "");
    assert!(PgConnection::connect(&without).await.is_err());
}

#[tokio::test]
async fn a_paused_server_answers_after_it_is_resumed() {
    let postgres = Postgres::start_with(QUICK).await;
    let url = postgres.create_database().await;
    postgres.pause();
    let answer = text(&url, "SELECT 'yes'");
    tokio::pin!(answer);
    let early = tokio::time::timeout(Duration::from_millis(300), &mut answer).await;
    assert!(early.is_err());
    postgres.resume();
    assert_eq!(answer.await, "yes");
}

#[tokio::test]
async fn a_dropped_server_is_gone_with_its_directory() {
    let postgres = Postgres::start_with(QUICK).await;
    let data = text(&postgres.url("postgres"), "SHOW data_directory").await;
    let process = program(postgres.pid());
    assert!(std::fs::read_link(&process).is_ok());
    drop(postgres);
    gone(&process).await;
    assert!(!Path::new(&data).parent().unwrap().exists());
}

/// Tests the end of a killed test process: starts this very program with the test below.
#[tokio::test]
async fn a_server_does_not_outlive_a_killed_owner() {
    let mut owner = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
        .arg("postgres::starts_a_server_and_waits")
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = {
        use tokio::io::AsyncBufReadExt as _;
        tokio::io::BufReader::new(owner.stdout.take().unwrap()).lines()
    };
    let pid = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some((_, pid)) = line.split_once("postmaster ") {
            break pid.parse().unwrap();
        }
    };
    assert!(std::fs::read_link(program(pid)).is_ok());
    owner.kill().await.unwrap();
    gone(&program(pid)).await;
}

#[tokio::test]
#[ignore = "a part of a_server_does_not_outlive_a_killed_owner"]
async fn starts_a_server_and_waits() {
    let postgres = Postgres::shared().await;
    println!("postmaster {}", postgres.pid());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_full_disk_is_an_error_until_there_is_room_again() {
    let postgres = Postgres::start_limited(300 << 20, PostgresSettings::default()).await;
    let mut postgres = match postgres {
        Ok(postgres) => postgres,
        // Where mounting is forbidden, that is what it must say.
        Err(error) => {
            assert_eq!(
                error.kind(),
                std::io::ErrorKind::PermissionDenied,
                "{error}"
            );
            return;
        }
    };
    let url = postgres.create_database().await;
    execute(&url, "CREATE TABLE notes (note TEXT)").await;
    postgres.disk().unwrap().fill();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let much = "INSERT INTO notes SELECT repeat('x', 1000) FROM generate_series(1, 100000)";
    assert!(
        sqlx::raw_sql(AssertSqlSafe(much))
            .execute(&mut connection)
            .await
            .is_err()
    );
    drop(connection);
    postgres.disk().unwrap().free();
    postgres.recover().await;
    execute(&url, "INSERT INTO notes VALUES ('kept')").await;
    let data = text(&url, "SHOW data_directory").await;
    drop(postgres);
    assert!(!Path::new(&data).parent().unwrap().exists());
}

#[tokio::test]
async fn a_failover_to_a_replica_that_was_cut_off_loses_the_last_commits() {
    let mut postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    execute(&url, "CREATE TABLE notes (note TEXT)").await;
    let replica = postgres.replica().await;
    execute(&url, "INSERT INTO notes VALUES ('kept')").await;
    replica.catch_up(&postgres).await;
    let database = url.rsplit_once('/').unwrap().1;
    let notes = "SELECT string_agg(note, ',') FROM notes";
    assert_eq!(text(&replica.url(database), notes).await, "kept");
    replica.stop_following().await;
    execute(&url, "INSERT INTO notes VALUES ('lost')").await;
    assert_eq!(text(&url, notes).await, "kept,lost");

    postgres.fail_over(replica).await;
    assert_eq!(text(&url, notes).await, "kept");
    execute(&url, "INSERT INTO notes VALUES ('new')").await;
    assert_eq!(text(&url, notes).await, "kept,new");
    postgres.kill().await;
    postgres.start_again().await;
    assert_eq!(text(&url, notes).await, "kept,new");
}

#[tokio::test]
async fn a_replica_of_a_server_with_a_password_follows() {
    let postgres = Postgres::start_with(PostgresSettings {
        password: Some("open-sesame"),
        ..QUICK
    })
    .await;
    let replica = postgres.replica().await;
    let recovering = "SELECT pg_is_in_recovery()::TEXT";
    assert_eq!(text(&replica.url("postgres"), recovering).await, "true");
}
