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
