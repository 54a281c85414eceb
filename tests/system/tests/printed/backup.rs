//! docs/operations.md: backup and restore, of Postgres and of the SQLite file.

use cts_testkit::{ConsulAgent, Postgres};

use super::blocks::section;
use super::terminal::{Machine, Terminal};

const DOCUMENT: &str = include_str!("../../../../docs/operations.md");

const CONFIGURATION: &str = "buffer_period { enabled = false }\n\
    task {\n  name = \"web\"\n  module = \"./modules/web\"\n  condition \"services\" { names = [\"web\"] }\n}\n";

/// A command that the section prints.
fn printed(command: &str) -> &str {
    let (_, section) = DOCUMENT.split_once("\n## Backup and restore\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    assert!(
        section.contains(&format!("`{command}`")),
        "{command} is not printed"
    );
    command
}

async fn place() -> (ConsulAgent, Machine) {
    let consul = ConsulAgent::start().await;
    let machine = Machine::new(Some(&consul.address()));
    machine.write("modules/web/main.tf", cts_tests::RECORDER);
    machine.write("cts.hcl", CONFIGURATION);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    (consul, machine)
}

/// Starts cts, and waits until the task has run so often.
async fn start(machine: &Machine, command: &str, runs: usize) -> Terminal {
    let mut terminal = machine.terminal("");
    terminal.leave(command).await;
    machine.until_healthy().await;
    machine.until_quiet("web", runs).await;
    let events = machine.api().events("web").await;
    assert_eq!(events.len(), runs, "{events:?}");
    cts_tests::assert_successful(&events);
    terminal
}

const START: &str = "cts start -config-file cts.hcl";

#[tokio::test]
async fn a_database_is_restored_as_printed() {
    let (_consul, machine) = place().await;
    let postgres = Postgres::start().await;
    machine.use_database(&postgres.url("cts"));
    let mut terminal = machine.terminal("");
    let port = postgres.port();
    terminal
        .works(&format!("export PGHOST=127.0.0.1 PGPORT={port} PGUSER=cts"))
        .await;
    terminal.works("createdb cts").await;
    terminal.works("cts migrate -config-file cts.hcl").await;
    let cts = start(&machine, START, 1).await;
    terminal
        .works(printed("pg_dump --format custom --file FILE cts"))
        .await;
    cts.close().await;
    terminal.works("dropdb cts").await;
    terminal
        .works(printed("createdb cts && pg_restore --dbname cts FILE"))
        .await;
    terminal
        .works(printed("cts migrate -restored -config-file cts.hcl"))
        .await;
    start(&machine, START, 2).await.close().await;
    // A start alone runs nothing.
    start(&machine, START, 2).await.close().await;
    terminal.close().await;
}

#[tokio::test]
async fn a_file_is_restored_as_printed() {
    let (_consul, machine) = place().await;
    let mut terminal = machine.terminal("");
    let cts = start(&machine, START, 1).await;
    terminal.works("cd sync-tasks").await;
    terminal
        .works(printed("sqlite3 cts.db \".backup FILE\""))
        .await;
    terminal.works("cd ..").await;
    cts.close().await;
    let restore = "rm -f sync-tasks/cts.db*; cp sync-tasks/FILE sync-tasks/cts.db";
    terminal.works(restore).await;
    let restored = printed("cts start -restored -config-file cts.hcl");
    start(&machine, restored, 2).await.close().await;
    terminal.works(restore).await;
    terminal
        .works(printed("cts migrate -restored -config-file cts.hcl"))
        .await;
    start(&machine, START, 2).await.close().await;
    terminal.close().await;
}

#[tokio::test]
async fn a_file_moves_to_postgres_as_printed() {
    let (_consul, machine) = place().await;
    start(&machine, START, 1).await.close().await;
    machine.use_database(&Postgres::shared().await.create_database().await);
    let mut terminal = machine.terminal("");
    let blocks = section(
        "docs/configuration.md",
        "Moving from one process to Postgres",
    );
    let [block] = blocks.as_slice() else {
        panic!("{blocks:?}");
    };
    for command in block.commands() {
        terminal.works(&command).await;
    }
    terminal.works("rm sync-tasks/cts.db").await;
    // The event has moved. A task with a local module runs once, without a change.
    let cts = start(&machine, START, 2).await;
    let events = machine.api().events("web").await;
    assert_eq!(events[0]["resources"]["added"], 0, "{events:?}");
    cts.close().await;
    start(&machine, START, 2).await.close().await;
    terminal.close().await;
}
